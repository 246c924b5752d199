"""Tombstones of passages go by night, and no index that has not seen them takes what is gone for what is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import catch_up, search
from mnemic.engine.upkeep import AT_ONCE, LEAST_TOMBSTONES, compact_partition
from mnemic.model.candidates import IndexQuery
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.item import Chunk
from mnemic.ports.store import Store
from mnemic.testing.samples import ANNA, HERS, a_document, fill_document
from tests.unit.engine.kit import Clock, WordEmbedder

PartsOf = Callable[..., Engine]
WORDS = [f"word{number}" for number in range(LEAST_TOMBSTONES)]


def tombstones(store: Store) -> int:
    with store.read() as work:
        return work.partitions.tombstones(HERS)


def read_again(store: Store, times: int = 1) -> Document:
    """A document that was read with a hundred passages, and then so often with one."""
    document = a_document()
    fill_document(store, document, *WORDS)
    for number in range(times):
        fill_document(store, document, f"the end {number}")
    return document


def found(parts: Engine, *terms: str) -> tuple[list[str], int]:
    """The ids of the passages that an index offers, and how many it counts."""
    query = IndexQuery(
        partitions=ANNA.visibility.partitions, agent="jarvis", now=0, terms=terms, vector=None, dense_limit=10
    )
    candidates = search(parts, query, passages=True)
    return list(candidates.ids), candidates.items


def test_enough_tombstones_go_and_a_few_wait(store: Store, parts: Engine):
    document = a_document()
    fill_document(store, document, *WORDS[1:])
    fill_document(store, document, "one")
    assert compact_partition(parts, HERS) == 0
    fill_document(store, document, "two")
    assert compact_partition(parts, HERS) == LEAST_TOMBSTONES
    assert tombstones(store) == 0
    assert compact_partition(parts, HERS) == 0


def test_tombstones_wait_until_they_are_a_tenth_of_the_rows(store: Store, parts: Engine):
    fill_document(store, a_document("large.md"), *(f"passage {number}" for number in range(1005)))
    document = read_again(store)
    assert compact_partition(parts, HERS) == 0
    fill_document(store, document, "one")
    assert compact_partition(parts, HERS) == LEAST_TOMBSTONES + 1


def test_more_than_one_transaction_may_hold_go(store: Store, parts: Engine):
    document = a_document()
    fill_document(store, document, *(f"passage {number}" for number in range(AT_ONCE + 5)))
    fill_document(store, document, "one")
    assert compact_partition(parts, HERS) == AT_ONCE + 5


@pytest.mark.parametrize("has_seen_them", [False, True])
def test_an_index_of_another_process_knows_what_is_gone_whether_it_saw_the_tombstones_or_not(
    store: Store, make_parts: PartsOf, *, has_seen_them: bool
):
    document = a_document()
    first = fill_document(store, document, *WORDS)
    behind, other = make_parts(WordEmbedder()), make_parts(WordEmbedder())
    assert found(behind, "word7") == ([first[7].id], LEAST_TOMBSTONES)
    (last,) = fill_document(store, document, "the last word7")
    if has_seen_them:
        catch_up(behind, [HERS])
    assert compact_partition(other, HERS) == LEAST_TOMBSTONES
    assert found(behind, "word7") == ([last.id], 1)
    assert found(make_parts(WordEmbedder()), "word7") == ([last.id], 1)


def test_an_index_of_another_process_forgets_who_was_erased_and_began_anew(store: Store, make_parts: PartsOf):
    fill_document(store, a_document(), "secret word7")
    behind = make_parts(WordEmbedder())
    assert found(behind, "secret")[1] == 1
    with store.write() as work:
        work.erasure.wipe(HERS)
    (new,) = fill_document(store, a_document(), "word9")
    assert found(behind, "secret", "word9") == ([new.id], 1)


def test_the_job_of_the_night_compacts(store: Store, make_parts: PartsOf, clock: Clock):
    mnemic = Mnemic(make_parts(WordEmbedder()), actor="tester")
    mnemic.work()
    read_again(store)
    clock.turn(days=1)
    mnemic.work()
    assert tombstones(store) == 0
    assert [chunk.text for chunk in _left(store)] == ["the end 0"]


def _left(store: Store) -> list[Chunk]:
    with store.read() as work:
        (document,) = work.documents.list(ANNA.visibility, DocumentQuery())
        return work.documents.passages(ANNA.visibility, document.id, 0, 9)
