"""Export and import: nothing lost, nothing doubled, nothing half-written, whatever the file says."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine import imports as restore_export
from mnemic.engine.digest import Derived, add_derived, derived_memory
from mnemic.engine.engine import Engine
from mnemic.errors import ConflictError, NotFoundError, UnavailableError
from mnemic.model.item import EXTRACTED, SUMMARISED, Kind, Memory
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.transfer_kit import DORA, fill, lines_of, opened, restored


@pytest.fixture
def lines(mnemic: Mnemic, clock: Clock) -> list[str]:
    fill(mnemic, clock)
    return list(mnemic.export(ANNA))


def move(store: Store, *, was: int = 0, **cursors: int) -> None:
    """Move cursors of Anna's session."""
    with store.write() as work:
        for name, to in cursors.items():
            assert work.conversations.move(ANNA.message_partition, "s1", name, was, to)


def cursors(store: Store) -> list[int]:
    """Where the cursors of Anna's session stand."""
    with store.read() as work:
        return [work.conversations.cursor(ANNA.message_partition, "s1", name) for name in (SUMMARISED, EXTRACTED)]


class TestLossless:
    @pytest.mark.requirement("P-08")
    def test_an_export_read_back_gives_the_same_export(self, lines: list[str]):
        with opened() as other:
            report = restored(other, lines)
            assert lines_of(other) == lines[1:]
        assert report.problems == []
        assert report.added == {"profile": 2, "message": 7, "memory": 6}
        assert report.known == {}

    @pytest.mark.requirement("P-08")
    def test_a_summary_in_the_words_of_a_fact_keeps_its_key(self, mnemic: Mnemic, parts: Engine):
        for text in ("Anna lives in Lyon.", "User lives in Lyon."):
            fact = mnemic.remember(ANNA, text)
            made = Derived(text=text, kind=Kind.SUMMARY, importance=0.5, provenance=())
            with parts.store.write() as work:
                assert add_derived(
                    parts, work, derived_memory(made, [fact], parts.clock.now()), None, actor="x", reason=""
                )
        lines = list(mnemic.export(ANNA))
        forged = [line.replace('"summary anna lives', '"summary anna works') for line in lines]
        with opened() as other, opened() as third:
            assert restored(other, lines).added == {"memory": 4}
            assert lines_of(other) == lines[1:]
            assert restored(third, forged).added == {"memory": 3}

    def test_what_a_memory_has_faded_to_is_kept(self, mnemic: Mnemic, store: Store, lines: list[str]):
        (memory,) = [memory for memory in mnemic.list(ANNA).memories if memory.text == "Anna signed the lease"]
        with store.write() as work:
            work.upkeep.fade(memory.partition, {memory.id: 0.125})
        faded = list(mnemic.export(ANNA))
        assert len(faded) == len(lines)
        with opened() as other:
            restored(other, faded)
            assert lines_of(other) == faded[1:]
            kept = other.get(ANNA, memory.id)
            assert isinstance(kept, Memory)
            assert kept.faded == 0.125

    def test_how_far_a_conversation_was_worked_on_is_kept(self, mnemic: Mnemic, store: Store, lines: list[str]):
        move(store, summarised=5, extracted=2)
        exported, there = list(mnemic.export(ANNA)), MemoryStore()
        assert len(exported) == len(lines) + 1
        with opened(there) as other:
            for _ in range(2):
                restored(other, exported)
                assert lines_of(other) == exported[1:]
            move(there, summarised=7, was=5)
            restored(other, exported)
            assert cursors(there) == [7, 2]

    def test_a_conversation_that_holds_other_messages_counts_as_not_worked_on(
        self, mnemic: Mnemic, store: Store, lines: list[str]
    ):
        move(store, summarised=5)
        exported, there = list(mnemic.export(ANNA)), MemoryStore()
        assert len(exported) == len(lines) + 1
        with opened(there) as other:
            other.capture(ANNA, user="said here before")
            assert restored(other, exported).problems == []
            assert cursors(there) == [0, 0]

    def test_a_cursor_never_passes_the_last_message(self, lines: list[str]):
        there = MemoryStore()
        with opened(there) as other:
            record = {
                "type": "conversation",
                "level": "user",
                "session": "s1",
                "cursors": {"summarised": 99, "more": 1},
            }
            assert restored(other, [*lines, json.dumps(record)]).problems == []
            assert cursors(there) == [7, 0]

    @pytest.mark.parametrize(
        "change",
        [
            {"session": None},
            {"session": "a\u001fb"},
            {"level": "agent"},
            {"level": None},
            {"cursors": [1]},
            {"cursors": {"summarised": -1}},
            {"cursors": {"summarised": "5"}},
            {"cursors": {"summarised": True}},
        ],
    )
    def test_cursors_that_mnemic_would_never_write_are_refused(self, lines: list[str], change: dict[str, Any]):
        record = {"type": "conversation", "level": "user", "session": "s1", "cursors": {"summarised": 5}}
        there = MemoryStore()
        with opened(there) as other:
            report = restored(other, [*lines, json.dumps({**record, **change})])
            assert [problem.partition(":")[0] for problem in report.problems] == [f"line {len(lines) + 1}"]
            assert cursors(there) == [0, 0]

    def test_no_erased_row_is_written(self, lines: list[str]):
        assert not any('"gone"' in line or '"erased"' in line for line in lines)

    def test_every_state_is_kept(self, lines: list[str]):
        records = [json.loads(line) for line in lines]
        template = next(record for record in records if record["type"] == "memory")
        states = ("active", "quarantined", "superseded", "disputed", "archived")
        made = [{**template, "id": f"id-{s}", "text": f"is {s}", "state": s, "private_agent": None} for s in states]
        with opened() as other:
            restored(other, [lines[0], *map(json.dumps, made)])
            kept = [json.loads(line) for line in lines_of(other)]
        assert {record["id"]: record["state"] for record in kept} == {f"id-{state}": state for state in states}

    def test_a_message_keeps_its_place_whatever_the_order_of_the_file(self, lines: list[str]):
        header, *rest = lines
        messages = [line for line in rest if '"type":"message"' in line]
        with opened() as other:
            restored(other, [header, *reversed(messages)])
            turn = [json.loads(line)["position"] for line in lines_of(other)]
            assert sorted(turn) == [1, 2, 3, 4, 5, 6, 7]
            assert lines_of(other) == messages

    def test_batches_divide_nothing(self, lines: list[str], monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(restore_export, "BATCH", 1)
        with opened() as other:
            assert restored(other, lines).problems == []
            assert lines_of(other) == lines[1:]

    def test_what_was_found_is_found_again(self, lines: list[str]):
        with opened() as other:
            restored(other, lines, DORA)
            assert other.recall(DORA, "lease").hits[0].text == "Anna signed the lease"
            assert other.context(DORA, "tea").blocks["profile"].endswith("city: Lisbon\ntea: smoked")

    def test_a_mark_at_the_start_and_other_line_ends_are_no_obstacle(self, lines: list[str]):
        with opened() as other:
            report = other.import_(ANNA, "\ufeff" + "\r\n".join(lines) + "\r\n\r\n")
            assert (report.problems, lines_of(other)) == ([], lines[1:])

    def test_an_export_of_one_level_holds_nothing_of_another(self, mnemic: Mnemic, lines: list[str]):
        assert lines
        levels = {json.loads(line).get("level") for line in mnemic.export(ANNA, levels=["agent"])}
        assert levels == {None, "agent"}
        assert not any('"profile"' in line for line in mnemic.export(ANNA, levels=["agent"]))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(lambda t: bool(t.strip()))
OPERATIONS = st.one_of(
    st.tuples(st.just("remember"), TEXTS, st.sampled_from(["user", "agent", "session"]), st.booleans()),
    st.tuples(st.just("capture"), TEXTS),
    st.tuples(st.just("profile"), st.sampled_from("abc"), TEXTS),
    st.tuples(st.just("update"), st.integers(0, 20), TEXTS),
    st.tuples(st.just("outdated"), st.integers(0, 20)),
    st.tuples(st.just("delete"), st.integers(0, 20)),
    st.tuples(st.just("wait"), st.integers(0, 10_000)),
)


def perform(mnemic: Mnemic, clock: Clock, operation: tuple[Any, ...], ids: list[str]) -> None:
    match operation:
        case ("remember", text, level, is_private):
            ids.append(mnemic.remember(ANNA, text, level=level, is_private=is_private).id)
        case ("capture", text):
            mnemic.capture(ANNA, user=text, assistant=f"so {text}")
        case ("profile", key, text):
            mnemic.profile.set(ANNA, {key: text})
        case ("wait", seconds):
            clock.turn(seconds=seconds)
        case (verb, place, *text) if ids:
            change_one(mnemic, str(verb), ids[int(place) % len(ids)], [str(word) for word in text])
        case _:
            pass


def change_one(mnemic: Mnemic, verb: str, memory: str, text: list[str]) -> None:
    with suppress(NotFoundError, ConflictError):  # deleted before, or another says the same
        if verb == "update":
            mnemic.update(ANNA, memory, text=text[0])
        elif verb == "outdated":
            mnemic.feedback(ANNA, memory, "outdated")
        else:
            mnemic.delete(ANNA, memory)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(operations=st.lists(OPERATIONS, max_size=25), batch=st.sampled_from([1, 2, 200]))
@pytest.mark.requirement("P-08")
def test_any_store_moves_without_loss_once_and_as_foretold(operations: list[tuple[Any, ...]], batch: int):
    clock, ids = Clock(), list[str]()
    with pytest.MonkeyPatch.context() as patch, opened(clock=clock) as mnemic, opened(clock=clock) as other:
        patch.setattr(restore_export, "BATCH", batch)
        for operation in operations:
            perform(mnemic, clock, operation, ids)
        lines = list(mnemic.export(ANNA))
        foretold = restored(other, lines, is_dry_run=True)
        assert lines_of(other) == []
        report = restored(other, lines)
        assert (report.added, report.known, report.problems) == (foretold.added, foretold.known, [])
        assert lines_of(other) == lines[1:]
        again = restored(other, lines)
        assert (again.added, lines_of(other)) == ({}, lines[1:])


class TestUsedPlace:
    def test_a_second_import_changes_nothing(self, store: Store, mnemic: Mnemic, lines: list[str]):
        before = state_of(store)
        report = restored(mnemic, lines)
        assert (report.added, report.known) == ({}, {"profile": 2, "message": 7, "memory": 6})
        assert state_of(store) == before

    def test_what_says_the_same_is_not_doubled_and_the_rest_comes_in(self, lines: list[str]):
        with opened() as other:
            mine = other.remember(ANNA, "  GREEN tea ")
            other.capture(ANNA, user="mine")
            report = restored(other, lines)
            assert report.added == {"profile": 2, "message": 7, "memory": 5}
            assert report.known == {"memory": 1}
            texts = [memory.text for memory in other.list(ANNA, limit=100).memories]
            assert [text for text in texts if "green" in text.lower()] == [mine.text]
            positions = [r["position"] for r in map(json.loads, lines_of(other)) if r["type"] == "message"]
            assert sorted(positions) == list(range(1, 9))

    def test_what_was_deleted_here_does_not_come_back(self, mnemic: Mnemic, lines: list[str]):
        memory = mnemic.list(ANNA).memories[0]
        message = next(json.loads(line)["id"] for line in lines if '"type":"message"' in line)
        mnemic.delete(ANNA, memory.id)
        mnemic.delete(ANNA, message)
        assert restored(mnemic, lines).added == {}
        for gone in (memory.id, message):
            with pytest.raises(NotFoundError):
                mnemic.get(ANNA, gone)

    def test_an_older_fact_of_a_profile_does_not_replace_a_newer_one(self, mnemic: Mnemic, lines: list[str]):
        mnemic.profile.set(ANNA, {"city": "Porto"})
        restored(mnemic, lines)
        assert mnemic.profile.get(ANNA)["city"] == "Porto"

    def test_rows_become_those_of_the_importer_and_of_nobody_else(self, store: Store, mnemic: Mnemic, lines: list[str]):
        report = restored(mnemic, lines, DORA)
        assert report.known == {"memory": 1}  # of the agent that both speak to
        assert {hit.item.partition.owner for hit in mnemic.recall(DORA, "lease", limit=None)} <= {"dora", "jarvis"}
        records = [json.loads(line) for line in mnemic.export(DORA, levels=["session"])]
        assert [r["level_session"] for r in records if r["type"] == "memory"] == ["s1"]
        assert store.capabilities is not None

    def test_a_private_memory_is_private_to_the_importers_agent_or_is_refused(self, lines: list[str]):
        with opened() as other:
            report = restored(other, lines, replace(DORA, agent=None))
            assert sum("private to an agent" in problem for problem in report.problems) == 1
            assert sum("level='agent' requires" in problem for problem in report.problems) == 2
            restored(other, lines, replace(DORA, agent="hal"))
            assert other.recall(replace(DORA, agent="hal"), "lease").hits[0].text == "Anna signed the lease"
            assert all("lease" not in hit.text for hit in other.recall(DORA, "lease", limit=None))


class TestDryRun:
    @pytest.mark.requirement("P-08")
    def test_it_changes_nothing_and_foretells_what_the_deed_does(self, store: Store, mnemic: Mnemic, lines: list[str]):
        mnemic.remember(DORA, "green tea")
        doubled = [*lines, *[line for line in lines if '"type":"memory"' in line], "{broken"]
        before = state_of(store)
        foretold = restored(mnemic, doubled, DORA, is_dry_run=True)
        assert state_of(store) == before
        done = restored(mnemic, doubled, DORA)
        assert (foretold.added, foretold.known, foretold.problems) == (done.added, done.known, done.problems)
        assert foretold.is_dry_run
        assert not done.is_dry_run
        assert done.known["memory"] == 8  # six doubles, what Dora knew, what the agent knew


class TestFaults:
    def test_a_store_that_fails_leaves_whole_batches_and_the_next_try_finishes(
        self, lines: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(restore_export, "BATCH", 3)
        for nth in range(1, 60, 4):
            store = MemoryStore()
            failing, mended = opened(FaultyStore(store, Fault(nth))), opened(store)
            with pytest.raises(UnavailableError):
                restored(failing, lines)
            assert set(lines_of(mended)) <= set(lines)
            assert restored(mended, lines).problems == []
            assert lines_of(mended) == lines[1:]
