"""Answers a question from everything the scope may see."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.embedding import query_vector
from mnemic.engine.freshness import search
from mnemic.engine.parts import Parts
from mnemic.engine.score import Scored, by_relevance, by_similarity
from mnemic.errors import BackendError
from mnemic.model.candidates import MESSAGE, IndexQuery
from mnemic.model.clocktime import to_microseconds
from mnemic.model.filter import EVERYTHING, Filter
from mnemic.model.item import Item, Kind
from mnemic.model.query import MemoryQuery, Order
from mnemic.model.recall import Contribution, Hit, Recall
from mnemic.model.scope import Level, Scope, Visibility

_log = logging.getLogger("mnemic.recall")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked. `kinds` may hold "message" beside the kinds of memories; empty means everything.

    `min_similarity` set means: by cosine alone, at least so much (inclusive). `limits` caps hits per level.
    """

    text: str
    limit: int | None = 5
    limits: Mapping[Level, int] = field(default_factory=dict[Level, int])
    levels: tuple[Level, ...] = ()
    kinds: frozenset[str] = frozenset()
    filter: Filter = EVERYTHING
    min_similarity: float | None = None


def recall(parts: Parts, scope: Scope, question: Question) -> Recall:
    """Hits, best first; when nothing matches, the most important memories, marked as general background."""
    watch = _Watch()
    visible = scope.visibility.at(*question.levels)
    vector, degraded = _embedded(parts, question.text)
    watch.lap("embed")
    hits: tuple[Hit, ...] = ()
    if question.text.strip() and visible.partitions:
        scored = _scored(parts, visible, question, vector)
        watch.lap("search")
        hits = _hits(parts, visible, question, scored)
    hits = hits or _background(parts, visible, question)
    watch.lap("read")
    parts.observer.timing("mnemic.recall", watch.total())
    return Recall(question.text, hits, degraded, watch.laps)


class _Watch:
    """Milliseconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._start = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = (now - self._last) * 1e3
        self._last = now

    def total(self) -> float:
        self.laps["total"] = (time.perf_counter() - self._start) * 1e3
        return self.laps["total"]


def _embedded(parts: Parts, text: str) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
    try:
        return query_vector(parts, text), ()
    except BackendError as error:
        _log.error("embedding a question failed (%s); answering by keyword alone", type(error).__name__)
        parts.observer.count("mnemic.embedding.failure", operation="read")
        return None, (f"dense: the embedder failed ({type(error).__name__})",)


def _scored(parts: Parts, visible: Visibility, question: Question, vector: NDArray[np.float32] | None) -> Scored:
    now = parts.clock.now()
    allowed: frozenset[str] | None = None
    if question.filter != EVERYTHING:
        with parts.store.read() as work:
            allowed = frozenset(work.memories.ids(visible, MemoryQuery(now=now, filter=question.filter)))
    is_similarity = question.min_similarity is not None
    terms = () if is_similarity else tuple(dict.fromkeys(parts.analyser.query_terms(question.text)))
    query = IndexQuery(
        partitions=visible.partitions,
        agent=visible.agent,
        now=to_microseconds(now),
        terms=terms,
        vector=vector,
        dense_limit=max(parts.settings.dense_candidates, question.limit or 0),
        kinds=question.kinds,
        allowed=allowed,
    )
    found = search(parts, query)
    if question.min_similarity is not None:
        return by_similarity(found, question.min_similarity)
    return by_relevance(found, parts.settings.weights)


def _hits(parts: Parts, visible: Visibility, question: Question, scored: Scored) -> tuple[Hit, ...]:
    """The best candidates that the store still shows, within the limits."""
    limit = len(scored.order) if question.limit is None else question.limit
    room = dict(question.limits)
    hits: list[Hit] = []
    for start in range(0, len(scored.order), limit or 1):
        if len(hits) >= limit:
            break
        places = scored.order[start : start + limit]
        items = _rows(parts, visible, [str(i) for i in scored.candidates.ids[places]])
        for place in places:
            item = items.get(str(scored.candidates.ids[place]))
            if item is None or len(hits) >= limit or room.get(item.partition.level, 1) <= 0:
                continue
            if item.partition.level in room:
                room[item.partition.level] -= 1
            hits.append(_hit(item, scored, int(place)))
    return tuple(hits)


def _rows(parts: Parts, visible: Visibility, ids: list[str]) -> dict[str, Item]:
    now = parts.clock.now()
    with parts.store.read() as work:
        memories = [m for m in work.memories.get(visible, ids) if m.expires_at is None or m.expires_at > now]
        missing = set(ids) - {memory.id for memory in memories}
        messages = work.messages.get(visible, [i for i in ids if i in missing])
    return {item.id: item for item in (*memories, *messages)}


def _hit(item: Item, scored: Scored, place: int) -> Hit:
    cosine = float(scored.candidates.cosines[place])
    contributions = scored.contributions(place)
    score = sum(contribution.points for contribution in contributions)
    return Hit(item, score, None if np.isnan(cosine) else cosine, contributions)


def _background(parts: Parts, visible: Visibility, question: Question) -> tuple[Hit, ...]:
    kinds = tuple(Kind(kind) for kind in sorted(question.kinds) if kind != MESSAGE)
    if question.kinds and not kinds:
        return ()
    limit = min(question.limit or parts.settings.fallback_limit, parts.settings.fallback_limit)
    query = MemoryQuery(now=parts.clock.now(), kinds=kinds, filter=question.filter, order=Order.IMPORTANCE, limit=limit)
    with parts.store.read() as work:
        memories = work.memories.list(visible, query)
    return tuple(
        Hit(
            memory,
            memory.importance,
            None,
            (Contribution("importance", memory.importance, 1.0, memory.importance),),
            True,
        )
        for memory in memories
    )
