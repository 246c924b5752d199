"""Gives items the vectors they lack in a space: after an outage, a slow embedder, or a new model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemic.engine.indexing.embedding import add_embed_job
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.kinds import EMBED
from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, BadReplyError, ConfigError, MnemicError
from mnemic.model.job import JobState
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.embedder import Embedder
from mnemic.ports.store import MAIN_VIEW, UnitOfWork, VectorRow

MOST_REFUSED = 8
"""When more texts are refused one by one and none was answered, the embedder itself is broken: its error rises."""

FILL_LIMIT = 1024
PAGE = 1024
"""Texts that are read at once; several batches of an embedder."""

Told = Callable[[int], object]
"""Called after each batch with the number of texts that were worked on."""

_JOBS_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class FillReport:
    """`filled`: vectors stored. `refused`: ids of items whose text an embedder cannot answer. `empty`: ids of items
    that say nothing to one (the zero vector), which need none. `passed_over`: (space, id) of both, which would have no
    vector after another try at once. `is_complete`: nothing else was missing when it ended.
    """

    filled: int
    refused: tuple[str, ...]
    empty: tuple[str, ...]
    passed_over: frozenset[tuple[str, str]]
    is_complete: bool


def fill_vectors(
    parts: Parts, partition: Partition | None, *, limit: int = FILL_LIMIT, told: Told = lambda _: None
) -> FillReport:
    """Embed at most `limit` texts that have no vector in a space, of one partition, or of all when None (for
    maintenance only).

    A text that is changed while it is embedded gets no vector of what it was. Embedding happens outside the writing
    transaction; each batch is one durable commit, so that an interrupted run loses at most one batch of work, and
    running it again repeats nothing else. Raises `BackendError` or `ConfigError`
    when an embedder or the store fails, after the other embedders had their turn; what was filled until then stays.
    """
    runs: list[_Run] = []
    failures: list[MnemicError] = []
    for embedder in parts.embedders:
        run = _Run(parts, embedder, limit - sum(run.asked for run in runs), told)
        runs.append(run)
        try:
            for place in _places(parts, partition):
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
    parts: Parts, work: UnitOfWork, partition: Partition, passed_over: frozenset[tuple[str, str]] = frozenset()
) -> bool:
    """True when an item of the partition, not among `passed_over`, lacks a vector in a space that should have one."""
    for embedder in parts.embedders:
        known = {item_id for space, item_id in passed_over if space == embedder.space.id}
        if missing_texts(parts, work, embedder, partition, 1, known):
            return True
    return False


def missing_texts(
    parts: Parts,
    work: UnitOfWork,
    embedder: Embedder,
    partition: Partition,
    count: int,
    passed_over: Collection[str] = frozenset(),
) -> dict[str, str]:
    """At most `count` items that should have a vector of this embedder and have none, by id, with the text as it is
    indexed; those of `passed_over` are left out.
    """
    wanted = count + len(passed_over)
    while True:
        missing = work.vectors.missing(partition, embedder.space.id, wanted)
        texts = {item_id: text for item_id, text in missing if item_id not in passed_over}
        texts |= _indexed(work, partition, list(texts))
        read = [(item_id, text) for item_id, text in texts.items() if parts.reads(embedder, text)]
        if len(read) >= count or len(missing) < wanted:
            return dict(read[:count])
        wanted *= 2  # the rest were texts that this embedder is not given, and stay without its vector for ever


def adopt_spaces(parts: Parts) -> int:
    """Leave a job for every partition that lacks vectors and has none, as all do after an embedder was added or
    changed; returns how many. One whose job gave up is left alone until that is retried.
    """
    now, lacking = parts.clock.now(), list[Partition]()
    with parts.store.read() as work:
        for partition in work.partitions.all():
            jobs = work.jobs.list([partition], (JobState.PENDING, JobState.RUNNING, JobState.DEAD), _JOBS_LOOKED_AT)
            if all(job.kind != EMBED for job in jobs) and lacks_vectors(parts, work, partition):
                lacking.append(partition)
    if lacking:
        with parts.store.write() as work:
            for partition in lacking:
                add_embed_job(work, partition, now)
    return len(lacking)


def _places(parts: Parts, partition: Partition | None) -> Sequence[Partition]:
    if partition is not None:
        return [partition]
    with parts.store.read() as work:
        return work.partitions.all()


class _ChangedMeanwhileError(Exception):
    """Some texts are no longer what was embedded: their ids."""

    def __init__(self, ids: Collection[str]) -> None:
        super().__init__(ids)
        self.ids = frozenset(ids)


class _Run:
    """One call of `fill_vectors`: what it did so far, and how much it may still do."""

    def __init__(self, parts: Parts, embedder: Embedder, limit: int, told: Told) -> None:
        self.filled = 0
        self.asked = 0
        self.refused: list[str] = []
        self.empty: list[str] = []
        self.is_complete = True
        self.space = embedder.space.id
        self._parts = parts
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
        with self._parts.store.write() as work:
            kept = work.vectors.put(partition, rows, self._parts.clock.now())
            present = _indexed(work, partition, [row.item_id for row in rows])
            if changed := [i for i, text in present.items() if text != texts[i]]:
                raise _ChangedMeanwhileError(changed)
        return kept

    def _missing(self, partition: Partition, count: int) -> list[tuple[str, str]]:
        """(id, text as it is indexed) of items that have no vector and were not passed over."""
        with self._parts.store.read() as work:
            passed_over = {*self.refused, *self.empty}
            return list(missing_texts(self._parts, work, self._embedder, partition, count, passed_over).items())

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


def _indexed(work: UnitOfWork, partition: Partition, ids: Sequence[str]) -> dict[str, str]:
    """What is embedded of these items beside their bare text: who said it, why it matters, where it stands.

    Items that are private to an agent are looked for on behalf of each agent that has some: no scope sees them all.
    """
    found: dict[str, str] = {}
    for agent in (None, *work.upkeep.private_agents(partition)):
        visible = Visibility((partition,), agent)
        for read in (work.memories.get, work.messages.get, work.documents.chunks):
            if wanted := [i for i in ids if i not in found]:
                found |= {item.id: indexed_text(item) for item in read(visible, wanted)}
    return found
