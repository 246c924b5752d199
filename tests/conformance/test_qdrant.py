"""The index in Qdrant keeps the contract: in Qdrant's local mode, and over HTTP with its own engine or a server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import QdrantClient

from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.qdrant import Place, QdrantIndex
from mnemic.adapters.indexes.qdrant_points import key_of
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.model.candidates import Candidates, Change, IndexQuery, Space
from mnemic.model.scope import Level, Partition
from mnemic.ports.index import Index
from mnemic.testing.index_contract import IndexContract
from mnemic.testing.index_samples import HERS, HIS, a_change, a_query, ids, rows, statistics
from mnemic.testing.samples import unit
from tests.qdrant_servers import REAL_KEY, REAL_URL, QdrantServer, a_name

DIMS = 8
SMALL = Space("small", "1", "fp32", 2, "mean", "", "", 128)
SPACE = replace(SMALL, dims=DIMS)
WORDS = ("tea", "milk", "river", "garden", "violin", "harbour", "letter", "window")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the collections of these tests lie."""
    if REAL_URL:
        yield REAL_URL
        return
    server = QdrantServer()
    yield server.url
    server.close()


@pytest.fixture(scope="module")
def collection(url: str) -> Iterator[str]:
    """A collection for every index of two dims here: each is of another store, so none may see the rows of another."""
    name = a_name()
    yield name
    with closing(QdrantClient(url=url, headers={"api-key": REAL_KEY or ""}, check_compatibility=False)) as client:
        client.delete_collection(name)


def opened(folder: Path, url: str, name: str, space: Space = SMALL, store: str | None = None) -> QdrantIndex:
    place = Place(url, store or uuid.uuid4().hex, space, name, REAL_KEY)
    return QdrantIndex(Fts5Index(folder / uuid.uuid4().hex / "fts5.db"), place)


class TestQdrantIndexInProcess(IndexContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path):
        self.tmp_path = tmp_path

    def new_index(self) -> Index:
        return opened(self.tmp_path, ":memory:", "true_recall")


class TestQdrantIndexOnServer(IndexContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, url: str, collection: str):
        self.tmp_path, self.url, self.name = tmp_path, url, collection

    def new_index(self) -> Index:
        return opened(self.tmp_path, self.url, self.name)


def many(count: int) -> list[Change]:
    """Rows of two sessions and of none, each fourth without a vector, each seventh private to an agent."""
    chance = np.random.default_rng(1)
    vectors = chance.normal(size=(count, DIMS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    changes: list[Change] = []
    for number in range(count):
        change = a_change(
            f"row {number}",
            " ".join(chance.choice(WORDS, size=4)),
            vector=None if number % 4 == 3 else vectors[number],
            private_agent="jarvis" if number % 7 == 6 else None,
            is_active=number % 11 != 10,
            kind="goal" if number % 5 == 0 else "fact",
        )
        if number % 3:
            change = change._replace(
                kind="message",
                session=f"session {number % 2}",
                position=number // 2,
                author="Anna Maria" if number % 3 == 1 else "",
                role="user" if number % 3 == 1 else "assistant",
                is_question=number % 6 == 1,
            )
        changes.append(change)
    return changes


def question(*terms: str, seed: int, **changes: object) -> IndexQuery:
    vector = np.random.default_rng(seed).normal(size=DIMS)
    return a_query(*terms, **{"vector": unit(*vector), "dense_limit": 20, **changes})


@pytest.fixture(scope="module")
def both(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[QdrantIndex, ScanIndex]]:
    """The same 400 rows in Qdrant and in the exact index."""
    changes, name = many(400), a_name()
    scan = ScanIndex()
    with closing(opened(tmp_path_factory.mktemp("both"), url, name, SPACE)) as index:
        for one in (index, scan):
            one.version(HERS)
            one.apply(HERS, changes[:300], 1)
            one.version(HERS)
            one.apply(HERS, [*changes[300:], *(Change(item_id=f"row {n}", is_gone=True) for n in range(20))], 2)
            one.apply(HIS, [a_change("his", "tea violin", vector=unit(*[1.0] * DIMS))], 1)
        yield index, scan
        with closing(QdrantClient(url=url, headers={"api-key": REAL_KEY or ""}, check_compatibility=False)) as client:
            client.delete_collection(name)


def surroundings(found: Candidates) -> dict[str, tuple[object, ...]]:
    """Of each row by id: what stands before and behind it, and what it is."""
    assert found.surroundings is not None
    here, names = found.surroundings, [*map(str, found.ids), None]
    return {
        str(i): (
            names[here.before[place]],
            names[here.after[place]],
            here.sessions[place] >= 0,
            bool(here.is_named[place]),
            bool(here.is_assistant[place]),
            bool(here.is_question[place]),
        )
        for place, i in enumerate(found.ids)
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"agent": "jarvis"},
        {"include_inactive": True},
        {"kinds": frozenset({"goal", "fact"})},
        {"allowed": frozenset(f"row {n}" for n in range(0, 400, 3))},
        {"partitions": (HIS, HERS)},
    ],
    ids=["plain", "agent", "inactive", "kinds", "allowed", "two partitions"],
)
def test_candidates_are_those_of_the_exact_index_with_the_same_evidence(
    both: tuple[QdrantIndex, ScanIndex], seed: int, changes: dict[str, object]
):
    query = question("tea", "violin", seed=seed, neighbours=1, words=frozenset({"anna"}), **changes)
    found, right = both[0].search(query), both[1].search(query)
    assert found.missing == ()
    assert rows(found) == rows(right)
    assert statistics(found) == statistics(right)
    assert surroundings(found) == surroundings(right)
    assert found.versions == right.versions


def test_more_allowed_ids_than_stand_in_one_filter_are_asked_for_in_several(
    both: tuple[QdrantIndex, ScanIndex], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mnemic.adapters.indexes.qdrant_search.MOST_NAMED", 30)
    allowed = frozenset(f"row {n}" for n in range(0, 400, 3))
    query = question("tea", seed=2, neighbours=1, allowed=allowed, messages_until=0)
    found, right = both[0].search(query), both[1].search(query)
    assert (rows(found), surroundings(found)) == (rows(right), surroundings(right))


def test_what_only_the_words_find_and_what_only_the_vector_finds_both_come_in(both: tuple[QdrantIndex, ScanIndex]):
    by_words = both[0].search(question("harbour", seed=1, dense_limit=0))
    assert len(by_words.ids) > 100
    assert np.isnan(by_words.cosines).any()
    assert not np.isnan(by_words.cosines).all()
    by_vector = both[0].search(question("nowhere", seed=1))
    assert len(by_vector.ids) == 20
    assert ids(by_vector) == ids(both[1].search(question("nowhere", seed=1)))


def test_of_many_rows_the_mean_and_deviation_are_of_a_sample_that_stays_the_same(tmp_path: Path):
    changes, scan = many(1200), ScanIndex()
    with closing(opened(tmp_path, ":memory:", "true_recall", SPACE)) as index:
        for one in (index, scan):
            one.apply(HERS, changes, 1)
        query = question("tea", seed=5)
        found, again, right = index.search(query), index.search(query), scan.search(query)
    assert (found.vectors, found.cosine_mean) == (again.vectors, pytest.approx(again.cosine_mean, abs=1e-6))
    assert found.vectors == pytest.approx(right.vectors, rel=0.15)
    assert found.cosine_mean == pytest.approx(right.cosine_mean, abs=0.06)
    assert found.cosine_deviation == pytest.approx(right.cosine_deviation, rel=0.15)
    assert (found.items, found.total_length) == (right.items, right.total_length)


@pytest.mark.requirement("T-35")
def test_two_stores_that_share_a_collection_see_nothing_of_each_other(tmp_path: Path, url: str, collection: str):
    with closing(opened(tmp_path, url, collection)) as ours, closing(opened(tmp_path, url, collection)) as theirs:
        ours.apply(HERS, [a_change("ours", "tea", vector=unit(1.0, 0.0))], 5)
        assert theirs.version(HERS) == 0
        theirs.apply(HERS, [a_change("theirs", "tea", vector=unit(1.0, 0.0))], 1)
        query = a_query("tea", vector=unit(1.0, 0.0))
        for index, seen in ((ours, "ours"), (theirs, "theirs")):
            found = index.search(query)
            assert (ids(found), found.items, found.vectors) == ([seen], 1, 1)
        theirs.drop(HERS)
        assert ids(ours.search(query)) == ["ours"]


PARTITIONS = st.builds(
    Partition, st.text(max_size=4), st.sampled_from(Level), st.text(alphabet='a",\\|\x1f\x1e[]', max_size=4)
)


@given(one=st.tuples(st.text(max_size=3), PARTITIONS), other=st.tuples(st.text(max_size=3), PARTITIONS))
def test_no_two_partitions_of_no_two_stores_are_called_the_same(
    one: tuple[str, Partition], other: tuple[str, Partition]
):
    assert (key_of(*one) == key_of(*other)) == (one == other)
