"""HNSW graphs over the vectors of large tables, by the package `usearch`, built in a separate thread and stored in
files. A graph only proposes near slots; the caller computes cosines from the table. So a stale graph costs recall or
time, but never gives a wrong result. The holder of a file's lease writes it under a temporary name first; other
processes read it. It may be deleted. `usearch` and `faiss` are never loaded in one process.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import logging
import os
import queue
import sys
import threading
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.views import NO_SLOTS, Slots
from mnemic.errors import ConfigError
from mnemic.model.candidates import Floats
from mnemic.model.scope import Partition

CONNECTIVITY = 16  # usearch's default; more links find more, and need more memory
EXPANSION_ADD = 64  # usearch's default is 128; 64 builds faster, for slightly worse links
EXPANSION_SEARCH = 100  # candidates per search; fewer are faster and miss more of the nearest rows
SPARE_ROWS = 5_000
"""Rows scanned in addition to a graph, in about a millisecond."""
GONE_SHARE = 0.1
"""A graph with a larger share of deleted rows is rebuilt."""
_SPARE_SHARE = 0.01  # of the live rows may be scanned in addition to a large graph; lower rebuilds it more often
_HEAD = 4  # leading numbers of a vector that identify a row as unchanged since the graph was built
_CHUNK = 64  # vectors per call: about 10 ms, after which a closing program is noticed
_IDS_END = "\0"
_UNREADABLE = (zipfile.BadZipFile, OSError, ValueError, KeyError, EOFError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a table at one moment. Entries in its first `rows` slots never change."""

    rows: int
    live: Slots
    ids: NDArray[np.object_]
    vectors: Floats


class Graph:
    """Proposes near slots. Immutable; one thread searches at a time. Covers its table's first `rows` slots except
    `rest`. `size`: number of vectors, `gone`: already removed when it was built; `is_new`: not grown from another.
    """

    def __init__(self, index: Any, slots: Slots, source: Source, *, is_new: bool = False) -> None:
        self.is_new = is_new
        self._index = index
        self._slots = slots
        known = np.zeros(source.rows, dtype=np.bool_)
        known[slots[slots >= 0]] = True
        self.rows = source.rows
        self.rest: Slots = source.live[~known[source.live]]
        self.size = len(slots)
        self.gone = self.size - (len(source.live) - len(self.rest))

    def nearest(self, vector: Floats, limit: int) -> Slots:
        """About the `limit` nearest slots. Some may be dead."""
        if self.size == 0 or limit <= 0:
            return NO_SLOTS
        keys: NDArray[np.uint64] = self._index.search(vector, min(limit, self.size), threads=1).keys
        found = self._slots[keys.astype(np.int64)]
        return found[found >= 0]

    def grown(self, source: Source, stop: threading.Event) -> Graph | None:
        """A graph of all live rows at a later moment of the same table. None if stopped."""
        index, slots = self._index.copy(), self._slots.copy()
        alive = np.zeros(source.rows, dtype=np.bool_)
        alive[source.live] = True
        slots[(slots >= 0) & ~alive[slots]] = -1
        known = np.zeros(source.rows, dtype=np.bool_)
        known[slots[slots >= 0]] = True
        return _fill_graph(index, slots, source.live[~known[source.live]], source, stop)

    def write(self, file: BinaryIO, source: Source) -> None:
        """Write the graph, with ids and leading numbers of vectors that identify its rows later."""
        held = self._slots >= 0
        heads = np.zeros((self.size, min(_HEAD, source.vectors.shape[1])), dtype=np.float32)
        heads[held] = source.vectors[self._slots[held], : heads.shape[1]]
        ids = np.full(self.size, "", dtype=np.object_)
        ids[held] = source.ids[self._slots[held]]
        named = np.frombuffer(_IDS_END.join(ids).encode("utf-8", "surrogatepass"), dtype=np.uint8)
        np.savez(file, graph=np.frombuffer(self._index.save(), dtype=np.uint8), heads=heads, ids=named)


def is_due(graph: Graph | None, rows: int, live: int) -> bool:
    """Whether a table with `rows` slots, `live` of them alive, needs a new graph."""
    if graph is None:
        return True
    lacking = rows - graph.rows + len(graph.rest)
    return lacking > SPARE_ROWS + live * _SPARE_SHARE or graph.size - live > GONE_SHARE * graph.size + SPARE_ROWS


def is_available() -> bool:
    """True if `usearch` is installed and may be loaded: with `faiss` in one process it has crashed."""
    return importlib.util.find_spec("usearch") is not None and "faiss" not in sys.modules


def made(source: Source, stop: threading.Event) -> Graph | None:
    """A graph of all live rows, None if stopped. Raises `ConfigError` like `read`."""
    index = _usearch().Index(
        ndim=source.vectors.shape[1],
        metric="cos",
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
    return _fill_graph(index, NO_SLOTS, source.live, source, stop)


def read(path: Path, source: Source) -> Graph | None:
    """Load a graph for the rows it shares with the table. None if it is missing, damaged or has other dims. Raises
    `ConfigError` if `faiss` is loaded in this process.
    """
    usearch = _usearch()
    try:
        with np.load(path) as parts:
            index = usearch.Index.restore(memoryview(parts["graph"]))
            heads, named = parts["heads"], parts["ids"].tobytes().decode("utf-8", "surrogatepass")
    except _UNREADABLE:
        return None
    if index is None or index.ndim != source.vectors.shape[1]:
        return None
    index.expansion_add, index.expansion_search = EXPANSION_ADD, EXPANSION_SEARCH
    slot_of = dict(zip(source.ids[source.live], source.live.tolist(), strict=True))
    slots = np.array([slot_of.get(one, -1) for one in named.split(_IDS_END)], dtype=np.int64)
    if not len(slots) == len(heads) == len(index):
        return None
    is_same = (heads == source.vectors[np.maximum(slots, 0), :_HEAD]).all(axis=1)
    return Graph(index, np.where(is_same, slots, -1), source)


def _fill_graph(index: Any, slots: Slots, further: Slots, source: Source, stop: threading.Event) -> Graph | None:
    for start in range(0, len(further), _CHUNK):
        if stop.is_set():
            return None
        chunk = further[start : start + _CHUNK]
        first = len(slots) + start
        index.add(np.arange(first, first + len(chunk)), source.vectors[chunk], threads=1)
    return Graph(index, np.concatenate([slots, further]), source, is_new=not len(slots))


def _usearch() -> Any:
    if "faiss" in sys.modules:
        raise ConfigError(
            "usearch and faiss crash when used in the same process, and faiss is already loaded: "
            "use the MemoryBackend `faiss` in another process, or run `pip uninstall usearch`"
        )
    importlib.import_module("onnxruntime")  # first: loading it after usearch kills the process (2.26.6 and 1.31.1)
    return importlib.import_module("usearch.index")


_POLL_S = 0.5  # until a process notices that the lease is free or that it must end

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def lease(path: Path, stop: threading.Event) -> Generator[bool]:
    """Wait for the lease of the lock file at `path`. Yields False if `stop` is set first."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _wait_for_lock(descriptor, stop)
    finally:
        os.close(descriptor)  # releases the lease


@contextmanager
def lease_at_once(path: Path) -> Generator[bool]:
    """Take the lease of a lock file without waiting. Yields False if another process or thread has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _take(descriptor)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, stop: threading.Event) -> bool:
    while not stop.is_set():
        try:
            _take(descriptor)
        except OSError:  # another process holds it
            stop.wait(_POLL_S)
        else:
            return True
    return False


_SAVED_SHARE = 0.1  # a file that lacks less is not rewritten
_NICENESS = 10  # half of the way to the lowest priority: a search never waits for a rebuild
_log = logging.getLogger("mnemic.index")


@dataclass(frozen=True, slots=True)
class _Task:
    partition: Partition
    source: Source
    held: Graph | None
    done: Callable[[Graph], None]
    stop: threading.Event


@dataclass(frozen=True, slots=True)
class _File:
    """The state of a file when this process last read or wrote it."""

    changed_ns: int
    size: int


class GraphKeeper:
    """Graphs for the tables of one index. `folder` None: only in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._asked: dict[Partition, threading.Event] = {}
        self._known: dict[Path, _File] = {}
        self._is_closed = False
        self._worker: threading.Thread | None = None
        self._guard = threading.Condition()

    def ask(
        self, partition: Partition, source: Callable[[], Source], held: Graph | None, done: Callable[[Graph], None]
    ) -> None:
        """Build a graph from `source`, or grow the one `held`, in the thread, and pass it to `done`. Without the
        package this does nothing. A pending partition is not queued twice.
        """
        with self._guard:
            if partition in self._asked or self._is_closed or not is_available():
                return
            stop = self._asked[partition] = threading.Event()
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="mnemic-graphs", daemon=True)
                self._worker.start()
        self._tasks.put(_Task(partition, source(), held, done, stop))

    def wait(self) -> None:
        """Wait until all requested graphs are done."""
        with self._guard:
            self._guard.wait_for(lambda: not self._asked)

    def forget(self, partition: Partition) -> None:
        """Remove a partition's file and cancel its pending graph."""
        with self._guard:
            if partition in self._asked:
                self._asked[partition].set()
            if self._folder is not None:
                self._path(self._folder, partition).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop at once, even while building a graph."""
        with self._guard:
            self._is_closed = True
            for stop in self._asked.values():
                stop.set()
        self._tasks.put(None)
        if self._worker is not None:
            self._worker.join()

    def _work(self) -> None:
        if sys.platform == "linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        while (task := self._tasks.get()) is not None:
            try:
                graph = None if task.stop.is_set() else self._graph(task)
                if graph is not None and not task.stop.is_set():
                    task.done(graph)
            except (RuntimeError, MemoryError) as error:  # from usearch: the exact scan continues without a graph
                _log.error("cannot build the HNSW graph of a large partition: %s", error)
            finally:
                with self._guard:
                    del self._asked[task.partition]
                    self._guard.notify_all()

    def _graph(self, task: _Task) -> Graph | None:
        """The graph for a task, None if stopped. If the folder is unusable, only the file is lost."""
        if self._folder is None:
            return _choose_graph(task, task.held)
        path = self._path(self._folder, task.partition)
        best = task.held or self._read(path, task.source)
        if best is not None and not is_due(best, task.source.rows, len(task.source.live)):
            return best
        try:
            self._folder.mkdir(0o700, parents=True, exist_ok=True)
            with lease(path.with_suffix(".lock"), task.stop) as is_held:
                if not is_held:
                    return None
                newer = self._read(path, task.source)  # another process may have built it meanwhile
                held = newer if best is None or (newer and newer.size > best.size) else best
                best = _choose_graph(task, held)
                if best is not None and best is not held and self._is_worth_writing(path, best):
                    self._write(path, best, task)
        except OSError as error:
            _log.warning("cannot save the HNSW graph of a large partition to a file: %s", error)
        return best if best is not None or task.stop.is_set() else _choose_graph(task, None)

    def _read(self, path: Path, source: Source) -> Graph | None:
        """The graph in the file. None if it is unchanged since this process last read or wrote it."""
        known = self._known.get(path)
        if not path.exists() or (known is not None and known.changed_ns == path.stat().st_mtime_ns):
            return None
        changed_ns = path.stat().st_mtime_ns
        graph = read(path, source)
        if graph is not None:
            self._known[path] = _File(changed_ns, graph.size)
        return graph

    def _is_worth_writing(self, path: Path, graph: Graph) -> bool:
        known = self._known.get(path)
        return known is None or not path.exists() or graph.is_new or graph.size > known.size * (1 + _SAVED_SHARE)

    def _write(self, path: Path, graph: Graph, task: _Task) -> None:
        fresh = path.with_suffix(".new")
        with open(fresh, "wb", opener=partial(os.open, mode=0o600)) as file:
            graph.write(file, task.source)
            file.flush()
            os.fsync(file.fileno())
        with self._guard:
            if task.stop.is_set():  # the partition is to be forgotten, and must not come back
                fresh.unlink()
                return
            fresh.replace(path)
        self._known[path] = _File(path.stat().st_mtime_ns, graph.size)

    @staticmethod
    def _path(folder: Path, partition: Partition) -> Path:
        name = json.dumps([partition.org, partition.level.value, partition.owner])
        digest = hashlib.blake2b(name.encode(), digest_size=16)
        return folder / f"{digest.hexdigest()}.graph"


def _choose_graph(task: _Task, held: Graph | None) -> Graph | None:
    """The held graph if it suffices, else one grown from it, else a new one. None if stopped."""
    live = len(task.source.live)
    if held is None or held.size - live > GONE_SHARE * held.size:
        return made(task.source, task.stop)
    return held.grown(task.source, task.stop) if is_due(held, task.source.rows, live) else held
