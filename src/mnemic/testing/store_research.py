"""What `ResearchSteps` promises."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from mnemic.errors import UnsupportedError
from mnemic.model.document import Document, DocumentStatus, Step
from mnemic.model.scope import Level, Partition
from mnemic.ports.store import Store
from mnemic.testing.samples import ANNA, ANNA_ELSEWHERE, BERT, HERS, MINUTE, NOW, a_document, fill_document

HIS = BERT.partition(Level.USER)
SHARED = ANNA.partition(Level.ORG)


def a_step(key: str = "k", **changes: Any) -> Step:
    """One that was answered at `NOW`."""
    return replace(Step(key=key, reply="Ω 'x'\x00 😀", at=NOW, prompt_tokens=7, completion_tokens=3), **changes)


def keep(store: Store, document: Document, *steps: Step, partition: Partition = HERS) -> int:
    """Put steps in one unit of work."""
    with store.write() as work:
        return work.research.put(partition, document, steps)


def kept(store: Store, document: Document, *keys: str, partition: Partition = HERS) -> dict[str, Step]:
    """The steps of these keys."""
    with store.read() as work:
        return work.research.get(partition, document, keys)


class ResearchStepsContract:
    """Tests of `ResearchSteps`; each takes an empty open store."""

    def test_a_step_returns_as_it_was_kept_and_the_last_of_a_key_counts(self, store: Store):
        document = a_document()
        fill_document(store, document, "Tea is hot.")
        assert keep(store, document, a_step(), a_step("k2", reply="")) == 2
        assert kept(store, document, "k", "k2", "unknown") == {"k": a_step(), "k2": a_step("k2", reply="")}
        later = a_step(reply="other", at=NOW + MINUTE, prompt_tokens=0, completion_tokens=2**40)
        assert keep(store, document, later) == 1
        assert kept(store, document, "k") == {"k": later}
        assert kept(store, document) == {}

    def test_a_step_is_found_by_who_asked_and_about_its_document_alone(self, store: Store):
        mine, shared = a_document(), a_document(partition=SHARED)
        elsewhere = a_document(partition=ANNA_ELSEWHERE.partition(Level.USER))
        for each in (mine, shared, elsewhere):
            fill_document(store, each, "Tea is hot.")
        keep(store, shared, a_step())
        assert kept(store, shared, "k") == {"k": a_step()}
        assert kept(store, shared, "k", partition=HIS) == {}
        assert kept(store, mine, "k") == {}
        assert kept(store, elsewhere, "k", partition=elsewhere.partition) == {}

    def test_keeping_a_step_moves_no_version(self, store: Store):
        document = a_document()
        fill_document(store, document, "Tea is hot.")
        with store.read() as work:
            before = work.partitions.versions([HERS])
        keep(store, document, a_step())
        with store.read() as work:
            assert work.partitions.versions([HERS]) == before

    def test_nothing_is_kept_about_a_document_that_is_not_stored_as_it_was(self, store: Store):
        document, never = a_document(), a_document("other.md")
        fill_document(store, document, "Tea is hot.")
        later = replace(document, updated_at=NOW + MINUTE, status=DocumentStatus.PROCESSING)
        with store.write() as work:
            work.documents.put([later])
        assert keep(store, document, a_step()) == 0
        assert keep(store, never, a_step()) == 0
        assert keep(store, later, a_step()) == 1
        with store.write() as work:
            work.documents.erase(HERS, [document.id], NOW + 2 * MINUTE)
        assert keep(store, replace(later, updated_at=NOW + 2 * MINUTE), a_step()) == 0

    def test_steps_go_with_the_text_they_are_about(self, store: Store):
        refilled, erased, other = a_document("a.md"), a_document("b.md", SHARED), a_document("c.md")
        for each in (refilled, erased, other):
            fill_document(store, each, "Tea is hot.")
            keep(store, each, a_step())
            keep(store, each, a_step(), partition=HIS)
        fill_document(store, refilled, "Tea is cold.")
        with store.write() as work:
            work.documents.erase(SHARED, [erased.id], NOW)
        for partition in (HERS, HIS):
            assert kept(store, refilled, "k", partition=partition) == {}
            assert kept(store, erased, "k", partition=partition) == {}
            assert kept(store, other, "k", partition=partition) == {"k": a_step()}

    def test_steps_are_counted_and_wiped_with_who_asked_and_with_where_the_document_lies(self, store: Store):
        mine, shared = a_document(), a_document(partition=SHARED)
        for each in (mine, shared):
            fill_document(store, each, "Tea is hot.")
            keep(store, each, a_step())
            keep(store, each, a_step(), partition=HIS)
        with store.write() as work:
            assert work.erasure.count(HIS)["research_steps"] == 2
            assert work.erasure.wipe(HIS) == {"research_steps": 2}
            assert work.erasure.count(HERS)["research_steps"] == 2
            assert work.erasure.wipe(SHARED)["research_steps"] == 1
        assert kept(store, mine, "k") == {"k": a_step()}
        assert kept(store, mine, "k", partition=HIS) == {}
        assert kept(store, shared, "k") == {}

    def test_old_ones_of_every_org_are_forgotten(self, store: Store):
        theirs = ANNA_ELSEWHERE.partition(Level.USER)
        mine, other = a_document(), a_document(partition=theirs)
        for each in (mine, other):
            fill_document(store, each, "Tea is hot.")
            keep(store, each, a_step(at=NOW - MINUTE), a_step("new"), partition=each.partition)
        with store.write() as work:
            assert work.research.forget(NOW) == 2
        assert list(kept(store, mine, "k", "new")) == ["new"]
        assert list(kept(store, other, "k", "new", partition=theirs)) == ["new"]

    def test_a_unit_of_work_that_fails_keeps_nothing(self, store: Store):
        document = a_document()
        fill_document(store, document, "Tea is hot.")
        with suppress(LookupError), store.write() as work:
            work.research.put(HERS, document, [a_step()])
            raise LookupError
        assert kept(store, document, "k") == {}

    def test_a_reading_unit_of_work_keeps_no_step(self, store: Store):
        document = a_document()
        fill_document(store, document, "Tea is hot.")
        with store.read() as work:
            with pytest.raises(UnsupportedError):
                work.research.put(HERS, document, [a_step()])
            with pytest.raises(UnsupportedError):
                work.research.forget(NOW)
