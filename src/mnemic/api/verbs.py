"""Mnemic: the object people hold. Every verb takes the scope first and is a few lines that call the engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Unpack, cast

from mnemic.api.arguments import (
    ContextFields,
    ImportFields,
    ListFields,
    MemoryFields,
    MessageLike,
    RecallFields,
    UpdateFields,
    changes_of,
    context_request_of,
    levels_of,
    memory_query_of,
    question_of,
)
from mnemic.api.assistant import AssistantVerbs
from mnemic.api.backup import BackupVerbs
from mnemic.api.documents import IngestVerbs
from mnemic.api.graph import GraphPart
from mnemic.api.health import HealthVerbs
from mnemic.api.jobs import JobVerbs
from mnemic.api.keys import Admission, KeyVerbs
from mnemic.api.known import check_scope
from mnemic.api.life import LifeVerbs
from mnemic.api.profile import ProfileVerbs
from mnemic.api.reembed import ReembedVerbs
from mnemic.api.repeats import Repeats
from mnemic.api.research import ResearchVerbs
from mnemic.api.review import ReviewVerbs
from mnemic.build import build
from mnemic.config import Config, load_config
from mnemic.engine import browse, edit
from mnemic.engine.context import context
from mnemic.engine.conversation import capture, complete
from mnemic.engine.doctor import doctor, glance
from mnemic.engine.engine import Parts
from mnemic.engine.erase import clear, delete
from mnemic.engine.export import OWN_LEVELS, export
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.import_files import ImportReport
from mnemic.engine.imports import ImportRequest, import_content
from mnemic.engine.indexing import adopt_spaces
from mnemic.engine.inputs import check_choice, check_id, check_text, memory_draft, message_drafts
from mnemic.engine.jobs import POLL_S, Told, Worker, WorkReport, work
from mnemic.engine.recall import WhyNot, recall, why_not
from mnemic.engine.remember import remember
from mnemic.errors import InvalidInputError
from mnemic.model.health import Diagnosis
from mnemic.model.item import Item, Memory, MemoryDraft, Role, Turn
from mnemic.model.recall import Context, Counts, Page, Recall
from mnemic.model.records import HistoryEntry, Receipt
from mnemic.model.scope import Level, Scope
from mnemic.model.values import as_utc

DEFAULT_ACTOR = "library"
VERDICTS = ("relevant", "outdated")


class Mnemic(
    LifeVerbs,
    HealthVerbs,
    ReviewVerbs,
    AssistantVerbs,
    IngestVerbs,
    ResearchVerbs,
    GraphPart,
    ReembedVerbs,
    BackupVerbs,
    AbstractContextManager["Mnemic"],
):
    """An open memory. Safe to use from several threads; close it, or use it in a `with` block.

    Errors are those of `mnemic.errors`: InvalidInputError for an argument, NotFoundError for what is not in the scope,
    BackendError and its children when the store fails.
    """

    def __init__(self, parts: Parts, *, actor: str = DEFAULT_ACTOR) -> None:
        self._parts = parts
        self._opened_by = actor
        self._is_adopted = False

    @classmethod
    def open(cls, store: str | Path | Config | None = None, *, actor: str = DEFAULT_ACTOR) -> Mnemic:
        """Open a memory: a path, `sqlite:///path`, `postgresql://…`, `memory://`; None for the user's own store.

        Everything else that can be set comes from the environment and the user's configuration file; a `Config` is
        taken as it is. `actor` is written into the history of what is done with it.
        """
        config = store if isinstance(store, Config) else load_config(store)
        return cls(build(config), actor=actor)

    def capture(
        self,
        scope: Scope,
        messages: Iterable[MessageLike] | None = None,
        *,
        user: str | None = None,
        assistant: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """Keep one exchange, verbatim. `user=` and `assistant=` are short for messages of these roles.

        A message is a `MessageDraft` or a mapping with role, content, and optionally name, observed_at, external_id,
        trust, metadata. `observed_at` is for the messages that do not say their own; the default is now. A scope
        without a session starts a new conversation: its id is `Turn.session`. Repeating messages with an
        external id that is known changes nothing.
        """
        return self.capture_many(scope, [self._exchange(messages, user, assistant)], observed_at=observed_at)[0]

    def capture_many(
        self,
        scope: Scope,
        exchanges: Iterable[Iterable[MessageLike]],
        *,
        observed_at: datetime | str | None = None,
    ) -> list[Turn]:
        """Keep many exchanges of one conversation, in order, in one durable transaction with batched embedding."""
        check_scope(scope)
        at = None if observed_at is None else as_utc(observed_at, "observed_at")
        drafts = [message_drafts(exchange, self._parts.settings) for exchange in exchanges]
        dated = [[replace(d, observed_at=d.observed_at or at) for d in exchange] for exchange in drafts]
        return capture(self._parts, scope, dated)

    def complete(
        self,
        scope: Scope,
        turn_id: str,
        *,
        assistant: str | Sequence[str],
        name: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """Add the assistant's side to a captured turn; several texts are joined by newlines and trimmed."""
        content = assistant if isinstance(assistant, str) else list(assistant)
        message = {"role": Role.ASSISTANT, "content": content, "name": name, "observed_at": observed_at}
        return complete(
            self._parts, scope, check_id(turn_id, "turn_id"), message_drafts([message], self._parts.settings)[0]
        )

    def remember(self, scope: Scope, text: str, **fields: Unpack[MemoryFields]) -> Memory:
        """Keep one memory; what already says the same in the same place is given back instead."""
        return self.remember_many(scope, [{"text": text, **fields}])[0]

    def remember_many(self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]) -> list[Memory]:
        """Keep many memories in one durable transaction with batched embedding. Each is a text, a `MemoryDraft`, or a
        mapping of "text" and the arguments of `remember`.
        """
        check_scope(scope)
        drafts = [self._draft(memory) for memory in memories]
        return remember(self._parts, scope, drafts, actor=self._actor) if drafts else []

    def recall(self, scope: Scope, query: str, **fields: Unpack[RecallFields]) -> Recall:
        """Find what answers `query` among the messages and memories this scope may see; 5 hits unless told.

        When nothing matches, or the query is blank, the most important memories are given as general background
        (`Hit.is_fallback`), at most 5. `Recall.degraded` says which sources were missing.
        """
        check_scope(scope)
        return recall(self._parts, scope, question_of(query, fields, self._parts.settings))

    def context(self, scope: Scope, query: str, **fields: Unpack[ContextFields]) -> Context:
        """Everything to put in front of a model that is about to answer `query`, as chat messages with citations."""
        check_scope(scope)
        return context(self._parts, scope, context_request_of(query, fields, self._parts.settings))

    def why_not(self, scope: Scope, id: str, query: str, **fields: Unpack[RecallFields]) -> WhyNot:
        """Where a memory or message was lost on its way to the answer to `query`, or at which rank it is."""
        return why_not(self._parts, scope, check_id(id), question_of(query, fields, self._parts.settings))

    def get(self, scope: Scope, id: str) -> Item:
        """The memory or message with this id."""
        return browse.get(self._parts, scope, check_id(id))

    def list(self, scope: Scope, **fields: Unpack[ListFields]) -> Page:
        """A page of memories (not messages): the newest 50 active ones unless told otherwise."""
        check_scope(scope)
        query = memory_query_of(fields, self._parts.clock.now())
        return browse.list_memories(self._parts, scope, query, levels_of(fields))

    def count(self, scope: Scope) -> Counts:
        """How many memories the scope sees by state, and of the active ones by kind; and how many documents."""
        check_scope(scope)
        return browse.count(self._parts, scope)

    def update(self, scope: Scope, id: str, *, reason: str = "", **fields: Unpack[UpdateFields]) -> Memory:
        """Correct a memory; before and after are in its history, and `undo` takes it back."""
        changes = changes_of(fields, self._parts.settings)
        return edit.update(self._parts, scope, check_id(id), changes, actor=self._actor, reason=reason)

    def pin(self, scope: Scope, id: str, *, is_pinned: bool = True, reason: str = "") -> Memory:
        """Keep a memory from fading and eviction, or let it fade again."""
        changes = {"is_pinned": is_pinned}
        return edit.update(self._parts, scope, check_id(id), changes, actor=self._actor, reason=reason)

    def merge(self, scope: Scope, ids: Sequence[str], *, text: str | None = None, reason: str = "") -> Memory:
        """Make one of several memories: the first stays, with `text` if given; the others are superseded by it."""
        wanted = None if text is None else check_text(text, "text", self._parts.settings)
        return edit.merge(self._parts, scope, [check_id(i) for i in ids], text=wanted, actor=self._actor, reason=reason)

    def undo(self, scope: Scope, id: str) -> Memory:
        """Take back the last change of a memory, a merge included; called again, the change before."""
        return edit.undo(self._parts, scope, check_id(id), actor=self._actor)

    def feedback(self, scope: Scope, id: str, verdict: str, *, reason: str = "") -> Memory:
        """Judge a memory: "relevant" refreshes it, "outdated" ends its validity now."""
        if verdict not in VERDICTS:
            raise InvalidInputError(f"a verdict is one of {', '.join(VERDICTS)}, not {verdict!r}")
        is_relevant = verdict == VERDICTS[0]
        return edit.feedback(
            self._parts, scope, check_id(id), is_relevant=is_relevant, actor=self._actor, reason=reason
        )

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """Remove the text, the vectors and the history of one memory or message, and what was made of it alone.

        What was made of it and of other things is flagged, and made anew by a job; the notes of the receipt say so.
        """
        return delete(self._parts, scope, check_id(id), actor=self._actor, reason=reason)

    def clear(self, scope: Scope, *, levels: Iterable[Level | str] = (), reason: str = "") -> Receipt:
        """Delete every memory (not the messages) of some levels that the scope names; of its default level unless
        told.
        """
        wanted = tuple(check_choice(Level, level, "levels") for level in levels) or (scope.default_level,)
        return clear(self._parts, scope, wanted, actor=self._actor, reason=reason)

    def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]:
        """What happened to a memory, oldest first; its deletion too."""
        return browse.history(self._parts, scope, check_id(id))

    def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> Iterator[str]:
        """Everything the scope owns, as lines of JSON without line feeds; `import_` reads them back without loss.

        The levels that the scope names are written; what the whole org shares only when "org" is among `levels`.
        """
        return export(self._parts, scope, tuple(check_choice(Level, level, "levels") for level in levels))

    def import_(self, scope: Scope, text: str | bytes, **fields: Unpack[ImportFields]) -> ImportReport:
        """Take in an export of Mnemic, or chats or memories of another program; repeating it changes nothing.

        `text` is the whole content of the file: a text, UTF-8, or mem0's history database. Broken parts are reported,
        not raised. Raises InvalidInputError for a format that is not known.
        """
        return import_content(self._parts, scope, text, ImportRequest(**fields), actor=self._actor)

    def doctor(self, *, is_quick: bool = False) -> Diagnosis:
        """How the installation is: the thorough look at every part of the whole store, what works, what is degraded,
        and what to do. `is_quick`: only whether the store answers; for probes. Never raises for a broken part.
        """
        return glance(self._parts) if is_quick else doctor(self._parts)

    @property
    def profile(self) -> ProfileVerbs:
        """The verbs of the profile: set, get, all, format."""
        return ProfileVerbs(self._parts, self._actor)

    @property
    def jobs(self) -> JobVerbs:
        """The verbs of jobs: list, retry."""
        return JobVerbs(self._parts)

    @property
    def keys(self) -> KeyVerbs:
        """The verbs of keys for the doors: create, list, revoke, rotate, audit."""
        return KeyVerbs(self._parts, self._actor)

    @property
    def admission(self) -> Admission:
        """What a door over HTTP asks before it lets anybody in."""
        return Admission(self._parts)

    @property
    def repeats(self) -> Repeats:
        """What a door asks that lets requests be sent again."""
        return Repeats(self._parts)

    def work(self, *, until_idle: bool = True) -> WorkReport:
        """Run what is due, by the schedules too, such as vectors that must still be made: all of it, or one job.

        The first call also looks for items that lack vectors because an embedder was added or changed.
        """
        self._adopt()
        return work(self._parts, HANDLERS, worker=f"{self._opened_by}-{uuid.uuid4()}", until_idle=until_idle)

    def worker(self, *, poll_s: float = POLL_S, on_run: Told | None = None) -> Worker:
        """A worker for a program that stays: `start()` runs jobs in a thread until `stop()`; `join()` waits for it.

        It looks for work every `poll_s` seconds, and earlier when something is due; `on_run` is told of every job on
        its thread. Stop it before this Mnemic is closed.
        """
        if not poll_s > 0:
            raise InvalidInputError(f"poll_s is a number of seconds above 0, not {poll_s!r}")
        self._adopt()
        name = f"{self._opened_by}-{uuid.uuid4()}"
        return Worker(self._parts, HANDLERS, name=name, poll_s=poll_s, on_run=on_run)

    def close(self) -> None:
        """Let go of the store, the index and the model; closing twice is harmless."""
        self._parts.accesses.flush(self._parts.store)
        self._parts.readers.close()
        self._parts.pool.shutdown(cancel_futures=True)
        self._parts.store.close()
        self._parts.index.close()
        if self._parts.window is not None:
            self._parts.window.close()
        for embedder in self._parts.known_embedders:
            embedder.close()
        if self._parts.reranker is not None:
            self._parts.reranker.close()
        if self._parts.llm is not None:
            self._parts.llm.close()
        self._parts.observer.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _adopt(self) -> None:
        """Look once for items that lack vectors because an embedder was added or changed."""
        if not self._is_adopted:
            adopt_spaces(self._parts)
            self._is_adopted = True

    def _exchange(
        self, messages: Iterable[MessageLike] | None, user: str | None, assistant: str | None
    ) -> Iterable[MessageLike]:
        if messages is not None:
            if user is not None or assistant is not None:
                raise InvalidInputError("give either messages, or user= and assistant=, not both")
            return messages
        said = ((Role.USER, user), (Role.ASSISTANT, assistant))
        return [{"role": role, "content": text} for role, text in said if text is not None]

    def _draft(self, memory: str | MemoryDraft | Mapping[str, object]) -> MemoryDraft:
        if isinstance(memory, MemoryDraft):
            memory = {name: getattr(memory, name) for name in MemoryDraft.__dataclass_fields__}
        fields = dict(memory) if isinstance(memory, Mapping) else {"text": memory}
        return memory_draft(fields.pop("text", None), cast("Mapping[str, object]", fields), self._parts.settings)
