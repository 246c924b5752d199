"""Builds the prompt around a message: profile, recalled facts, documents and session history within a token budget.
Sources are read in parallel if the store or an embedder waits for a server. `context_filling` chooses the facts.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Generic, TypeVar

from mnemic.engine.context_filling import Filling
from mnemic.engine.context_records import note_context
from mnemic.engine.context_silence import LEAST_MESSAGE, deserves_memory, strong_enough
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import Asked
from mnemic.engine.inputs import Question
from mnemic.engine.passages import Passage, passages_of, widened
from mnemic.engine.profile import get_profile
from mnemic.engine.recall import answer, ask, background, tell
from mnemic.engine.recall_naming import with_user_named
from mnemic.engine.window import window
from mnemic.errors import BackendError
from mnemic.model.item import Chunk, Kind, Message, ProfileEntry, Role
from mnemic.model.recall import ChatMessage, Citation, Context, Hit, Placement, Recall
from mnemic.model.scope import Level, Scope
from mnemic.ranking.digest import shortened_tokens
from mnemic.ranking.silence import is_about_user
from mnemic.text.blocks import Excerpt, Language, documents_block, profile_block, working_block
from mnemic.text.sanitise import neutralise_markers
from mnemic.text.sentences import CUT_MARK, cut_at_sentence

DOCUMENTS = 5
"""Default number of document excerpts in a context."""

_HAN = re.compile(r"[㐀-鿿]")
_PARTS_OF_PATH = re.compile(r"[/\\]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """The model's next question and the layout of its context. `question` holds caps, times and deadline.
    `budget_tokens` bounds what memory adds, `history_messages` the session history, `documents` the excerpts.
    `language` None follows the question: Chinese for a Chinese one, else English. `is_dry_run`: note nothing.
    """

    question: Question
    system: str = ""
    guidance: str = ""
    budget_tokens: int = 2048
    placement: Placement = Placement.LEADING
    history_messages: int = 20
    documents: int = DOCUMENTS
    role: str | None = None
    model: str | None = None
    language: Language | None = None
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Results of the sources of a context."""

    history: Sequence[Message]
    profile: Sequence[ProfileEntry]
    recalled: Recall
    documents: Recall


@dataclass(slots=True)
class _Budget:
    """A token budget with its counter."""

    count: Callable[[str], int]
    left: int
    spent: int = field(default=0)

    def spend(self, tokens: int) -> None:
        self.left -= tokens
        self.spent += tokens

    def fits(self, text: str) -> bool:
        return self.count(text) <= self.left


class Assembly:
    """Spends one budget on blocks in order of importance, and lays them out. Facts and documents each get a fair share:
    half of what is left, or a third if documents were found beside facts. They may also use what the others do not
    need.
    """

    def __init__(self, engine: Engine, scope: Scope, request: ContextRequest) -> None:
        self._engine, self._scope, self._request = engine, scope, request
        self._now = engine.clock.now()
        self._language: Language = request.language or ("zh" if _HAN.search(request.question.text) else "en")
        self._budget = _Budget(engine.analyser.token_count, request.budget_tokens)

    def build(self, found: Found, timings: dict[str, float]) -> Context:
        """The context from the sources' results."""
        blocks = {"system": self._request.system, "profile": self._profile(found.profile)}
        blocks |= {"guidance": self._request.guidance, "working": self._working()}
        passages = passages_of(found.documents.hits)[: self._request.documents]
        needed = sum(self._budget.count(passage.text) for passage in passages)
        blocks["facts"], citations, hits = self._facts(found.history, found.recalled, needed)
        blocks["documents"], cited, shown = self._documents(passages, found.history, len(citations))
        messages = self._within_budget(found.history)
        blocks["history"] = "\n".join(f"{message.role.value}: {message.content}" for message in messages)
        recalled = found.recalled
        degraded = tuple(dict.fromkeys((*recalled.degraded, *found.documents.degraded)))
        paths = tuple(dict.fromkeys((*recalled.paths, *found.documents.paths)))
        return Context(
            messages=self._messages(blocks, messages),
            blocks={name: text for name, text in blocks.items() if text},
            citations=(*citations, *cited),
            token_count=self._budget.spent,
            recall=replace(recalled, hits=(*hits, *shown), degraded=degraded, paths=paths),
            degraded=degraded,
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

    def _facts(
        self, history: Sequence[Message], recalled: Recall, documents: int
    ) -> tuple[str, tuple[Citation, ...], tuple[Hit, ...]]:
        """The facts block: memories and messages."""
        room = self._room(3 if documents else 2, documents + self._tokens(history))
        filling = Filling(self._engine, self._request.question, self._language, room.left, self._request.budget_tokens)
        filled = filling.fill(recalled.hits, {message.id for message in history}, is_fallback=recalled.is_fallback)
        self._budget.spend(self._budget.count(filled.block))
        citations = tuple(_citation(place, hit) for place, hit in enumerate(filled.hits, start=1))
        return filled.block, citations, filled.hits

    def _documents(
        self, passages: Sequence[Passage], history: Sequence[Message], first: int
    ) -> tuple[str, tuple[Citation, ...], tuple[Hit, ...]]:
        """The documents block. Its citations are numbered after `first`."""
        room = self._room(2, self._tokens(history))
        room.left -= room.count(documents_block([Excerpt("x", "x")], self._language)) - 3
        shown: list[tuple[Passage, Excerpt]] = []
        for passage in passages:
            excerpt = self._excerpt(passage, first + len(shown) + 1, room, is_first=not shown)
            if excerpt is not None:
                room.spend(_tokens_of(room, excerpt))
                shown.append((passage, excerpt))
        shown = self._widen_best(shown, room)
        block = documents_block([excerpt for _, excerpt in shown], self._language)
        self._budget.spend(self._budget.count(block))
        cited = tuple(_excerpt_citation(passage, excerpt) for passage, excerpt in shown)
        return block, cited, tuple(passage.hit for passage, _ in shown)

    def _excerpt(self, passage: Passage, number: int, room: _Budget, *, is_first: bool) -> Excerpt | None:
        """One excerpt: whole if it fits, skipped if not, or cut if it exceeds even the whole budget."""
        chunk = passage.chunk

        def of(text: str) -> Excerpt:
            return Excerpt(_name(chunk), text, chunk.page, passage.last_page, number, chunk.section_of(text))

        if _tokens_of(room, of(passage.text)) <= room.left:
            return of(passage.text)
        if _tokens_of(room, of(passage.text)) <= self._request.budget_tokens or not is_first:
            return None
        kept = cut_at_sentence(passage.text, lambda text: _tokens_of(room, of(text)) <= room.left)
        return of(kept) if kept else None

    def _widen_best(self, shown: Sequence[tuple[Passage, Excerpt]], room: _Budget) -> list[tuple[Passage, Excerpt]]:
        """The excerpts, the best one widened by its neighbours in the same section if they fit."""
        if not shown or shown[0][0].text != shown[0][1].text:
            return [*shown]
        (passage, excerpt), *others = shown
        wider = widened(self._engine, self._scope.visibility, passage, [each for each, _ in others])
        fuller = replace(excerpt, text=wider.text, last_page=wider.last_page)
        if _tokens_of(room, fuller) - _tokens_of(room, excerpt) > room.left:
            return [*shown]
        return [(wider, fuller), *others]

    def _room(self, sharers: int, needed: int) -> _Budget:
        """Budget of one of `sharers` blocks: what the others do not need, but at least its equal share."""
        left = self._budget.left
        return _Budget(self._budget.count, max(left // sharers, left - needed))

    def _tokens(self, history: Sequence[Message]) -> int:
        return sum(self._budget.count(message.text) for message in history)

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
        own = (blocks["system"] + blocks["profile"]).strip()
        prefix = "\n\n".join(part for part in (own, blocks["guidance"]) if part)
        moving = "\n\n".join(block for block in (blocks["working"], blocks["facts"], blocks["documents"]) if block)
        text = self._request.question.text
        current = [ChatMessage(Role.USER, text)] if text.strip() else []
        if self._request.placement is Placement.LEADING:
            leading = "\n\n".join(part for part in (prefix, moving) if part)
            return (*_system(leading), *history, *current)
        return (*_system(prefix), *history, *_system(moving), *current)


def _system(text: str) -> list[ChatMessage]:
    return [ChatMessage(Role.SYSTEM, text)] if text else []


def _tokens_of(room: _Budget, excerpt: Excerpt) -> int:
    """Estimated tokens of an excerpt: its line and the quoted text."""
    return room.count(excerpt.source_line) + room.count(excerpt.text) + 1


def _name(chunk: Chunk) -> str:
    """The file name without folders, or the title if the source is no path."""
    return _PARTS_OF_PATH.split(chunk.source.rstrip("/\\"))[-1] or chunk.title or chunk.document_id


def _citation(number: int, hit: Hit) -> Citation:
    item = hit.item
    if isinstance(item, Message):
        return Citation(number, item.id, "message", f"session {item.session}", item.observed_at)
    kind = "document" if isinstance(item, Chunk) else item.kind.value
    return Citation(number, item.id, kind, item.source, item.observed_at)


def _excerpt_citation(passage: Passage, excerpt: Excerpt) -> Citation:
    chunk = passage.chunk
    return Citation(
        number=excerpt.number or 0,
        item_id=chunk.id,
        kind="document",
        source=chunk.source,
        observed_at=chunk.observed_at,
        document_id=chunk.document_id,
        title=chunk.title,
        page=excerpt.page,
        last_page=excerpt.last_page,
        section=chunk.heading,
        start=passage.start,
        end=passage.end if excerpt.text == passage.text else passage.start + len(excerpt.text) - len(CUT_MARK),
    )


_NOTHING: Mapping[str, Callable[[], None]] = MappingProxyType({})


def is_waiting(engine: Engine) -> bool:
    """True if a part waits for a server, so that parallel reads pay."""
    return engine.store.capabilities.is_blocking or any(each.capabilities.is_blocking for each in engine.embedders)


Sources = Mapping[str, Callable[[], None]]


def gather(
    engine: Engine, sources: Sources, prepare: Callable[[], None] = lambda: None, prepared: Sources = _NOTHING
) -> dict[str, float]:
    """Run all sources; returns the milliseconds of each. Errors are raised after all have ended. `prepare` runs in this
    thread while `sources` run. The `prepared` sources need it and start after it.
    """
    timings: dict[str, float] = {}

    def timed(name: str, source: Callable[[], None]) -> None:
        start = time.perf_counter()
        try:
            source()
        finally:
            timings[name] = (time.perf_counter() - start) * 1e3

    if is_waiting(engine):
        running = [engine.pool.submit(copy_context().run, timed, name, source) for name, source in sources.items()]
        try:
            prepare()
            running += [
                engine.pool.submit(copy_context().run, timed, name, source) for name, source in prepared.items()
            ]
        finally:
            wait(running)
        for each in running:
            each.result()
    else:
        prepare()
        for name, source in (*sources.items(), *prepared.items()):
            timed(name, source)
    return timings


_CHUNKS_AN_EXCERPT = 3
"""Chunks read per excerpt, since neighbouring chunks are joined into one."""

LEAST_CANDIDATES = 40
TOKENS_A_CANDIDATE = 16
"""A chat message takes about 30 tokens, so this reads about twice as many as fit."""

SURPLUS = 2.0
"""Tokens to read per token of budget: duplicates are dropped, and short lines go before long ones."""

HITS_OF_LEVEL = 20
"""Hits read of each level beside the user's. Its share of a budget holds fewer."""

_Found = TypeVar("_Found")
_log = logging.getLogger("mnemic.context")
_SHOWN_ROLES = (Role.USER, Role.ASSISTANT)


def context(engine: Engine, scope: Scope, request: ContextRequest) -> Context:
    """Build the context in an observed span, count its memories as accessed, and record it."""
    start = time.perf_counter()
    with engine.observer.span("mnemic.context", question_chars=len(request.question.text)) as span:
        built = put_together(engine, scope, request)
        span.note(
            messages=len(built.messages),
            blocks=tuple(built.blocks),
            citations=len(built.citations),
            tokens=built.token_count,
            degraded=tuple(each.partition(":")[0] for each in built.degraded),
        )
    if not request.is_dry_run:
        settings = {"budget_tokens": request.budget_tokens, "documents": request.documents}
        note_context(engine, scope, request.question, built, settings, (time.perf_counter() - start) * 1e3)
    return built


def put_together(engine: Engine, scope: Scope, request: ContextRequest) -> Context:
    """The whole prompt: system prompt, profile, working memory, facts, documents, session history, message. A failing
    source is left out, logged as a warning, counted and named in `degraded`. A chat goes on without its memory.
    """
    from mnemic.engine.due import with_near

    question = _name_user(engine, scope, request.question)
    wide = replace(question, limits={}, max_results=None, min_importance=0.0)
    facts = replace(wide, limit=_candidates(request), passages=False, room=SURPLUS * request.budget_tokens)
    excerpts = replace(wide, limit=request.documents * _CHUNKS_AN_EXCERPT, passages=True)
    nothing = Recall(question.text, (), (), {})
    asked: list[Asked] = []

    def embed() -> None:
        with engine.observer.span("mnemic.context.embed"):
            asked.append(ask(engine, scope.visibility.at(*question.levels), question))

    history = _Source[list[Message]](engine, "history", [], lambda: _history(engine, scope, request))
    profile = _Source[list[ProfileEntry]](engine, "profile", [], lambda: get_profile(engine, scope))
    recalled = _Source[Recall](engine, "recall", nothing, lambda: found_by_level(engine, scope, facts, asked[0]))
    documents = _Source[Recall](engine, "documents", nothing, lambda: answer(engine, scope, excerpts, asked[0]))
    searched = (recalled, documents) if request.documents else (recalled,)
    timings = gather(
        engine,
        {source.name: source.read for source in (history, profile)},
        embed,
        {source.name: source.read for source in searched},
    )
    sources = (history, profile, *searched)
    least_message = 0.0 if _was_cut(engine, recalled.found, facts) else LEAST_MESSAGE
    memory, passages = _drop_noise(engine, scope, question, asked, (recalled.found, documents.found), least_message)
    failures = tuple(hit for hit in recalled.found.hits if _is_same_failure(hit, question))
    memory = replace(memory, hits=(*failures, *(hit for hit in memory.hits if hit not in failures)))
    visible, is_shown = scope.visibility.at(*question.levels), bool(memory.hits or passages.hits)
    find_due = partial(with_near, engine, visible, question, memory.hits, is_shown=is_shown)
    due = _Source[tuple[Hit, ...]](engine, "due", memory.hits, find_due)
    due.read()
    memory = replace(memory, hits=due.found)
    failed = tuple(f"{source.name}: {source.failure}" for source in (*sources, due) if source.failure)
    found = Found(history=history.found, profile=profile.found, recalled=memory, documents=passages)
    built = Assembly(engine, scope, request).build(found, timings)
    return replace(built, degraded=(*built.degraded, *failed))


def _name_user(engine: Engine, scope: Scope, question: Question) -> Question:
    """The question with the user's names read as "User". Unchanged if the store fails; the sources report that."""
    try:
        return with_user_named(engine, scope, question)
    except BackendError:
        return question


def _is_same_failure(hit: Hit, question: Question) -> bool:
    """True for an attempt with the error in the prompt. It is shown even if the prompt seems to need no memory."""
    if hit.kind != Kind.ATTEMPT or hit.is_fallback:
        return False
    from mnemic.text.failures import has_same_error

    return has_same_error(question.text, hit.text)


def _drop_noise(
    engine: Engine,
    scope: Scope,
    question: Question,
    asked: Sequence[Asked],
    found: tuple[Recall, Recall],
    least_message: float,
) -> tuple[Recall, Recall]:
    """The results without noise: none if the prompt needs no memory, background if it asks about the user."""
    memory, documents = found
    if not question.is_judged or not asked:
        return found
    every = (*memory.hits, *documents.hits)
    is_general = is_about_user(question.text, max((hit.relevance or 0.0 for hit in every), default=0.0))
    if not is_general and deserves_memory(engine, question.search_text, asked[0], found):
        strong = {hit.id for hit in strong_enough(every, question.search_text, least_message=least_message)}
        memory, documents = (replace(each, hits=tuple(hit for hit in each.hits if hit.id in strong)) for each in found)
        return memory, documents
    visible = scope.visibility.at(*question.levels)
    shown = background(engine, visible, question) if is_general or not question.text.strip() else ()
    hits = tuple(hit for hit in shown if hit.item.partition.level is Level.USER)
    return replace(memory, hits=hits, paths=()), replace(documents, hits=(), paths=())


class _Source(Generic[_Found]):
    """One source of a context: its result, or the failure."""

    def __init__(self, engine: Engine, name: str, nothing: _Found, reader: Callable[[], _Found]) -> None:
        self.name, self.found, self.failure = name, nothing, ""
        self._engine, self._reader = engine, reader

    def read(self) -> None:
        """Run the source. A backend error is kept, not raised."""
        try:
            with self._engine.observer.span(f"mnemic.context.{self.name}") as span:
                self.found = self._reader()
                if isinstance(self.found, Recall):
                    tell(span, self.found, without=("embed", "total"))
        except BackendError as error:
            self.failure = type(error).__name__
            _log.warning("building a context without %s (%s)", self.name, self.failure)
            self._engine.observer.count("mnemic.context.missing", source=self.name)


def _candidates(request: ContextRequest) -> int:
    """Hits to read: about twice as many as fit, plus those that the history shows anyway."""
    most = max(LEAST_CANDIDATES, request.budget_tokens // TOKENS_A_CANDIDATE)
    return max(most, sum(request.question.limits.values())) + request.history_messages


def found_by_level(engine: Engine, scope: Scope, question: Question, asked: Asked) -> Recall:
    """The hits of all levels, followed by the best of each level that others crowded out."""
    every = answer(engine, scope, question, asked)
    levels = {partition.level for partition in scope.visibility.at(*question.levels).partitions}
    if every.is_fallback or len(levels) == 1 or not _was_cut(engine, every, question):
        return every
    hits = {hit.id: hit for hit in every.hits}
    for level in sorted(levels - {Level.USER}, key=lambda each: each.value):
        alone = answer(engine, scope, replace(question, levels=(level,), limit=HITS_OF_LEVEL), asked)
        if not alone.is_fallback:
            hits = {**hits, **{hit.id: hit for hit in alone.hits if hit.id not in hits}}
    return replace(every, hits=tuple(hits.values()))


def _was_cut(engine: Engine, found: Recall, question: Question) -> bool:
    """True if more was found than was read, so that a level may be missing."""
    tokens = sum(shortened_tokens(engine.analyser.token_count(hit.text)) for hit in found.hits)
    return len(found.hits) >= (question.limit or 0) or tokens >= question.room


def _history(engine: Engine, scope: Scope, request: ContextRequest) -> list[Message]:
    if scope.session is None or request.history_messages <= 0:
        return []
    messages = window(engine, scope, request.history_messages)
    messages = [message for message in messages if message.role in _SHOWN_ROLES]
    if messages and messages[-1].role is Role.USER and messages[-1].text.strip() == request.question.text.strip():
        return messages[:-1]  # captured already; it is the current message
    return messages
