"""Finds what is due, for questions and contexts. It is noted when a memory is written (`fields.due_notes`), and stays
open until its last day unless its validity ends earlier (`extract.end_done`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from mnemic.engine.browse import MAX_PAGE, check_limit, list_memories
from mnemic.engine.context_filling import BECAUSE_DUE
from mnemic.engine.engine import Engine
from mnemic.engine.inputs import Question, Selection
from mnemic.errors import InvalidInputError
from mnemic.model.bookkeeping import due_in, is_due
from mnemic.model.filter import All, Condition, Filter, Not
from mnemic.model.item import Memory, Trust
from mnemic.model.recall import Hit, MemoryQuery, Page
from mnemic.model.scope import Level, Scope, Visibility, to_microseconds

NEAR = timedelta(days=2)
"""How long before its day something is in the context of any prompt with memory: today, tomorrow and the day after."""

MOST_NEAR = 3  # in such a context: more would crowd out what the prompt is about
ANSWERS = 3  # best hits of the prompt itself that stand before it
MOST_OPEN = 200  # open memories that a question or a message is compared with


def open_until(now: datetime, last: date, first: date | None = None) -> Filter:
    """Memories that are due by `last`, from today or `first` on, and still valid."""
    ended = Condition(("valid_to",), "lte", to_microseconds(now))
    return All((is_due(first or now.date(), last), Not(ended)))


def by_day(memories: Sequence[Memory]) -> list[Memory]:
    """Memories in the order of the days on which they are due."""
    return sorted(memories, key=lambda memory: due_in(memory.bookkeeping) or ())


def list_by_day(engine: Engine, scope: Scope, query: MemoryQuery, levels: tuple[Level, ...]) -> Page:
    """The visible memories of a query for what is due, by day, from the newest `MAX_PAGE` at most."""
    if query.after is not None:
        raise InvalidInputError("due_before lists by day, so `after` cannot be used; pass a higher limit")
    found = list_memories(engine, scope, replace(query, limit=MAX_PAGE), levels).memories
    check_limit(query.limit or MAX_PAGE)
    return Page(tuple(by_day(found)[: query.limit]), None)


def with_due(engine: Engine, visible: Visibility, question: Question, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits, after what is due in the days that the question asks for. Other questions get their hits."""
    days = _asked_days(question, engine)
    return tuple(hits) if days is None else _put_asked(engine, visible, question, hits, days)


def with_near(
    engine: Engine, visible: Visibility, question: Question, hits: Sequence[Hit], *, is_shown: bool
) -> tuple[Hit, ...]:
    """The hits of a context, after what is due in the days that the question asks for, or else with what is due soon
    behind the best ones. If no memory `is_shown`, only a question adds any: no prompt gets a context only because a day
    is near.
    """
    if (days := _asked_days(question, engine)) is not None:
        return _put_asked(engine, visible, question, hits, days)
    today = engine.clock.now().date()
    near = _find(engine, visible, question, (today, today + NEAR), MOST_NEAR, is_own=True) if is_shown else ()
    best = [hit for hit in hits[:ANSWERS] if near and not hit.is_fallback]
    unique: dict[str, Hit] = {}
    for hit in (*best, *near, *hits):
        unique.setdefault(hit.id, hit)
    return tuple(unique.values())


def _put_asked(
    engine: Engine, visible: Visibility, question: Question, hits: Sequence[Hit], days: tuple[date, date]
) -> tuple[Hit, ...]:
    """What is due in some days, and then the other hits. One hit that is not due keeps its place within the limit."""
    limit = MOST_OPEN if question.limit is None else question.limit
    others = [hit for hit in hits if due_in(getattr(hit.item, "bookkeeping", {})) is None]
    kept = sum(not hit.is_fallback for hit in others[:1]) if limit > 1 else 0
    due = _find(engine, visible, question, days, limit - kept)
    return (*due, *(hit for hit in others if not (due and hit.is_fallback)))[:limit]


def _asked_days(question: Question, engine: Engine) -> tuple[date, date] | None:
    from mnemic.text.facts.due import asked_days

    days = asked_days(question.text, engine.clock.now())
    return None if days is None else (days.first, days.last)


def _find(
    engine: Engine,
    visible: Visibility,
    question: Question,
    days: tuple[date, date],
    limit: int,
    *,
    is_own: bool = False,
) -> tuple[Hit, ...]:
    """What is due, by day. `is_own`: only what the user said, as a text of others may plant a day."""
    if question.is_about_the_past or question.min_similarity is not None or not question.asks_memory:
        return ()
    now, chosen = engine.clock.now(), Selection(replace(question, limits={}, max_results=None))
    query = question.memory_query(now)
    query = replace(query, filter=All((query.filter, open_until(now, days[1], days[0]))), limit=MOST_OPEN)
    with engine.store.read() as work:
        found = by_day(work.memories.list(visible, query))
    usable = (memory for memory in found if memory.trust is Trust.USER or not is_own)
    shown = [memory for memory in usable if chosen.takes(memory, now)][:limit]
    return tuple(Hit(memory, 1.0, None, (BECAUSE_DUE,), relevance=1.0) for memory in shown)
