"""Asks a collection of Qdrant: what is near a vector, how near given rows are, and where they stand in their talk."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models

from mnemic.adapters.indexes.qdrant_link import QdrantLink, QdrantOptions
from mnemic.adapters.indexes.qdrant_points import (
    SAMPLE_SPAN,
    SHOWN,
    Spot,
    State,
    among,
    between,
    named,
    narrowings,
    row_id,
    spot_of,
    state_id,
    state_of,
    visible,
)
from mnemic.adapters.indexes.qdrant_vectors import QdrantVectors
from mnemic.model.candidates import IndexQuery, Surroundings
from mnemic.model.scope import Partition

SAMPLE_ROWS = 512
"""Of more visible rows the mean and deviation of the cosines are estimated from about so many, the same every time."""

MOST_NAMED = 10_000
"""Ids in one filter."""

_Must = list[models.Condition]
_Points = list[models.ScoredPoint]


@dataclass(frozen=True, slots=True)
class Sought:
    """One partition to look at: `ids` of rows that were found by other ways, of `items` visible ones."""

    partition: Partition
    ids: Sequence[str]
    items: int


@dataclass(slots=True)
class Looked:
    """What Qdrant knows of a partition at `version` (0: nothing, or not any more): of rows near the vector, of those
    asked for and of those beside them by id their cosines and where they stand (`spots`); the population of the visible
    vectors. `nearest`: what each request for near rows found.
    """

    version: int = 0
    nearest: dict[str, tuple[float, Spot]] = field(default_factory=dict[str, tuple[float, Spot]])
    cosines: dict[str, float] = field(default_factory=dict[str, float])
    spots: dict[str, Spot] = field(default_factory=dict[str, Spot])
    population: tuple[int, float, float] = (0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One request of a batch: for which partition, what for, and by how much its numbers are to be multiplied."""

    place: int
    what: str
    request: models.QueryRequest
    scale: float = 1.0


class QdrantSearch:
    """Reads the rows that `vectors` writes to the collection `name`."""

    def __init__(self, link: QdrantLink, name: str, vectors: QdrantVectors, options: QdrantOptions) -> None:
        self._link, self._name, self._vectors, self._options = link, name, vectors, options

    def look(self, query: IndexQuery, sought: Sequence[Sought]) -> list[Looked]:
        """What is known of each partition, in one request, and in another one where neighbours are wanted."""
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
        answers = self._asked([states, *asks])
        said = {str(point.id): state_of(point.payload or {}) for point in answers[0]}
        for place, (each, state) in enumerate(zip(sought, known, strict=True)):
            now = said.get(state_id(self._vectors.key(each.partition)))
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
        ids = [state_id(self._vectors.key(each.partition)) for each in sought]
        return models.QueryRequest(filter=models.Filter(must=[named(ids)]), limit=len(ids), with_payload=True)

    def _asks(self, query: IndexQuery, place: int, sought: Sought, state: State) -> list[_Ask]:
        key = self._vectors.key(sought.partition)
        seen, asks = visible(key, state.epoch, query), list[_Ask]()
        ids = [row_id(key, state.epoch, item_id) for item_id in sought.ids]
        asks += self._of(query, place, [*seen, named(ids)], len(ids))
        if query.vector is None:
            return asks
        if query.dense_limit > 0:
            for narrowing in narrowings(key, state.epoch, query, MOST_NAMED):
                near = self._request(query, [*seen, *narrowing], query.dense_limit, shown=True)
                asks.append(_Ask(place, "near", near))
        below = SAMPLE_SPAN * SAMPLE_ROWS // max(sought.items, SAMPLE_ROWS) or 1
        sample = self._request(query, [*seen, between("sample", below=below)], 2 * SAMPLE_ROWS, is_exact=True)
        return [*asks, _Ask(place, "sample", sample, SAMPLE_SPAN / below)]

    def _of(self, query: IndexQuery, place: int, must: _Must, limit: int) -> list[_Ask]:
        """Asks for where some rows stand, those without a vector too, and how near they are."""
        if not limit:
            return []
        spots = models.QueryRequest(filter=models.Filter(must=must), limit=limit, with_payload=SHOWN)
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
            with_payload=SHOWN if shown else False,
            params=self._params(limit, is_exact=is_exact),
        )

    def _params(self, limit: int, *, is_exact: bool) -> models.SearchParams | None:
        """How to search; a local collection always compares all rows and warns when it is told how."""
        if self._link.is_local:
            return None
        return models.SearchParams(exact=True) if is_exact else models.SearchParams(hnsw_ef=self._ef(limit))

    def _ef(self, limit: int) -> int:
        return max(self._options.ef_search, limit)

    def _look_beside(
        self, query: IndexQuery, sought: Sequence[Sought], known: Sequence[State | None], found: Sequence[Looked]
    ) -> None:
        """Add the messages just before and after those that were found, as far as the query admits them."""
        asks: list[_Ask] = []
        for place, (each, state, looked) in enumerate(zip(sought, known, found, strict=True)):
            talks = _beside(looked.spots.values())
            if state is None or not looked.version or not talks:
                continue
            key = self._vectors.key(each.partition)
            for narrowing in narrowings(key, state.epoch, query, MOST_NAMED):
                must = [*visible(key, state.epoch, query), *narrowing, among("talk", talks)]
                asks += self._of(query, place, must, len(talks))
        for ask, points in zip(asks, self._asked([ask.request for ask in asks]), strict=True):
            _take(found[ask.place], ask, points)

    def _asked(self, asks: Sequence[_Ask | models.QueryRequest]) -> list[_Points]:
        requests = [ask.request if isinstance(ask, _Ask) else ask for ask in asks]
        if not requests:
            return []
        answers = self._link.ask(lambda client: client.query_batch_points(self._name, requests))
        return [answer.points for answer in answers]


def surroundings(ids: Sequence[str], spots: dict[str, Spot], words: frozenset[str]) -> Surroundings:
    """Where these rows stand, in their order; of those that are not known nothing is said."""
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
        item_id, spot = str(payload["item"]), spot_of(payload)
        if ask.what == "near":
            found.nearest[item_id] = (point.score, spot)
            continue
        found.spots[item_id] = spot
        if ask.request.query is not None:
            found.cosines[item_id] = point.score


def _choose(found: Looked, limit: int) -> None:
    """Of what several requests found near take the nearest, and nothing of the others."""
    for item_id in sorted(found.nearest, key=lambda each: -found.nearest[each][0])[:limit]:
        found.cosines[item_id], found.spots[item_id] = found.nearest[item_id]


def _beside(spots: Collection[Spot]) -> set[str]:
    """The places just before and after some rows that are not places of these."""
    held = {spot.talk for spot in spots}
    return {talk for spot in spots for talk in (spot.before, spot.after) if talk is not None and talk not in held}
