"""The rows of partitions in Qdrant, written by several processes without a lock, and searches over them. A row carries
its version and is never replaced by an older one. Removed rows stay as points for a while. A partition's version is a
point of its own and only grows. A forgotten partition starts a new epoch; a writer to the old one notices that and
removes its rows.
"""

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from mnemic.adapters.indexes import qdrant_points as layout
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import Change, IndexQuery, Surroundings
from mnemic.model.scope import Partition

_MOST_STATES = 65_536  # partitions; bounds the cache's memory; others are read from the server again
_GONE_KEPT_S = 3600  # seconds: a slower process that still writes the row must see that it is gone
_POLL_S = 0.05  # between two checks whether another process has filled the partition
_PAGE = 1000  # points per request: bounds the size of one answer
_Operations = list[models.UpdateOperation]


class QdrantVectors:
    """Rows by partition in the collection `name`, separate for each `store` id."""

    def __init__(
        self, link: layout.QdrantLink, name: str, *, store: str, dims: int, options: layout.QdrantOptions
    ) -> None:
        self._link, self._name, self._store, self._dims, self._options = link, name, store, dims, options
        self._known: OrderedDict[Partition, layout.State] = OrderedDict()
        self._owed: dict[Partition, None] = {}
        self._guard = threading.Lock()
        self._locks = [threading.Lock() for _ in range(64)]

    def key(self, partition: Partition) -> str:
        """The partition's name in the collection."""
        return layout.key_of(self._store, partition)

    def known(self, partition: Partition) -> layout.State | None:
        """The partition's last known state, None if unknown."""
        with self._guard:
            return self._known.get(partition)

    def held(self, partition: Partition) -> layout.State | None:
        """The partition's state, fetched if unknown. May be older than other processes' writes."""
        return self.known(partition) or self.fetched(partition)

    def fetched(self, partition: Partition) -> layout.State | None:
        """The partition's current state. None if it is missing or being filled."""
        state = self._read(partition)
        return self.hear(partition, state if state is not None and state.version else None)

    def hear(self, partition: Partition, state: layout.State | None) -> layout.State | None:
        """Cache and return a partition's state."""
        with self._guard:
            self._known.pop(partition, None)
            if state is not None:
                self._known[partition] = state
            while len(self._known) > _MOST_STATES:
                self._known.popitem(last=False)
        return state

    def apply(self, partition: Partition, changes: Sequence[Change], version: int, since: int | None) -> None:
        """Write changes that follow the version `since` (None: any), and move to `version`. Does nothing if another
        process did that, or has forgotten the partition.
        """
        last = list({change.item_id: change for change in changes}.values())
        self._check(last)
        with self._locks[hash(partition) % len(self._locks)]:
            state = self._read(partition)
            is_there = state is not None and state.version > 0
            if not is_there and not since:
                self._fill(partition, [change for change in last if not change.is_gone], version, state)
            elif state is not None and is_there and (since or 0) <= state.version < version:
                self._extend(partition, last, version, state)
            else:
                self.hear(partition, state if is_there else None)

    def drop(self, partition: Partition) -> None:
        """Forget the partition. During an outage, as soon as Qdrant is back."""
        self.hear(partition, None)
        with self._guard:
            self._owed[partition] = None
        self._drop(partition)

    def pay(self) -> None:
        """Drop what could not be dropped before. Raises `BackendError` if that still fails."""
        for partition in self.owed():
            self._drop(partition)

    def owed(self) -> list[Partition]:
        """Partitions still to be dropped."""
        with self._guard:
            return list(self._owed)

    def remove_strangers(self, known: Collection[Partition]) -> int:
        """Remove other partitions of this store. Returns their number."""
        keys = {self.key(partition) for partition in known}
        strangers = [key for key in self._keys() if key not in keys]
        for key in strangers:
            self._link.ask(lambda client, key=key: self._update(client, _all_of(key)))
        return len(strangers)

    def _check(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.vector is not None and change.vector.shape[0] != self._dims:
                raise InvalidInputError(
                    f"a vector has {change.vector.shape[0]} dimensions, but the stored vectors have {self._dims}; "
                    "vectors from different embedders cannot be compared"
                )

    def _drop(self, partition: Partition) -> None:
        self._link.ask(lambda client: self._update(client, _all_of(self.key(partition))))
        with self._guard:
            self._owed.pop(partition, None)

    def _read(self, partition: Partition) -> layout.State | None:
        point_id = layout.state_id(self.key(partition))
        found = self._link.ask(lambda client: client.retrieve(self._name, [point_id], with_payload=True))
        return layout.state_of(found[0].payload or {}) if found else None

    def _keys(self) -> Iterator[str]:
        wanted = models.Filter(must=[layout.is_("store", self._store), layout.is_("what", layout.STATE)])
        offset: object = None
        while True:
            page, offset = self._link.ask(
                lambda client, offset=offset: client.scroll(
                    self._name, wanted, limit=_PAGE, offset=offset, with_payload=["partition"]
                )
            )
            yield from [str((point.payload or {})["partition"]) for point in page]
            if offset is None:
                return

    def _extend(self, partition: Partition, changes: Sequence[Change], version: int, state: layout.State) -> None:
        """Write changes to an existing partition."""
        key = self.key(partition)
        forward: models.UpdateOperation = _set(
            {"version": version},
            [
                layout.named([layout.state_id(key)]),
                layout.is_("epoch", state.epoch),
                layout.between("version", least=state.version, below=version),
            ],
        )
        batches = [*self._batches(key, state.epoch, changes, version)] or [[]]
        if any(change.is_gone for change in changes):
            batches[-1].append(
                _make_removal(
                    [
                        layout.is_("partition", key),
                        layout.is_("what", layout.GONE),
                        layout.between("gone_at", below=int(time.time()) - _GONE_KEPT_S),
                    ]
                )
            )
        batches[-1].append(forward)
        for batch in batches:
            self._link.ask(lambda client, batch=batch: self._update(client, batch))
        self._settle(partition, state.epoch)

    def _fill(self, partition: Partition, changes: Sequence[Change], version: int, left: layout.State | None) -> None:
        """Start the partition with all its rows, or wait if another process does."""
        left = self._wait_for_others(partition, left)
        if left is not None and left.version:
            self.hear(partition, left)
            return
        key, mine = self.key(partition), layout.State(uuid.uuid4().hex, 0)
        if not self._is_claimed(partition, mine, left):
            return
        others = [layout.is_("partition", key), models.Filter(must_not=[layout.is_("epoch", mine.epoch)])]
        self._link.ask(lambda client: self._update(client, [_make_removal(others)]))
        whose = [layout.named([layout.state_id(key)]), layout.is_("epoch", mine.epoch)]
        for beat, batch in enumerate(self._batches(key, mine.epoch, changes, version), start=1):
            batch.append(_set({"beat": beat}, whose))
            self._link.ask(lambda client, batch=batch: self._update(client, batch))
        self._link.ask(lambda client: self._update(client, [_set({"version": version}, whose)]))
        self._settle(partition, mine.epoch)

    def _wait_for_others(self, partition: Partition, state: layout.State | None) -> layout.State | None:
        """Wait until no other process fills the partition: it is done, or makes no progress."""
        seen, until = state, time.monotonic() + self._options.claim_s
        while state is not None and not state.version and time.monotonic() < until:
            time.sleep(_POLL_S)
            state = self._read(partition)
            if state != seen:
                seen, until = state, time.monotonic() + self._options.claim_s
        return state

    def _is_claimed(self, partition: Partition, mine: layout.State, left: layout.State | None) -> bool:
        """Replace the state that was seen by `mine`. False if it has changed."""
        key = self.key(partition)
        claim = models.PointsList(
            points=[layout.state_point(key, self._store, partition, mine)],
            update_mode=models.UpdateMode.INSERT_ONLY if left is None else None,
            update_filter=None if left is None else models.Filter(must=[layout.is_("epoch", left.epoch)]),
        )
        self._link.ask(lambda client: self._update(client, [models.UpsertOperation(upsert=claim)]))
        state = self._read(partition)
        return state is not None and state.epoch == mine.epoch

    def _settle(self, partition: Partition, epoch: str) -> None:
        """Refresh the partition's state. If it was forgotten meanwhile, remove what was written to the old epoch."""
        state = self._read(partition)
        if state is None or state.epoch != epoch:
            mine = [layout.is_("partition", self.key(partition)), layout.is_("epoch", epoch)]
            self._link.ask(lambda client: self._update(client, [_make_removal(mine)]))
        self.hear(partition, state if state is not None and state.version else None)

    def _batches(self, key: str, epoch: str, changes: Sequence[Change], version: int) -> Iterator[_Operations]:
        """Upserts that do not touch rows of the same or later versions."""
        now_s = int(time.time())
        older = models.Filter(must=[layout.between("version", below=version)])
        for start in range(0, len(changes), self._options.batch_rows):
            part = changes[start : start + self._options.batch_rows]
            points = [layout.row_point(key, epoch, change, version, now_s) for change in part]
            yield [models.UpsertOperation(upsert=models.PointsList(points=points, update_filter=older))]

    def _update(self, client: QdrantClient, operations: _Operations) -> None:
        client.batch_update_points(self._name, operations, wait=True)


def _all_of(key: str) -> _Operations:
    return [_make_removal([layout.is_("partition", key)])]


def _make_removal(must: Sequence[models.Condition]) -> models.UpdateOperation:
    return models.DeleteOperation(delete=models.FilterSelector(filter=models.Filter(must=list(must))))


def _set(payload: dict[str, object], must: Sequence[models.Condition]) -> models.UpdateOperation:
    return models.SetPayloadOperation(
        set_payload=models.SetPayload(payload=payload, filter=models.Filter(must=list(must)))
    )


SAMPLE_ROWS = 512
"""Sample size for the mean and deviation of cosines, the same rows every time."""

MOST_NAMED = 10_000
"""Ids in one filter."""

_Must = list[models.Condition]
_Points = list[models.ScoredPoint]


@dataclass(frozen=True, slots=True)
class Sought:
    """A partition to search: `ids` of rows found otherwise, of `items` visible ones."""

    partition: Partition
    ids: Sequence[str]
    items: int


@dataclass(slots=True)
class Looked:
    """Qdrant's data about a partition at `version` (0: none). Cosines and positions (`spots`) by id of rows near the
    vector, requested rows and their neighbours; statistics of the visible vectors. `nearest`: results of each search.
    """

    version: int = 0
    nearest: dict[str, tuple[float, layout.Spot]] = field(default_factory=dict[str, tuple[float, layout.Spot]])
    cosines: dict[str, float] = field(default_factory=dict[str, float])
    spots: dict[str, layout.Spot] = field(default_factory=dict[str, layout.Spot])
    population: tuple[int, float, float] = (0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One request of a batch: its partition, purpose, and a factor for its numbers."""

    place: int
    what: str
    request: models.QueryRequest
    scale: float = 1.0


class QdrantSearch:
    """Reads the rows that `vectors` writes to the collection `name`."""

    def __init__(
        self, link: layout.QdrantLink, name: str, vectors: QdrantVectors, options: layout.QdrantOptions
    ) -> None:
        self._link, self._name, self._vectors, self._options = link, name, vectors, options

    def look(self, query: IndexQuery, sought: Sequence[Sought]) -> list[Looked]:
        """The data of each partition, in one request, plus one for neighbours."""
        if not sought:
            return []
        known = [self._vectors.held(each.partition) for each in sought]
        asks = [
            ask
            for place, (each, state) in enumerate(zip(sought, known, strict=True))
            if state is not None
            for ask in self._asks(query, place, each, state)
        ]
        states, found = self._states(sought), [Looked() for _ in sought]
        answers = self._ask_all([states, *asks])
        said = {str(point.id): layout.state_of(point.payload or {}) for point in answers[0]}
        for place, (each, state) in enumerate(zip(sought, known, strict=True)):
            now = said.get(layout.state_id(self._vectors.key(each.partition)))
            if now is not None and state is not None and now.epoch == state.epoch:
                found[place].version = now.version
            self._vectors.hear(each.partition, now if now is not None and now.version else None)
        for ask, points in zip(asks, answers[1:], strict=True):
            _take(found[ask.place], ask, points)
        for each in found:
            _choose(each, query.dense_limit)
        for _ in range(query.neighbours):
            self._look_beside(query, sought, known, found)
        return [each if each.version else Looked() for each in found]

    def _states(self, sought: Sequence[Sought]) -> models.QueryRequest:
        ids = [layout.state_id(self._vectors.key(each.partition)) for each in sought]
        return models.QueryRequest(filter=models.Filter(must=[layout.named(ids)]), limit=len(ids), with_payload=True)

    def _asks(self, query: IndexQuery, place: int, sought: Sought, state: layout.State) -> list[_Ask]:
        key = self._vectors.key(sought.partition)
        seen, asks = layout.visible(key, state.epoch, query), list[_Ask]()
        ids = [layout.row_id(key, state.epoch, item_id) for item_id in sought.ids]
        asks += self._of(query, place, [*seen, layout.named(ids)], len(ids))
        if query.vector is None:
            return asks
        if query.dense_limit > 0:
            for narrowing in layout.narrowings(key, state.epoch, query, MOST_NAMED):
                near = self._request(query, [*seen, *narrowing], query.dense_limit, shown=True)
                asks.append(_Ask(place, "near", near))
        below = layout.SAMPLE_SPAN * SAMPLE_ROWS // max(sought.items, SAMPLE_ROWS) or 1
        sample = self._request(query, [*seen, layout.between("sample", below=below)], 2 * SAMPLE_ROWS, is_exact=True)
        return [*asks, _Ask(place, "sample", sample, layout.SAMPLE_SPAN / below)]

    def _of(self, query: IndexQuery, place: int, must: _Must, limit: int) -> list[_Ask]:
        """Requests for the positions of rows, also without a vector, and their cosines."""
        if not limit:
            return []
        spots = models.QueryRequest(filter=models.Filter(must=must), limit=limit, with_payload=layout.SHOWN)
        asks = [_Ask(place, "spots", spots)]
        if query.vector is not None:
            asks.append(_Ask(place, "spots", self._request(query, must, limit, shown=True, is_exact=True)))
        return asks

    def _request(
        self, query: IndexQuery, must: _Must, limit: int, *, shown: bool = False, is_exact: bool = False
    ) -> models.QueryRequest:
        vector: Any = None if query.vector is None else query.vector.tolist()
        return models.QueryRequest(
            query=vector,
            filter=models.Filter(must=must),
            limit=limit,
            with_payload=layout.SHOWN if shown else False,
            params=self._params(limit, is_exact=is_exact),
        )

    def _params(self, limit: int, *, is_exact: bool) -> models.SearchParams | None:
        """Search parameters. None for a local collection, which always compares all rows and warns about parameters."""
        if self._link.is_local:
            return None
        return (
            models.SearchParams(exact=True)
            if is_exact
            else models.SearchParams(hnsw_ef=max(self._options.ef_search, limit))
        )

    def _look_beside(
        self, query: IndexQuery, sought: Sequence[Sought], known: Sequence[layout.State | None], found: Sequence[Looked]
    ) -> None:
        """Add the permitted messages just before and after the found ones."""
        asks: list[_Ask] = []
        for place, (each, state, looked) in enumerate(zip(sought, known, found, strict=True)):
            talks = _neighbouring_spots(looked.spots.values())
            if state is None or not looked.version or not talks:
                continue
            key = self._vectors.key(each.partition)
            for narrowing in layout.narrowings(key, state.epoch, query, MOST_NAMED):
                must = [*layout.visible(key, state.epoch, query), *narrowing, layout.among("talk", talks)]
                asks += self._of(query, place, must, len(talks))
        for ask, points in zip(asks, self._ask_all([ask.request for ask in asks]), strict=True):
            _take(found[ask.place], ask, points)

    def _ask_all(self, asks: Sequence[_Ask | models.QueryRequest]) -> list[_Points]:
        requests = [ask.request if isinstance(ask, _Ask) else ask for ask in asks]
        if not requests:
            return []
        answers = self._link.ask(lambda client: client.query_batch_points(self._name, requests))
        return [answer.points for answer in answers]


def surroundings(ids: Sequence[str], spots: dict[str, layout.Spot], words: frozenset[str]) -> Surroundings:
    """The positions of these rows, in order. Unknown rows have none."""
    here = [spots.get(item_id) for item_id in ids]
    place_of = {spot.talk: place for place, spot in enumerate(here) if spot is not None and spot.talk is not None}
    codes: dict[str, int] = {}
    return Surroundings(
        before=_places([place_of.get(s.before or "", -1) if s else -1 for s in here]),
        after=_places([place_of.get(s.after or "", -1) if s else -1 for s in here]),
        sessions=_places([codes.setdefault(s.session, len(codes)) if s and s.session else -1 for s in here]),
        is_named=_facts([bool(s and words & set(s.author.casefold().split())) for s in here]),
        is_assistant=_facts([bool(s and s.is_assistant) for s in here]),
        is_question=_facts([bool(s and s.is_question) for s in here]),
    )


def _places(places: Sequence[int]) -> NDArray[np.int64]:
    return np.array(places, dtype=np.int64)


def _facts(facts: Sequence[bool]) -> NDArray[np.bool_]:
    return np.array(facts, dtype=np.bool_)


def _take(found: Looked, ask: _Ask, points: _Points) -> None:
    if ask.what == "sample":
        scores = np.array([point.score for point in points], dtype=np.float64)
        count = round(len(scores) * ask.scale) if ask.scale > 1 else len(scores)
        found.population = (count, float(scores.sum()) * ask.scale, float((scores * scores).sum()) * ask.scale)
        return
    for point in points:
        payload = point.payload or {}
        item_id, spot = str(payload["item"]), layout.spot_of(payload)
        if ask.what == "near":
            found.nearest[item_id] = (point.score, spot)
            continue
        found.spots[item_id] = spot
        if ask.request.query is not None:
            found.cosines[item_id] = point.score


def _choose(found: Looked, limit: int) -> None:
    """Keep the nearest rows of all searches together."""
    for item_id in sorted(found.nearest, key=lambda each: -found.nearest[each][0])[:limit]:
        found.cosines[item_id], found.spots[item_id] = found.nearest[item_id]


def _neighbouring_spots(spots: Collection[layout.Spot]) -> set[str]:
    """The positions just before and after some rows, without theirs."""
    held = {spot.talk for spot in spots}
    return {talk for spot in spots for talk in (spot.before, spot.after) if talk is not None and talk not in held}
