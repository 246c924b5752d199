"""The menu of commands: what people want to do, and which module does it.

`menu.json` holds the sections of `mnemic --help`, the help of each group, the commands and groups that each module
registers, and words of other programs by the command that does the same here. JSON, because every command reads it:
Python parses it ten times faster than TOML.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

_MENU: Mapping[str, Any] = json.loads(Path(__file__).with_name("menu.json").read_text(encoding="utf-8"))
SECTIONS: Mapping[str, Mapping[str, str]] = _MENU["sections"]
GROUPS: Mapping[str, str] = _MENU["groups"]
MODULES: Mapping[str, Sequence[str]] = _MENU["modules"]
OTHER_WORDS: Mapping[str, Mapping[str, str]] = {
    group: {word: hint for hint, words in hints.items() for word in words} for group, hints in _MENU["words"].items()
}
"""Words of other programs, and the command that does the same here, by group."""

NAMES = tuple(name for section in SECTIONS.values() for name in section)


class Menu(TyperGroup):
    """A group whose help lists the commands in full, those of the whole program by section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands with what they do, wrapped instead of cut."""
        if ctx.parent is None:
            width = max(map(len, NAMES))
            for title, commands in SECTIONS.items():
                _write_section(formatter, title, commands, width)
            return
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = {name: each.get_short_help_str(1000) for name, each in found.items() if each and not each.hidden}
        _write_section(formatter, "Commands", rows, max(map(len, rows)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The named command. A word of another program fails with the command that does the same here."""
        hint = OTHER_WORDS.get(ctx.info_name or "", {}).get(args[0])
        if hint is not None and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


def _write_section(formatter: Any, title: str, rows: Mapping[str, str], width: int) -> None:
    with formatter.section(title):
        formatter.write_dl([(name.ljust(width), about) for name, about in rows.items()])
