"""What `CopyingStore` promises: every row out at one moment, every row in at one moment, and nothing between.

For stores of any kind: `rows_of` is everything that two stores must have in common after a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import cast

import pytest

from mnemic.errors import MnemicError
from mnemic.model.item import Memory
from mnemic.model.scope import Level, Partition
from mnemic.ports.store import AUDIT, KEPT_TABLES, KEYS, VERSIONS_OF_AN_AGE, CopyingStore, Store, Told, UnitOfWork
from mnemic.testing.observation import state_of
from mnemic.testing.random_use import RandomUse
from mnemic.testing.samples import ANNA, BERT, HERS, a_memory, a_query, a_vector, add_memories, add_vectors, version_of
from mnemic.testing.store_access import a_key, a_note, add_keys, keys_of, notes_of
from mnemic.testing.store_erasure import RECEIPT

MakeStore = Callable[[], Store]
OPERATIONS = 120
HIS = BERT.partition(Level.USER)


def unheard(_done: int, _total: int) -> None:
    """Ignores progress."""


def nothing_kept(_work: UnitOfWork) -> Sequence[str]:
    """Everything gives way."""
    return ()


def copier(store: Store) -> CopyingStore:
    """The store as one that copies."""
    assert isinstance(store, CopyingStore)
    return cast("CopyingStore", store)


def rows_of(store: Store) -> dict[str, object]:
    """Everything a store holds but for the versions, which are each store's own."""
    state = state_of(store)
    del state["versions"]
    with store.read() as work:
        state["receipts"] = [(org, work.erasure.receipts(org)) for org in work.erasure.orgs()]
        state["key"] = work.erasure.key()
    return state


def written(store: Store, path: Path, told: Told = unheard) -> Path:
    """A copy of the store at `path`."""
    copier(store).write_copy(path, told)
    return path


def used(store: Store, seed: int = 1) -> None:
    """Rows as they come of random use, with every kind of text, and what random use does not make."""
    use = RandomUse(Random(seed))  # noqa: S311 -- the same every time
    for _ in range(OPERATIONS):
        with suppress(MnemicError), store.write() as work:  # some operations are such that they are refused
            use.writing()(work)
    add_keys(store, a_key(), a_key("other"))
    with store.write() as work:
        work.audit.add([a_note(), a_note("recall")])
        work.erasure.key()
        work.erasure.add(RECEIPT)


class CopyingContract:
    """Tests of copying; each takes an empty open store, and some another one of the same kind."""

    def test_every_row_comes_out_and_goes_into_another_store(self, store: Store, make_store: MakeStore, tmp_path: Path):
        used(store)
        path = written(store, tmp_path / "copy.db")
        other = make_store()
        used(other, seed=2)
        copier(other).take_copy(path, nothing_kept, unheard)
        assert rows_of(other) == rows_of(store)
        assert keys_of(other) == keys_of(store)
        assert [entry for _, entry in notes_of(other)] == [entry for _, entry in notes_of(store)]
        other.close()

    def test_a_store_takes_its_own_copy_back(self, store: Store, tmp_path: Path):
        used(store)
        before = rows_of(store)
        path = written(store, tmp_path / "copy.db")
        add_memories(store, a_memory("a later thing"))
        copier(store).take_copy(path, nothing_kept, unheard)
        assert rows_of(store) == before
        assert add_memories(store, a_memory("a later thing")) == [True]

    def test_the_copy_is_of_one_moment_and_nobody_waits_for_it(
        self, store: Store, make_store: MakeStore, tmp_path: Path
    ):
        add_memories(store, *(a_memory(f"{number} " + "long " * 400) for number in range(400)))
        before, late = rows_of(store), list[bool]()

        def write(_done: int, _total: int) -> None:
            if len(late) < 2:
                late.extend(add_memories(store, a_memory(f"late {len(late)}")))

        path = written(store, tmp_path / "copy.db", write)
        assert late[:1] == [True]
        other = make_store()
        copier(other).take_copy(path, nothing_kept, unheard)
        assert rows_of(other) == before
        other.close()

    def test_progress_ends_with_all_of_it(self, store: Store, tmp_path: Path):
        add_memories(store, a_memory())
        told: list[tuple[int, int]] = []
        path = written(store, tmp_path / "copy.db", lambda done, total: told.append((done, total)))
        copier(store).take_copy(path, nothing_kept, lambda done, total: told.append((done, total)))
        assert all(0 <= done <= total for done, total in told)
        assert sum(done == total > 0 for done, total in told) >= 2

    @pytest.mark.parametrize("is_late", [False, True])
    def test_what_raises_on_the_way_in_leaves_all_as_it_was(self, store: Store, tmp_path: Path, *, is_late: bool):
        path = written(store, tmp_path / "copy.db")
        used(store)
        before, version = rows_of(store), version_of(store)

        def refuse(*_: object) -> Sequence[str]:
            raise LookupError

        ready, told = (nothing_kept, refuse) if is_late else (refuse, unheard)
        with pytest.raises(LookupError):
            copier(store).take_copy(path, ready, told)
        assert rows_of(store) == before
        assert version_of(store) == version

    def test_what_raises_on_the_way_out_harms_nothing(self, store: Store, tmp_path: Path):
        used(store)
        before = rows_of(store)

        def refuse(_done: int, _total: int) -> None:
            raise LookupError

        with pytest.raises(LookupError):
            written(store, tmp_path / "copy.db", refuse)
        assert rows_of(store) == before
        assert add_memories(store, a_memory("a later thing")) == [True]

    def test_ready_sees_what_is_there_and_names_what_stays(self, store: Store, make_store: MakeStore, tmp_path: Path):
        add_keys(store, a_key(id="theirs"))
        path = written(store, tmp_path / "copy.db")
        other = make_store()
        add_memories(other, a_memory())
        add_keys(other, a_key(id="ours"))
        with other.write() as work:
            work.audit.add([a_note("ours")])
        seen: list[list[Memory]] = []

        def ready(work: UnitOfWork) -> Sequence[str]:
            seen.append(work.memories.list(ANNA.visibility, a_query()))
            return KEPT_TABLES

        copier(other).take_copy(path, ready, unheard)
        assert [memory.text for memory in seen[0]] == ["Anna likes tea"]
        assert [key.id for key in keys_of(other)] == ["ours"]
        assert [entry.verb for _, entry in notes_of(other)] == ["ours"]
        assert rows_of(other) == rows_of(store)
        assert set(KEPT_TABLES) == {KEYS, AUDIT}
        other.close()

    def test_versions_begin_a_new_age_above_all_that_were(self, store: Store, tmp_path: Path):
        add_memories(store, a_memory())
        path = written(store, tmp_path / "copy.db")
        for number in range(5):
            add_memories(store, a_memory(f"{number}"), a_memory("his", HIS))
        last = version_of(store)
        for _ in range(2):
            copier(store).take_copy(path, nothing_kept, unheard)
            first = version_of(store)
            assert first // VERSIONS_OF_AN_AGE > last // VERSIONS_OF_AN_AGE
            assert version_of(store, HIS) == 0
            add_memories(store, a_memory("his", HIS))
            assert _age(store, HIS) == _age(store, HERS)
            add_memories(store, a_memory("more"))
            assert version_of(store) == first + 1
            last = version_of(store)

    def test_vectors_and_their_spaces_come_back_bit_for_bit(self, store: Store, make_store: MakeStore, tmp_path: Path):
        memory = a_memory()
        add_memories(store, memory)
        vector = a_vector(memory.id, 0.1, 1 / 3, -2e-38)
        add_vectors(store, vector)
        other = make_store()
        copier(other).take_copy(written(store, tmp_path / "copy.db"), nothing_kept, unheard)
        with other.read() as work:
            found = work.vectors.get(HERS, [memory.id], vector.view, vector.space)[memory.id]
        assert found.tobytes() == vector.vector.tobytes()
        other.close()


def _age(store: Store, partition: Partition) -> int:
    return version_of(store, partition) // VERSIONS_OF_AN_AGE
