"""Metadata is the caller's: whatever it says, every verb does what it does with none, and gives it back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.bookkeeping import GEM_FIELDS
from mnemic.model.item import Memory, MemoryDraft
from mnemic.model.scope import Scope
from mnemic.text.former_metadata import KEYS
from tests.unit.engine.kit import ANNA, BERT, START, Clock

OWN_KEYS = (*KEYS, "version", "fallback", "is_partial", "tools", "mem0", "is_done", "slots", "metadata")
IDS = "the ids of all that is there"
"""Stands in drawn metadata for what only a run knows."""

ONES: tuple[object, ...] = (1, True, None, [1, 5], [5, 1], {"id": "1", "file": "notes.md"}, {"metadata": {}})
VALUES: st.SearchStrategy[object] = st.one_of(
    st.sampled_from(("home", "lisbon", "summary", "gem", "s1", "chooses: tea", "general-1", "notes.md", "", IDS)),
    st.sampled_from(ONES),
    st.lists(st.sampled_from(("home", 1, None)), max_size=2),
)
METADATA = st.dictionaries(st.sampled_from((*OWN_KEYS, "team")), VALUES, max_size=6)
HOSTILE: Mapping[str, object] = {
    "slot": "home",
    "value": "lisbon",
    **dict.fromkeys(("merged_ids", "chosen_ids"), IDS),
    "chosen": "chooses: soup",
    "version": "general-1",
    "type": "summary",
    "session": "s1",
    "positions": [1, 4],
    "newest_summary": IDS,
    "import": {"file": "notes.md", "id": "1"},
    **dict.fromkeys(GEM_FIELDS, IDS),
}
CHOICES = ("User chose the soup for lunch", "User chose the soup again", "User chose the soup over the salad")
DECIDED = "We decided to use PostgreSQL for the billing project because it has row locks."
FILE = "- User keeps bees\n- User plays chess on Sundays\n"


class Story:
    """Every verb that writes, one after the other, with the same metadata wherever a caller may give some."""

    def __init__(self, mnemic: Mnemic, clock: Clock, metadata: Mapping[str, object]) -> None:
        self.mnemic, self.clock = mnemic, clock
        self._metadata, self.given = metadata, dict[str, Mapping[str, object]]()
        self.names = dict[str, str]()
        self.told: list[object] = []

    def run(self) -> list[object]:
        """What there is after each step, without ids, times and the caller's metadata."""
        home = self.remember("User lives in Berlin")
        soup = self.remember("User likes soup")
        self.remember("User lives in Porto")
        self.turn()
        for number, text in enumerate(CHOICES):
            self.clock.at = START + timedelta(days=40 * number)
            self.remember(text, kind="gem", categories=["decision"])
        self.clock.at = START + timedelta(days=240)
        tea, coffee = self.remember("User drinks tea"), self.remember("User drinks black tea")
        self.step(lambda: self.mnemic.merge(ANNA, [tea.id, coffee.id]))
        self.step(lambda: self.mnemic.undo(ANNA, tea.id))
        self.step(lambda: self.mnemic.merge(ANNA, [tea.id, coffee.id]))
        self.step(lambda: self.mnemic.update(ANNA, soup.id, metadata=self.metadata(soup.id)))
        self.step(lambda: self.mnemic.update(ANNA, tea.id, text="User drinks green tea"))
        messages = [
            {"role": "user", "content": f"I moved to house number {number} in Ulm.", "metadata": self.metadata("")}
            for number in range(4)
        ]
        messages.append({"role": "user", "content": DECIDED, "metadata": self.metadata("")})
        self.step(lambda: self.mnemic.capture(ANNA, messages))
        self.step(lambda: self.mnemic.summarise(ANNA, is_flush=True))
        self.step(lambda: self.mnemic.reflect(ANNA))
        self.clock.turn(days=1)
        self.step(lambda: self.mnemic.curate(ANNA))
        self.step(lambda: self.mnemic.consolidate(ANNA))
        self.step(lambda: self.mnemic.import_(ANNA, FILE, name="notes.md"))
        self.step(lambda: self.mnemic.import_(ANNA, FILE.replace("Sundays", "Fridays"), name="notes.md"))
        self.step(lambda: self.mnemic.delete(ANNA, home.id))
        self.step(lambda: self.mnemic.delete(ANNA, coffee.id))
        self.step(self.mnemic.work)
        return self.told

    def remember(self, text: str, **fields: Any) -> Memory:
        """Remember a text with the metadata."""
        given = self.metadata("")
        memory = self.mnemic.remember(ANNA, text, metadata=given, **fields)
        self.given.setdefault(memory.id, given)
        self.turn()
        return memory

    def metadata(self, memory_id: str) -> Mapping[str, object]:
        """The metadata as it can be drawn only now; noted for a memory that is given it."""
        ids = [memory.id for memory in self.all()] + list(self.given)
        found = {key: ids if value == IDS else value for key, value in self._metadata.items()}
        if memory_id:
            self.given[memory_id] = found
        return found

    def step(self, verb: Callable[[], object]) -> None:
        """Run a verb; a refusal is an outcome too."""
        try:
            verb()
        except MnemicError as error:
            self.told.append(type(error).__name__)
        self.turn()

    def all(self, scope: Scope = ANNA) -> list[Memory]:
        """The memories in any state, oldest first."""
        states = ("active", "quarantined", "superseded", "disputed", "archived")
        return list(self.mnemic.list(scope, states=states, order="oldest", limit=200).memories)

    def turn(self) -> None:
        """Note what there is, and let a minute pass."""
        self.told.append(told(self.all()))
        self.clock.turn(minutes=1)

    def assert_given_back(self) -> None:
        """What the caller wrote stands on his memories, and on nothing that Mnemic made."""
        for memory in self.all():
            assert memory.metadata == self.given.get(memory.id, {})


def told(memories: list[Memory]) -> list[object]:
    """Memories as a caller sees them, with texts in the place of ids."""
    names = {memory.id: memory.text for memory in memories}

    def named(value: object) -> object:
        if isinstance(value, list | tuple):
            return [named(each) for each in cast("list[object]", value)]
        return names.get(value, "some id") if isinstance(value, str) and value.count("-") == 4 else value

    fields = ("text", "kind", "state", "categories", "importance", "context", "is_pinned")
    return [
        (
            *(getattr(memory, name) for name in fields),
            (named(memory.other_id), len(memory.source_ids), [flag.cause for flag in memory.flags]),
            sorted((key, repr(named(value))) for key, value in memory.bookkeeping.items()),
        )
        for memory in sorted(memories, key=lambda memory: (memory.created_at, memory.text))
    ]


def opened(store: MemoryStore | SqliteStore) -> tuple[Mnemic, Clock]:
    clock = Clock()
    parts = Engine(store=store, index=ScanIndex(), embedder=None, clock=clock, observer=CounterObserver())
    return Mnemic(parts, actor="tester"), clock


@cache
def plain() -> list[object]:
    """The story with no metadata."""
    return Story(*opened(MemoryStore()), {}).run()


def test_the_story_reaches_every_kind_of_bookkeeping():
    last = repr(plain())
    for key in ("slot", "merged_ids", "chosen_ids", "positions", "turn_range", "import"):
        assert f"('{key}'" in last, key


@pytest.mark.requirement("R-50")
@given(METADATA)
@example(HOSTILE)
@settings(max_examples=25, deadline=None)
def test_every_verb_does_with_any_metadata_what_it_does_with_none(metadata: Mapping[str, object]):
    story = Story(*opened(MemoryStore()), metadata)
    assert story.run() == plain()
    story.assert_given_back()


def test_it_is_so_in_a_file_too(tmp_path: Path):
    store = SqliteStore(tmp_path / "memory.db")
    story = Story(*opened(store), HOSTILE)
    assert story.run() == plain()
    story.assert_given_back()
    store.close()


@given(METADATA)
@example(HOSTILE)
@settings(max_examples=5, deadline=None)
def test_exports_imports_and_backups_keep_both_apart(metadata: Mapping[str, object]):
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "a.db", Path(folder) / "b.db"
        with Mnemic.open(Config(store=str(source), embedder="none")) as mnemic:
            story = Story(mnemic, Clock(), metadata)
            kept = [story.remember(text) for text in ("User lives in Berlin", "User lives in Porto", "User likes tea")]
            mnemic.merge(ANNA, [kept[2].id, story.remember("User likes green tea").id])
            before, lines = story.all(), list(mnemic.export(ANNA))
            mnemic.backup(Path(folder) / "backup.zip")
        with Mnemic.open(Config(store=str(target), embedder="none")) as mnemic:
            mnemic.restore(Path(folder) / "backup.zip")
            assert Story(mnemic, Clock(), {}).all() == before
            mnemic.import_(BERT, "\n".join(lines))
            theirs = Story(mnemic, Clock(), {}).all(BERT)
            assert [replace(each, partition=before[0].partition) for each in theirs] == before
            mnemic.undo(BERT, kept[2].id)
            assert told(Story(mnemic, Clock(), {}).all()) == told(before), "what Bert undoes is his"


def test_an_imported_file_reaches_nothing_of_another_owner():
    mnemic, _ = opened(MemoryStore())
    hers = mnemic.remember(ANNA, "User keeps a diary")
    mine = mnemic.remember(BERT, "User likes soup")
    header, record = list(mnemic.export(BERT))[:2]
    stolen = json.loads(record) | {"id": "stranger", "text": "User keeps a key", "dedup_key": "x"}
    stolen["bookkeeping"] = {"chosen": "x", "chosen_ids": [hers.id, mine.id], "merged_ids": [hers.id]}
    report = mnemic.import_(BERT, "\n".join([header, json.dumps(stolen)]))
    assert not report.problems
    before = mnemic.get(ANNA, hers.id)
    mnemic.delete(BERT, "stranger")
    assert mnemic.get(ANNA, hers.id) == before
    assert [memory.id for memory in mnemic.list(ANNA).memories] == [hers.id]


@pytest.mark.parametrize(
    "bookkeeping", [{"slots": 1}, {"slot": 1}, {"merged_ids": "x"}, {"import": {"x": 1}}, {"positions": ["1"]}, []]
)
def test_a_file_that_notes_what_mnemic_never_writes_is_refused(bookkeeping: object):
    mnemic, _ = opened(MemoryStore())
    mnemic.remember(ANNA, "User likes soup")
    header, record = list(mnemic.export(ANNA))[:2]
    (problem,) = mnemic.import_(
        BERT, "\n".join([header, json.dumps(json.loads(record) | {"bookkeeping": bookkeeping})])
    ).problems
    assert "bookkeeping" in problem or "metadata" in problem


@pytest.mark.parametrize("provenance", ["x", ["x"], 7, [None], {"source_id": "x"}])
def test_a_provenance_that_is_none_is_refused(provenance: Any):
    mnemic, _ = opened(MemoryStore())
    with pytest.raises(InvalidInputError, match="provenance"):
        cast("Any", mnemic).remember(ANNA, "User likes soup", provenance=provenance)
    with pytest.raises(InvalidInputError, match="provenance"):
        mnemic.remember_many(ANNA, [MemoryDraft(text="User likes soup", provenance=provenance)])


def test_no_caller_sets_bookkeeping_or_filters_by_it():
    mnemic, _ = opened(MemoryStore())
    memory = mnemic.remember(ANNA, "User lives in Porto")
    untyped: Any = mnemic
    for verb in (
        lambda: untyped.remember(ANNA, "x", bookkeeping={}),
        lambda: untyped.remember_many(ANNA, [{"text": "x", "bookkeeping": {}}]),
        lambda: untyped.update(ANNA, memory.id, bookkeeping={}),
        lambda: untyped.capture(ANNA, [{"role": "user", "content": "x", "bookkeeping": {}}]),
        lambda: untyped.list(ANNA, filter={"bookkeeping.slot": "home"}),
        lambda: untyped.recall(ANNA, "x", filter={"bookkeeping.slot": "home"}),
    ):
        with pytest.raises((InvalidInputError, TypeError)):
            verb()
