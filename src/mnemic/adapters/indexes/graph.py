"""A graph of near neighbours (HNSW) over the vectors of one table, by the package `usearch`; also as bytes on disk.

It only names slots that are likely near: whoever asks computes their cosines from the table's own vectors. So a graph
that knows less than the table, or knows of rows that are gone, costs recall or time, and is never a wrong answer.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.dense import NO_SLOTS, Slots
from mnemic.errors import ConfigError
from mnemic.model.candidates import Floats

CONNECTIVITY = 16
EXPANSION_ADD = 64
EXPANSION_SEARCH = 100
SPARE_ROWS = 5_000
"""Rows that are scanned beside a graph, in about a millisecond."""
GONE_SHARE = 0.1
"""A graph with a larger share of gone rows is made anew."""
_SPARE_SHARE = 0.01
_HEAD = 4  # numbers of a vector by which a row is known to be the same as when the graph was made
_CHUNK = 64  # vectors per call: about 10 ms, after which a program that closes is noticed
_IDS_END = "\0"
_UNREADABLE = (zipfile.BadZipFile, OSError, ValueError, KeyError, EOFError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a table at one moment: of its first `rows` slots `live` are those of live rows with a vector. Entries
    of `ids (≥ rows,)` and `vectors (≥ rows, dims)` at these never change.
    """

    rows: int
    live: Slots
    ids: NDArray[np.object_]
    vectors: Floats


class Graph:
    """Which slots are likely near a vector; made once and not changed, searched by one thread at a time.

    It answers for the first `rows` slots of its table, except for `rest`, which it lacks. `size` counts its vectors,
    `gone` those among them whose rows were gone when it was made; `is_new`: it was not grown from another.
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
        """About the `limit` slots nearest to the vector; the rows of some may be dead."""
        if self.size == 0 or limit <= 0:
            return NO_SLOTS
        keys: NDArray[np.uint64] = self._index.search(vector, min(limit, self.size), threads=1).keys
        found = self._slots[keys.astype(np.int64)]
        return found[found >= 0]

    def grown(self, source: Source, stop: threading.Event) -> Graph | None:
        """A graph of all live rows of a later moment of the same table; None when stopped on the way."""
        index, slots = self._index.copy(), self._slots.copy()
        alive = np.zeros(source.rows, dtype=np.bool_)
        alive[source.live] = True
        slots[(slots >= 0) & ~alive[slots]] = -1
        known = np.zeros(source.rows, dtype=np.bool_)
        known[slots[slots >= 0]] = True
        return _filled(index, slots, source.live[~known[source.live]], source, stop)

    def write(self, file: BinaryIO, source: Source) -> None:
        """Write it, and by which ids and first numbers of their vectors its rows can be known again."""
        held = self._slots >= 0
        heads = np.zeros((self.size, min(_HEAD, source.vectors.shape[1])), dtype=np.float32)
        heads[held] = source.vectors[self._slots[held], : heads.shape[1]]
        ids = np.full(self.size, "", dtype=np.object_)
        ids[held] = source.ids[self._slots[held]]
        named = np.frombuffer(_IDS_END.join(ids).encode("utf-8", "surrogatepass"), dtype=np.uint8)
        np.savez(file, graph=np.frombuffer(self._index.save(), dtype=np.uint8), heads=heads, ids=named)


def is_due(graph: Graph | None, rows: int, live: int) -> bool:
    """Whether a table of `rows` slots, `live` of them alive, should have another graph than the one it has."""
    if graph is None:
        return True
    lacking = rows - graph.rows + len(graph.rest)
    return lacking > SPARE_ROWS + live * _SPARE_SHARE or graph.size - live > GONE_SHARE * graph.size + SPARE_ROWS


def is_available() -> bool:
    """True when `usearch` is installed and may be loaded: it and `faiss` in one process have crashed."""
    return importlib.util.find_spec("usearch") is not None and "faiss" not in sys.modules


def made(source: Source, stop: threading.Event) -> Graph | None:
    """A graph of all live rows; None when stopped on the way. Raises `ConfigError` as `read` does."""
    index = _usearch().Index(
        ndim=source.vectors.shape[1],
        metric="cos",
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
    return _filled(index, NO_SLOTS, source.live, source, stop)


def read(path: Path, source: Source) -> Graph | None:
    """The graph in a file, for the rows it shares with the table; None when it is missing, damaged or of other dims.

    Raises `ConfigError` when `faiss` is loaded in this process.
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


def _filled(index: Any, slots: Slots, further: Slots, source: Source, stop: threading.Event) -> Graph | None:
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
            "usearch and faiss crash when they are used in one process, and faiss is loaded: "
            "use the MemoryBackend `faiss` in another process, or run `pip uninstall usearch`"
        )
    importlib.import_module(
        "onnxruntime"
    )  # first: the process dies when it is loaded after usearch (2.26.6 and 1.31.1)
    return importlib.import_module("usearch.index")
