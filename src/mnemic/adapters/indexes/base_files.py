"""Base files: one partition's rows of the index in a file that a new process maps instead of reading every row.

A file is a copy and never the truth. The store names the only valid one by a token, set in the transaction that
publishes the file, so a file of another store or history is ignored. Checksums find damage. An erasure removes the
files after its commit, before it is acknowledged. A writer checks and creates its file inside write transactions, so
an erasure comes either before (then nothing is written) or after (then it removes the file).
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import secrets
import shutil
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.indexes.hnsw import lease_at_once
from mnemic.adapters.indexes.views import NO_SLOTS, Slots
from mnemic.errors import BackendError
from mnemic.model.candidates import Floats
from mnemic.model.scope import Partition
from mnemic.ports.store import VERSIONS_OF_AN_AGE, Reading, StaleTerms, Store, UnitOfWork

LEAST_ROWS = 5_000
"""Smaller partitions load from rows in 50 ms or less."""
STALE_ROWS = 1_000
"""A file that lacks fewer changes is not rewritten. They take about 10 ms to read."""
_STALE_SHARE = 0.1  # of the rows may be missing from a large partition's file; lower rewrites it more often
_SETTLE_S = 5.0  # wait before a long-lived process writes, so that a short one writes when it closes
_FORMAT = b"MNEMBAS1"  # another layout gets another number, and old files are ignored
_ALIGNED = 4096  # sections start at pages, and are checked by page
_HASHED = 16
_CURSOR = "index"
_POSITION_BITS = 31  # of the key of a message; the rest numbers its session
_LOOKUP_ROWS = 16  # looking up an id in the file takes as long as reading this many ids into a dictionary
_DECODED_SHARE = 4  # decoding a share of ids one by one takes as long as all at once
_ROOM = 4  # one more row per this many has room behind the vectors, a hole that takes no disk
_FREE_BYTES = 500_000_000  # of the disk stay free for the store itself
_ROWS_AT_ONCE = 4_096  # copied when a file is written
Lock = AbstractContextManager[Any]
_log = logging.getLogger("mnemic.index")


@dataclass(frozen=True, slots=True)
class Base:
    """The rows of a table at `version`: `arrays` and `texts` by name, and `vectors (capacity, dims)`, of which the
    first `rows` are filled. Opened from a file, `vectors` may be written: changed pages stay in this process.
    """

    version: int
    rows: int
    arrays: Mapping[str, NDArray[Any]]
    texts: Mapping[str, bytes]
    vectors: Floats
    live: NDArray[np.int64] | None = None
    """To write: the slots of `vectors` to keep."""
    ids: frozenset[str] = frozenset()
    """To write: the ids of all rows."""

    def list_texts(self, name: str) -> list[str]:
        """The texts of a list."""
        joined = self.texts[name]
        return joined.decode("utf-8", "surrogatepass").split("\0") if joined else []


def join_texts(texts: Sequence[str]) -> bytes:
    """Encode a list of texts. Raises `ValueError` for a text that cannot be told from two."""
    joined = "\0".join(texts)
    if joined.count("\0") != max(len(texts) - 1, 0) or texts == [""]:
        raise ValueError("a text contains U+0000")
    return joined.encode("utf-8", "surrogatepass")


def find_text(joined: bytes, ends: Slots, text: str) -> int | None:
    """The place of a text in a sorted list, whose texts end at `ends`."""
    sought, low, high = text.encode("utf-8", "surrogatepass"), 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        found = joined[int(ends[middle - 1]) + 1 if middle else 0 : int(ends[middle])]
        if found == sought:
            return middle
        low, high = (middle + 1, high) if found < sought else (low, middle)
    return None


def sort_ids(ids: Sequence[str]) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """The ids of a base file, sorted and joined, and what `Ids` needs to find them."""
    encoded = [each.encode("utf-8", "surrogatepass") for each in ids]
    order = sorted(range(len(ids)), key=encoded.__getitem__)
    slots, ranks = np.array(order, dtype=np.int64), np.empty(len(ids), dtype=np.int64)
    ranks[slots] = np.arange(len(ids))
    ends = np.cumsum([len(encoded[slot]) + 1 for slot in order], dtype=np.int64) - 1
    return join_texts([ids[slot] for slot in order]), {"id ends": ends, "id slots": slots, "id ranks": ranks}


class Ids:
    """The slots of ids, and the ids of slots. Those of a base file are decoded one by one until so many are needed that
    decoding all is faster.
    """

    def __init__(self, base: Base | None = None) -> None:
        self._slots: dict[str, int] = {}  # with a base, -1 for its removed ids
        self._searched = self._unnamed = base
        self._lookups = 0
        self._is_named = np.zeros(0 if base is None else base.rows, dtype=np.bool_)

    def find(self, item_id: str) -> int:
        """The slot of an id, -1 if unknown."""
        slot, base = self._slots.get(item_id), self._searched
        if slot is not None or base is None:
            return -1 if slot is None else slot
        self._lookups += 1
        if self._lookups * _LOOKUP_ROWS > base.rows:
            slots: list[int] = base.arrays["id slots"].tolist()
            self._slots = dict(zip(base.list_texts("ids"), slots, strict=True)) | self._slots
            self._searched = None
            return self._slots.get(item_id, -1)
        rank = find_text(base.texts["ids"], base.arrays["id ends"], item_id)
        return -1 if rank is None else int(base.arrays["id slots"][rank])

    def find_all(self, ids: Collection[str]) -> Slots:
        """The slot of each id, -1 for unknown ones, in order."""
        return np.array([self.find(each) for each in ids], dtype=np.int64)

    def pop(self, item_id: str) -> int:
        """Forget an id. Returns its slot, -1 if unknown."""
        slot = self.find(item_id)
        if slot >= 0:
            self._slots[item_id] = -1
            if self._searched is None:
                del self._slots[item_id]
        return slot

    def put(self, ids: Sequence[str], first: int) -> None:
        """Give ids the slots from `first` on."""
        self._slots.update(zip(ids, range(first, first + len(ids)), strict=True))

    def name(self, ids: NDArray[np.object_], slots: Slots | None) -> None:
        """Fill in the ids of these slots, or of all."""
        base = self._unnamed
        if base is None:
            return
        if slots is None or len(slots) * _DECODED_SHARE > base.rows:
            ids[base.arrays["id slots"]] = base.list_texts("ids")
            self._unnamed = None
            return
        lacking = slots[slots < base.rows]
        lacking = lacking[~self._is_named[lacking]]
        self._is_named[lacking] = True
        ranks, ends, joined = base.arrays["id ranks"][lacking], base.arrays["id ends"], base.texts["ids"]
        starts = np.where(ranks > 0, ends[ranks - 1] + 1, 0)
        for slot, start, end in zip(lacking.tolist(), starts.tolist(), ends[ranks].tolist(), strict=True):
            ids[slot] = joined[start:end].decode("utf-8", "surrogatepass")


class Talk:
    """The slot of each message by session number and position. Those of a base file stay in sorted arrays."""

    def __init__(self, keys: Slots = NO_SLOTS, slots: Slots = NO_SLOTS) -> None:
        self._keys, self._base = keys, slots
        self._slots: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._slots) or len(self._keys) > 0

    def put(self, session: int, position: int, slot: int) -> None:
        """Store the slot of a message."""
        self._slots[session << _POSITION_BITS | position] = slot

    def find(self, session: int, position: int) -> int:
        """The slot of a message, -1 if there is none."""
        if position < 0:
            return -1
        key = session << _POSITION_BITS | position
        found = self._slots.get(key)
        if found is not None:
            return found
        place = int(np.searchsorted(self._keys, key)) if len(self._keys) else 0
        return int(self._base[place]) if place < len(self._keys) and self._keys[place] == key else -1

    def arrays(self) -> tuple[Slots, Slots]:
        """All keys, ascending, and their slots."""
        later = np.fromiter(self._slots.keys(), np.int64, len(self._slots))
        base = ~np.isin(self._keys, later)
        keys = np.concatenate([self._keys[base], later])
        slots = np.concatenate([self._base[base], np.fromiter(self._slots.values(), np.int64, len(self._slots))])
        order = np.argsort(keys, kind="stable")
        return keys[order], slots[order]


def write(file: BinaryIO, base: Base, stamp: str, token: int) -> None:
    """Write a base. The head comes last, so that a file without one is not read."""
    live = np.arange(base.rows) if base.live is None else base.live
    parts = {name: np.ascontiguousarray(values) for name, values in base.arrays.items()}
    parts |= {f"text {name}": np.frombuffer(text, np.uint8) for name, text in base.texts.items()}
    sections: dict[str, list[object]] = {}
    head_room = at = _ALIGNED * 4
    for name, values in parts.items():
        file.seek(at)
        file.write(values.data)
        sections[name] = [values.dtype.str, len(values), at, _digest(values)]
        at += -(-values.nbytes // _ALIGNED) * _ALIGNED
    file.seek(at)
    sums: list[NDArray[np.uint64]] = []
    for start in range(0, len(live), _ROWS_AT_ONCE):  # a multiple of a page, so that the sums are those of the whole
        some = np.ascontiguousarray(base.vectors[live[start : start + _ROWS_AT_ONCE]])
        sums.append(_sum_pages(some))
        file.write(some.data)
    digest = _hash(np.concatenate([*sums, np.zeros(0, dtype=np.uint64)]).tobytes())
    dims = base.vectors.shape[1]
    capacity = len(live) + len(live) // _ROOM + 64
    sections["vectors"] = ["<f4", capacity, at, digest]
    size = at + capacity * dims * 4
    file.truncate(size)
    head = {"stamp": stamp, "token": token, "version": base.version, "rows": len(live), "dims": dims, "size": size}
    told = json.dumps({**head, "sections": sections}).encode()
    if len(told) > head_room - len(_FORMAT) - _HASHED - 4:
        raise ValueError("the header of a base file is too long")
    file.flush()
    os.fsync(file.fileno())
    file.seek(0)
    file.write(_FORMAT + _hash(told).encode() + len(told).to_bytes(4, "little") + told)
    file.flush()
    os.fsync(file.fileno())


def read(path: Path, stamp: str, token: int) -> Base | None:
    """Map a file. None if it is missing, damaged, of another format, or not the one that the token names."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return _opened(mapped, stamp, token)
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        if not isinstance(error, FileNotFoundError):
            _log.warning("cannot use a base file (%s); reading rows instead", type(error).__name__)
        return None


def _opened(mapped: mmap.mmap, stamp: str, token: int) -> Base | None:
    start = len(_FORMAT) + _HASHED
    size = int.from_bytes(mapped[start : start + 4], "little")
    told = mapped[start + 4 : start + 4 + size]
    if mapped[:start] != _FORMAT + _hash(told).encode():
        raise ValueError("the header is damaged")
    head = json.loads(told)
    if (head["stamp"], head["token"]) != (stamp, token):
        return None
    if head["size"] != len(mapped):
        raise ValueError("the file is truncated")
    rows, dims, sections = int(head["rows"]), int(head["dims"]), head["sections"]
    _, capacity, at, digest = sections.pop("vectors")
    vectors: Floats = np.frombuffer(mapped, np.float32, capacity * dims, at).reshape(capacity, dims)
    arrays = {name: np.frombuffer(mapped, kind, count, at) for name, (kind, count, at, _) in sections.items()}
    wrong = [name for name, values in arrays.items() if _digest(values) != sections[name][3]]
    if wrong or _digest(vectors[:rows]) != digest:
        raise ValueError("the content is damaged")
    texts = {name[5:]: values.tobytes() for name, values in arrays.items() if name.startswith("text ")}
    return Base(int(head["version"]), rows, arrays, texts, vectors)


def _digest(values: NDArray[Any]) -> str:
    return _hash(_sum_pages(values).tobytes())


def _sum_pages(values: NDArray[Any]) -> NDArray[np.uint64]:
    """The sum of each page's 64-bit words, and of the rest: as fast as memory is read, unlike a hash of all bytes."""
    content = values.reshape(-1).view(np.uint8)
    words = content[: content.size // 8 * 8].view(np.uint64)
    pages = words[: words.size // 512 * 512].reshape(-1, 512).sum(axis=1, dtype=np.uint64)
    rest = content[pages.size * _ALIGNED :]
    return np.concatenate([pages, np.frombuffer(rest.tobytes() + bytes(-rest.size % 8), np.uint64)])


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_HASHED // 2).hexdigest()


_publishing = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child of a process whose thread writes would find the store locked
    os.register_at_fork(
        before=_publishing.acquire, after_in_parent=_publishing.release, after_in_child=_publishing.release
    )


class Freezable(Protocol):
    """A table that can be written: the number of its `rows`, and of its changes that no file has."""

    unsaved: int
    holds_terms: bool

    @property
    def rows(self) -> int: ...
    def freeze(self, guard: Lock) -> Base:
        """All current rows. Holds the guard no longer than it must."""
        ...


class BaseFiles:
    """The base files of a store's index in one `folder`. `owner_of` gives the store's partition of an index partition,
    since passages have their own. `reading`: the vector space and analyser of the index. Without `has_terms`, tables
    hold vectors only.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        reading: Reading,
        *,
        owner_of: Callable[[Partition], Partition],
        has_terms: bool = True,
    ) -> None:
        self._folder, self._store, self._reading = folder, store, reading
        self._owner_of = owner_of
        self._has_terms = has_terms
        self._stamp = f"{reading.space} {reading.analyser} {has_terms} {sys.byteorder}"
        self._name = hashlib.blake2b(self._stamp.encode(), digest_size=8).hexdigest()
        self._due: dict[Partition, tuple[Freezable, Lock]] = {}
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._worker: threading.Thread | None = None

    def open(self, partition: Partition) -> Base | None:
        """The partition's base, None without a valid one."""
        path = self._path(partition)
        if not path.exists():
            return None
        with self._store.read() as work:
            token = work.conversations.cursor(self._owner_of(partition), "", self._cursor(partition))
        return read(path, self._stamp, token) if token else None

    def note(self, partition: Partition, table: Freezable, guard: Lock) -> None:
        """Write the table's file later if it has none or lacks many changes."""
        if table.holds_terms is not self._has_terms:  # a very large partition, whose words are in FTS5
            return
        if table.rows < LEAST_ROWS or table.unsaved <= max(STALE_ROWS, table.rows * _STALE_SHARE):
            return
        with self._guard:
            self._due[partition] = table, guard
            if self._worker is None and not self._stop.is_set():
                self._worker = threading.Thread(target=self._work, name="mnemic-bases", daemon=True)
                self._worker.start()

    def drop(self, partitions: Collection[Partition]) -> None:
        """Remove the files of these partitions."""
        with self._guard:
            for partition in partitions:
                self._due.pop(partition, None)
        drop_bases(self._folder, partitions)

    def close(self) -> None:
        """Write the files that are due, and end the thread."""
        self._stop.set()
        if self._worker is not None:
            self._worker.join()
        self._write_due()

    def settle(self) -> None:
        """Write the files that are due now."""
        self._write_due()

    def _work(self) -> None:
        if sys.platform == "linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        while not self._stop.wait(_SETTLE_S):
            self._write_due()

    def _write_due(self) -> None:
        with self._guard:
            due, self._due = self._due, {}
        for partition, (table, guard) in due.items():
            try:
                unsaved, base = table.unsaved, table.freeze(guard)
                if self._write(partition, base, is_new=unsaved >= base.rows):
                    table.unsaved -= unsaved
            except (OSError, BackendError, ValueError) as error:  # the next process reads rows
                _log.info("cannot write the base file of a large partition (%s)", type(error).__name__)

    def _write(self, partition: Partition, base: Base, *, is_new: bool) -> bool:
        """Write and publish a base. False if another process writes one, or the base is out of date. One that `is_new`
        to this process may have been written by another meanwhile.
        """
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        if shutil.disk_usage(self._folder).free < _FREE_BYTES + 3 * base.vectors.nbytes:
            return False
        path, token = self._path(partition), secrets.randbits(62) + 1
        fresh = path.with_suffix(".new")
        with lease_at_once(path.with_suffix(".lock")) as is_held:
            if not is_held:
                return False
            known = self.open(partition) if is_new else None
            if known is not None and abs(base.rows - known.rows) <= max(STALE_ROWS, base.rows * _STALE_SHARE):
                return True
            with _publishing, self._store.write() as work:
                if not self._is_current(work, partition, base):
                    return False
                descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    write(file, base, self._stamp, token)
                owner, cursor = self._owner_of(partition), self._cursor(partition)
                with _publishing, self._store.write() as work:
                    is_valid = self._is_current(work, partition, base) and fresh.exists()
                    if is_valid:
                        work.conversations.move(owner, "", cursor, work.conversations.cursor(owner, "", cursor), token)
                        fresh.replace(path)
                return is_valid
            finally:
                fresh.unlink(missing_ok=True)

    def _is_current(self, work: UnitOfWork, partition: Partition, base: Base) -> bool:
        """True if nothing in the base was changed or erased since its version."""
        owner = self._owner_of(partition)
        version = work.partitions.versions([owner])[owner]
        if not version - version % VERSIONS_OF_AN_AGE <= base.version <= version:
            return False
        if base.version < version and base.version < work.partitions.horizon(owner):
            return False
        later = work.partitions.changes(owner, base.version, Reading(None, self._reading.analyser))
        return all((read.change if isinstance(read, StaleTerms) else read).item_id not in base.ids for read in later)

    def _cursor(self, partition: Partition) -> str:
        side = "" if partition == self._owner_of(partition) else " passages"
        return f"{_CURSOR}{side} {self._name}"

    def _path(self, partition: Partition) -> Path:
        return self._folder / f"{_name_partition(partition)}-{self._name}.base"


def drop_bases(folder: Path, partitions: Collection[Partition]) -> None:
    """Remove the files of these partitions, in all spaces, finished or not."""
    for partition in partitions:
        for path in folder.glob(f"{_name_partition(partition)}-*.*"):
            if path.suffix != ".lock":
                path.unlink(missing_ok=True)


@lru_cache(maxsize=4096)
def _name_partition(partition: Partition) -> str:
    name = json.dumps([partition.org, partition.level.value, partition.owner])
    return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
