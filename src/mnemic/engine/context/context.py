"""Puts memory in front of the model: reads profile, recalled facts, documents and session history side by side.

`assembly` makes blocks and messages of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from mnemic.engine.context.assembly import Assembly, ContextRequest, Found
from mnemic.engine.context.parallel import gather
from mnemic.engine.conversation.window import window
from mnemic.engine.indexing.embedding import Asked
from mnemic.engine.memories.profile import get_profile
from mnemic.engine.parts import Parts
from mnemic.engine.recall.recall import answer, ask, tell
from mnemic.errors import BackendError
from mnemic.model.context import Context
from mnemic.model.item import Message, Role
from mnemic.model.profile import ProfileEntry
from mnemic.model.recall import Recall
from mnemic.model.scope import Scope

_CHUNKS_AN_EXCERPT = 3
"""So many chunks are read for each excerpt that may be shown, since those side by side become one."""

_Found = TypeVar("_Found")
_log = logging.getLogger("mnemic.context")
_SHOWN_ROLES = (Role.USER, Role.ASSISTANT)


def context(parts: Parts, scope: Scope, request: ContextRequest) -> Context:
    """As `put_together`, told to the observer, and the memories shown count as accessed."""
    with parts.observer.span("mnemic.context", question_chars=len(request.question.text)) as span:
        built = put_together(parts, scope, request)
        span.note(
            messages=len(built.messages),
            blocks=tuple(built.blocks),
            citations=len(built.citations),
            tokens=built.token_count,
            degraded=tuple(each.partition(":")[0] for each in built.degraded),
        )
    parts.accesses.note(parts.store, built.recall.hits, parts.clock.now())
    return built


def put_together(parts: Parts, scope: Scope, request: ContextRequest) -> Context:
    """The whole prompt around a message: system prompt, profile, working memory, facts, documents, session history,
    message.

    Sources that wait for a server are read at the same time. A source that fails is left out, logged as a warning,
    counted and named in `degraded`: a chat goes on without its memory, it never fails because of it.
    """
    question = request.question
    wide = replace(question, limits={}, max_results=None, min_importance=0.0)
    facts = replace(wide, limit=_wide_limit(request), passages=False)
    excerpts = replace(wide, limit=request.documents * _CHUNKS_AN_EXCERPT, passages=True)
    nothing = Recall(question.text, (), (), {})
    asked: list[Asked] = []

    def embed() -> None:
        with parts.observer.span("mnemic.context.embed"):
            asked.append(ask(parts, scope.visibility.at(*question.levels), question))

    history = _Source[list[Message]](parts, "history", [], lambda: _history(parts, scope, request))
    profile = _Source[list[ProfileEntry]](parts, "profile", [], lambda: get_profile(parts, scope))
    recalled = _Source[Recall](parts, "recall", nothing, lambda: answer(parts, scope, facts, asked[0]))
    documents = _Source[Recall](parts, "documents", nothing, lambda: answer(parts, scope, excerpts, asked[0]))
    searched = (recalled, documents) if request.documents else (recalled,)
    timings = gather(
        parts,
        {source.name: source.read for source in (history, profile)},
        embed,
        {source.name: source.read for source in searched},
    )
    sources = (history, profile, *searched)
    failed = tuple(f"{source.name}: {source.failure}" for source in sources if source.failure)
    found = Found(history=history.found, profile=profile.found, recalled=recalled.found, documents=documents.found)
    built = Assembly(parts, scope, request).build(found, timings)
    return replace(built, degraded=(*built.degraded, *failed))


class _Source(Generic[_Found]):
    """One source of a context: what it found, or nothing and why."""

    def __init__(self, parts: Parts, name: str, nothing: _Found, reader: Callable[[], _Found]) -> None:
        self.name, self.found, self.failure = name, nothing, ""
        self._parts, self._reader = parts, reader

    def read(self) -> None:
        """Ask the source; an error of its backend is kept instead of raised."""
        try:
            with self._parts.observer.span(f"mnemic.context.{self.name}") as span:
                self.found = self._reader()
                if isinstance(self.found, Recall):
                    tell(span, self.found, without=("embed", "total"))
        except BackendError as error:
            self.failure = type(error).__name__
            _log.warning("%s missing from a context (%s)", self.name, self.failure)
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
