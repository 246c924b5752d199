"""`mnemic memory …`: change memories, judge them, take changes back, and ask why one is not found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mnemic.cli.failures import UNEXPECTED
from mnemic.cli.input import json_mapping, text_or_stdin
from mnemic.cli.memory import ItemId, Reason
from mnemic.cli.options import command
from mnemic.cli.output import note, one_line, show_json, write
from mnemic.cli.recall import Query, RecallOptions
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.scope import Level
from mnemic.model.values import check_unicode

if TYPE_CHECKING:
    from mnemic.api import Mnemic, UpdateFields

NONE = "none"
"""What ends a time that was set."""

MOST_COUNTED = 1000
_TIME = "ISO 8601, or none."
ItemIds = Annotated[list[str], typer.Argument(help="The ids of memories; the first one stays.", metavar="ID...")]


class Verdict(StrEnum):
    """What a person says of a memory."""

    RELEVANT = "relevant"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """The arguments of `Mnemic.update`, as options; what is not given stays as it is."""

    text: Annotated[str | None, typer.Option(help="What it says; - takes the standard input.")] = None
    kind: Annotated[Kind | None, typer.Option(help="What sort of memory it is.")] = None
    importance: Annotated[str | None, typer.Option(help="0 to 1, or low, medium, high.")] = None
    confidence: Annotated[float | None, typer.Option(help="How sure it is, 0 to 1.")] = None
    categories: Annotated[list[str] | None, typer.Option("--category", help="Its tags; may be repeated.")] = None
    is_untagged: Annotated[bool, typer.Option("--no-categories", help="Take all its tags away.")] = False
    context: Annotated[str | None, typer.Option(help="Why it matters.")] = None
    snippet: Annotated[str | None, typer.Option(help="The words it came from.")] = None
    source: Annotated[str | None, typer.Option(help="Where it came from.")] = None
    observed_at: Annotated[str | None, typer.Option(help="When it was said, ISO 8601.")] = None
    valid_from: Annotated[str | None, typer.Option(help=f"True from. {_TIME}")] = None
    valid_to: Annotated[str | None, typer.Option(help=f"True until before. {_TIME}")] = None
    expires_at: Annotated[str | None, typer.Option(help=f"Gone at. {_TIME}")] = None
    trust: Annotated[Trust | None, typer.Option(help="Whose word it is now; it lowers the memory's alone.")] = None
    metadata: Annotated[str | None, typer.Option(help="A JSON object of your own, in the place of the old one.")] = None

    def arguments(self) -> UpdateFields:
        """The arguments of `Mnemic.update` that were given."""
        given: dict[str, object] = {
            "text": None if self.text is None else text_or_stdin(self.text),
            "kind": self.kind,
            "importance": None if self.importance is None else number_or_word(self.importance),
            "confidence": self.confidence,
            "categories": [] if self.is_untagged else self.categories or None,
            "context": self.context,
            "snippet": self.snippet,
            "source": self.source,
            "observed_at": self.observed_at,
            "trust": self.trust,
            "metadata": json_mapping(self.metadata, "metadata"),
        }
        found = {name: value for name, value in given.items() if value is not None}
        times = {"valid_from": self.valid_from, "valid_to": self.valid_to, "expires_at": self.expires_at}
        for name, value in times.items():
            if value is not None:
                found[name] = None if value.lower() == NONE else value
        return cast("UpdateFields", found)


def number_or_word(text: str) -> float | str:
    """An importance as it was typed: a number, or a word that the library knows."""
    try:
        return float(text)
    except ValueError:
        return text


def edit(id: ItemId, asking: ScopeOptions, change: ChangeOptions, reason: Reason = "") -> None:
    """Correct a memory. Before and after are kept in its history; `memory undo` takes the change back."""
    arguments = change.arguments()
    act(asking, lambda mnemic: mnemic.update(asking.scope, _id(id), reason=_reason(reason), **arguments), "changed")


def pin(id: ItemId, asking: ScopeOptions, reason: Reason = "") -> None:
    """Keep a memory from fading and from being evicted."""
    act(asking, lambda mnemic: mnemic.pin(asking.scope, _id(id), reason=_reason(reason)), "pinned")


def unpin(id: ItemId, asking: ScopeOptions, reason: Reason = "") -> None:
    """Let a pinned memory fade again like every other."""
    act(asking, lambda mnemic: mnemic.pin(asking.scope, _id(id), is_pinned=False, reason=_reason(reason)), "unpinned")


def undo(id: ItemId, asking: ScopeOptions) -> None:
    """Take back the last change of a memory, a merge included; called again, the change before."""
    act(asking, lambda mnemic: mnemic.undo(asking.scope, _id(id)), "as it was before")


def merge(
    ids: ItemIds,
    asking: ScopeOptions,
    text: Annotated[str | None, typer.Option(help="What the one memory says; that of the first unless said.")] = None,
    reason: Reason = "",
) -> None:
    """Make one of several memories: the first stays, the others are superseded by it."""
    wanted, said = [_id(each) for each in ids], None if text is None else text_or_stdin(text)
    act(asking, lambda mnemic: mnemic.merge(asking.scope, wanted, text=said, reason=_reason(reason)), "merged")


def judge(
    id: ItemId,
    verdict: Annotated[Verdict, typer.Argument(help="relevant refreshes it; outdated ends its validity now.")],
    asking: ScopeOptions,
    reason: Reason = "",
) -> None:
    """Say whether a memory still holds."""
    act(
        asking,
        lambda mnemic: mnemic.feedback(asking.scope, _id(id), verdict.value, reason=_reason(reason)),
        f"judged {verdict.value}",
    )


def clear(
    asking: ScopeOptions,
    levels: Annotated[
        list[Level] | None, typer.Option("--level", help="Only this level; the default level unless said.")
    ] = None,
    reason: Reason = "",
    is_sure: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete every memory (not the messages) of the levels that the scope names, for good. A configured user is not
    meant.
    """
    wanted = tuple(levels or (asking.said.default_level,))
    if not is_sure and not sys.stdin.isatty():
        raise InvalidInputError("nobody can be asked here, and this deletes for good; add --yes if it is meant")
    with asking.open() as mnemic:
        if not is_sure and not _confirmed(mnemic, asking, wanted):
            note("nothing was deleted")
            raise typer.Exit(UNEXPECTED)
        receipt = mnemic.clear(asking.said, levels=wanted, reason=_reason(reason))
    if asking.as_json:
        show_json(receipt)
        return
    write(f"removed {receipt.counts['memories']} memories")
    for each in receipt.notes:
        note(one_line(each))


def explain_absence(id: ItemId, query: Query, asking: ScopeOptions, wanted: RecallOptions) -> None:
    """Say where a memory or message was lost on its way to the answer to a question, or at which rank it is."""
    arguments = wanted.arguments()
    check_unicode(query, "query")
    with asking.open() as mnemic:
        found = mnemic.why_not(asking.scope, _id(id), query, **arguments)
    if asking.as_json:
        show_json(found)
        return
    write(f"{found.stage}: {one_line(found.reason)}")
    if found.rank is not None:
        note(f"rank {found.rank} of {found.candidates} candidates")
    if found.score is not None:
        parts = " + ".join(f"{part.feature} {part.points:.2f}" for part in found.contributions)
        note(f"score {found.score:.2f} = {parts}")


def register(memories: typer.Typer) -> None:
    """Adds the commands to the group."""
    examples = """
        mnemic memory edit --user ana ID --text "Ana prefers light mode" --reason "she said so"
        mnemic memory edit --user ana ID --importance high --valid-to 2026-12-31
        mnemic memory edit --user ana ID --valid-to none
    """
    command(memories, "edit", examples=examples)(edit)
    command(memories, "pin", examples="mnemic memory pin --user ana ID")(pin)
    command(memories, "unpin", examples="mnemic memory unpin --user ana ID")(unpin)
    command(memories, "undo", examples="mnemic memory undo --user ana ID")(undo)
    examples = 'mnemic memory merge --user ana ID OTHER_ID --text "Ana drinks tea and coffee"'
    command(memories, "merge", examples=examples)(merge)
    command(memories, "feedback", examples="mnemic memory feedback --user ana ID outdated")(judge)
    command(memories, "why-not", examples='mnemic memory why-not --user ana ID "what does she drink?"')(explain_absence)
    examples = """
        mnemic memory clear --user ana
        mnemic memory clear --user ana --session s1 --level session --yes
    """
    command(memories, "clear", examples=examples)(clear)


def act(asking: ScopeOptions, do: Callable[[Mnemic], Memory], done: str) -> None:
    """Do something to a memory and show what became of it."""
    with asking.open() as mnemic:
        memory = do(mnemic)
    if asking.as_json:
        show_json(memory)
        return
    write(memory.id)
    note(f"{done}: {one_line(memory.text)[:200]}")


def _confirmed(mnemic: Mnemic, asking: ScopeOptions, levels: tuple[Level, ...]) -> bool:
    states = [state for state in State if state is not State.ERASED]
    page = mnemic.list(asking.said, levels=levels, states=states, limit=MOST_COUNTED)
    count = f"{len(page.memories)}{' or more' if page.next else ''}"
    places = ", ".join(f"{level.value} {one_line(_owner(asking, level))}".strip() for level in levels)
    return typer.confirm(f"Delete {count} memories of {places} for good?", err=True)


def _owner(asking: ScopeOptions, level: Level) -> str:
    owners = {Level.SESSION: asking.session, Level.USER: asking.user, Level.AGENT: asking.agent, Level.ORG: asking.org}
    return owners[level] or ""


def _id(text: str) -> str:
    return check_unicode(text, "id")


def _reason(text: str) -> str:
    return check_unicode(text, "reason")
