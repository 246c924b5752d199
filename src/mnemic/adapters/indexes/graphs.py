"""Makes the graphs of large tables, in a thread of its own and never while somebody waits, and keeps them in files.

A file is written by the holder of its lease, to another name first, and so is always a whole one; other processes read
it instead of making their own. It may be deleted at any time. `usearch` and `faiss` are never loaded in one process.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mnemic.adapters.indexes.graph import GONE_SHARE, Graph, Source, is_available, is_due, made, read
from mnemic.adapters.indexes.lease import lease
from mnemic.model.scope import Partition

_SAVED_SHARE = 0.1  # a file that lacks less than that is not written again
_NICENESS = 10
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
    """What a file was when this process last read or wrote it."""

    changed_ns: int
    size: int


class GraphKeeper:
    """Graphs for the tables of one index; `folder` None: in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._asked: dict[Partition, threading.Event] = {}
        self._known: dict[Path, _File] = {}
        self._is_closed = False
        self._worker: threading.Thread | None = None
        self._guard = threading.Condition()

    def ask(
        self,
        partition: Partition,
        source: Callable[[], Source],
        held: Graph | None,
        done: Callable[[Graph], None],
    ) -> None:
        """Have a graph made of `source`, or grown from the one `held`, and given to `done` by the thread; without the
        package nothing happens. A partition that was asked for and is not done yet is not asked for twice.
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
        """Until all graphs that were asked for are done."""
        with self._guard:
            self._guard.wait_for(lambda: not self._asked)

    def forget(self, partition: Partition) -> None:
        """Remove the file of a partition, and give up a graph that is being made for it."""
        with self._guard:
            if partition in self._asked:
                self._asked[partition].set()
            if self._folder is not None:
                self._path(self._folder, partition).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop at once, also in the middle of a graph."""
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
            except (RuntimeError, MemoryError) as error:  # of usearch: the exact scan goes on without a graph
                _log.error("the graph of a large partition cannot be made: %s", error)
            finally:
                with self._guard:
                    del self._asked[task.partition]
                    self._guard.notify_all()

    def _graph(self, task: _Task) -> Graph | None:
        """The graph for a task, None when stopped. A folder that cannot be used costs the file, not the graph."""
        if self._folder is None:
            return _new(task, task.held)
        path = self._path(self._folder, task.partition)
        best = task.held or self._read(path, task.source)
        if best is not None and not is_due(best, task.source.rows, len(task.source.live)):
            return best
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with lease(path.with_suffix(".lock"), task.stop) as is_held:
                if not is_held:
                    return None
                newer = self._read(path, task.source)  # another process may have made it meanwhile
                held = newer if best is None or (newer and newer.size > best.size) else best
                best = _new(task, held)
                if best is not None and best is not held and self._is_worth_writing(path, best):
                    self._write(path, best, task)
        except OSError as error:
            _log.warning("the graph of a large partition is not kept in a file: %s", error)
        return best if best is not None or task.stop.is_set() else _new(task, None)

    def _read(self, path: Path, source: Source) -> Graph | None:
        """The graph in the file, None when it has not changed since it was last read or written here."""
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
        with fresh.open("wb") as file:
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


def _new(task: _Task, held: Graph | None) -> Graph | None:
    """The graph held when it will do, else one grown from it, else one made from nothing; None when stopped."""
    live = len(task.source.live)
    if held is None or held.size - live > GONE_SHARE * held.size:
        return made(task.source, task.stop)
    return held.grown(task.source, task.stop) if is_due(held, task.source.rows, live) else held
