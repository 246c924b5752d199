"""The ports and shared state of every use case: settings, access log, retired space, caches, and metered models.

The access log is written with other writes, so that a recall costs no flush; a crash may lose it. A partition is also
searched in the retired space until every item there has a new vector. This depends on vectors alone, so it holds after
a crash and in every process.
"""

import logging
import os
import sys
import threading
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import BackendError, ConfigError, UnavailableError
from mnemic.model.candidates import Scale, Terms
from mnemic.model.chat import Completion, Piece, Prompt, Usage
from mnemic.model.item import Memory
from mnemic.model.recall import ContextRecord, Hit
from mnemic.model.records import Action, HistoryEntry, Job
from mnemic.model.scope import Partition, Visibility, to_microseconds
from mnemic.model.settings import Settings
from mnemic.ports.files import ClosableReader, Files, Keyring
from mnemic.ports.index import Index, ServedIndex, Window
from mnemic.ports.models import Detector, Embedder, Llm, LlmCapabilities, Reranker, TextParser, Tool
from mnemic.ports.observer import Attribute, Clock, Observer, Span
from mnemic.ports.store import MAIN_VIEW, Reading, Store, UnitOfWork
from mnemic.ranking.relevance import shipped_scales
from mnemic.text.analyser import Analyser
from mnemic.text.normalise import Writing, writing_of

PAGE_ROWS = 500  # read at once when all rows are walked: bounds memory
MAX_PENDING = 1000  # memories: bounds what a crash loses; lower means more separate writes
MAX_RECORDS = 100  # contexts: each keeps its texts until it is written
_log = logging.getLogger("mnemic.accesses")


class AccessLog:
    """Accesses not yet written, by memory, and records of contexts, made when they are written. Thread-safe."""

    def __init__(self) -> None:
        self._pending: Counter[tuple[Partition, str]] = Counter()
        self._records: list[Callable[[], ContextRecord]] = []
        self._at: datetime | None = None
        self._guard = threading.Lock()

    def note(
        self, store: Store, hits: Iterable[Hit], at: datetime, record: Callable[[], ContextRecord] | None = None
    ) -> None:
        """Count the memories among the hits, except general background. Writes when there are many."""
        keys = [(h.item.partition, h.id) for h in hits if isinstance(h.item, Memory) and not h.is_fallback]
        with self._guard:
            self._pending.update(keys)
            self._at = at if self._at is None else max(self._at, at)
            self._records += () if record is None else (record,)
            is_full = len(self._pending) >= MAX_PENDING or len(self._records) >= MAX_RECORDS
        if is_full:
            self.flush(store)

    def drain(self, work: UnitOfWork) -> None:
        """Write all accesses in this unit of work. They are dropped even if it fails. Accesses of orgs that a
        move has stopped are kept for later, and those of orgs that have moved are dropped.
        """
        with self._guard:
            pending, makers, at = self._pending, self._records, self._at
            self._pending, self._records, self._at = Counter(), [], None
        if at is None:
            return
        made = [make() for make in makers]
        unserved = work.upkeep.unserved({place.org for place, _ in pending} | {each.partition.org for each in made})
        counts: dict[Partition, dict[str, int]] = {}
        records: dict[Partition, list[ContextRecord]] = {}
        for (partition, item_id), count in pending.items():
            counts.setdefault(partition, {})[item_id] = count
        for each in made:
            records.setdefault(each.partition, []).append(each)
        for partition in [each for each in {*counts, *records} if each.org in unserved]:
            accesses, shown = counts.pop(partition, {}), records.pop(partition, [])
            if unserved[partition.org]:
                self._keep(partition, accesses, shown, at)
        for partition in sorted({*counts, *records}):  # each locks its partition: always in the same order
            if partition in counts:
                work.memories.touch(partition, counts[partition], at)
            if partition in records:
                work.contexts.add(records[partition])

    def _keep(
        self, partition: Partition, counts: Mapping[str, int], records: Sequence[ContextRecord], at: datetime
    ) -> None:
        """Keep accesses for a later `drain` if they fit into half of the log. A full log is written at every recall."""
        with self._guard:
            if len(self._pending) + len(counts) <= MAX_PENDING // 2:
                self._pending.update({(partition, item_id): count for item_id, count in counts.items()})
            if len(self._records) + len(records) <= MAX_RECORDS // 2:
                self._records += [lambda record=each: record for each in records]
            self._at = at if self._at is None else max(self._at, at)

    def flush(self, store: Store) -> None:
        """Write all accesses in their own unit of work. If the store fails, they are lost (logged)."""
        with self._guard:
            if not (self._pending or self._records):
                return
        try:
            with store.write() as work:
                self.drain(work)
        except BackendError as error:
            _log.warning("could not save access counts (%s)", type(error).__name__)


PLACES = 65_536  # partitions whose state is remembered


class RetiredSpace:
    """The former embedder. New local items get its vector too, so that switching back costs nothing."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.is_removed = False
        self._last: dict[Partition, str | None] = {}

    def is_needed(self, work: UnitOfWork, partitions: Sequence[Partition], present: Collection[str]) -> bool:
        """True if an item of these partitions has a vector here and in no `present` space. A finished partition is not
        checked again. Late writes by another process's former embedder are found by keyword until the next fill.
        """
        return not self.is_removed and any(self._is_needed(work, each, present) for each in partitions)

    def is_kept(self, work: UnitOfWork) -> bool:
        """False once any process has removed its vectors."""
        self.is_removed = self.is_removed or self.embedder.space.id not in work.vectors.known()
        return not self.is_removed

    def _is_needed(self, work: UnitOfWork, partition: Partition, present: Collection[str]) -> bool:
        """Check one partition. Spaces fill in order of ids, so while the last item lacks its vector, one look is
        enough. Every query asks this, and `alone` may read all vectors of a partition.
        """
        last = self._last.get(partition, "")
        if last is None:
            return False
        own = self.embedder.space.id
        if last and self._has_any(work, partition, last, [own]) and not self._has_any(work, partition, last, present):
            return True
        found = work.vectors.alone(partition, own, present)
        if len(self._last) >= PLACES:
            self._last.clear()
        self._last[partition] = found
        return found is not None

    def _has_any(self, work: UnitOfWork, partition: Partition, item_id: str, spaces: Collection[str]) -> bool:
        return any(work.vectors.get(partition, [item_id], MAIN_VIEW, space) for space in spaces)


MOST_READERS = 4  # parsers at once: each may take a GiB
KEPT_IDLE = 1  # idle readers that stay open, so that the next file need not wait for a process to start


def default_number() -> int:
    """One reader per processor, at most `MOST_READERS`, since reading keeps a processor busy."""
    return max(1, min(MOST_READERS, os.cpu_count() or 1))


class ReaderPool:
    """Opens up to `number` readers when needed and lends them."""

    def __init__(self, open_reader: Callable[[], ClosableReader] | None = None, *, number: int | None = None) -> None:
        """Without `open_reader` there are none, and lending raises."""
        self.number = number or default_number()
        self._open = open_reader
        self._idle: list[ClosableReader] = []
        self._lent: set[ClosableReader] = set()
        self._free = threading.BoundedSemaphore(self.number)
        self._guard = threading.Lock()
        self._is_closed = False

    @contextmanager
    def lent(self) -> Generator[ClosableReader]:
        """Lend a reader for one file; waits until one is free. Raises `ConfigError` if there are none."""
        if self._open is None:
            raise ConfigError("this Mnemic instance has no file readers")
        with self._free:
            with self._guard:
                if self._is_closed:
                    raise UnavailableError("this Mnemic instance is closed; open a new one")
                reader = self._idle.pop() if self._idle else self._open()
                self._lent.add(reader)
            try:
                yield reader
            finally:
                with self._guard:
                    self._lent.discard(reader)
                    self._idle.append(reader)

    def rest(self) -> None:
        """Close idle readers except `KEPT_IDLE`."""
        with self._guard:
            spare, self._idle = self._idle[KEPT_IDLE:], self._idle[:KEPT_IDLE]
        for reader in spare:
            reader.close()

    def close(self) -> None:
        """Close all readers, also those in use. Lending raises from then on."""
        with self._guard:
            self._is_closed = True
            readers = [*self._idle, *self._lent]
            self._idle = []
        for reader in readers:
            reader.close()


POOL_THREADS = 8
"""Threads for blocking calls: enough for all sources of a few contexts at once. They start on first use."""


class QueryCache:
    """Vectors of the latest queries, by space and text."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, space: str, text: str) -> NDArray[np.float32] | None:
        """The vector, or None."""
        with self._guard:
            vector = self._vectors.get((space, text))
            if vector is not None:
                self._vectors.move_to_end((space, text))
            return vector

    def put(self, space: str, text: str, vector: NDArray[np.float32]) -> None:
        """Store a vector and evict the least recently used one."""
        with self._guard:
            self._vectors[space, text] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)


class PartitionLocks:
    """One lock per partition, shared by some of them to bound the number of locks."""

    def __init__(self, number: int = 64) -> None:
        self._locks = [threading.Lock() for _ in range(number)]

    def of(self, partition: Partition) -> threading.Lock:
        """The partition's lock."""
        return self._locks[hash(partition) % len(self._locks)]


class PassagePlaces:
    """Which partitions hold passages of documents, as far as this process knows; about `size` of them."""

    def __init__(self, size: int = 65_536) -> None:
        self._size = size
        self._holds: dict[Partition, bool] = {}

    def holds(self, partition: Partition) -> bool | None:
        """True if passages were seen, False if none were, None if unknown."""
        return self._holds.get(partition)

    @property
    def known(self) -> tuple[Partition, ...]:
        """The partitions that this process has read."""
        return tuple(self._holds)

    def note(self, partition: Partition, *, holds: bool) -> bool:
        """Remember whether there are passages. Once seen, they count as present. Returns the current state."""
        known = holds or bool(self._holds.get(partition))
        if len(self._holds) >= self._size and partition not in self._holds:
            self._holds.clear()
        self._holds[partition] = known
        return known


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts of one open Mnemic. Without an `embedder`: keyword search; without an `llm` or `parser`: rules; without
    a `detector`: secrets are stored; without a `window`: the store's. `reranker` is recall's default.
    `further_embedders` fill more spaces. `retired`: the former embedder's space, searched until they are filled.
    `writings`: scripts of texts for a space's embedder. `served_index`: the service behind `index`. `tools`: beyond
    Mnemic's own. `database_lines`: reads databases to import; `archive_texts`: archives, by name. `keyring`: keys of
    sealed backups.
    """

    store: Store
    index: Index
    embedder: Embedder | None
    clock: Clock
    observer: Observer
    reranker: Reranker | None = None
    llm: Llm | None = None
    parser: TextParser | None = None
    detector: Detector | None = None
    window: Window | None = None
    further_embedders: tuple[Embedder, ...] = ()
    retired: RetiredSpace | None = None
    writings: Mapping[str, frozenset[Writing]] = field(default_factory=dict[str, frozenset[Writing]])
    served_index: ServedIndex | None = None
    files: Files | None = None
    readers: ReaderPool = field(default_factory=ReaderPool)
    analyser: Analyser = field(default_factory=Analyser)
    settings: Settings = field(default_factory=Settings)
    tools: Callable[[], Sequence[Tool]] = tuple
    database_lines: Callable[[bytes], str] | None = None
    archive_texts: Callable[[bytes, str], Mapping[str, str]] | None = None
    keyring: Keyring | None = None
    queries: QueryCache = field(default_factory=QueryCache)
    accesses: AccessLog = field(default_factory=AccessLog)
    catching_up: PartitionLocks = field(default_factory=PartitionLocks)
    passage_places: PassagePlaces = field(default_factory=PassagePlaces)
    pool: Executor = field(default_factory=lambda: ThreadPoolExecutor(POOL_THREADS, thread_name_prefix="mnemic-wait"))
    listeners: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Called where a job is added, often before its transaction ends."""

    def ring(self) -> None:
        """Tell the listeners that there is work."""
        for listener in self.listeners:
            listener()

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """One embedder per filled space, the main one first."""
        return () if self.embedder is None else (self.embedder, *self.further_embedders)

    @property
    def known_embedders(self) -> tuple[Embedder, ...]:
        """The embedders, followed by that of the retired space."""
        return self.embedders if self.retired is None else (*self.embedders, self.retired.embedder)

    def reads(self, embedder: Embedder, text: str) -> bool:
        """True if this embedder takes the text. A text without letters goes to all."""
        wanted = self.writings.get(embedder.space.id) if self.writings else None
        return wanted is None or writing_of(text) in (None, *wanted)

    def scale_of(self, embedder: Embedder) -> Scale | None:
        """How this embedder's cosines are read; None if it is not calibrated."""
        return self.settings.scales.get(embedder.space.id) or shipped_scales().get(embedder.space.model)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """How the index reads changes: once per space, the main one first and the retired one last."""
        spaces = [embedder.space.id for embedder in self.known_embedders] or [None]
        return tuple(Reading(space, self.analyser.name) for space in spaces)

    def terms(self, *texts: str | None) -> Terms:
        """Analysed terms of several texts together."""
        terms = [term for text in texts if text for term in self.analyser.terms(text)]
        return Terms(self.analyser.name, " ".join(terms))


class SessionRun:
    """One run of a use case over one session. `may_fall_back`: use rules if the model fails."""

    def __init__(
        self, engine: Engine, partition: Partition, session: str, actor: str, *, may_fall_back: bool = False
    ) -> None:
        self._engine, self._partition, self._session, self._actor = engine, partition, session, actor
        self._may_fall_back = may_fall_back
        self._visible = Visibility((partition,), None)


def new_id(at: datetime) -> str:
    """A UUIDv7 (RFC 9562) of `at`, at earliest 1970: milliseconds and 74 random bits. Python 3.11 has no `uuid7`."""
    bits = (max(to_microseconds(at), 0) // 1000 << 80) | int.from_bytes(os.urandom(10))
    bits = bits & ~(0xF << 76) | 0x7 << 76
    return str(uuid.UUID(int=bits & ~(0b11 << 62) | 0b10 << 62))


def new_entry(
    at: datetime,
    place: tuple[Partition, str],
    action: Action,
    actor: str,
    reason: str = "",
    sides: tuple[Mapping[str, object], Mapping[str, object]] = ({}, {}),
) -> HistoryEntry:
    """A history entry of the item `place`. `sides`: its changed fields before and after."""
    return HistoryEntry(
        id=new_id(at),
        partition=place[0],
        item_id=place[1],
        action=action,
        actor=actor,
        at=at,
        reason=reason,
        before=sides[0],
        after=sides[1],
    )


def new_job(
    at: datetime, partition: Partition, kind: str, key: str, payload: Mapping[str, object] | None = None
) -> Job:
    """A job that may run at once."""
    payload = payload or {}
    return Job(id=new_id(at), partition=partition, kind=kind, key=key, created_at=at, run_at=at, payload=payload)


class _Wrapper:
    """A wrapped model with the same name and capabilities."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm

    @property
    def name(self) -> str:
        return self._llm.name

    @property
    def capabilities(self) -> LlmCapabilities:
        return self._llm.capabilities


class Metered(_Wrapper):
    """An `Llm` that sums the `usage` of all calls, including failed or abandoned ones: seconds, and the server's token
    counts, which come last. Does not close the model.
    """

    def __init__(self, llm: Llm) -> None:
        super().__init__(llm)
        self._usage = Usage()
        self._guard = threading.Lock()

    @property
    def usage(self) -> Usage:
        """Cost of the calls that have ended."""
        with self._guard:
            return self._usage

    def complete(self, prompt: Prompt) -> Completion:
        """Complete with the model and count the call."""
        told, begin = Usage(), time.perf_counter()
        try:
            completion = self._llm.complete(prompt)
            told = completion.usage
            return completion
        finally:
            self._add(told, begin)

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        """Stream from the model and count the call when the stream ends."""
        told, begin = Usage(), time.perf_counter()
        try:
            for piece in self._llm.stream(prompt):
                if piece.completion is not None:
                    told = piece.completion.usage
                yield piece
        finally:
            self._add(told, begin)

    def close(self) -> None:
        """Does nothing: the owner closes the model."""

    def _add(self, told: Usage, begin: float) -> None:
        """Add a call. The model's own count of calls and seconds is used if it reports one, else ours."""
        seconds = told.seconds or time.perf_counter() - begin
        with self._guard:
            self._usage += Usage(told.calls or 1, told.prompt_tokens, told.completion_tokens, seconds)


class Traced(_Wrapper):
    """An `Llm` that records every call as a span with sizes and cost. Closes the model."""

    def __init__(self, llm: Llm, observer: Observer) -> None:
        super().__init__(llm)
        self._observer = observer

    def complete(self, prompt: Prompt) -> Completion:
        """Complete within a span."""
        with self._observer.span("mnemic.llm", **self._sizes(prompt)) as span:
            completion = self._llm.complete(prompt)
            _note_usage(span, completion.usage)
            return completion

    def stream(self, prompt: Prompt) -> Generator[Piece]:
        """Stream within a span that ends with the stream."""
        inside = copy_context()  # the reader of the stream does other things between its pieces
        opened = self._observer.span("mnemic.llm", is_streamed=True, **self._sizes(prompt))
        span = inside.run(opened.__enter__)
        try:
            pieces = inside.run(self._llm.stream, prompt)
            while (piece := inside.run(next, pieces, None)) is not None:
                if piece.completion is not None:
                    _note_usage(span, piece.completion.usage)
                yield piece
        finally:
            kind, error, trace = sys.exc_info()
            left = (None, None, None) if kind is GeneratorExit else (kind, error, trace)
            inside.run(opened.__exit__, *left)

    def close(self) -> None:
        """Close the model."""
        self._llm.close()

    def _sizes(self, prompt: Prompt) -> dict[str, Attribute]:
        chars = sum(len(message.content) for message in prompt.messages)
        return {"model": self.name, "prompt_messages": len(prompt.messages), "prompt_chars": chars}


def _note_usage(span: Span, usage: Usage) -> None:
    span.note(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)


_: tuple[type[Llm], ...] = (Metered, Traced)
