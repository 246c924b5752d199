"""Files that are broken or hostile: told with their lines, and nothing half-written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.item import Memory
from mnemic.ports.store import Store
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.transfer_kit import DORA, fill, lines_of, opened, restored


@pytest.fixture
def lines(mnemic: Mnemic, clock: Clock) -> list[str]:
    fill(mnemic, clock)
    return list(mnemic.export(ANNA))


class TestBrokenFiles:
    @pytest.mark.parametrize("version", [2, 0, "1", None])
    def test_another_version_is_refused(self, mnemic: Mnemic, version: object):
        header = json.dumps({"type": "header", "format": "mnemic-export", "version": version})
        with pytest.raises(InvalidInputError, match="version"):
            mnemic.import_(ANNA, header)

    @pytest.mark.parametrize("text", ["", " \n\n", "{}", '{"format": "mnemic-export", "version": 1', "[1]"])
    def test_what_is_no_export_is_refused(self, mnemic: Mnemic, text: str):
        with pytest.raises(InvalidInputError):
            mnemic.import_(ANNA, text, format="mnemic-export" if "format" in text else None)

    def test_a_line_that_repeats_a_key_is_told(self, lines: list[str]):
        with opened() as other:
            report = restored(other, [lines[0], '{"type": "profile", "type": "memory"}'])
            assert report.problems == ["line 2: not JSON: the key 'type' appears more than once"]

    def test_broken_lines_are_told_with_their_numbers_and_do_not_stop_the_rest(self, lines: list[str]):
        broken = [lines[0], "{half", "[]", "3", '{"a": 1}', '{"type": "poem"}', "", *lines[1:], "[" * 100_000]
        with opened() as other:
            report = restored(other, broken)
            told = {problem.partition(":")[0] for problem in report.problems}
            assert told == {f"line {number}" for number in (2, 3, 4, 5, 6, len(broken))}
            assert lines_of(other) == lines[1:]


HOSTILE: list[dict[str, Any]] = [
    {"id": "../keys/a"},
    {"id": ".."},
    {"id": "a?b"},
    {"id": "a%2fb"},
    {"importance": 7},
    {"importance": "high"},
    {"importance": float("nan")},
    {"importance": True},
    {"importance": None},
    {"confidence": -1},
    {"text": 3},
    {"text": ""},
    {"text": None},
    {"text": ["a"]},
    {"text": "half \ud800"},
    {"text": "x" * 1_000_001},
    {"level": "planet"},
    {"level": None},
    {"level": ["user"]},
    {"level": "session", "level_session": 5},
    {"level": "session", "level_session": "a\u001fb"},
    {"metadata": {"x": "y" * 70_000}},
    {"metadata": []},
    {"metadata": None},
    {"metadata": {"x": float("inf")}},
    {"state": "erased"},
    {"state": "wonderful"},
    {"kind": "rumour"},
    {"kind": None},
    {"trust": 4},
    {"id": ""},
    {"id": None},
    {"id": "x" * 1000},
    {"id": "\udfff"},
    {"created_at": None},
    {"created_at": "yesterday"},
    {"created_at": 3},
    {"updated_at": "0001-01-01T00:00:00+23:00"},
    {"valid_from": "2026-01-02", "valid_to": "2026-01-01"},
    {"faded": 1.5},
    {"faded": "low"},
    {"faded": float("nan")},
    {"access_count": -1},
    {"access_count": 10**30},
    {"access_count": 1.5},
    {"is_pinned": "yes"},
    {"categories": "abc"},
    {"categories": [1]},
    {"categories": ["x"] * 3 + ["y" * 100]},
    {"provenance": [{"source_id": "a"}]},
    {"provenance": "x"},
    {"flags": "x"},
    {"flags": None},
    {"flags": [{"source_id": "a"}]},
    {"flags": [{"source_id": "a", "cause": "bored", "at": "2026-01-01T00:00:00+00:00", "entry_id": "e"}]},
    {"flags": [{"source_id": 1, "cause": "erased", "at": "2026-01-01T00:00:00+00:00", "entry_id": "e"}]},
    {"flags": [{"source_id": "a", "cause": "erased", "at": "2026-01-01T00:00:00+00:00", "entry_id": "e"}] * 21},
    {"flags": [{"source_id": "a\u0000", "cause": "erased", "at": "2026-01-01T00:00:00+00:00", "entry_id": "e"}]},
    {"flags": [{"source_id": "a", "cause": "erased", "at": "then", "entry_id": "e"}]},
    {"provenance": [{"source_id": 1, "start": "a", "end": 0, "extractor": "", "version": "", "support": 2}]},
    {"context": "x" * 1_000_001},
    {"source": {"a": 1}},
    {"other_id": 7},
    {"agent": "a" * 300},
    {"private_agent": 8},
    {"dedup_key": 9},
]


@pytest.fixture
def record(lines: list[str]) -> dict[str, Any]:
    """A record of a memory that can be used."""
    return json.loads(next(line for line in lines if '"type":"memory"' in line and "smoked" not in line))


class TestHostileRecords:
    @pytest.mark.parametrize("change", HOSTILE, ids=lambda change: json.dumps(change)[:40])
    def test_a_record_that_mnemic_would_never_write_is_refused_and_leaves_nothing(
        self, mnemic: Mnemic, store: Store, lines: list[str], record: dict[str, Any], change: dict[str, Any]
    ):
        before = state_of(store)
        report = restored(mnemic, [lines[0], json.dumps({**record, **change})], DORA)
        assert report.added == {}
        assert [problem.partition(":")[0] for problem in report.problems] == ["line 2"]
        assert len(report.problems[0]) < 400
        assert state_of(store) == before

    @pytest.mark.parametrize("name", sorted(set(Memory.__dataclass_fields__) - {"partition", "flags", "bookkeeping"}))
    def test_a_record_without_a_field_is_refused(
        self, mnemic: Mnemic, lines: list[str], record: dict[str, Any], name: str
    ):
        del record[name]
        (problem,) = restored(mnemic, [lines[0], json.dumps(record)], DORA).problems
        assert problem == f"line 2: invalid record: {name} is missing"

    def test_a_forged_dedup_key_is_made_anew(self, mnemic: Mnemic, lines: list[str], record: dict[str, Any]):
        forged = {**record, "id": "forged", "text": "green tea", "dedup_key": "something else", "private_agent": None}
        forged["kind"] = "fact"
        assert restored(mnemic, [lines[0], json.dumps(forged)]).known == {"memory": 1}

    def test_times_without_a_zone_are_utc_and_others_are_turned(
        self, mnemic: Mnemic, lines: list[str], record: dict[str, Any]
    ):
        given = {"observed_at": "2026-01-01T10:00:00", "created_at": "2026-01-01T10:00:00+02:00"}
        restored(mnemic, [lines[0], json.dumps({**record, **given, "id": "new", "text": "new"})], DORA)
        kept = mnemic.get(DORA, "new")
        assert kept.observed_at.isoformat() == "2026-01-01T10:00:00+00:00"
        assert kept.created_at.isoformat() == "2026-01-01T08:00:00+00:00"

    @pytest.mark.parametrize(
        "change",
        [
            {"level": "agent"},
            {"level": "org"},
            {"position": 0},
            {"position": "1"},
            {"turn": 2**40},
            {"role": "king"},
            {"role": None},
            {"session": ""},
            {"session": "a\nb"},
            {"name": "n" * 300},
            {"external_id": 4},
            {"text": " "},
            {"state": "erased"},
        ],
        ids=json.dumps,
    )
    def test_a_message_that_cannot_be_is_refused(
        self, mnemic: Mnemic, store: Store, lines: list[str], change: dict[str, Any]
    ):
        record = json.loads(next(line for line in lines if '"type":"message"' in line))
        before = state_of(store)
        assert len(restored(mnemic, [lines[0], json.dumps({**record, **change})], DORA).problems) == 1
        assert state_of(store) == before

    def test_history_that_belongs_to_nothing_or_is_told_twice_is_left_out(
        self, mnemic: Mnemic, lines: list[str], record: dict[str, Any]
    ):
        entry = next(json.loads(line) for line in lines if '"type":"history"' in line)
        mine = {**entry, "item_id": "new", "level": "agent"}
        made = [{**record, "id": "new", "text": "new"}, mine, mine, {**entry, "item_id": "nobody", "id": "e"}]
        assert restored(mnemic, [lines[0], *map(json.dumps, made)], DORA).problems == []
        assert [e.id for e in mnemic.history(DORA, "new")] == [entry["id"]]
        with pytest.raises(NotFoundError):
            mnemic.history(DORA, "nobody")

    def test_two_messages_at_one_place_are_both_kept(self, mnemic: Mnemic, lines: list[str]):
        record = json.loads(next(line for line in lines if '"type":"message"' in line))
        made = [{**record, "id": f"m{number}", "external_id": None} for number in range(3)]
        assert restored(mnemic, [lines[0], *map(json.dumps, made)], DORA).added == {"message": 3}
