"""A third store, made in one screen: every commit writes the whole state to a file. The port can be kept."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from mnemic.adapters.stores.memory.store import MemoryUnitOfWork
from mnemic.adapters.stores.memory.tables import Tables, Transaction
from mnemic.errors import UnavailableError
from mnemic.model.health import Condition, Finding
from mnemic.ports.store import Store, StoreCapabilities, UnitOfWork
from mnemic.testing.conformance import DurableStoreContract

WRITERS: dict[Path, threading.Lock] = {}  # by file: several stores of this process may write to one file


class FileStore:
    """The ports of the reference store over tables that live in a pickle, read at every beginning, replaced at every
    end of a unit of work.
    """

    capabilities = StoreCapabilities(is_durable=True, is_shared=False)

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = WRITERS.setdefault(path, threading.Lock())
        self._is_closed = False

    @contextmanager
    def read(self) -> Generator[UnitOfWork]:
        yield MemoryUnitOfWork(Transaction(self._load(), is_writing=False))

    @contextmanager
    def write(self, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
        del is_erasing
        with self._writer:
            tables = self._load()
            yield MemoryUnitOfWork(Transaction(tables, is_writing=True))
            draft = self.path.with_suffix(".draft")
            draft.write_bytes(pickle.dumps(tables))
            draft.replace(self.path)

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        del is_quick
        condition = Condition.OK if self.path.parent.is_dir() else Condition.BROKEN
        return [Finding("store", condition, f"every commit writes {self.path}")]

    def check(self) -> None:
        return

    def scrub(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._is_closed = True

    def _load(self) -> Tables:
        if self._is_closed:
            raise UnavailableError("the store is closed")
        return pickle.loads(self.path.read_bytes()) if self.path.exists() else Tables()  # noqa: S301 -- its own file


_: type[Store] = FileStore


class TestFileStore(DurableStoreContract):
    random_operations = 1_000  # the toy writes its whole file at every commit

    @pytest.fixture
    def make_store(self, tmp_path: Path) -> Callable[[], FileStore]:
        numbers = count(1)
        return lambda: FileStore(tmp_path / f"{next(numbers)}.pickle")

    @pytest.fixture
    def reopen(self) -> Callable[[FileStore], FileStore]:
        return lambda store: FileStore(store.path)
