"""Answers a question from everything the scope may see.

The best candidates get a second look, by a reranker and for variety. Both may be missing without harm. How relevant an
item is, as a probability, is computed in `ranking.relevance`.
"""

import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray

from mnemic.engine import links
from mnemic.engine import score as scoring
from mnemic.engine.engine import Engine
from mnemic.engine.fields import as_known
from mnemic.engine.importance import lasting_value, most_important
from mnemic.engine.indexing import Asked, ItemVectors, catch_up, indexed_text, question_vectors, search
from mnemic.engine.inputs import Question, Selection, Watch
from mnemic.engine.links import SearchSide as Side
from mnemic.engine.passages import messages_that_meet, passage_query
from mnemic.errors import BackendError, ConfigError, TimedOutError, UnsupportedError
from mnemic.model.bookkeeping import slot_in
from mnemic.model.candidates import MESSAGE, Candidates, IndexQuery
from mnemic.model.filter import EVERYTHING
from mnemic.model.graph import GraphPath
from mnemic.model.item import Item, Memory, Message, State
from mnemic.model.recall import SHOWN_RELEVANCE, Contribution, Hit, MemoryQuery, Recall
from mnemic.model.scope import Scope, Visibility, to_microseconds
from mnemic.ports.models import Reranker, Scores
from mnemic.ports.observer import Span
from mnemic.ports.store import MAIN_VIEW
from mnemic.ranking.digest import is_question, shortened_tokens, stems
from mnemic.ranking.fusion import mmr_order
from mnemic.ranking.relevance import Doubles, Evidence, Floats, relevances
from mnemic.ranking.silence import logit, share_of
from mnemic.text.asking import Asking
from mnemic.text.normalise import dedup_key
from mnemic.text.slots import Relation, relation

READING_MS = 4.0
"""Kept of a deadline for ordering and reading the hits."""

WEAKEST = 0.02
"""Below this relevance a fact or a passage is noise, whatever the prompt."""

WIDEST_GAP = 4.0
"""So far behind the best hit, in logits, a fact is noise too: beside one of 0.98 it needs 0.5, beside one of 0.5 0.02.

Not so for messages: their evidence often shares nothing with the question, and a floor of 0.02 would cost BEAM a tenth
of it. They stand by their rank, within the budget.
"""

JUDGED_HITS = 8
"""More than the judgement of a prompt looks at (see `ranking.silence`)."""

MOST_SUPERSEDED = 200  # newest superseded memories that are compared with the hits; reading them takes a millisecond
SUPERSEDING_ROUNDS = 3  # each may bring in another memory that supersedes messages; one is nearly always enough
_NOTHING: Mapping[str, int] = {}
_LEAST_SAME = 0.8  # share of common terms: one word of five may differ, such as "my" and "our"
_LONGEST_QUESTION = 2  # a text twice as long as the question asks for more
ROWS_AT_ONCE = 32
"""So many rows are read at a time where the room for hits is bounded: of long messages, few fill it."""

_log = logging.getLogger("mnemic.recall")


def refined(
    engine: Engine, visible: Visibility, question: Question, scored: scoring.Scored, watch: Watch
) -> tuple[scoring.Scored, tuple[str, ...]]:
    """The candidates with the reranker's points, in the order to be shown, and what was missing and why.

    Raises `UnsupportedError` when a reranker is asked for and none is configured.
    """
    reranker, missing = chosen_reranker(engine, question), ()
    if reranker is not None:
        scored, missing = _reranked(_Look(engine, visible, question, scored, watch), reranker)
    if question.diversity:
        scored = _varied(_Look(engine, visible, question, scored, watch))
    return scored, missing


def chosen_reranker(engine: Engine, question: Question) -> Reranker | None:
    """The reranker that a question is to be answered with: the configured one unless it says no.

    A question by similarity alone has none. Raises `UnsupportedError` when one is asked for and none is configured.
    """
    if question.rerank and engine.reranker is None:
        raise UnsupportedError(
            "no reranker is configured; set reranker.name, for example to maxsim", capability="reranker"
        )
    return None if question.rerank is False or question.min_similarity is not None else engine.reranker


def rows_of(engine: Engine, visible: Visibility, ids: Sequence[str]) -> dict[str, Item]:
    """The memories, messages and passages of these ids that the store shows, by id."""
    found: dict[str, Item] = {}
    with engine.store.read() as work:
        for read in (work.memories.get, work.messages.get, work.documents.chunks):
            if wanted := [i for i in ids if i not in found]:
                found |= {m.id: m for m in read(visible, wanted) if visible.admits(m.partition, m.private_agent)}
    return found


class _Look:
    """The best candidates of a question that the store still shows, best first: their places, and their items."""

    def __init__(
        self, engine: Engine, visible: Visibility, question: Question, scored: scoring.Scored, watch: Watch
    ) -> None:
        self.engine, self.question, self.scored, self.watch = engine, question, scored, watch
        first = scored.order[: max(engine.settings.rerank_candidates, question.limit or 0)]
        ids = [str(i) for i in scored.candidates.ids[first]]
        found = rows_of(engine, visible, ids)
        pairs = zip(first, ids, strict=True)
        shown = [(int(place), found[i]) for place, i in pairs if i in found]
        self.places = [place for place, _ in shown]
        self.items = [item for _, item in shown]


def _reranked(look: _Look, reranker: Reranker) -> tuple[scoring.Scored, tuple[str, ...]]:
    count = min(look.engine.settings.rerank_candidates, reranker.capabilities.max_texts)
    places = look.places[:count]
    if not places:
        return look.scored, ()
    texts = [indexed_text(item) for item in look.items[:count]]  # what is judged is what is searched
    try:
        judged = _judged(look, reranker, texts)
    except (BackendError, ConfigError) as error:
        _log.error("reranking failed (%s); keeping the original order", type(error).__name__)
        look.engine.observer.count("mnemic.rerank.failure")
        return look.scored, (f"rerank: {reranker.name} failed ({type(error).__name__})",)
    except TimeoutError:
        look.engine.observer.count("mnemic.recall.late", source="rerank")
        return look.scored, (f"rerank: exceeded the deadline of {look.watch.deadline_ms:g} ms",)
    look.watch.lap("rerank")
    values = np.zeros(look.scored.scores.shape, dtype=np.float32)
    values[places] = _above_the_lowest(judged)
    return scoring.with_feature(look.scored, scoring.RERANK, values, reranker.capabilities.weight), ()


def _judged(look: _Look, reranker: Reranker, texts: Sequence[str]) -> Scores:
    left_s = look.watch.left_s(READING_MS)
    if left_s is None:
        return reranker.rerank(look.question.text, texts)
    if left_s <= 0:
        raise TimeoutError
    judging = look.engine.pool.submit(reranker.rerank, look.question.text, texts)
    try:
        return judging.result(left_s)
    except TimeoutError:
        judging.cancel()
        raise


def _above_the_lowest(judged: Scores) -> Scores:
    """Standard deviations above the lowest, so that nothing that was judged falls behind what was not."""
    deviation = float(judged.std())
    return (judged - judged.min()) / deviation if deviation > 0 else np.zeros_like(judged)


def _varied(look: _Look) -> scoring.Scored:
    """Maximal marginal relevance over the best, with their scores spread over 0..1; the others follow as they were.

    The scores stay what they are: only the order says what is too much like a better one.
    """
    if not look.places:
        return look.scored
    scores = look.scored.scores[look.places]
    span = float(scores.max() - scores.min())
    relevance = (scores - scores.min()) / span if span > 0 else np.ones_like(scores)
    order = mmr_order(relevance, _vectors(look), 1.0 - look.question.diversity, len(look.places))
    best = [look.places[place] for place in order]
    rest = [int(place) for place in look.scored.order if int(place) not in set(best)]
    return replace(look.scored, order=np.array([*best, *rest], dtype=np.intp))


def _vectors(look: _Look) -> NDArray[np.float32]:
    """The stored vectors of the best, those of several spaces side by side, `(n, dims of all)`.

    So each space is compared with itself alone; an item without vectors has a zero row, which is like nothing.
    """
    spaces = [np.zeros((len(look.items), 1), dtype=np.float32)]
    with look.engine.store.read() as work:
        for embedder in look.engine.known_embedders:
            rows = np.zeros((len(look.items), embedder.space.dims), dtype=np.float32)
            for partition in dict.fromkeys(item.partition for item in look.items):
                mine = {item.id: row for row, item in enumerate(look.items) if item.partition == partition}
                found = work.vectors.get(partition, list(mine), MAIN_VIEW, embedder.space.id)
                for item_id, vector in found.items():
                    rows[mine[item_id]] = vector
            spaces.append(rows)
    return np.concatenate(spaces, axis=1)


Places = NDArray[np.intp]


def least_relevance(engine: Engine) -> float:
    """The floor for hits that a model or a person sees."""
    least = engine.settings.min_relevance
    return SHOWN_RELEVANCE if least is None else least


def relevances_of(engine: Engine, scored: scoring.Scored, places: Places) -> Doubles:
    """How sure it is that candidates concern the question, `(n,)`, 0 to 1; NaN where it cannot be told."""
    sure = np.full(places.shape, np.nan)
    for number, behind in enumerate(scored.backdrops):
        end = scored.backdrops[number + 1].start if number + 1 < len(scored.backdrops) else scored.scores.shape[0]
        inside = np.flatnonzero((places >= behind.start) & (places < end))
        scale = None if behind.space is None else engine.scale_of(engine.known_embedders[behind.space])
        if inside.shape[0] and (behind.space is None or scale is not None):
            sure[inside] = relevances(evidence_of(scored, behind, places[inside]), scale)
    return sure


def evidence_of(scored: scoring.Scored, behind: scoring.Backdrop, places: Places) -> Evidence:
    """What says how relevant the candidates at `places` are, which stand out from `behind`.

    Points of a reranker are left out: each has its own scale, and most candidates have none. So are those that messages
    get beside facts, which only order the two.
    """
    scores: Floats = scored.scores[places]
    for name in (scoring.RERANK, scoring.BESIDE_FACTS):
        if name in scored.features:
            points: Floats = scored.features[name][places] * np.float32(scored.weights[name])
            scores = np.subtract(scores, points, dtype=np.float32)
    likeness = behind.likeness[places - behind.start]
    return Evidence(likeness=likeness, scores=scores, nearest=behind.nearest, items=behind.items)


def relevant_enough(engine: Engine, scored: scoring.Scored, least: float) -> Places:
    """The places of candidates, best first, that are at least so sure; what cannot be told counts as relevant.

    Nothing is read for it: most of a large store may fall away.
    """
    if least <= 0:
        return scored.order
    return scored.order[~(relevances_of(engine, scored, scored.order) < least)]


def least_beside(best: float, gap: float = WIDEST_GAP) -> float:
    """The relevance that a fact or a passage needs beside a best one; `gap` in logits."""
    return max(WEAKEST, share_of(logit(best) - gap))


def _without_noise(engine: Engine, scored: scoring.Scored, order: Places) -> Places:
    """Leaves out facts and passages far behind the best one before they are read; messages stand by their rank.

    The first `JUDGED_HITS` stay: whether a context is shown at all is judged by them.
    """
    sure = relevances_of(engine, scored, order)
    if not order.shape[0] or np.isnan(sure).all():
        return order
    talk = scored.candidates.surroundings
    is_message = np.zeros(order.shape, dtype=np.bool_) if talk is None else talk.sessions[order] >= 0
    is_kept = is_message | ~(sure < least_beside(float(np.nanmax(sure, initial=0.0, where=~is_message))))
    is_kept[:JUDGED_HITS] = True
    return order[is_kept]


_COMPARED = 20  # memories to compare for each one that is shown
_WORD = re.compile(r"\w+")


def tell(span: Span, found: Recall, without: Collection[str] = ("total",)) -> None:
    """What a span says of an answer: sizes, steps, and what was missing."""
    span.note(hits=len(found.hits), degraded=tuple(each.partition(":")[0] for each in found.degraded))
    span.steps({step: ms for step, ms in found.timings_ms.items() if step not in without})


def answer(engine: Engine, scope: Scope, question: Question, asked: Asked | None = None) -> Recall:
    """Hits, best first; when nothing matches, the most important memories, marked as general background. `asked`: the
    vectors of the question, where they are there already.
    """
    chosen_reranker(engine, question)  # refuses before anything is done
    visible = scope.visibility.at(*question.levels)
    asked = asked or ask(engine, visible, question)
    watch = Watch(question.deadline_ms, asked.start)
    vectors, degraded = asked.vectors, asked.missing
    watch.lap("embed")
    hits: tuple[Hit, ...] = ()
    paths: tuple[GraphPath, ...] = ()
    searched = 0
    if question.text.strip() and visible.partitions:
        found = ranked(engine, visible, question, vectors, watch)
        watch.lap("search")
        scored, missing = refined(engine, visible, question, found.scored, watch)
        degraded += (*found.scored.candidates.missing, *found.missing, *missing)
        searched = sum(behind.items for behind in scored.backdrops)
        hits = hits_of(engine, visible, question, scored)
        paths = links.paths_of(engine, visible, found.reached, [hit.id for hit in hits]) if found.reached else ()
    hits = hits or background(engine, visible, question)
    if question.known_at is not None:
        hits = _as_known(engine, visible, hits, question.known_at)
    watch.lap("read")
    engine.observer.timing("mnemic.recall", watch.total())
    return Recall(question.text, hits, degraded, watch.laps, paths, searched)


def ask(engine: Engine, visible: Visibility, question: Question) -> Asked:
    """The vectors of a question, for one answer or several from what is visible."""
    watch = Watch(question.deadline_ms)
    return Asked(*question_vectors(engine, visible.partitions, question, watch), watch.start)


def ranked(engine: Engine, visible: Visibility, question: Question, vectors: ItemVectors, watch: Watch) -> links.Ranked:
    """Every candidate of a question, scored and in order; `vectors` are the question's, one per embedder.

    Passages of documents are compared with passages, all else with all else: a score says how much a candidate stands
    out among its like, and less where the other side has something nearer to the question. What the graph reaches is
    taken in by the same scores, and lifted; it is left out where the watch has no time left for it.
    """
    now, sides = engine.clock.now(), list[Side]()
    asking = Asking.of(question.text, now.date())
    query = _index_query(engine, visible, question, vectors, now)
    again = partial(_scored, engine, question, asking=asking)
    versions = catch_up(engine, visible.partitions)
    if question.asks_memory:
        allowed = _allowed(engine, visible, question, now) if question.is_conditional else None
        memory = replace(query, kinds=question.kinds, allowed=allowed, messages_until=_messages_until(question))
        sides.append(Side.of(memory, search(engine, memory, versions=versions), again))
    if question.asks_documents and (passages := passage_query(engine, visible, question, query)) is not None:
        is_similarity = question.min_similarity is not None
        score = again if is_similarity else partial(_with_links, engine, visible, passages, again)
        found = search(engine, passages, passages=True, versions=versions)
        sides.append(Side.of(passages, found, score, is_passages=True))
    scored = _together(engine, sides)
    if question.hops <= 0 or question.min_similarity is not None:
        return links.Ranked(scored)
    rows = sum(side.found.items for side in sides)
    asked = links.GraphQuestion(question.text, vectors, question.as_of or now, question.hops, rows)
    first = [str(i) for i in scored.candidates.ids[scored.order[: links.FIRST_HITS]]]
    try:
        reached = links.reach(engine, visible, asked, first, lambda: watch.check(READING_MS))
    except TimedOutError as late:
        engine.observer.count("mnemic.recall.late", source="graph")
        return links.Ranked(scored, missing=(f"graph: {late}",))
    missing = reached.values.keys() - set(scored.candidates.ids.tolist())
    if missing:
        scored = _together(engine, [side.with_ids(engine, missing) for side in sides])
    return links.Ranked(links.with_reached(scored, reached, engine.settings.weights.of(links.RELATED)), reached)


def _with_links(
    engine: Engine, visible: Visibility, query: IndexQuery, score: links.Score, found: Candidates
) -> scoring.Scored:
    return links.with_links(engine, visible, query, score(found), score)


def _together(engine: Engine, sides: Sequence[Side]) -> scoring.Scored:
    found = [side.scored for side in sides]
    return found[0] if len(found) == 1 else scoring.side_by_side(found[0], found[1], engine.settings.weights)


def _scored(engine: Engine, question: Question, found: Candidates, asking: Asking) -> scoring.Scored:
    weights, least = engine.settings.weights, question.min_similarity
    scored = scoring.by_relevance(found, weights, asking) if least is None else scoring.by_similarity(found, least)
    return scored if question.is_about_the_past else scoring.with_flags(scored, weights)


def _index_query(
    engine: Engine, visible: Visibility, question: Question, vectors: ItemVectors, now: datetime
) -> IndexQuery:
    """What both sides of the index are asked."""
    is_similarity = question.min_similarity is not None
    terms = () if is_similarity else _terms(engine, question)
    if is_similarity and len(vectors) > len(engine.embedders) and vectors[-1] is not None:
        vectors = (*(None for _ in engine.embedders), vectors[-1])  # of one scale: the space that is filled
    return IndexQuery(
        partitions=visible.partitions,
        agent=visible.agent,
        now=to_microseconds(now),
        terms=terms,
        vector=vectors[0] if vectors else None,
        further=vectors[1:],
        dense_limit=max(engine.settings.dense_candidates, question.limit or 0),
        include_inactive=question.is_about_the_past,
        words=frozenset(_WORD.findall(question.text.casefold())),
        neighbours=0 if is_similarity else scoring.NEIGHBOURS,
    )


def _terms(engine: Engine, question: Question) -> tuple[str, ...]:
    """The terms of the question, in both forms where it is searched in another than it was asked."""
    texts = dict.fromkeys((question.text, question.search_text))
    return tuple(dict.fromkeys(term for text in texts for term in engine.analyser.query_terms(text)))


def _allowed(engine: Engine, visible: Visibility, question: Question, now: datetime) -> frozenset[str]:
    with engine.store.read() as work:
        has_messages = not question.kinds or MESSAGE in question.kinds
        messages = messages_that_meet(work, visible, question.filter) if has_messages else set[str]()
        return frozenset(work.memories.ids(visible, question.memory_query(now)) | messages)


def _messages_until(question: Question) -> int | None:
    """The latest time of messages to include, if a time restricts them but no filter does."""
    if question.filter != EVERYTHING or not question.is_about_the_past:
        return None
    return to_microseconds(min(at for at in (question.as_of, question.known_at) if at is not None))


def hits_of(
    engine: Engine,
    visible: Visibility,
    question: Question,
    scored: scoring.Scored,
    superseded: Mapping[str, int] = _NOTHING,
    rounds: int = SUPERSEDING_ROUNDS,
) -> tuple[Hit, ...]:
    """The best candidates that are relevant enough, current and still shown by the store, within the limits.
    `superseded`: by message, the characters of it that memories found in an earlier round supersede.
    """
    order = relevant_enough(engine, scored, question.min_relevance)
    if question.is_judged:
        order = _without_noise(engine, scored, order)
    limit = len(order) if question.limit is None else question.limit
    now, chosen, hits, room = engine.clock.now(), Selection(question), list[Hit](), question.room
    asked, is_asking = AskedBefore(question.text, engine), is_question(question.text)
    step = limit if room == inf else min(limit, ROWS_AT_ONCE)
    cosines = scored.candidates.similarities
    for start in range(0, len(order), step or 1):
        if len(hits) >= limit or room <= 0:
            break
        places = order[start : start + step]
        items = rows_of(engine, visible, [str(i) for i in scored.candidates.ids[places]])
        for place, sure in zip(places, relevances_of(engine, scored, places), strict=True):
            item = items.get(str(scored.candidates.ids[place]))
            if (
                item is None
                or _is_outdated(item, superseded)
                or (is_asking and question.limit is not None and asked.is_repeated_by(item))
            ):
                continue
            if len(hits) < limit and chosen.takes(item, now):
                hits.append(_hit(item, scored.contributions(int(place)), cosines.item(int(place)), float(sure)))
                room -= shortened_tokens(engine.analyser.token_count(item.text))
    if question.is_about_the_past or not rounds:
        return tuple(hits)
    more = {**superseded, **_superseded(engine, visible, hits)}
    if not any(_is_outdated(hit.item, more) for hit in hits):
        return tuple(hits)
    return hits_of(engine, visible, question, scored, more, rounds - 1)


def _is_outdated(item: Item, superseded: Mapping[str, int]) -> bool:
    """True for a message that says little but what is superseded: "I live in Lisbon" beside "User moved to Porto". A
    long message that mentions Lisbon stays.
    """
    return isinstance(item, Message) and item.id in superseded and 2 * superseded[item.id] >= len(item.text)


def _superseded(engine: Engine, visible: Visibility, hits: Sequence[Hit]) -> dict[str, int]:
    """By message, the number of its characters that memories among the hits supersede."""
    current = {hit.id: slot_in(hit.item.bookkeeping) for hit in hits if isinstance(hit.item, Memory)}
    said = Counter[str]()
    if not any(current.values()) or not any(isinstance(hit.item, Message) for hit in hits):
        return said
    query = MemoryQuery(now=engine.clock.now(), states=(State.SUPERSEDED,), limit=MOST_SUPERSEDED)
    with engine.store.read() as work:
        for memory in work.memories.list(visible, query):
            new, old = current.get(memory.other_id or ""), slot_in(memory.bookkeeping)
            if new and old and relation(new[0], new[1], old[1]) is Relation.OTHER:
                for span in memory.provenance:
                    said[span.source_id] += span.end - span.start
    return said


class AskedBefore:
    """Finds earlier messages that ask the current question. They are no evidence for its answer."""

    def __init__(self, text: str, engine: Engine) -> None:
        self._analyser = engine.analyser
        self._key, self._stems = dedup_key(text).rstrip("?？ "), stems(text)
        self._terms = frozenset(engine.analyser.terms(text))

    def is_repeated_by(self, item: Item) -> bool:
        """True for a message that asks what is asked now, in the same words or nearly."""
        if not isinstance(item, Message):
            return False
        if len(item.text) > _LONGEST_QUESTION * max(len(self._key), 1):
            return False
        if dedup_key(item.text).rstrip("?？ ") == self._key:
            return True
        if not is_question(item.text):
            return False
        if 2 * len(self._stems & stems(item.text)) < len(self._stems):
            return False
        terms = frozenset(self._analyser.terms(item.text))
        return len(terms & self._terms) >= _LEAST_SAME * len(terms | self._terms)


def _as_known(engine: Engine, visible: Visibility, hits: Sequence[Hit], at: datetime) -> tuple[Hit, ...]:
    """The hits with memories in their words of then."""
    with engine.store.read() as work:
        return tuple(
            replace(hit, item=as_known(hit.item, work.history.of(visible, hit.id), at))
            if isinstance(hit.item, Memory) and hit.item.updated_at > at
            else hit
            for hit in hits
        )


def _hit(item: Item, contributions: tuple[Contribution, ...], cosine: float, sure: float) -> Hit:
    score = sum(contribution.points for contribution in contributions)
    known = (None if isnan(value) else value for value in (cosine, sure))
    return Hit(item, score, next(known), contributions, relevance=next(known))


def background(engine: Engine, visible: Visibility, question: Question) -> tuple[Hit, ...]:
    """A few of the most important memories that may be shown (`most_important`); none where only messages were asked
    for.
    """
    if not question.asks_memory or (question.kinds and question.kinds <= {MESSAGE}):
        return ()
    now, chosen = engine.clock.now(), Selection(question)
    limit = min(question.limit or engine.settings.fallback_limit, engine.settings.fallback_limit)
    with engine.store.read() as work:
        found = most_important(work, visible, replace(question.memory_query(now), limit=limit * _COMPARED))
    shown = [memory for memory in found if not memory.flags and chosen.takes(memory, now)][:limit]
    values = [lasting_value(memory, now) for memory in shown]
    parts = [Contribution("importance", value, 1.0, value) for value in values]
    return tuple(Hit(m, part.points, None, (part,), is_fallback=True) for m, part in zip(shown, parts, strict=True))
