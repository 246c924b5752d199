"""Writes docs/reference/verbs.md from the table of verbs and doors.

    python scripts/verbs_reference.py           print it
    python scripts/verbs_reference.py --write   keep it, after a change of the table

`tests/docs/test_reference.py` compares the kept text with the table, and `tests/doors/test_verbs.py` the table with the
doors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mnemic.verbs import CLI, MCP, OTHER_COMMANDS, PREFIX, REMOTE, REST, ROUTES, VERBS, Verb

KEPT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "verbs.md"
HEAD = """# Verbs and doors

Made by `python scripts/verbs_reference.py --write` from `mnemic.verbs`; edit that instead.

A verb has the same name, arguments and answer in the library (`Mnemic`, and `AsyncMnemic` to await), in the remote
client (`mnemic.connect(url, key)`, and `mnemic.remote.connect_async`), over REST, and on the command line with
`--json`. MCP has those that a chat needs, as tools with few arguments: they answer a text for the model, and beside it
the same noun as `structuredContent`, its texts sanitised; what is no object in JSON stands under `result`. A dash is a
gap; why it is there is told below.

| verb | command line | REST | remote client | MCP |
|---|---|---|---|---|
"""
GAPS = """
## Gaps

| verb | missing in | because |
|---|---|---|
"""
OTHERS = """
## Commands that are no verb

| command | what it is |
|---|---|
"""


def reference() -> str:
    """The whole document."""
    rows = [f"| `{verb.name}` | {' | '.join(_cells(verb))} |" for verb in VERBS]
    gaps = [
        f"| `{verb.name}` | {', '.join(door for door, each in verb.gaps.items() if each == reason)} | {reason} |"
        for verb in VERBS
        for reason in dict.fromkeys(verb.gaps.values())
    ]
    others = [f"| `{command}` | {what} |" for command, what in OTHER_COMMANDS.items()]
    return HEAD + "\n".join(rows) + "\n" + GAPS + "\n".join(gaps) + "\n" + OTHERS + "\n".join(others) + "\n"


def _cells(verb: Verb) -> list[str]:
    route = ROUTES.get(verb.name)
    told = {
        CLI: f"`{verb.command}`",
        REST: f"`{route.method} {PREFIX}{route.path}`" if route else "",
        REMOTE: "yes",
        MCP: f"`{verb.tool}`",
    }
    return [told[door] if verb.is_offered(door) else "—" for door in (CLI, REST, REMOTE, MCP)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the reference, or keeps it with `--write`."""
    parser = argparse.ArgumentParser(description="The reference of verbs and doors.")
    parser.add_argument("--write", action="store_true", help=f"keep it in {KEPT.name}")
    if parser.parse_args(arguments).write:
        KEPT.write_text(reference(), encoding="utf-8")
    else:
        print(reference(), end="")


if __name__ == "__main__":
    main()
