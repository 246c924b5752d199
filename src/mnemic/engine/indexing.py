"""Brings the index up to date before a search, and embeds texts and missing vectors without a failing model ever
stopping a write or question.

Passages of documents are a partition of their own to the index, with statistics and a graph, so that a shelf of manuals
does not change what is found of conversations, or how quickly.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Engine, new_id
from mnemic.engine.inputs import Watch
from mnemic.engine.kinds import EMBED
from mnemic.errors import BackendError, BadReplyError, ConfigError, MnemicError, UnavailableError
from mnemic.model.candidates import DOCUMENT, Candidates, Change, IndexQuery
from mnemic.model.item import Chunk, Fact, Item, Message
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.models import Embedder, Vectors
from mnemic.ports.store import MAIN_VIEW, VERSIONS_OF_AN_AGE, StaleTerms, UnitOfWork, VectorRow

INDEX_LEFT = (
    "the index in Qdrant could not be reached; this process removes what it holds of it when it answers again, and "
    "`mnemic doctor` does too"
)
_ATTEMPTS = 20  # one or two suffice unless the budget is far too small
_SIDE = "\x1epassages"  # cannot be part of an id, so that no owner is called so


def search(engine: Engine, query: IndexQuery, *, passages: bool = False) -> Candidates:
    """Candidates as of the call: messages and memories, or passages. Repeats when the bounded index forgets a partition
    in between; raises `UnavailableError` if that does not end, which only a far too small budget can cause.
    """
    for _ in range(_ATTEMPTS):
        wanted = catch_up(engine, query.partitions)
        if passages:
            wanted = {_side(p): version for p, version in wanted.items() if engine.passage_places.holds(p)}
        found = engine.index.search(replace(query, partitions=tuple(wanted)))
        if all(version >= least for least, version in zip(wanted.values(), found.versions, strict=True)):
            return found
    raise UnavailableError("the index cannot hold the partitions of this scope; raise its memory budget")


def catch_up(engine: Engine, partitions: Sequence[Partition]) -> dict[Partition, int]:
    """Apply to the index what changed in these partitions since it last looked; returns the store's versions."""
    with engine.store.read() as work:
        versions = work.partitions.versions(partitions)
        for partition, version in versions.items():
            # Whoever else forgot or fed the partition between the question and the answer would leave a hole in it.
            with engine.catching_up.of(partition):
                _bring_up(engine, work, partition, version)
    return versions


def forget(engine: Engine, partition: Partition) -> None:
    """Let the index go of a partition that is no more: both sides, and what it keeps of them on disk."""
    with engine.catching_up.of(partition):
        _forget(engine, partition)


def sides(partitions: Collection[Partition]) -> list[Partition]:
    """What an index calls these partitions: each, and the passages of each."""
    return [side for partition in partitions for side in (partition, _side(partition))]


def reached(engine: Engine, partitions: Collection[Partition]) -> tuple[str, ...]:
    """Forget deleted items of these partitions in external indexes now. Returns what may remain, in words."""
    served = engine.served_index
    if served is None:
        return ()
    try:
        catch_up(engine, tuple(partitions))
        is_left = served.is_behind(sides(partitions))
    except BackendError:  # of the store: what was committed stays so, and the next search looks again
        is_left = True
    return (INDEX_LEFT,) if is_left else ()


def _forget(engine: Engine, partition: Partition) -> None:
    for side in sides([partition]):
        engine.index.drop(side)


def _bring_up(engine: Engine, work: UnitOfWork, partition: Partition, version: int) -> None:
    """Bring a partition's sides to `version`, reading rows once unless one side was forgotten. Passages begin with the
    first one, so that they cost nothing without documents.
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
    if since == beside:
        if since < version:
            passages, others = _sides(engine, work, partition, since)
            index.apply(partition, others, version)
            if engine.passage_places.note(partition, holds=any(not change.is_gone for change in passages)):
                index.apply(side, passages, version)
        elif holds is None:
            engine.passage_places.note(partition, holds=beside > 0)
        return
    if since < version:
        index.apply(partition, _sides(engine, work, partition, since)[1], version)
    if beside < version:
        passages, _ = _sides(engine, work, partition, beside)
        if engine.passage_places.note(partition, holds=any(not change.is_gone for change in passages)):
            index.apply(side, passages, version)


def _is_behind(work: UnitOfWork, partition: Partition, version: int, *held: int) -> bool:
    """True when changes cannot list all removals: after a restore, an erasure, or removal of tombstones."""
    oldest = min((each for each in held if 0 < each < version), default=version)
    if oldest == version:
        return False
    return oldest < version - version % VERSIONS_OF_AN_AGE or oldest < work.partitions.horizon(partition)


def _sides(engine: Engine, work: UnitOfWork, partition: Partition, since: int) -> tuple[list[Change], list[Change]]:
    """What changed of passages and what of all else; what is gone is told to both."""
    passages: list[Change] = []
    others: list[Change] = []
    for read in _changes(engine, work, partition, since):
        change = read if type(read) is Change else _fresh(engine, read)
        if change.is_gone:
            passages.append(change)
            others.append(change)
        else:
            (passages if change.role == DOCUMENT else others).append(change)
    return passages, others


def _side(partition: Partition) -> Partition:
    """What an index calls the passages of a partition."""
    return replace(partition, owner=f"{partition.owner}{_SIDE}")


def _changes(engine: Engine, work: UnitOfWork, partition: Partition, since: int) -> Iterator[Change | StaleTerms]:
    """What changed, with its vectors of every space; all readings of one unit of work tell the same rows in order."""
    main, *further = (work.partitions.changes(partition, since, reading) for reading in engine.readings)
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
    """An item's text to analyse and embed; of a memory, or a fact for one, with why it matters and its source words."""
    if isinstance(item, Message):
        return message_text(item.name, item.text)
    if isinstance(item, Chunk):
        return "\n".join((*chunk_titles(item), item.text))
    return "\n".join(part for part in (item.text, item.context, item.snippet) if part)


def message_text(name: str | None, text: str) -> str:
    """What is searched of a message: who said it belongs to what it means."""
    return f"{name}: {text}" if name else text


def chunk_titles(chunk: Chunk) -> tuple[str, ...]:
    """What stands above the text of a chunk: the title of the document, unless it is the outermost heading, and the
    headings on one line. "Our terms" may say nothing of whose; the title does.
    """
    headings = chunk.headings
    is_named = bool(headings) and headings[0].strip().casefold() == chunk.title.strip().casefold()
    title = "" if is_named else chunk.title
    return tuple(line for line in (title.strip(), chunk.heading.strip()) if line)


ItemVectors = tuple[NDArray[np.float32] | None, ...]
"""The vectors of one text, one per embedder: None where it must follow by a job, all zero where the text has none.
Behind them, where there is a retired space, that of its embedder; none is made of it later.
"""

SEARCH_MS = 12.0
"""Kept of a deadline for the search, when the embedder may not answer in time."""

_log = logging.getLogger("mnemic.embedding")
_questions = logging.getLogger("mnemic.recall")


def document_vectors(engine: Engine, texts: Sequence[str]) -> list[ItemVectors] | None:
    """Vectors of new texts; None when a job must make them. Without an embedder the list is empty."""
    if not engine.embedders:
        return []
    columns = [_column(engine, embedder, texts) for embedder in engine.embedders]
    if engine.retired is not None and not engine.retired.is_removed:
        columns.append(_column(engine, engine.retired.embedder, texts))
    if all(column is None for column in columns):
        return None
    return [tuple(None if column is None else column[row] for column in columns) for row in range(len(texts))]


def _column(engine: Engine, embedder: Embedder, texts: Sequence[str]) -> Vectors | None:
    """The vectors in one space, zero rows for texts that its embedder is not given; None: they must follow."""
    places = [place for place, text in enumerate(texts) if engine.reads(embedder, text)]
    try:
        if places and not embedder.capabilities.is_local:
            return None
        rows = np.zeros((len(texts), embedder.space.dims), dtype=np.float32)
        if places:
            rows[places] = embedder.embed_documents([texts[place] for place in places])
        return rows
    except (BackendError, ConfigError) as error:
        _log.error("embedding %d texts failed (%s); vectors will follow", len(texts), type(error).__name__)
        engine.observer.count("mnemic.embedding.failure", operation="write")
        return None


def question_vectors(
    engine: Engine, partitions: Sequence[Partition], text: str, watch: Watch
) -> tuple[ItemVectors, tuple[str, ...]]:
    """A question's vectors, one per embedder or None, and what failed or was late; the retired space's last, where
    needed. Blank questions cost no call. With a deadline all embedders run at once.
    """
    asking = [_Asking(engine, embedder, text, watch) for embedder in _asked_embedders(engine, partitions)]
    vectors = tuple(each.answer() for each in asking)
    return vectors, tuple(each.failure for each in asking if each.failure)


def _asked_embedders(engine: Engine, partitions: Sequence[Partition]) -> Sequence[Embedder]:
    if engine.retired is None or engine.retired.is_removed:
        return engine.embedders
    present = [embedder.space.id for embedder in engine.embedders]
    try:
        with engine.store.read() as work:
            return engine.known_embedders if engine.retired.is_needed(work, partitions, present) else engine.embedders
    except BackendError as error:  # the search fails too, and says it where it is expected
        _questions.warning("which spaces are filled cannot be read (%s)", type(error).__name__)
        return engine.embedders


@dataclass(frozen=True, slots=True)
class Asked:
    """The vectors of a question, what was missing among them, and when its asking began (a performance counter)."""

    vectors: ItemVectors
    missing: tuple[str, ...]
    start: float


class _Asking:
    """One embedder, asked for the vector of a question."""

    def __init__(self, engine: Engine, embedder: Embedder, text: str, watch: Watch) -> None:
        self.failure = ""
        self._engine, self._embedder, self._text, self._watch = engine, embedder, text, watch
        is_asked = bool(text.strip()) and watch.deadline_ms is not None
        self._waiting = engine.pool.submit(self._vector) if is_asked else None

    def answer(self) -> NDArray[np.float32] | None:
        """The vector; None, and why in `failure`, when it fails or is late."""
        name = "the embedder" if len(self._engine.known_embedders) == 1 else self._embedder.space.model
        try:
            return self._vector() if self._waiting is None else self._waiting.result(self._watch.left_s(SEARCH_MS))
        except (BackendError, ConfigError) as error:
            kind = type(error).__name__
            _questions.error("embedding a question failed (%s); answering by keyword alone", kind)
            self._engine.observer.count("mnemic.embedding.failure", operation="read")
            self.failure = f"dense: {name} failed ({kind})"
        except TimeoutError:
            self._engine.observer.count("mnemic.recall.late", source="dense")
            late = "" if len(self._engine.known_embedders) == 1 else f"{name} "
            self.failure = f"dense: {late}not within the deadline of {self._watch.deadline_ms:g} ms"
        return None

    def _vector(self) -> NDArray[np.float32] | None:
        parts, embedder, text = self._engine, self._embedder, self._text
        if not text.strip() or not parts.reads(embedder, text):
            return None
        vector = parts.queries.get(embedder.space.id, text)
        if vector is None:
            vector = embedder.embed_queries([text])[0]
            parts.queries.put(embedder.space.id, text, vector)
        return vector


def put_vectors(
    engine: Engine,
    work: UnitOfWork,
    items: Sequence[tuple[Partition, str]],
    vectors: Sequence[ItemVectors] | None,
    at: datetime,
) -> None:
    """Store the vectors of items written in this unit of work, and leave the job that will make those that lack."""
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
    """Leave the job that makes missing vectors of a partition, unless it waits already."""
    job = Job(id=new_id(at), partition=partition, kind=EMBED, key=EMBED, created_at=at, run_at=at)
    work.jobs.add([job])


MOST_REFUSED = 8
"""When more texts are refused one by one and none was answered, the embedder itself is broken: its error rises."""

FILL_LIMIT = 1024  # texts embedded per call, so that a job ends within its lease
PAGE = 1024
"""Texts that are read at once; several batches of an embedder."""

Told = Callable[[int], object]
"""Called after each batch with the number of texts that were worked on."""

_JOBS_LOOKED_AT = 1000  # bounds the time of the check


@dataclass(frozen=True, slots=True)
class FillReport:
    """`filled`: stored vectors. `refused`: ids that an embedder cannot answer. `empty`: ids with a zero vector, which
    need none. `passed_over`: (space, id) of both. `is_complete`: nothing else is missing.
    """

    filled: int
    refused: tuple[str, ...]
    empty: tuple[str, ...]
    passed_over: frozenset[tuple[str, str]]
    is_complete: bool


def fill_vectors(
    engine: Engine, partition: Partition | None, *, limit: int = FILL_LIMIT, told: Told = lambda _: None
) -> FillReport:
    """Embed up to `limit` texts without a vector in a space, of a partition or all (None, for maintenance). A text
    changed meanwhile gets none. Batches are embedded outside transactions and committed one by one, so that an
    interruption loses one. Raises `BackendError` or `ConfigError` after the other embedders' turn; earlier batches
    stay.
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
    """True when an item of the partition, not among `passed_over`, lacks a vector in a space that should have one."""
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
    """At most `count` items without this embedder's vector, by id, with the indexed text; none of `passed_over`."""
    wanted = count + len(passed_over)
    while True:
        missing = work.vectors.missing(partition, embedder.space.id, wanted)
        texts = {item_id: text for item_id, text in missing if item_id not in passed_over}
        texts |= _indexed_texts(work, partition, list(texts))
        read = [(item_id, text) for item_id, text in texts.items() if engine.reads(embedder, text)]
        if len(read) >= count or len(missing) < wanted:
            return dict(read[:count])
        wanted *= 2  # the rest were texts that this embedder is not given, and stay without its vector for ever


def adopt_spaces(engine: Engine) -> int:
    """Leave a job for each partition that lacks vectors and has none; return how many. Failed jobs stay failed."""
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
    """Some texts are no longer what was embedded: their ids."""

    def __init__(self, ids: Collection[str]) -> None:
        super().__init__(ids)
        self.ids = frozenset(ids)


class _Run:
    """One call of `fill_vectors`: what it did so far, and how much it may still do."""

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
        """All items of a partition, as far as the limit allows."""
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
        """Store them without those of texts that were changed since they were read."""
        while rows:
            try:
                self.filled += self._put(partition, texts, rows)
            except _ChangedMeanwhileError as error:
                rows = [row for row in rows if row.item_id not in error.ids]
            else:
                return

    def _put(self, partition: Partition, texts: Mapping[str, str], rows: Sequence[VectorRow]) -> int:
        """One durable commit. The texts are looked at when nobody else may write in the partition any more."""
        with self._engine.store.write() as work:
            kept = work.vectors.put(partition, rows, self._engine.clock.now())
            present = _indexed_texts(work, partition, [row.item_id for row in rows])
            if changed := [i for i, text in present.items() if text != texts[i]]:
                raise _ChangedMeanwhileError(changed)
        return kept

    def _missing(self, partition: Partition, count: int) -> list[tuple[str, str]]:
        """(id, text as it is indexed) of items that have no vector and were not passed over."""
        with self._engine.store.read() as work:
            passed_over = {*self.refused, *self.empty}
            return list(missing_texts(self._engine, work, self._embedder, partition, count, passed_over).items())

    def _rows(self, batch: Sequence[tuple[str, str]]) -> Iterator[VectorRow]:
        """The rows of a batch; one that is refused is halved, until the texts are found that cannot be answered."""
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
    """Texts to embed: author, reason, place. Agents' private items are read for each agent, as no scope sees all."""
    found: dict[str, str] = {}
    for agent in (None, *work.upkeep.private_agents(partition)):
        visible = Visibility((partition,), agent)
        for read in (work.memories.get, work.messages.get, work.documents.chunks):
            if wanted := [i for i in ids if i not in found]:
                found |= {item.id: indexed_text(item) for item in read(visible, wanted)}
    return found
