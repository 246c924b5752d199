"""Answers a question from everything the scope may see."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from math import isnan

from mnemic.engine.indexing.embedding import Asked, ItemVectors, question_vectors
from mnemic.engine.parts import Parts
from mnemic.engine.question import Question, Selection, Watch
from mnemic.engine.recall.graph import FIRST_HITS, RELATED, GraphQuestion, paths_of, reach, with_reached
from mnemic.engine.recall.links import with_links
from mnemic.engine.recall.passages import passage_query
from mnemic.engine.recall.refine import READING_MS, chosen_reranker, refined, rows_of
from mnemic.engine.recall.relevance import relevances_of, relevant_enough
from mnemic.engine.recall.score import NEIGHBOURS, Scored, by_relevance, by_similarity, side_by_side, with_flags
from mnemic.engine.recall.sides import Ranked, Score, Side
from mnemic.errors import TimedOutError
from mnemic.model.candidates import MESSAGE, Candidates, IndexQuery
from mnemic.model.clocktime import to_microseconds
from mnemic.model.filter import EVERYTHING
from mnemic.model.graph import GraphPath
from mnemic.model.item import Item, Memory
from mnemic.model.query import Order
from mnemic.model.recall import Contribution, Hit, Recall
from mnemic.model.scope import Scope, Visibility
from mnemic.ports.observer import Span
from mnemic.text.asking import Asking

_BACKGROUND_SPARE = 10  # how many more are read, since some may no longer be valid
_WORD = re.compile(r"\w+")
_log = logging.getLogger("mnemic.recall")


def recall(parts: Parts, scope: Scope, question: Question) -> Recall:
    """As `answer`, and the memories found count as accessed."""
    with parts.observer.span("mnemic.recall", question_chars=len(question.text)) as span:
        found = answer(parts, scope, question)
        tell(span, found)
    parts.accesses.note(parts.store, found.hits, parts.clock.now())
    return found


def tell(span: Span, found: Recall, without: Collection[str] = ("total",)) -> None:
    """What a span says of an answer: sizes, steps, and what was missing."""
    span.note(hits=len(found.hits), degraded=tuple(each.partition(":")[0] for each in found.degraded))
    span.steps({step: ms for step, ms in found.timings_ms.items() if step not in without})


def answer(parts: Parts, scope: Scope, question: Question, asked: Asked | None = None) -> Recall:
    """Hits, best first; when nothing matches, the most important memories, marked as general background. `asked`: the
    vectors of the question, where they are there already.
    """
    chosen_reranker(parts, question)  # refuses before anything is done
    visible = scope.visibility.at(*question.levels)
    asked = asked or ask(parts, visible, question)
    watch = Watch(question.deadline_ms, asked.start)
    vectors, degraded = asked.vectors, asked.missing
    watch.lap("embed")
    hits: tuple[Hit, ...] = ()
    paths: tuple[GraphPath, ...] = ()
    if question.text.strip() and visible.partitions:
        found = ranked(parts, visible, question, vectors, watch)
        watch.lap("search")
        scored, missing = refined(parts, visible, question, found.scored, watch)
        degraded += (*found.scored.candidates.missing, *found.missing, *missing)
        hits = _hits(parts, visible, question, scored)
        paths = paths_of(parts, visible, found.reached, [hit.id for hit in hits]) if found.reached else ()
    hits = hits or _background(parts, visible, question)
    watch.lap("read")
    parts.observer.timing("mnemic.recall", watch.total())
    return Recall(question.text, hits, degraded, watch.laps, paths)


def ask(parts: Parts, visible: Visibility, question: Question) -> Asked:
    """The vectors of a question, for one answer or several from what is visible."""
    watch = Watch(question.deadline_ms)
    return Asked(*question_vectors(parts, visible.partitions, question.text, watch), watch.start)


def ranked(parts: Parts, visible: Visibility, question: Question, vectors: ItemVectors, watch: Watch) -> Ranked:
    """Every candidate of a question, scored and in order; `vectors` are the question's, one per embedder.

    Passages of documents are compared with passages, all else with all else: a score says how much a candidate stands
    out among its like, and less where the other side has something nearer to the question. What the graph reaches is
    taken in by the same scores, and lifted; it is left out where the watch has no time left for it.
    """
    now, sides = parts.clock.now(), list[Side]()
    asking = Asking.of(question.text, now.date())
    query = _index_query(parts, visible, question, vectors, now)
    again = partial(_scored, parts, question, asking=asking)
    if question.asks_memory:
        allowed = _allowed(parts, visible, question, now) if question.is_conditional else None
        memory = replace(query, kinds=question.kinds, allowed=allowed, messages_until=_messages_until(question))
        sides.append(Side.searched(parts, memory, again))
    if question.asks_documents and (passages := passage_query(parts, visible, question, query)) is not None:
        is_similarity = question.min_similarity is not None
        score = again if is_similarity else partial(_with_links, parts, visible, passages, again)
        sides.append(Side.searched(parts, passages, score, is_passages=True))
    scored = _together(parts, sides)
    if question.hops <= 0 or question.min_similarity is not None:
        return Ranked(scored)
    rows = sum(side.found.items for side in sides)
    asked = GraphQuestion(question.text, vectors, question.as_of or now, question.hops, rows)
    first = [str(i) for i in scored.candidates.ids[scored.order[:FIRST_HITS]]]
    try:
        reached = reach(parts, visible, asked, first, lambda: watch.check(READING_MS))
    except TimedOutError as late:
        parts.observer.count("mnemic.recall.late", source="graph")
        return Ranked(scored, missing=(f"graph: {late}",))
    missing = reached.values.keys() - set(scored.candidates.ids.tolist())
    if missing:
        scored = _together(parts, [side.with_ids(parts, missing) for side in sides])
    return Ranked(with_reached(scored, reached, parts.settings.weights.of(RELATED)), reached)


def _with_links(parts: Parts, visible: Visibility, query: IndexQuery, score: Score, found: Candidates) -> Scored:
    return with_links(parts, visible, query, score(found), score)


def _together(parts: Parts, sides: Sequence[Side]) -> Scored:
    found = [side.scored for side in sides]
    return found[0] if len(found) == 1 else side_by_side(found[0], found[1], parts.settings.weights)


def _scored(parts: Parts, question: Question, found: Candidates, asking: Asking) -> Scored:
    weights, least = parts.settings.weights, question.min_similarity
    scored = by_relevance(found, weights, asking) if least is None else by_similarity(found, least)
    return scored if question.is_about_the_past else with_flags(scored, weights)


def _index_query(
    parts: Parts, visible: Visibility, question: Question, vectors: ItemVectors, now: datetime
) -> IndexQuery:
    """What both sides of the index are asked."""
    is_similarity = question.min_similarity is not None
    terms = () if is_similarity else tuple(dict.fromkeys(parts.analyser.query_terms(question.text)))
    if is_similarity and len(vectors) > len(parts.embedders) and vectors[-1] is not None:
        vectors = (*(None for _ in parts.embedders), vectors[-1])  # of one scale: the space that is filled
    return IndexQuery(
        partitions=visible.partitions,
        agent=visible.agent,
        now=to_microseconds(now),
        terms=terms,
        vector=vectors[0] if vectors else None,
        further=vectors[1:],
        dense_limit=max(parts.settings.dense_candidates, question.limit or 0),
        include_inactive=question.is_about_the_past,
        words=frozenset(_WORD.findall(question.text.casefold())),
        neighbours=0 if is_similarity else NEIGHBOURS,
    )


def _allowed(parts: Parts, visible: Visibility, question: Question, now: datetime) -> frozenset[str]:
    with parts.store.read() as work:
        return frozenset(work.memories.ids(visible, question.memory_query(now)))


def _messages_until(question: Question) -> int | None:
    """Up to when messages may have been said: they have no fields to filter by, but a time."""
    if question.filter != EVERYTHING or not question.is_about_the_past:
        return None
    return to_microseconds(min(at for at in (question.as_of, question.known_at) if at is not None))


def _hits(parts: Parts, visible: Visibility, question: Question, scored: Scored) -> tuple[Hit, ...]:
    """The best candidates that are relevant enough and that the store still shows, within the limits."""
    order = relevant_enough(parts, scored, question.min_relevance)
    limit = len(order) if question.limit is None else question.limit
    now, chosen, hits = parts.clock.now(), Selection(question), list[Hit]()
    for start in range(0, len(order), limit or 1):
        if len(hits) >= limit:
            break
        places = order[start : start + limit]
        items = rows_of(parts, visible, [str(i) for i in scored.candidates.ids[places]])
        for place, sure in zip(places, relevances_of(parts, scored, places), strict=True):
            item = items.get(str(scored.candidates.ids[place]))
            if item is not None and len(hits) < limit and chosen.takes(item, now):
                hits.append(_hit(item, scored, int(place), float(sure)))
    return tuple(hits)


def _hit(item: Item, scored: Scored, place: int, sure: float) -> Hit:
    contributions = scored.contributions(place)
    score = sum(contribution.points for contribution in contributions)
    cosine = scored.candidates.similarities.item(place)
    known = (None if isnan(value) else value for value in (cosine, sure))
    return Hit(item, score, next(known), contributions, relevance=next(known))


def _background(parts: Parts, visible: Visibility, question: Question) -> tuple[Hit, ...]:
    """The most important memories that may be shown, a few of them; none where only messages were asked for."""
    if not question.asks_memory or (question.kinds and question.kinds <= {MESSAGE}):
        return ()
    now, chosen = parts.clock.now(), Selection(question)
    limit = min(question.limit or parts.settings.fallback_limit, parts.settings.fallback_limit)
    query = replace(question.memory_query(now), order=Order.IMPORTANCE, limit=limit * _BACKGROUND_SPARE)
    with parts.store.read() as work:
        memories = work.memories.list(visible, query)
    shown = [memory for memory in memories if not memory.flags and chosen.takes(memory, now)][:limit]
    return tuple(Hit(m, m.present_importance, None, _importance(m), is_fallback=True) for m in shown)


def _importance(memory: Memory) -> tuple[Contribution, ...]:
    return (Contribution("importance", memory.present_importance, 1.0, memory.present_importance),)
