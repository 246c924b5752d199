"""Gives items the vectors they lack in the embedder's space: after an outage, a slow embedder, or a change of model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemic.engine import capture, remember
from mnemic.engine.parts import Parts
from mnemic.errors import BadReplyError
from mnemic.model.item import Message
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.embedder import Embedder
from mnemic.ports.store import MAIN_VIEW, UnitOfWork, VectorRow

MOST_REFUSED = 8
"""When more texts are refused one by one and none was answered, the embedder itself is broken: its error rises."""

FILL_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class FillReport:
    """`filled`: vectors stored. `refused`: ids of items whose text the embedder cannot answer. `empty`: ids of items
    that say nothing to it (the zero vector), which need none. `is_complete`: nothing else was missing when it ended.
    """

    filled: int
    refused: tuple[str, ...]
    empty: tuple[str, ...]
    is_complete: bool

    @property
    def passed_over(self) -> frozenset[str]:
        """Ids that still have no vector and would have none after another try at once."""
        return frozenset({*self.refused, *self.empty})


def fill_vectors(parts: Parts, partition: Partition | None, *, limit: int = FILL_LIMIT) -> FillReport:
    """Embed at most `limit` items that have no vector, of one partition, or of all when None (for maintenance only).

    Embedding happens outside the writing transaction; each batch is one durable commit, so that an interrupted run
    loses at most one batch of work, and running it again repeats nothing else. Raises `BackendError` or `ConfigError`
    when the embedder or the store fails; what was filled until then stays.
    """
    if parts.embedder is None:
        return FillReport(0, (), (), is_complete=True)
    run = _Run(parts, parts.embedder, limit)
    for place in _places(parts, partition):
        run.fill(place)
    return FillReport(run.filled, tuple(run.refused), tuple(run.empty), run.is_complete)


def lacks_vectors(parts: Parts, work: UnitOfWork, partition: Partition, passed_over: frozenset[str]) -> bool:
    """True when an item of the partition, not among `passed_over`, has no vector in the embedder's space."""
    if parts.embedder is None:
        return False
    missing = work.vectors.missing(partition, parts.embedder.space.id, len(passed_over) + 1)
    return any(item_id not in passed_over for item_id, _ in missing)


def _places(parts: Parts, partition: Partition | None) -> Sequence[Partition]:
    if partition is not None:
        return [partition]
    with parts.store.read() as work:
        return work.partitions.all()


class _Run:
    """One call of `fill_vectors`: what it did so far, and how much it may still do."""

    def __init__(self, parts: Parts, embedder: Embedder, limit: int) -> None:
        self.filled = 0
        self.refused: list[str] = []
        self.empty: list[str] = []
        self.is_complete = True
        self._parts = parts
        self._embedder = embedder
        self._left = limit

    def fill(self, partition: Partition) -> None:
        """All items of a partition, as far as the limit allows."""
        size = self._embedder.capabilities.batch_size
        while batch := self._missing(partition, min(size, self._left + 1)):
            if self._left <= 0:
                self.is_complete = False
                return
            batch = batch[: self._left]
            self._left -= len(batch)
            rows = list(self._rows(batch))
            with self._parts.store.write() as work:
                self.filled += work.vectors.put(partition, rows, self._parts.clock.now())

    def _missing(self, partition: Partition, count: int) -> list[tuple[str, str]]:
        """(id, text as it is indexed) of items that have no vector and were not passed over."""
        passed_over = {*self.refused, *self.empty}
        with self._parts.store.read() as work:
            missing = work.vectors.missing(partition, self._embedder.space.id, count + len(passed_over))
            texts = {item_id: text for item_id, text in missing if item_id not in passed_over}
            return list((texts | _indexed(work, partition, list(texts))).items())[:count]

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
    """What is embedded of these items beside their bare text: who said it, why it matters.

    An item that is private to one agent is shown to nobody here, and keeps its bare text.
    """
    visible = Visibility((partition,), None)
    items = [*work.memories.get(visible, ids), *work.messages.get(visible, ids)]
    return {
        item.id: capture.indexed_text(item.name, item.text)
        if isinstance(item, Message)
        else remember.indexed_text(item)
        for item in items
    }
