"""A whole memory over vectors in Qdrant: what a scope sees, documents, several embedders, restores."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from mnemic.adapters.indexes.qdrant import QdrantCollection, open_qdrant
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.indexes.tiered import SpacesIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.build import SystemClock
from mnemic.engine.engine import Engine
from mnemic.model.scope import Scope
from tests.properties.test_isolation import SCOPES, Row, may_see, recalled, write
from tests.qdrant_servers import REAL_KEY, REAL_URL, QdrantServer, a_name
from tests.unit.engine.ingest_kit import reading
from tests.unit.engine.kit import WordEmbedder

ANNA = Scope(org="acme", user="anna", session="s1")
Open = Callable[..., Mnemic]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if REAL_URL:
        yield REAL_URL
        return
    server = QdrantServer()
    yield server.url
    server.close()


@pytest.fixture
def open_with(url: str, tmp_path: Path) -> Iterator[Open]:
    """Opens a Mnemic over a file and the collection of this test, as a process of its own would."""
    name, open_ones = a_name(), list[Mnemic]()

    def once(further: Sequence[WordEmbedder] = (), file: str = "memory.db") -> Mnemic:
        store, embedder = SqliteStore(tmp_path / file), WordEmbedder()
        served = open_qdrant(store, embedder.space, QdrantCollection(url, name, REAL_KEY), tmp_path / f"{file}.index")
        index = SpacesIndex(served, [ScanIndex() for _ in further]) if further else served
        parts = Engine(store, index, embedder, SystemClock(), CounterObserver(), served_index=served)
        open_ones.append(Mnemic(reading(replace(parts, further_embedders=tuple(further))), actor="tester"))
        return open_ones[-1]

    yield once
    for mnemic in open_ones:
        mnemic.close()
    with closing(QdrantClient(url=url, headers={"api-key": REAL_KEY or ""}, check_compatibility=False)) as client:
        client.delete_collection(name)


@pytest.mark.requirement("T-35")
def test_random_use_shows_exactly_what_the_scope_may_see(open_with: Open):
    chance, rows = random.Random(4), dict[str, Row]()
    mnemic = open_with()
    for _ in range(40):
        scope = chance.choice(SCOPES)
        rows |= {row.item_id: row for row in write(mnemic, scope, chance)}
        if chance.random() < 0.2:
            mnemic = open_with()
        asking = chance.choice(SCOPES)
        found = mnemic.recall(asking, "tea milk river garden violin harbour", limit=None)
        assert found.degraded == ()
        wrong = {hit.id for hit in found if not may_see(asking, rows[hit.id])}
        assert wrong == set(), f"{asking} sees what it may not"
        expected = {row.item_id for row in rows.values() if may_see(asking, row)}
        assert recalled(mnemic, asking, "about tea milk river garden violin harbour") == expected


def test_passages_of_documents_are_found_by_meaning_also_after_a_restart(open_with: Open, tmp_path: Path):
    file = tmp_path / "notes.txt"
    file.write_text("The bakery opens at seven.\n\nThe harbour closes at nine.\n")
    first = open_with()
    first.remember(ANNA, "Anna walks to the harbour")
    first.ingest(ANNA, file)
    for mnemic in (first, open_with()):
        (hit,) = mnemic.recall(ANNA, "when opens the bakery", kinds=["document"])
        assert hit.similarity is not None
        assert len(mnemic.recall(ANNA, "harbour")) == 2


def test_further_embedders_are_searched_in_memory_beside_the_collection(open_with: Open):
    mnemic = open_with([WordEmbedder(revision="2", dims=16)])
    mnemic.remember(ANNA, "The cat fears thunder")
    mnemic.remember(ANNA, "Anna rents a flat")
    assert [hit.text for hit in mnemic.recall(ANNA, "cat")][:1] == ["The cat fears thunder"]
    again = open_with([WordEmbedder(revision="2", dims=16)])
    again.remember(ANNA, "The dog loves walks")
    assert [hit.text for hit in again.recall(ANNA, "dog walks")][:1] == ["The dog loves walks"]
    assert len(again.recall(ANNA, "the cat dog flat")) == 3


def test_a_restored_backup_is_what_is_found_and_nothing_of_what_came_after(open_with: Open, tmp_path: Path):
    mnemic = open_with()
    mnemic.remember(ANNA, "The cat fears thunder")
    assert len(mnemic.recall(ANNA, "cat")) == 1
    mnemic.backup(tmp_path / "kept.zip")
    mnemic.remember(ANNA, "The cat is gone")
    assert len(mnemic.recall(ANNA, "cat")) == 2
    report = mnemic.restore(tmp_path / "kept.zip", is_replacing=True)
    assert not any("Qdrant" in note for note in report.notes)
    for one in (mnemic, open_with()):
        (hit,) = one.recall(ANNA, "cat")
        assert (hit.text, hit.similarity is not None) == ("The cat fears thunder", True)
