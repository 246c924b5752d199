"""What `Contexts` promises."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mnemic.errors import UnsupportedError
from mnemic.model.recall import ContextQuery, ContextRecord, ShownItem
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.ports.store import Store
from mnemic.testing.samples import ANNA_ELSEWHERE, BERT, HERS, MINUTE, NOW, a_memory, a_message, add_memories

HIS = BERT.partition(Level.USER)
ELSEWHERE = ANNA_ELSEWHERE.partition(Level.USER)
DAY = timedelta(days=1)


def a_record(id: str = "c1", **changes: Any) -> ContextRecord:
    """One of Anna's, built at `NOW`."""
    record = ContextRecord(
        id=id,
        partition=HERS,
        at=NOW,
        door="proxy",
        session="s1",
        agent="helper",
        query="Ω 'where'\x00 😀",
        settings={"budget_tokens": 2048},
        blocks={"facts": 12},
        items=(ShownItem("m1", "facts", 0.75), ShownItem("m2", "facts")),
        tokens=12,
        took_ms=3.5,
    )
    return replace(record, **changes)


def keep(store: Store, *records: ContextRecord) -> int:
    """Add records in one unit of work, to partitions that hold a memory."""
    for partition in {each.partition for each in records}:
        with store.read() as work:
            is_known = bool(work.partitions.versions([partition])[partition])
        if not is_known:
            add_memories(store, a_memory(partition=partition))
    with store.write() as work:
        return work.contexts.add(records)


def kept(store: Store, *partitions: Partition, **query: Any) -> list[str]:
    """The ids of the records in these partitions, by default Anna's."""
    with store.read() as work:
        return [each.id for each in work.contexts.list(Visibility(partitions or (HERS,), None), ContextQuery(**query))]


class ContextsContract:
    """Tests of `Contexts`; each takes an empty open store."""

    def test_a_record_returns_as_it_was_added_newest_first(self, store: Store):
        first, second = a_record(), a_record("c2", session=None, agent=None, query="", items=(), blocks={})
        assert keep(store, first, second) == 2
        with store.read() as work:
            assert work.contexts.list(Visibility((HERS,), None), ContextQuery()) == [second, first]
        assert kept(store, limit=1) == ["c2"]
        assert kept(store, after="c2") == ["c1"]

    def test_records_are_found_by_their_partition_alone(self, store: Store):
        keep(store, a_record(), a_record("c2", partition=HIS), a_record("c3", partition=ELSEWHERE))
        assert kept(store) == ["c1"]
        assert kept(store, HIS, HERS) == ["c2", "c1"]
        assert kept(store, ELSEWHERE) == ["c3"]

    def test_records_are_found_by_session_agent_message_and_id(self, store: Store):
        keep(store, a_record(), a_record("c2", session="s2", agent=None), a_record("c3", message_id="m"))
        assert kept(store, session="s1") == ["c3", "c1"]
        assert kept(store, agent="helper") == ["c3", "c1"]
        assert kept(store, message_id="m") == ["c3"]
        assert kept(store, id="c2") == ["c2"]

    def test_a_partition_that_was_never_written_or_was_wiped_gets_no_record(self, store: Store):
        with store.write() as work:
            assert work.contexts.add([a_record(partition=HIS)]) == 0
        keep(store, a_record())
        with store.write() as work:
            assert work.erasure.count(HERS)["context_records"] == 1
            assert work.erasure.wipe(HERS)["context_records"] == 1
        with store.write() as work:
            assert work.contexts.add([a_record()]) == 0
        assert kept(store, HERS, HIS) == []

    def test_a_message_is_noted_in_the_records_of_its_text_and_session(self, store: Store):
        message = a_message(1, id="m9", session="s1", created_at=NOW + MINUTE)
        others = (
            a_record("c2", session=None, query="tea"),
            a_record("c3", session="s2", query="tea"),
            a_record("c4", query="coffee"),
            a_record("c5", query="tea", at=NOW - 2 * DAY),
            a_record("c6", query="tea", message_id="known"),
            a_record("c7", query="tea", partition=HIS),
        )
        keep(store, a_record(query="tea"), *others)
        with store.write() as work:
            assert work.contexts.link(message, "tea", DAY) == 2
        assert kept(store, HERS, HIS, message_id="m9") == ["c2", "c1"]
        with store.read() as work:
            found = work.contexts.list(Visibility((HERS,), None), ContextQuery(message_id="m9"))
        assert {each.query for each in found} == {""}

    def test_records_are_erased_by_id_within_their_partition(self, store: Store):
        keep(store, a_record(), a_record("c2"), a_record(partition=HIS))
        with store.write() as work:
            assert work.contexts.erase(HERS, ["c1", "unknown"]) == 1
        assert kept(store) == ["c2"]
        assert kept(store, HIS) == ["c1"]

    def test_old_records_and_those_beyond_the_most_of_a_partition_are_forgotten(self, store: Store):
        keep(store, *(a_record(f"c{place}", at=NOW + place * MINUTE) for place in range(5)), a_record(partition=HIS))
        with store.write() as work:
            assert work.contexts.forget(NOW + MINUTE, 3) == 3
        assert kept(store) == ["c4", "c3", "c2"]
        assert kept(store, HIS) == []

    def test_a_reading_unit_of_work_changes_no_record(self, store: Store):
        keep(store, a_record())
        with store.read() as work:
            for change in (
                lambda: work.contexts.add([a_record("c2")]),
                lambda: work.contexts.link(a_message(1), "x", DAY),
                lambda: work.contexts.erase(HERS, ["c1"]),
                lambda: work.contexts.forget(NOW + DAY, 0),
            ):
                with pytest.raises(UnsupportedError):
                    change()
        assert kept(store) == ["c1"]
