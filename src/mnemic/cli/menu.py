"""The menu of commands, and the module of each.

`menu.json` has the sections of `mnemic --help` and the further ones of `mnemic help all`, the help of each group, the
commands of each module, and hints for other programs' command names. JSON, because every command reads it: Python
parses it ten times faster than TOML.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from typer.core import TyperArgument, TyperCommand, TyperGroup

_MENU: Mapping[str, Any] = json.loads(Path(__file__).with_name("menu.json").read_text(encoding="utf-8"))
FIRST_PAGE: Mapping[str, Mapping[str, str]] = _MENU["sections"]
SECTIONS: Mapping[str, Mapping[str, str]] = {**FIRST_PAGE, **_MENU["more"]}
GROUPS: Mapping[str, str] = _MENU["groups"]
MODULES: Mapping[str, Sequence[str]] = _MENU["modules"]
OTHER_WORDS: Mapping[str, Mapping[str, str]] = {
    group: {word: hint for hint, words in hints.items() for word in words} for group, hints in _MENU["words"].items()
}
"""Command names of other programs and our own, by group."""

ALL = "all"
"""The context's object of `mnemic help all`."""

NAMES = tuple(name for section in SECTIONS.values() for name in section)


class Menu(TyperGroup):
    """A group whose help does not cut descriptions. The program's own help has sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List the options. The program's first page has none, to fit on a screen."""
        if ctx.parent is not None or ctx.obj == ALL:
            super().format_options(ctx, formatter)
        else:
            self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with their descriptions, wrapped instead of cut."""
        if ctx.parent is None:
            width = max(map(len, NAMES))
            for title, commands in (SECTIONS if ctx.obj == ALL else FIRST_PAGE).items():
                _write_section(formatter, title, commands, width)
            return
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = {name: each.get_short_help_str(1000) for name, each in found.items() if each and not each.hidden}
        _write_section(formatter, "Commands", rows, max(map(len, rows)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by name. Another program's command name fails with a hint."""
        hint = OTHER_WORDS.get(ctx.info_name or "", {}).get(args[0])
        if hint is not None and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


class Entry(TyperCommand):
    """A command whose help shows an operand by its name, without its Python type."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        for each in cast("list[Any]", self.params):
            if isinstance(each, TyperArgument) and not each.type_descriptor.is_choice:
                each.display_type_rich = _show_no_type


def _show_no_type(ctx: Any) -> None:
    """Take the place of Typer's method."""


def _write_section(formatter: Any, title: str, rows: Mapping[str, str], width: int) -> None:
    with formatter.section(title):
        formatter.write_dl([(name.ljust(width), about) for name, about in rows.items()])
