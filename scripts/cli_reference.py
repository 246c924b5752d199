"""Writes docs/reference/cli.md from the command line itself.

    python scripts/cli_reference.py           print it
    python scripts/cli_reference.py --write   keep it, after a change of the command line

`tests/docs/test_reference.py` compares the kept text with the commands, so that none is undocumented.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from mnemic.cli.app import application
from mnemic.cli.failures import EXIT_CODES, INTERRUPTED, PARTIAL, READER_GONE
from mnemic.errors import error_kind

KEPT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "cli.md"
WIDTH = 100
HEAD = """# The command line

Made by `python scripts/cli_reference.py --write` from `mnemic --help` and its commands; edit those instead.

Every command about memories takes the scope (`--user`, `--agent`, `--session`, `--org`), the store (`--store`) and
`--json`. With `--json` the answer is one JSON document on the standard output and a failure is
`{"error": {"kind": "…", "message": "…"}}` on the standard error. Times are ISO 8601 in UTC. Without it, a terminal
gets lines wrapped to its width, a text at most four of them, and a pipe one tab-separated line per row, uncut.
Remarks go to the standard error. What the errors mean is in [errors.md](errors.md).
"""


def reference() -> str:
    """The whole document."""
    parts = [HEAD, "## Exit codes\n", _codes()]
    for path, text in helps(typer.main.get_command(application()), ("mnemic",)):
        parts.append(f"## {' '.join(path)}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def helps(command: Any, path: tuple[str, ...], parent: Any = None) -> Iterator[tuple[tuple[str, ...], str]]:
    """The help of a command and of all below it, each with its path."""
    settings = command.context_settings | {"terminal_width": WIDTH, "max_content_width": WIDTH}
    context = command.context_class(command, info_name=path[-1], parent=parent, **settings)
    yield path, "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    for name, below in getattr(command, "commands", {}).items():
        yield from helps(below, (*path, name), context)


def _codes() -> str:
    rows = [(0, "", "done"), (1, "", "unexpected, or a check that failed")]
    rows += [
        (code, f"`{error_kind(error)}`", (error.__doc__ or "").split(";")[0].split("\n")[0].rstrip("."))
        for error, code in EXIT_CODES.items()
        if code > 1
    ]
    rows += [(PARTIAL, "`partial`", "of many things some failed, and the rest is done; the answer says which")]
    rows += [(INTERRUPTED, "", "interrupted (Ctrl-C)"), (READER_GONE, "", "the reader of the output went away")]
    lines = [f"| {code} | {kind} | {meaning} |" for code, kind, meaning in rows]
    return "\n".join(["| code | kind | meaning |", "|---|---|---|", *lines, ""])


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the reference, or keeps it with `--write`."""
    parser = argparse.ArgumentParser(description="The reference of the command line.")
    parser.add_argument("--write", action="store_true", help=f"keep it in {KEPT.name}")
    if parser.parse_args(arguments).write:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(reference(), encoding="utf-8")
    else:
        print(reference(), end="")


if __name__ == "__main__":
    main()
