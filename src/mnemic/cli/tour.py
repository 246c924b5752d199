"""`mnemic tour`: demonstrates Mnemic on a temporary store, and fails if a step does not work."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mnemic.cli.commands import command
from mnemic.cli.failures import UNEXPECTED
from mnemic.cli.options import ACTOR, AsJson
from mnemic.cli.output import note, show_json, write
from mnemic.cli.recall import explain_score, show_recall
from mnemic.model.item import Memory
from mnemic.model.recall import Recall
from mnemic.model.scope import Scope

if TYPE_CHECKING:
    from mnemic.api import Mnemic

EXPECTED = "User is building Jarvis AI Platform in Java"
QUESTION = "How is my coding project coming along?"
MEMORIES = (
    (EXPECTED, "goal"),
    ("User prefers dark mode and a large font", "preference"),
    ("User has a sister in Lisbon who keeps bees", "fact"),
    ("User is allergic to hazelnuts", "fact"),
    ("User runs the harbour half marathon in September", "event"),
)
PAST_SESSION = (
    ("Which bread should I bake for my sister's visit?", "A rye sourdough keeps for days; start it on Thursday."),
    ("She will bring honey. Anything that goes with it?", "Goat cheese and walnuts, on thin slices."),
)
CURRENT_SESSION = (("Good morning! Will it rain in the harbour today?", "Dry until the evening, with a fresh wind."),)
NEXT = """Next:
  mnemic remember --user you "something worth keeping"
  mnemic recall --user you "a question about it" --explain
  mnemic memory list --user you
  mnemic --help"""


@command("tour", examples="mnemic tour")
def tour(as_json: AsJson = False) -> None:
    """Store two sessions and five memories, ask a question that shares no word with its answer, and show that another
    user sees nothing. Runs on a temporary store and the offline model. Exits with 1 if a step fails.
    """
    from mnemic.api import Mnemic

    with (
        tempfile.TemporaryDirectory(prefix="mnemic-tour-") as folder,
        Mnemic.open(Path(folder) / "memory.db", actor=ACTOR) as mnemic,
    ):
        _store_examples(mnemic)
        found = mnemic.recall(Scope(user="sam", session="today"), QUESTION)
        stranger = Scope(user="robin", session="today")
        seen = [*mnemic.recall(stranger, QUESTION).hits, *mnemic.list(stranger).memories]
    shared, failed = list_shared_words(), list_failures(found, len(seen))
    if as_json:
        show_json({"question": QUESTION, "recall": found, "shared_words": shared, "failures": failed})
    else:
        _show_tour(found, shared, len(seen))
    for failure in failed:
        note(f"mnemic: the tour failed: {failure}")
    if failed:
        raise typer.Exit(UNEXPECTED)


def list_failures(found: Recall, seen_by_others: int) -> list[str]:
    """The steps that failed, as text."""
    memories = [hit for hit in found.hits if isinstance(hit.item, Memory) and not hit.is_fallback]
    failed: list[str] = []
    if not memories or memories[0].text != EXPECTED:
        failed.append(f"{EXPECTED!r} is not the first memory found")
    if found.degraded:
        failed.append(f"a source was missing: {', '.join(found.degraded)}")
    if list_shared_words():
        failed.append("question and answer share a word, so nothing is shown")
    if seen_by_others:
        failed.append(f"another user saw {seen_by_others} of these memories")
    return failed


def list_shared_words() -> list[str]:
    """The keyword index's terms that question and expected answer share."""
    from mnemic.text.analyser import Analyser

    analyser = Analyser()
    return sorted({*analyser.query_terms(QUESTION)} & {*analyser.terms(EXPECTED)})


def _store_examples(mnemic: Mnemic) -> None:
    sam = Scope(user="sam")
    mnemic.remember_many(sam, [{"text": text, "kind": kind} for text, kind in MEMORIES])
    for session, exchanges in (("last-week", PAST_SESSION), ("today", CURRENT_SESSION)):
        for said, answered in exchanges:
            mnemic.capture(Scope(user="sam", session=session), user=said, assistant=answered)


def _show_tour(found: Recall, shared: list[str], seen_by_others: int) -> None:
    messages = 2 * (len(PAST_SESSION) + len(CURRENT_SESSION))
    write(f"1. Stored {len(MEMORIES)} memories of the user sam, and {messages} messages of two sessions:\n")
    for text, kind in MEMORIES:
        write(f"   {kind:<10} {text}")
    write("\n2. Today sam only talked about the weather, and now asks:\n")
    write(f"   {QUESTION}\n")
    show_recall(found)
    best = next((hit for hit in found.hits if isinstance(hit.item, Memory)), None)
    if best is not None:
        write(f"\n   The first memory: {best.text}")
        write(f"   Words it shares with the question: {', '.join(shared) or 'none'}")
        write(f"   Why it is found:  {explain_score(best)}")
    write(f"\n3. Another user, robin, asks the same and lists everything. Found: {seen_by_others or 'nothing'}.\n")
    write(NEXT)
