"""`mnemic profile …`: hard facts of a user, by key."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from mnemic.cli.input import STDIN, json_mapping, text_or_stdin
from mnemic.cli.options import command
from mnemic.cli.output import Row, item_row, moment, note, one_line, printable, show_json, show_rows, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError

Facts = Annotated[
    list[str], typer.Argument(help="KEY=VALUE, or - for a JSON object on the standard input.", metavar="KEY=VALUE...")
]
Keys = Annotated[list[str], typer.Argument(help="The keys to remove.", metavar="KEY...")]


class Language(StrEnum):
    """Languages of the block."""

    EN = "en"
    ZH = "zh"


def show(asking: ScopeOptions) -> None:
    """Show the facts by key, and below them what is most important and newest of this user."""
    with asking.open() as mnemic:
        known = mnemic.profile.all(asking.scope)
    if asking.as_json:
        show_json(known)
        return
    facts = [
        Row((one_line(f.key),), one_line(f.value), (f"set by {one_line(f.source)}", moment(f.updated_at)))
        for f in known.static
    ]
    if facts:
        show_rows(("key",), facts)
    if known.dynamic:
        note("and what matters or is new:")
        show_rows(("imp.",), [item_row(memory, f"{memory.importance:.2f}") for memory in known.dynamic])
    if not facts and not known.dynamic:
        note("nothing is known in this scope; --user says whose profile is asked")


def put(facts: Facts, asking: ScopeOptions) -> None:
    """Write facts by key; in a JSON object, null removes its key."""
    given = _facts(facts)
    with asking.open() as mnemic:
        entries = mnemic.profile.set(asking.scope, given)
    if asking.as_json:
        show_json(entries)
        return
    note(f"{len(entries)} facts in the profile")


def remove(keys: Keys, asking: ScopeOptions) -> None:
    """Remove facts by key; one that is not there is no error."""
    with asking.open() as mnemic:
        entries = mnemic.profile.set(asking.scope, dict.fromkeys(keys))
    if asking.as_json:
        show_json(entries)
        return
    note(f"{len(entries)} facts in the profile")


def block(
    asking: ScopeOptions,
    language: Annotated[Language, typer.Option(help="The language of the heading.")] = Language.EN,
) -> None:
    """Print the block for a system prompt: a heading and "key: value" lines; nothing when there is nothing."""
    with asking.open() as mnemic:
        text = mnemic.profile.format(asking.scope, language=language.value)
    if asking.as_json:
        show_json(text)
    elif text:
        write(printable(text.strip("\n")))


def register(profiles: typer.Typer) -> None:
    """Adds the commands to the group."""
    command(profiles, "show", examples="mnemic profile show --user ana")(show)
    examples = """
        mnemic profile set --user ana city=Lisbon "favourite tea=smoked"
        echo '{"city": "Porto", "age": null}' | mnemic profile set --user ana -
    """
    command(profiles, "set", examples=examples)(put)
    command(profiles, "remove", examples="mnemic profile remove --user ana city")(remove)
    command(profiles, "format", examples="mnemic profile format --user ana --language zh")(block)


def _facts(facts: list[str]) -> Mapping[str, str | None]:
    if facts == [STDIN]:
        return json_mapping(text_or_stdin(STDIN), "the standard input") or {}  # pyright: ignore[reportReturnType] -- the verb checks each value
    pairs: dict[str, str | None] = {}
    for fact in facts:
        key, separator, value = fact.partition("=")
        if not separator:
            raise InvalidInputError(f"{fact!r} is no KEY=VALUE; `mnemic profile remove` removes a key")
        pairs[key] = value
    return pairs
