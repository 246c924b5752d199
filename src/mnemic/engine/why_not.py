"""Finds out why a search does not return a memory, message or passage."""

from dataclasses import dataclass, replace

import numpy as np

from mnemic.engine.dependants import told
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import question_vectors
from mnemic.engine.inputs import Question, Selection, Watch
from mnemic.engine.passages import admits, messages_that_meet
from mnemic.engine.recall import hits_of, ranked, refined, relevances_of, rows_of
from mnemic.errors import NotFoundError
from mnemic.model.candidates import MESSAGE
from mnemic.model.filter import EVERYTHING
from mnemic.model.item import Chunk, Item, Memory, Message
from mnemic.model.recall import Contribution, MemoryQuery
from mnemic.model.scope import Scope, Visibility
from mnemic.ports.store import MAIN_VIEW


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The `reason` in words, and the `stage` that dropped the item: state, time, filter, level, index, threshold or
    rank (or found).

    If the item was scored: its `rank` (from 1) among all `candidates`, its score, and what each feature added.
    """

    stage: str
    reason: str
    rank: int | None = None
    candidates: int = 0
    score: float | None = None
    contributions: tuple[Contribution, ...] = ()


def why_not(engine: Engine, scope: Scope, item_id: str, question: Question) -> WhyNot:
    """Explain why `question` does not return this item, or give its rank. Raises `NotFoundError` outside the scope."""
    visible = scope.visibility
    item = rows_of(engine, visible, [item_id]).get(item_id)
    if item is None:
        raise NotFoundError(f"there is no memory, message or passage {item_id!r} in this scope")
    query = question.memory_query(engine.clock.now())
    meets_filter = _meets(engine, visible, item, question, query)
    lost = _before_scoring(visible, item, question, query, meets_filter=meets_filter)
    return lost or _with_flags(_score_of_one(engine, visible, item, question), item, question)


def _meets(engine: Engine, visible: Visibility, item: Item, question: Question, query: MemoryQuery) -> bool:
    """True if the item matches the kinds and the filter of a question."""
    if isinstance(item, Memory):
        with engine.store.read() as work:
            return item.id in work.memories.ids(visible, query)
    if isinstance(item, Chunk):
        return question.asks_documents and admits(engine, visible, question.filter, item)
    with engine.store.read() as work:
        is_met = question.filter == EVERYTHING or item.id in messages_that_meet(work, visible, question.filter)
    return is_met and (not question.kinds or MESSAGE in question.kinds)


def _before_scoring(
    visible: Visibility, item: Item, question: Question, query: MemoryQuery, *, meets_filter: bool
) -> WhyNot | None:
    if item.state not in query.states:
        other = f" by {item.other_id}" if isinstance(item, Memory) and item.other_id else ""
        states = " and ".join(state.value for state in query.states)
        return WhyNot("state", f"it is {item.state.value}{other}; only {states} items are recalled")
    if item.partition not in visible.at(*question.levels).partitions:
        return WhyNot("level", f"it belongs to the {item.partition.level.value} level, which was not requested")
    if not Selection(Question(text="", as_of=question.as_of, known_at=question.known_at)).takes(item, query.now):
        return WhyNot("time", "it has expired, or was not valid or not known at the requested time")
    if not meets_filter:
        return WhyNot("filter", "it does not match the kinds, the filter or the time of the question")
    if not question.text.strip():
        return WhyNot("rank", "a blank question returns only the most important memories")
    return None


def _score_of_one(engine: Engine, visible: Visibility, item: Item, question: Question) -> WhyNot:
    asked = visible.at(*question.levels)
    vectors, _ = question_vectors(engine, asked.partitions, question, Watch(None))
    found = ranked(engine, asked, question, vectors, Watch(None)).scored
    scored, _ = refined(engine, asked, question, found, Watch(question.deadline_ms))
    total = len(scored.order)
    places = [place for place in range(len(scored.candidates.ids)) if scored.candidates.ids[place] == item.id]
    if not places:
        vector = "its vector is not among the nearest" if _has_vector(engine, item) else "it has no vector yet"
        return WhyNot("index", f"it shares no word with the question, and {vector}", None, total)
    ranks = [rank for rank, place in enumerate(scored.order, start=1) if place == places[0]]
    score, contributions = scored.score(places[0]), scored.contributions(places[0])
    if not ranks:
        reason = f"its similarity is below the threshold of {question.min_similarity}"
        return WhyNot("threshold", reason, None, total, score, contributions)
    (sure,) = relevances_of(engine, scored, np.array(places[:1]))
    if sure < question.min_relevance:  # false where it cannot be told
        reason = f"its relevance of {sure:.2f} is below the threshold of {question.min_relevance}"
        return WhyNot("threshold", reason, ranks[0], total, score, contributions)
    widened = question if question.limit is None else replace(question, limit=max(question.limit, ranks[0]))
    shown = hits_of(engine, asked, widened, scored)
    if isinstance(item, Message) and item.id not in {hit.id for hit in shown}:
        reason = "it repeats the question or another result, or a memory in the results supersedes it"
        return WhyNot("state", reason, ranks[0], total, score, contributions)
    if question.limit is not None and ranks[0] > question.limit:
        reason = f"its rank is {ranks[0]}, and the limit is {question.limit}"
        return WhyNot("rank", reason, ranks[0], total, score, contributions)
    return WhyNot("found", f"it is found at rank {ranks[0]}", ranks[0], total, score, contributions)


def _with_flags(why: WhyNot, item: Item, question: Question) -> WhyNot:
    """If flags lowered the rank of a memory, add them to the reason."""
    if not isinstance(item, Memory) or not item.flags or question.is_about_the_past:
        return why
    flags = "; ".join(told(flag) for flag in item.flags)
    return replace(why, reason=f"{why.reason}; it is flagged and ranked lower: {flags}")


def _has_vector(engine: Engine, item: Item) -> bool:
    spaces = [embedder.space.id for embedder in engine.known_embedders]
    with engine.store.read() as work:
        return any(work.vectors.get(item.partition, [item.id], MAIN_VIEW, space) for space in spaces)
