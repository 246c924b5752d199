"""Puts memory in front of the model: profile, working memory, recalled facts and session history within a token
budget.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from mnemic.engine.parallel import gather
from mnemic.engine.parts import Parts
from mnemic.engine.profile import get_profile
from mnemic.engine.question import Question, Selection
from mnemic.engine.recall import answer
from mnemic.engine.window import window
from mnemic.errors import BackendError
from mnemic.model.context import ChatMessage, Citation, Context, Placement
from mnemic.model.item import Message, Role
from mnemic.model.profile import ProfileEntry
from mnemic.model.recall import Hit, Recall
from mnemic.model.scope import Scope
from mnemic.text.blocks import Language, facts_block, profile_block, working_block
from mnemic.text.sanitise import neutralise_markers
from mnemic.text.sentences import sentences

CUT_MARK = " […]"
_HAN = re.compile(r"[㐀-鿿]")
_Found = TypeVar("_Found")
_log = logging.getLogger("mnemic.context")
_SHOWN_ROLES = (Role.USER, Role.ASSISTANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What the model is about to be asked, and how the context is to look. `question` holds caps, times and deadline.

    `budget_tokens` bounds what memory adds; `history_messages` how much of the session is shown. `language` None
    follows the question: Chinese for one in Chinese, else English.
    """

    question: Question
    system: str = ""
    budget_tokens: int = 2048
    placement: Placement = Placement.LEADING
    history_messages: int = 20
    role: str | None = None
    model: str | None = None
    language: Language | None = None


@dataclass(slots=True)
class _Budget:
    """Tokens left, and the counter that spends them."""

    count: Callable[[str], int]
    left: int
    spent: int = field(default=0)

    def spend(self, tokens: int) -> None:
        self.left -= tokens
        self.spent += tokens

    def fits(self, text: str) -> bool:
        return self.count(text) <= self.left


def context(parts: Parts, scope: Scope, request: ContextRequest) -> Context:
    """The whole prompt around a message: system prompt, profile, working memory, facts, session history, message.

    Sources that wait for a server are read at the same time. A source that fails is left out, logged as a warning,
    counted and named in `degraded`: a chat goes on without its memory, it never fails because of it.
    """
    question = request.question
    wide = replace(question, limit=_wide_limit(request), limits={}, max_results=None, min_importance=0.0)
    nothing = Recall(question.text, (), (), {})
    history = _Source[list[Message]](parts, "history", [], lambda: _history(parts, scope, request))
    profile = _Source[list[ProfileEntry]](parts, "profile", [], lambda: get_profile(parts, scope))
    recalled = _Source[Recall](parts, "recall", nothing, lambda: answer(parts, scope, wide))
    sources = (history, profile, recalled)
    timings = gather(parts, {source.name: source.read for source in sources})
    failed = tuple(f"{source.name}: {source.failure}" for source in sources if source.failure)
    built = _Assembly(parts, scope, request).build(history.found, profile.found, recalled.found, timings)
    parts.accesses.note(parts.store, built.recall.hits, parts.clock.now())
    return replace(built, degraded=(*built.degraded, *failed))


class _Source(Generic[_Found]):
    """One source of a context: what it found, or nothing and why."""

    def __init__(self, parts: Parts, name: str, nothing: _Found, reader: Callable[[], _Found]) -> None:
        self.name, self.found, self.failure = name, nothing, ""
        self._parts, self._reader = parts, reader

    def read(self) -> None:
        """Ask the source; an error of its backend is kept instead of raised."""
        try:
            self.found = self._reader()
        except BackendError as error:
            self.failure = type(error).__name__
            _log.warning("the %s is missing from a context (%s)", self.name, self.failure)
            self._parts.observer.count("mnemic.context.missing", source=self.name)


def _wide_limit(request: ContextRequest) -> int | None:
    """Room for every cap, and for what the session history shows anyway."""
    if not request.question.limits:
        return request.question.limit
    return sum(request.question.limits.values()) + request.history_messages


def _history(parts: Parts, scope: Scope, request: ContextRequest) -> list[Message]:
    if scope.session is None or request.history_messages <= 0:
        return []
    messages = window(parts, scope, request.history_messages)
    messages = [message for message in messages if message.role in _SHOWN_ROLES]
    if messages and messages[-1].role is Role.USER and messages[-1].text.strip() == request.question.text.strip():
        return messages[:-1]  # captured already; it comes as the current message
    return messages


class _Assembly:
    """Spends one budget on blocks, in the order of their importance, and lays them out."""

    def __init__(self, parts: Parts, scope: Scope, request: ContextRequest) -> None:
        self._scope, self._request = scope, request
        self._now = parts.clock.now()
        self._language: Language = request.language or ("zh" if _HAN.search(request.question.text) else "en")
        self._budget = _Budget(parts.analyser.token_count, request.budget_tokens)

    def build(
        self, history: list[Message], profile: list[ProfileEntry], recalled: Recall, timings: dict[str, float]
    ) -> Context:
        """The context from what the sources gave."""
        blocks = {"system": self._request.system, "profile": self._profile(profile), "working": self._working()}
        facts, citations, hits = self._facts(history, recalled)
        blocks["facts"] = facts
        shown = self._within_budget(history)
        blocks["history"] = "\n".join(f"{message.role.value}: {message.content}" for message in shown)
        return Context(
            messages=self._messages(blocks, shown),
            blocks={name: text for name, text in blocks.items() if text},
            citations=citations,
            token_count=self._budget.spent,
            recall=Recall(recalled.query, hits, recalled.degraded, recalled.timings_ms),
            degraded=recalled.degraded,
            timings_ms=timings,
        )

    def _profile(self, entries: Sequence[ProfileEntry]) -> str:
        kept: dict[str, str] = {}
        for entry in entries:
            longer = {**kept, entry.key: entry.value}
            if self._budget.fits(profile_block(longer, self._language)):
                kept = longer
        block = profile_block(kept, self._language)
        self._budget.spend(self._budget.count(block))
        return block

    def _working(self) -> str:
        date = self._now.date()
        block = working_block(date, self._scope.user, self._request.role, self._request.model, self._language)
        if not self._budget.fits(block):
            return ""
        self._budget.spend(self._budget.count(block))
        return block

    def _facts(self, history: Sequence[Message], recalled: Recall) -> tuple[str, tuple[Citation, ...], tuple[Hit, ...]]:
        """The facts block. It may use what the history does not need, and half of the rest in any case."""
        total = self._budget.left
        needed = sum(self._budget.count(message.text) for message in history)
        room = _Budget(self._budget.count, max(total // 2, total - needed))
        frame = room.count(facts_block(["x"], self._language, is_fallback=recalled.is_fallback)) - 1
        room.left -= frame
        chosen, in_history = Selection(self._request.question), {message.id for message in history}
        lines: list[str] = []
        hits: list[Hit] = []
        for hit in recalled.hits:
            line = self._line(hit, len(lines) + 1, room)
            if hit.id in in_history or line is None or not chosen.takes(hit.item, self._now):
                continue
            room.spend(room.count(line) + 1)
            lines.append(line)
            hits.append(hit)
        block = facts_block(lines, self._language, is_fallback=recalled.is_fallback)
        self._budget.spend(self._budget.count(block))
        return block, tuple(_citation(place, hit) for place, hit in enumerate(hits, start=1)), tuple(hits)

    def _line(self, hit: Hit, number: int, room: _Budget) -> str | None:
        """A passage with its mark: whole if it fits, skipped if not, cut at a sentence if larger than all there is."""
        item = hit.item
        said = f"{item.observed_at.date().isoformat()}, {item.author}: " if isinstance(item, Message) else ""
        line = f"[{number}] {said}{item.text}"
        if room.fits(line):
            return line
        if room.count(line) <= self._request.budget_tokens or number > 1:
            return None
        kept = ""
        for _, end in sentences(item.text):
            if not room.fits(f"[{number}] {said}{item.text[:end]}{CUT_MARK}"):
                break
            kept = item.text[:end]
        return f"[{number}] {said}{kept}{CUT_MARK}" if kept else None

    def _within_budget(self, history: Sequence[Message]) -> list[ChatMessage]:
        """The newest messages that fit, oldest first."""
        shown: list[ChatMessage] = []
        for message in reversed(history):
            text = neutralise_markers(message.text)
            if not self._budget.fits(text):
                break
            self._budget.spend(self._budget.count(text))
            shown.append(ChatMessage(message.role, text))
        return shown[::-1]

    def _messages(self, blocks: dict[str, str], history: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        prefix = (blocks["system"] + blocks["profile"]).strip()
        moving = "\n\n".join(block for block in (blocks["working"], blocks["facts"]) if block)
        text = self._request.question.text
        current = [ChatMessage(Role.USER, text)] if text.strip() else []
        if self._request.placement is Placement.LEADING:
            leading = "\n\n".join(part for part in (prefix, moving) if part)
            return (*_system(leading), *history, *current)
        return (*_system(prefix), *history, *_system(moving), *current)


def _system(text: str) -> list[ChatMessage]:
    return [ChatMessage(Role.SYSTEM, text)] if text else []


def _citation(number: int, hit: Hit) -> Citation:
    item = hit.item
    is_message = isinstance(item, Message)
    kind = "message" if is_message else item.kind.value
    source = f"session {item.session}" if is_message else item.source
    return Citation(number, item.id, kind, source, item.observed_at)
