"""What is asked of recall, which of the found things may be shown, and how much time is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.errors import TimedOutError
from mnemic.model.candidates import DOCUMENT, MESSAGE
from mnemic.model.filter import EVERYTHING, Filter
from mnemic.model.item import Item, Kind, Memory, Message, Role, State
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Level
from mnemic.text.normalise import dedup_key

_PAST_STATES = (State.ACTIVE, State.SUPERSEDED, State.ARCHIVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked. `kinds` may hold "message" beside the kinds of memories; empty means everything. Passages of
    documents belong to the kind "document", as do memories of that kind; `passages` False leaves the former out, True
    leaves out all else.

    `min_similarity` set means: by cosine alone, at least so much (inclusive). `min_relevance`: hits of which it is less
    sure that they have to do with the question are left out (see `Hit.relevance`). `limits` caps hits per level,
    `max_results` those of user and agent level together. `min_importance` is asked of user-level memories. `excluded`
    ids are not shown. `as_of`: what was true then; `known_at`: what was known then. `deadline_ms` from the start of the
    call. `rerank` None: if a reranker is configured. `diversity` from 0 (by score alone) to 1 (by unlikeness alone).
    `hops`: how many relations of the graph are followed from what is asked about; 0 leaves the graph alone.
    """

    text: str
    limit: int | None = 5
    limits: Mapping[Level, int] = field(default_factory=dict[Level, int])
    max_results: int | None = None
    min_importance: float = 0.0
    levels: tuple[Level, ...] = ()
    kinds: frozenset[str] = frozenset()
    filter: Filter = EVERYTHING
    min_similarity: float | None = None
    min_relevance: float = 0.0
    excluded: frozenset[str] = frozenset()
    as_of: datetime | None = None
    known_at: datetime | None = None
    deadline_ms: float | None = None
    rerank: bool | None = None
    diversity: float = 0.0
    passages: bool | None = None
    hops: int = 0

    @property
    def asks_memory(self) -> bool:
        """True when messages or memories may be found."""
        return not self.passages

    @property
    def asks_documents(self) -> bool:
        """True when passages of documents may be found."""
        return self.passages is not False and (not self.kinds or DOCUMENT in self.kinds)

    @property
    def is_about_the_past(self) -> bool:
        """True when it asks for another time than now."""
        return self.as_of is not None or self.known_at is not None

    @property
    def is_conditional(self) -> bool:
        """True when the store must say which memories may be shown."""
        return self.filter != EVERYTHING or self.is_about_the_past

    def memory_query(self, now: datetime) -> MemoryQuery:
        """The conditions on memories, as the store takes them."""
        return MemoryQuery(
            now=now,
            states=_PAST_STATES if self.is_about_the_past else (State.ACTIVE,),
            kinds=tuple(Kind(kind) for kind in sorted(self.kinds - {MESSAGE})),
            filter=self.filter,
            as_of=self.as_of,
            known_at=self.known_at,
        )


class Selection:
    """Takes found items one by one, best first, as long as their caps have room."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._room = dict(question.limits)
        self._long_term = question.max_results
        self._taken: list[str] = []  # texts whose keys nobody has needed yet
        self._told: set[str] = set()

    def takes(self, item: Item, now: datetime) -> bool:
        """True, and counted, when the item may be shown at `now` and there is room for it."""
        level = item.partition.level
        is_long_term = level in (Level.USER, Level.AGENT)
        if not self._admits(item, now) or self._room.get(level, 1) <= 0 or (is_long_term and self._long_term == 0):
            return False
        if self._is_echo(item):
            return False
        if level in self._room:
            self._room[level] -= 1
        if is_long_term and self._long_term is not None:
            self._long_term -= 1
        return True

    def _is_echo(self, item: Item) -> bool:
        """True for an assistant's words that say no more than what was taken already: a recalled fact, repeated."""
        if not isinstance(item, Message):
            self._taken.append(item.text)
            return False
        if item.role is not Role.ASSISTANT:
            return False
        self._told.update(map(dedup_key, self._taken))
        self._taken.clear()
        key = dedup_key(item.text)
        is_told = key in self._told
        self._told.add(key)
        return is_told

    def _admits(self, item: Item, now: datetime) -> bool:
        question = self._question
        if item.id in question.excluded:
            return False
        if not isinstance(item, Memory):
            return (question.as_of is None or item.observed_at <= question.as_of) and (
                question.known_at is None or item.created_at <= question.known_at
            )
        if item.expires_at is not None and item.expires_at <= now:
            return False
        if item.partition.level is Level.USER and item.importance < question.min_importance:
            return False
        at = question.as_of or now
        return question.known_at is not None or item.valid_to is None or item.valid_to > at


class Watch:
    """Milliseconds between laps, and how much of the deadline is left, since `start` (a performance counter)."""

    def __init__(
        self, deadline_ms: float | None, start: float | None = None, *, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self.deadline_ms = deadline_ms
        self.laps: dict[str, float] = {}
        self._now = now
        self.start = self._last = now() if start is None else start

    def lap(self, name: str) -> None:
        """The time since the last lap went into `name`."""
        now = self._now()
        self.laps[name] = (now - self._last) * 1e3
        self._last = now

    def total(self) -> float:
        """Milliseconds since the start, also as the lap "total"."""
        self.laps["total"] = (self._now() - self.start) * 1e3
        return self.laps["total"]

    def left_s(self, reserve_ms: float) -> float | None:
        """Seconds that may be waited so that `reserve_ms`, but at most a quarter of the deadline, are left for what
        follows; never below 0; None without a deadline.
        """
        if self.deadline_ms is None:
            return None
        end_ms = self.deadline_ms - min(reserve_ms, self.deadline_ms / 4)
        return max(self.start + end_ms / 1e3 - self._now(), 0.0)

    def check(self, reserve_ms: float) -> None:
        """Raises `TimedOutError` when nothing is left of the time of `left_s`."""
        if self.left_s(reserve_ms) == 0:
            raise TimedOutError(f"not within the deadline of {self.deadline_ms:g} ms")
