"""Brings the index up to date before a search, and embeds texts. A failing model never stops a write or a question. The
index has a separate partition for passages, with its own statistics and graph, so a shelf of manuals affects neither
the results nor the speed of conversations.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Engine, new_job
from mnemic.engine.inputs import Question, Watch
from mnemic.engine.kinds import EMBED
from mnemic.errors import BackendError, BadReplyError, ConfigError, MnemicError, UnavailableError
from mnemic.model.bookkeeping import slot_in
from mnemic.model.candidates import DOCUMENT, Candidates, Change, IndexQuery, Terms
from mnemic.model.item import Chunk, Fact, Item, Message
from mnemic.model.records import JobState
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.models import Embedder, LayeredEmbedder, Vectors
from mnemic.ports.store import MAIN_VIEW, VERSIONS_OF_AN_AGE, StaleTerms, UnitOfWork, VectorRow
from mnemic.text.facts.find import state_slot
from mnemic.text.languages import detect

INDEX_LEFT = (
    "the search index could not be reached; this process or `mnemic doctor` deletes the data from it when it is "
    "available again"
)
_ATTEMPTS = 20  # one or two suffice unless the budget is far too small
_SIDE = "\x1epassages"  # cannot occur in an id, so no owner has this name


def search(
    engine: Engine, query: IndexQuery, *, passages: bool = False, versions: Mapping[Partition, int] | None = None
) -> Candidates:
    """Search up-to-date partitions for messages and memories, or for passages. Repeats if the bounded index forgets a
    partition in between. Raises `UnavailableError` if that does not end, which only a far too small budget can cause.
    `versions`: those of a catch-up for the same question. Those of other partitions are ignored.
    """
    for _ in range(_ATTEMPTS):
        versions = catch_up(engine, query.partitions) if versions is None else versions
        wanted, versions = {p: versions[p] for p in query.partitions if p in versions}, None
        if passages:
            wanted = {_side(p): version for p, version in wanted.items() if engine.passage_places.holds(p)}
        found = engine.index.search(replace(query, partitions=tuple(wanted)))
        if all(version >= least for least, version in zip(wanted.values(), found.versions, strict=True)):
            return found
    raise UnavailableError("the index cannot hold this scope's partitions; raise memory.index.budget-mb")


def catch_up(engine: Engine, partitions: Sequence[Partition]) -> dict[Partition, int]:
    """Apply new changes of these partitions to the index. Returns the store's versions."""
    with engine.store.read() as work:
        versions = work.partitions.versions(partitions)
        for partition, version in versions.items():
            # The lock keeps others from dropping or updating the partition in between, which would leave a gap.
            with engine.catching_up.of(partition):
                _update_sides(engine, work, partition, version)
    return versions


def forget(engine: Engine, partition: Partition) -> None:
    """Drop both sides of a removed partition from the index, also on disk."""
    with engine.catching_up.of(partition):
        _forget(engine, partition)


def sides(partitions: Collection[Partition]) -> list[Partition]:
    """The index's names of these partitions and of their passages."""
    return [side for partition in partitions for side in (partition, _side(partition))]


def reached(engine: Engine, partitions: Collection[Partition]) -> tuple[str, ...]:
    """Remove deleted items of these partitions from external indexes now. Returns notes on what may remain."""
    served = engine.served_index
    if served is None:
        return ()
    try:
        if not served.holds(sides(partitions)):
            return ()
        catch_up(engine, tuple(partitions))
        is_left = served.is_behind(sides(partitions))
    except BackendError:  # of the store: the commit stays, and the next search tries again
        is_left = True
    return (INDEX_LEFT,) if is_left else ()


def _forget(engine: Engine, partition: Partition) -> None:
    for side in sides([partition]):
        engine.index.drop(side)


def _update_sides(engine: Engine, work: UnitOfWork, partition: Partition, version: int) -> None:
    """Bring a partition's sides to `version`, reading rows once unless one side was dropped. The passage side starts
    with the first passage, so that it costs nothing without documents.
    """
    index, side, holds = engine.index, _side(partition), engine.passage_places.holds(partition)
    since = index.version(partition)
    if since > 0 and version == 0:  # erased by another process
        _forget(engine, partition)
        return
    beside = index.version(side) if holds or holds is None else since
    if _is_behind(work, partition, version, since, beside):
        _forget(engine, partition)
        since = beside = 0
    if holds is None and beside > 0:  # opened from a file
        engine.passage_places.note(partition, holds=True)
    if since == beside:
        if since < version:
            passages, others = _sides(engine, work, partition, since)
            index.apply(partition, others, version)
            if engine.passage_places.note(partition, holds=any(not change.is_gone for change in passages)):
                index.apply(side, passages, version)
        return
    if since < version:
        index.apply(partition, _sides(engine, work, partition, since, is_of_chunks=False)[1], version)
    if beside < version:
        passages, _ = _sides(engine, work, partition, beside, is_of_chunks=True)
        if engine.passage_places.note(partition, holds=any(not change.is_gone for change in passages)):
            index.apply(side, passages, version)


def _is_behind(work: UnitOfWork, partition: Partition, version: int, *held: int) -> bool:
    """True if the changes cannot list all removals: after a restore, an erasure, or removal of tombstones."""
    oldest = min((each for each in held if 0 < each < version), default=version)
    if oldest == version:
        return False
    return oldest < version - version % VERSIONS_OF_AN_AGE or oldest < work.partitions.horizon(partition)


def _sides(
    engine: Engine, work: UnitOfWork, partition: Partition, since: int, *, is_of_chunks: bool | None = None
) -> tuple[list[Change], list[Change]]:
    """Changes of passages, and of all other items. Removals are in both. `is_of_chunks`: read only one of them."""
    passages: list[Change] = []
    others: list[Change] = []
    for read in _changes(engine, work, partition, since, is_of_chunks=is_of_chunks):
        change = read if type(read) is Change else _fresh(engine, read)
        if change.is_gone:
            passages.append(change)
            others.append(change)
        else:
            (passages if change.role == DOCUMENT else others).append(change)
    return passages, others


def _side(partition: Partition) -> Partition:
    """The index's name of a partition's passages."""
    return replace(partition, owner=f"{partition.owner}{_SIDE}")


def owner_of(side: Partition) -> Partition:
    """The store's partition of a side."""
    return replace(side, owner=side.owner.removesuffix(_SIDE))


def _changes(
    engine: Engine, work: UnitOfWork, partition: Partition, since: int, *, is_of_chunks: bool | None
) -> Iterator[Change | StaleTerms]:
    """The changes with their vectors of every space. All readings of a unit of work give the same rows in order."""
    readings = [replace(reading, is_of_chunks=is_of_chunks) for reading in engine.readings]
    main, *further = (work.partitions.changes(partition, since, reading) for reading in readings)
    if not further:
        yield from main
        return
    for change, *others in zip(main, *further, strict=True):
        vectors = tuple((other if isinstance(other, Change) else other.change).vector for other in others)
        if isinstance(change, StaleTerms):
            yield replace(change, change=change.change._replace(further=vectors))
        else:
            yield change._replace(further=vectors)


def _fresh(engine: Engine, change: Change | StaleTerms) -> Change:
    return change if isinstance(change, Change) else change.change._replace(terms=engine.terms(change.text).terms)


def indexed_text(item: Item | Fact) -> str:
    """An item's text to analyse and embed; for a memory or fact with its context, its source words and the plain form
    of a slot that it fills, because "Where do I live?" shares nothing with "User moved to Porto".
    """
    if isinstance(item, Message):
        return message_text(item.name, item.text)
    if isinstance(item, Chunk):
        return "\n".join((*chunk_titles(item), item.text))
    slot = (item.slot, item.value) if isinstance(item, Fact) else slot_in(item.bookkeeping)
    plain = state_slot(item.text, *slot) if slot else ""
    return "\n".join(part for part in (item.text, plain, item.context, item.snippet) if part)


def passage_terms(engine: Engine, chunk: Chunk) -> Terms:
    """The keywords of a passage: of its text and titles, and of its folder and file name."""
    return engine.terms(indexed_text(chunk), "/".join(chunk.source.replace("\\", "/").split("/")[-2:]))


def message_text(name: str | None, text: str) -> str:
    """A message's text with its author, who belongs to its meaning."""
    return f"{name}: {text}" if name else text


def chunk_titles(chunk: Chunk) -> tuple[str, ...]:
    """The titles above a chunk's text: the document's, unless it is the outermost heading, and the headings on one
    line. "Our terms" may not name the company, but the title does.
    """
    headings = chunk.headings
    is_named = bool(headings) and headings[0].strip().casefold() == chunk.title.strip().casefold()
    title = "" if is_named else chunk.title
    return tuple(line for line in (title.strip(), chunk.heading.strip()) if line)


ItemVectors = tuple[NDArray[np.float32] | None, ...]
"""The vectors of one text, one per embedder: None if a job must make it, zeros if the text has none. The retired
space's vector comes last; it is never made later.
"""

Layers = dict[str, NDArray[np.float32]]
"""Features of an embedder's inner layers, by text."""

SEARCH_MS = 12.0
"""Time kept of a deadline for the search if the embedder may be late."""

_log = logging.getLogger("mnemic.embedding")
_questions = logging.getLogger("mnemic.recall")


def document_vectors(engine: Engine, texts: Sequence[str], layers: Layers | None = None) -> list[ItemVectors] | None:
    """Vectors of new texts; None if a job must make them. Without an embedder the list is empty. Adds the features of
    the inner layers to `layers`.
    """
    if not engine.embedders:
        return []
    columns = [_column(engine, embedder, texts, layers) for embedder in engine.embedders]
    if engine.retired is not None and not engine.retired.is_removed:
        columns.append(_column(engine, engine.retired.embedder, texts))
    if all(column is None for column in columns):
        return None
    return [tuple(None if column is None else column[row] for column in columns) for row in range(len(texts))]


def _column(engine: Engine, embedder: Embedder, texts: Sequence[str], layers: Layers | None = None) -> Vectors | None:
    """Vectors in one space, with zero rows for texts that the embedder does not take. None: a job must make them."""
    places = [place for place, text in enumerate(texts) if engine.reads(embedder, text)]
    try:
        if places and not embedder.capabilities.is_local:
            return None
        rows = np.zeros((len(texts), embedder.space.dims), dtype=np.float32)
        read = [texts[place] for place in places]
        if read and layers is not None and isinstance(embedder, LayeredEmbedder):
            rows[places], features = embedder.embed_layers(read)
            layers.update(zip(read, features, strict=True))
        elif read:
            rows[places] = embedder.embed_documents(read)
        return rows
    except (BackendError, ConfigError) as error:
        _log.error("failed to embed %d texts (%s); vectors will be added later", len(texts), type(error).__name__)
        engine.observer.count("mnemic.embedding.failure", operation="write")
        return None


def question_vectors(
    engine: Engine, partitions: Sequence[Partition], question: Question, watch: Watch
) -> tuple[ItemVectors, tuple[str, ...]]:
    """A question's vectors, one per embedder or None, and the embedders that failed or were late. The retired space's
    vector comes last if needed. Blank questions cost no call. With a deadline all embedders run at once. A search by
    similarity uses the question's own words only.
    """
    texts = (question.search_text,) if question.min_similarity is not None else _in_both_persons(question.search_text)
    asking = [_QueryEmbedding(engine, embedder, texts, watch) for embedder in _asked_embedders(engine, partitions)]
    vectors = tuple(each.answer() for each in asking)
    return vectors, tuple(each.failure for each in asking if each.failure)


def _asked_embedders(engine: Engine, partitions: Sequence[Partition]) -> Sequence[Embedder]:
    if engine.retired is None or engine.retired.is_removed:
        return engine.embedders
    present = [embedder.space.id for embedder in engine.embedders]
    try:
        with engine.store.read() as work:
            return engine.known_embedders if engine.retired.is_needed(work, partitions, present) else engine.embedders
    except BackendError as error:  # the search fails too and reports it
        _questions.warning("cannot determine which vector spaces contain vectors (%s)", type(error).__name__)
        return engine.embedders


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's vectors, the failures among them, and the start time (a performance counter)."""

    vectors: ItemVectors
    missing: tuple[str, ...]
    start: float


class _QueryEmbedding:
    """One embedder's answer to a question."""

    def __init__(self, engine: Engine, embedder: Embedder, texts: Sequence[str], watch: Watch) -> None:
        self.failure = ""
        self._engine, self._embedder, self._texts, self._watch = engine, embedder, texts, watch
        is_asked = bool(texts[0].strip()) and watch.deadline_ms is not None
        self._waiting = engine.pool.submit(self._vector) if is_asked else None

    def answer(self) -> NDArray[np.float32] | None:
        """The vector, or None if it fails or is late (see `failure`)."""
        name = "the embedder" if len(self._engine.known_embedders) == 1 else self._embedder.space.model
        try:
            return self._vector() if self._waiting is None else self._waiting.result(self._watch.left_s(SEARCH_MS))
        except (BackendError, ConfigError) as error:
            kind = type(error).__name__
            _questions.error("failed to embed a question (%s); falling back to keyword search", kind)
            self._engine.observer.count("mnemic.embedding.failure", operation="read")
            self.failure = f"dense: {name} failed ({kind})"
        except TimeoutError:
            self._engine.observer.count("mnemic.recall.late", source="dense")
            late = "" if len(self._engine.known_embedders) == 1 else f"{name} "
            self.failure = f"dense: {late}exceeded the deadline of {self._watch.deadline_ms:g} ms"
        return None

    def _vector(self) -> NDArray[np.float32] | None:
        cache, embedder, texts = self._engine.queries, self._embedder, self._texts
        if not texts[0].strip() or not self._engine.reads(embedder, texts[0]):
            return None
        vectors = {text: vector for text in texts if (vector := cache.get(embedder.space.id, text)) is not None}
        if new := [text for text in texts if text not in vectors]:
            for text, vector in zip(new, embedder.embed_queries(new), strict=True):
                cache.put(embedder.space.id, text, vector)
                vectors[text] = vector
        return _mixed([vectors[text] for text in texts])


AS_FACTS_SAY = 0.25
"""The share of a question's vector that is in the words of facts: "Where do I live?" is nearer to a message "I live in
Porto", "Where does User live?" to a fact "User lives in Porto" (cosine similarities of 0.49 and 0.66, and about 0.3 to
the other one). With half, contexts show more that is not needed; without it, the right fact is first less often.
"""


def _in_both_persons(text: str) -> Sequence[str]:
    """A question as it is asked, and the same about "User" if that differs."""
    return tuple(dict.fromkeys((text, detect(text).third_person(text))))


def _mixed(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The vector of a question, moved towards the one of its words in facts, of length 1."""
    if len(vectors) == 1:
        return vectors[0]
    both = (1.0 - AS_FACTS_SAY) * vectors[0] + AS_FACTS_SAY * vectors[1]
    return (both / max(float(np.linalg.norm(both)), 1e-9)).astype(np.float32)


def put_vectors(
    engine: Engine,
    work: UnitOfWork,
    items: Sequence[tuple[Partition, str]],
    vectors: Sequence[ItemVectors] | None,
    at: datetime,
) -> None:
    """Store vectors of items written in this unit of work, and queue the job for missing ones."""
    if not engine.embedders:
        return
    ready = [(None,)] * len(items) if vectors is None else vectors
    is_kept = engine.retired is not None and engine.retired.is_kept(work)
    embedders = engine.known_embedders if is_kept else engine.embedders
    for partition in dict.fromkeys(partition for partition, _ in items):
        mine = [(i, v) for (p, i), v in zip(items, ready, strict=True) if p == partition]
        if any(vector is None for _, of_item in mine for vector in of_item[: len(engine.embedders)]):
            add_embed_job(work, partition, at)
            engine.ring()
        rows = [
            VectorRow(item_id, MAIN_VIEW, embedder.space.id, vector)
            for item_id, of_item in mine
            for embedder, vector in zip(embedders, of_item, strict=False)
            if vector is not None and vector.any()
        ]
        work.vectors.put(partition, rows, at)


def add_embed_job(work: UnitOfWork, partition: Partition, at: datetime) -> None:
    """Queue the job for a partition's missing vectors unless it waits already."""
    work.jobs.add([new_job(at, partition, EMBED, EMBED)])


MOST_REFUSED = 8
"""Texts refused one by one, without any success, that show the embedder itself is broken. Its error is raised."""

FILL_LIMIT = 1024  # texts embedded per call, so that a job ends within its lease
PAGE = 1024  # texts read at once; several batches of an embedder
Told = Callable[[int], object]
"""Progress callback after each batch: the number of texts done."""

_JOBS_LOOKED_AT = 1000  # bounds the time of the check


@dataclass(frozen=True, slots=True)
class FillReport:
    """`filled`: stored vectors. `refused`: ids that an embedder rejects. `empty`: ids with a zero vector.
    `passed_over`: (space, id) of both. `is_complete`: nothing else is missing.
    """

    filled: int
    refused: tuple[str, ...]
    empty: tuple[str, ...]
    passed_over: frozenset[tuple[str, str]]
    is_complete: bool


def fill_vectors(
    engine: Engine, partition: Partition | None, *, limit: int = FILL_LIMIT, told: Told = lambda _: None
) -> FillReport:
    """Embed up to `limit` texts that lack a vector, of a partition or (None, for maintenance) of all. A text that
    changed meanwhile gets none. Batches are embedded outside transactions and committed one by one, so an interruption
    loses one. Raises `BackendError` or `ConfigError` after the other embedders' turn; earlier batches stay.
    """
    runs: list[_Run] = []
    failures: list[MnemicError] = []
    for embedder in engine.embedders:
        run = _Run(engine, embedder, limit - sum(run.asked for run in runs), told)
        runs.append(run)
        try:
            for place in _places(engine, partition):
                run.fill(place)
        except (BackendError, ConfigError) as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return FillReport(
        sum(run.filled for run in runs),
        tuple(item_id for run in runs for item_id in run.refused),
        tuple(item_id for run in runs for item_id in run.empty),
        frozenset((run.space, item_id) for run in runs for item_id in (*run.refused, *run.empty)),
        all(run.is_complete for run in runs),
    )


def lacks_vectors(
    engine: Engine, work: UnitOfWork, partition: Partition, passed_over: frozenset[tuple[str, str]] = frozenset()
) -> bool:
    """True if an item of the partition, not among `passed_over`, lacks a vector in a space that should have one."""
    for embedder in engine.embedders:
        known = {item_id for space, item_id in passed_over if space == embedder.space.id}
        if missing_texts(engine, work, embedder, partition, 1, known):
            return True
    return False


def missing_texts(
    engine: Engine,
    work: UnitOfWork,
    embedder: Embedder,
    partition: Partition,
    count: int,
    passed_over: Collection[str] = frozenset(),
) -> dict[str, str]:
    """At most `count` items without this embedder's vector: indexed text by id, without `passed_over`."""
    wanted = count + len(passed_over)
    while True:
        missing = work.vectors.missing(partition, embedder.space.id, wanted)
        texts = {item_id: text for item_id, text in missing if item_id not in passed_over}
        texts |= _indexed_texts(work, partition, list(texts))
        read = [(item_id, text) for item_id, text in texts.items() if engine.reads(embedder, text)]
        if len(read) >= count or len(missing) < wanted:
            return dict(read[:count])
        wanted *= 2  # this embedder does not take the others, which never get its vector


def adopt_spaces(engine: Engine) -> int:
    """Queue a job for each partition that lacks vectors and has none. Returns their number. Failed jobs stay failed."""
    now, lacking = engine.clock.now(), list[Partition]()
    with engine.store.read() as work:
        for partition in work.partitions.all():
            jobs = work.jobs.list([partition], (JobState.PENDING, JobState.RUNNING, JobState.DEAD), _JOBS_LOOKED_AT)
            if all(job.kind != EMBED for job in jobs) and lacks_vectors(engine, work, partition):
                lacking.append(partition)
    if lacking:
        with engine.store.write() as work:
            for partition in lacking:
                add_embed_job(work, partition, now)
    return len(lacking)


def _places(engine: Engine, partition: Partition | None) -> Sequence[Partition]:
    if partition is not None:
        return [partition]
    with engine.store.read() as work:
        return work.partitions.all()


class _ChangedMeanwhileError(Exception):
    """Ids of items whose text changed since they were embedded."""

    def __init__(self, ids: Collection[str]) -> None:
        super().__init__(ids)
        self.ids = frozenset(ids)


class _Run:
    """One call of `fill_vectors`: its results so far, and the remaining limit."""

    def __init__(self, engine: Engine, embedder: Embedder, limit: int, told: Told) -> None:
        self.filled = 0
        self.asked = 0
        self.refused: list[str] = []
        self.empty: list[str] = []
        self.is_complete = True
        self.space = embedder.space.id
        self._engine = engine
        self._embedder = embedder
        self._limit = limit
        self._told = told

    def fill(self, partition: Partition) -> None:
        """Fill a partition as far as the limit allows."""
        size = self._embedder.capabilities.batch_size
        while page := self._missing(partition, min(max(PAGE, size), self._limit - self.asked + 1)):
            left = self._limit - self.asked
            if left <= 0:
                self.is_complete = False
                return
            for start in range(0, min(len(page), left), size):
                batch = page[start : min(start + size, left)]
                self.asked += len(batch)
                self._keep(partition, dict(batch), list(self._rows(batch)))
                self._told(len(batch))

    def _keep(self, partition: Partition, texts: Mapping[str, str], rows: list[VectorRow]) -> None:
        """Store the rows except those whose text changed since it was read."""
        while rows:
            try:
                self.filled += self._put(partition, texts, rows)
            except _ChangedMeanwhileError as error:
                rows = [row for row in rows if row.item_id not in error.ids]
            else:
                return

    def _put(self, partition: Partition, texts: Mapping[str, str], rows: Sequence[VectorRow]) -> int:
        """Store in one durable commit. The texts are compared under the partition's lock."""
        with self._engine.store.write() as work:
            kept = work.vectors.put(partition, rows, self._engine.clock.now())
            present = _indexed_texts(work, partition, [row.item_id for row in rows])
            if changed := [i for i, text in present.items() if text != texts[i]]:
                raise _ChangedMeanwhileError(changed)
        return kept

    def _missing(self, partition: Partition, count: int) -> list[tuple[str, str]]:
        """(id, indexed text) of items without a vector that were not passed over."""
        with self._engine.store.read() as work:
            passed_over = {*self.refused, *self.empty}
            return list(missing_texts(self._engine, work, self._embedder, partition, count, passed_over).items())

    def _rows(self, batch: Sequence[tuple[str, str]]) -> Iterator[VectorRow]:
        """The rows of a batch. A refused batch is halved until the rejected texts are found."""
        try:
            vectors = self._embedder.embed_documents([text for _, text in batch])
        except BadReplyError:
            if len(batch) > 1:
                half = len(batch) // 2
                yield from self._rows(batch[:half])
                yield from self._rows(batch[half:])
                return
            self.refused.append(batch[0][0])
            if len(self.refused) > MOST_REFUSED and not self.filled:
                raise
            return
        for (item_id, _), vector in zip(batch, vectors, strict=True):
            if vector.any():
                yield VectorRow(item_id, MAIN_VIEW, self._embedder.space.id, vector)
            else:
                self.empty.append(item_id)


def _indexed_texts(work: UnitOfWork, partition: Partition, ids: Sequence[str]) -> dict[str, str]:
    """Texts to embed: author, reason, place. Private items are read for each agent, as no scope sees all."""
    found: dict[str, str] = {}
    for agent in (None, *work.upkeep.private_agents(partition)):
        visible = Visibility((partition,), agent)
        for read in (work.memories.get, work.messages.get, work.documents.chunks):
            if wanted := [i for i in ids if i not in found]:
                found |= {item.id: indexed_text(item) for item in read(visible, wanted)}
    return found
