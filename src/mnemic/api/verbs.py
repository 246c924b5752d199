"""Mnemic: the object people hold. Every verb takes the scope first and is a few lines that call the engine."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import cast

from mnemic.api.arguments import (
    UNCHANGED,
    MessageLike,
    Unchanged,
    changes_of,
    check_arguments,
    given_arguments,
    memory_query_of,
    message_query_of,
)
from mnemic.api.asking import AskingVerbs
from mnemic.api.doors import Admission, Repeats
from mnemic.api.parts import DocumentVerbs, GraphVerbs, JobVerbs, KeyVerbs, ProfileVerbs
from mnemic.api.upkeep import UpkeepVerbs
from mnemic.build import build
from mnemic.config import Config, load_config
from mnemic.engine import browse, edit
from mnemic.engine.conversation import capture, complete
from mnemic.engine.engine import Engine
from mnemic.engine.erase import clear, delete
from mnemic.engine.inputs import check_choice, check_id, check_text, memory_draft, message_drafts
from mnemic.engine.remember import remember
from mnemic.engine.window import window
from mnemic.errors import InvalidInputError
from mnemic.model.item import Item, Kind, Memory, MemoryDraft, Message, Role, State, Trust, Turn
from mnemic.model.recall import Counts, MessagePage, Order, Page
from mnemic.model.records import HistoryEntry, Receipt
from mnemic.model.scope import Level, Scope, as_utc
from mnemic.model.settings import Settings
from mnemic.ports.observer import Observer

DEFAULT_ACTOR = "library"
VERDICTS = ("relevant", "outdated")


@check_arguments()
class MnemicVerbs(AskingVerbs, UpkeepVerbs):
    """Every verb, of an open memory here or on a server."""

    def capture(
        self,
        scope: Scope,
        messages: Iterable[MessageLike] | None = None,
        *,
        user: str | None = None,
        assistant: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """Keep one exchange, verbatim.

        A scope without a session starts a new conversation: its id is `Turn.session`. A message with an external id
        that is known is not stored again.

        Args:
            messages: Each a `MessageDraft` or a mapping with role, content, and optionally name, observed_at,
                external_id, trust, metadata.
            user: What the user said; short for a message of this role.
            assistant: What the assistant answered; short for a message of this role.
            observed_at: The time of messages without one of their own, ISO 8601. Default: now.
        """
        return self.capture_many(scope, [_exchange(messages, user, assistant)], observed_at=observed_at)[0]

    def capture_many(
        self,
        scope: Scope,
        exchanges: Iterable[Iterable[MessageLike]],
        *,
        observed_at: datetime | str | None = None,
    ) -> builtins.list[Turn]:
        """Keep many exchanges of one conversation, in order, in one durable transaction with batched embedding.

        Args:
            exchanges: The messages of each exchange, as in `capture`.
            observed_at: The time of messages without one of their own, ISO 8601. Default: now.
        """
        at = None if observed_at is None else as_utc(observed_at, "observed_at")
        drafts = [message_drafts(exchange, self._engine.settings) for exchange in exchanges]
        dated = [[replace(d, observed_at=d.observed_at or at) for d in exchange] for exchange in drafts]
        return capture(self._engine, scope, dated)

    def complete(
        self,
        scope: Scope,
        turn_id: str,
        *,
        assistant: str | Sequence[str],
        name: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """Add the assistant's side to a turn that was captured without it.

        Args:
            turn_id: `Turn.id` of the captured turn.
            assistant: The answer; several texts are joined by newlines and trimmed.
            name: Of the assistant.
            observed_at: When it was said, ISO 8601. Default: now.
        """
        content = assistant if isinstance(assistant, str) else builtins.list(assistant)
        message = {"role": Role.ASSISTANT, "content": content, "name": name, "observed_at": observed_at}
        return complete(
            self._engine, scope, check_id(turn_id, "turn_id"), message_drafts([message], self._engine.settings)[0]
        )

    def remember(
        self,
        scope: Scope,
        text: str,
        *,
        kind: Kind | str = Kind.FACT,
        level: Level | str | None = None,
        importance: float | str = 0.8,
        confidence: float = 1.0,
        categories: Iterable[str] = (),
        context: str = "",
        snippet: str = "",
        source: str = "",
        observed_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        is_private: bool = False,
        is_pinned: bool = False,
        trust: Trust | str = Trust.USER,
        metadata: Mapping[str, object] | None = None,
    ) -> Memory:
        """Keep one memory. If the same is remembered in the same place already, that memory is returned instead.

        Args:
            text: One statement, such as "User prefers dark mode".
            kind: What sort of statement it is.
            level: What it belongs to. Default: the user, else the agent, else the session of the scope.
            importance: 0 to 1, or "low", "medium", "high".
            confidence: How sure it is, 0 to 1.
            categories: Tags of your own, at most 32.
            context: What surrounds the statement, for whoever reads it later.
            snippet: The words it was made of.
            source: Where it comes from.
            observed_at: When it was observed, ISO 8601. Default: now.
            valid_from: Since when it is true, ISO 8601.
            valid_to: Until when it is true, ISO 8601.
            expires_at: When it is to be archived, ISO 8601.
            is_private: For the scope's agent alone.
            is_pinned: Never fades, and is never evicted.
            trust: Whose word it is.
            metadata: Yours: stored, filtered by and returned, never read. At most 64 KiB of JSON.
        """
        return self.remember_many(scope, [given_arguments(locals())])[0]

    def remember_many(
        self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]
    ) -> builtins.list[Memory]:
        """Keep many memories in one durable transaction with batched embedding.

        Args:
            memories: Each a text, a `MemoryDraft`, or a mapping of "text" and the arguments of `remember`.
        """
        drafts = [self._draft(memory) for memory in memories]
        return remember(self._engine, scope, drafts, actor=self._actor) if drafts else []

    def get(self, scope: Scope, id: str) -> Item:
        """The memory or message with this id."""
        return browse.get(self._engine, scope, check_id(id))

    def list(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = (),
        kinds: Iterable[Kind | str] = (),
        states: Iterable[State | str] | None = None,
        filter: Mapping[str, object] | None = None,
        order: Order | str = Order.NEWEST,
        limit: int = 50,
        after: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
    ) -> Page:
        """A page of memories (not messages); `Page.next` continues.

        Args:
            levels: Only what belongs to these levels; all unless named.
            kinds: Only these kinds; all unless named.
            states: Only memories in these states. Default: active ones; of the past, all that held or were known then.
            filter: Conditions on fields and metadata, such as {"text": {"contains": "tea"}}.
            order: "newest", "oldest" or "importance".
            limit: Most memories of the page, 1 to 1000.
            after: `next` of the page before.
            as_of: Only what is true in the world at this time, ISO 8601.
            known_at: Only what was known at this time, in its words of then, ISO 8601.
        """
        query = memory_query_of(given_arguments(locals()), self._engine.clock.now())
        wanted = tuple(check_choice(Level, level, "levels") for level in levels)
        return browse.list_memories(self._engine, scope, query, wanted)

    def count(self, scope: Scope) -> Counts:
        """How many memories the scope sees by state, and of the active ones by kind; and how many documents."""
        return browse.count(self._engine, scope)

    def update(
        self,
        scope: Scope,
        id: str,
        *,
        text: str | Unchanged = UNCHANGED,
        kind: Kind | str | Unchanged = UNCHANGED,
        importance: float | str | Unchanged = UNCHANGED,
        confidence: float | Unchanged = UNCHANGED,
        categories: Iterable[str] | Unchanged = UNCHANGED,
        context: str | Unchanged = UNCHANGED,
        snippet: str | Unchanged = UNCHANGED,
        source: str | Unchanged = UNCHANGED,
        observed_at: datetime | str | Unchanged = UNCHANGED,
        valid_from: datetime | str | Unchanged | None = UNCHANGED,
        valid_to: datetime | str | Unchanged | None = UNCHANGED,
        expires_at: datetime | str | Unchanged | None = UNCHANGED,
        trust: Trust | str | Unchanged = UNCHANGED,
        metadata: Mapping[str, object] | Unchanged = UNCHANGED,
        reason: str = "",
    ) -> Memory:
        """Correct a memory; before and after are in its history, and `undo` takes it back.

        The fields are those of `remember`; None empties a time.

        Args:
            id: The memory.
            text: What it says; it gets new vectors.
            trust: Whose word the change is; it can lower the memory's trust, never raise it.
            reason: Why; kept in the history.
        """
        changes = changes_of(given_arguments(locals(), "id", "reason"), self._engine.settings)
        return edit.update(self._engine, scope, check_id(id), changes, actor=self._actor, reason=reason)

    def pin(self, scope: Scope, id: str, *, is_pinned: bool = True, reason: str = "") -> Memory:
        """Keep a memory from fading and eviction, or let it fade again.

        Args:
            id: The memory.
            is_pinned: False lets it fade again.
            reason: Why; kept in the history.
        """
        changes = {"is_pinned": is_pinned}
        return edit.update(self._engine, scope, check_id(id), changes, actor=self._actor, reason=reason)

    def merge(self, scope: Scope, ids: Sequence[str], *, text: str | None = None, reason: str = "") -> Memory:
        """Make one of several memories: the first stays, the others are superseded by it.

        Args:
            ids: The memories, at least two.
            text: What the merged memory says. Default: what the first says.
            reason: Why; kept in the history.
        """
        wanted = None if text is None else check_text(text, "text", self._engine.settings)
        return edit.merge(
            self._engine, scope, [check_id(i) for i in ids], text=wanted, actor=self._actor, reason=reason
        )

    def undo(self, scope: Scope, id: str) -> Memory:
        """Take back the last change of a memory, a merge included; called again, the change before."""
        return edit.undo(self._engine, scope, check_id(id), actor=self._actor)

    def feedback(self, scope: Scope, id: str, verdict: str, *, reason: str = "") -> Memory:
        """Judge a memory.

        Args:
            id: The memory.
            verdict: "relevant" refreshes it, "outdated" ends its validity now.
            reason: Why; kept in the history.
        """
        if verdict not in VERDICTS:
            raise InvalidInputError(f"a verdict is one of {', '.join(VERDICTS)}, not {verdict!r}")
        is_relevant = verdict == VERDICTS[0]
        return edit.feedback(
            self._engine, scope, check_id(id), is_relevant=is_relevant, actor=self._actor, reason=reason
        )

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """Remove the text, the vectors and the history of one memory or message, and what was made of it alone.

        What was made of it and of other things is flagged and made again by a job; the notes of the receipt say so.

        Args:
            id: The memory or message.
            reason: Why; kept in the history.
        """
        return delete(self._engine, scope, check_id(id), actor=self._actor, reason=reason)

    def clear(self, scope: Scope, *, levels: Iterable[Level | str] = (), reason: str = "") -> Receipt:
        """Delete every memory (not the messages) of some levels of the scope.

        Args:
            levels: Default: the user, else the agent, else the session of the scope.
            reason: Why; kept in the history.
        """
        wanted = tuple(check_choice(Level, level, "levels") for level in levels) or (scope.default_level,)
        return clear(self._engine, scope, wanted, actor=self._actor, reason=reason)

    def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]:
        """What happened to a memory, oldest first; its deletion too."""
        return browse.history(self._engine, scope, check_id(id))

    def window(self, scope: Scope, *, limit: int | None = None, include_closed: bool = False) -> builtins.list[Message]:
        """The last messages of the scope's session, oldest first; none if the session is unknown, or nothing was
        written in it for two hours (`memory.window.ttl-minutes`).

        Args:
            limit: Most messages. Default: the 20 that the window holds.
            include_closed: However old they are.
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(cast("object", limit), int) or limit < 1):
            raise InvalidInputError(f"limit must be a whole number from 1, not {limit!r}")
        return window(self._engine, scope, limit, include_closed=include_closed)

    def messages(
        self,
        scope: Scope,
        *,
        since: datetime | str | None = None,
        before: datetime | str | None = None,
        in_session: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> MessagePage:
        """A page of what was said, the newest first; `MessagePage.next` continues. Imported messages stand where they
        were said, not where they came in.

        Args:
            since: Said at this time or later, ISO 8601.
            before: Said before this time, ISO 8601.
            in_session: Only what was said in the scope's session.
            limit: Most messages of the page.
            after: `next` of the page before.
        """
        return browse.list_messages(self._engine, scope, message_query_of(scope, given_arguments(locals())))

    @property
    def profile(self) -> ProfileVerbs:
        """The verbs of the profile: set, get, all, format."""
        return ProfileVerbs(self._engine, self._actor)

    @property
    def documents(self) -> DocumentVerbs:
        """The verbs of documents: list, get, text, passages, delete."""
        return DocumentVerbs(self._engine, self._actor)

    @property
    def graph(self) -> GraphVerbs:
        """The verbs of the graph: entities, neighbours, path, extract."""
        return GraphVerbs(self._engine)

    @property
    def jobs(self) -> JobVerbs:
        """The verbs of jobs: list, retry."""
        return JobVerbs(self._engine)

    @property
    def keys(self) -> KeyVerbs:
        """The verbs of keys for the doors: create, list, revoke, rotate, audit."""
        return KeyVerbs(self._engine, self._actor)

    def _draft(self, memory: str | MemoryDraft | Mapping[str, object]) -> MemoryDraft:
        if isinstance(memory, MemoryDraft):
            memory = {name: getattr(memory, name) for name in MemoryDraft.__dataclass_fields__}
        fields = dict(memory) if isinstance(memory, Mapping) else {"text": memory}
        return memory_draft(fields.pop("text", None), cast("Mapping[str, object]", fields), self._engine.settings)


class Mnemic(MnemicVerbs, AbstractContextManager["Mnemic"]):
    """An open memory. Safe to use from several threads; close it, or use it in a `with` block.

    Errors are those of `mnemic.errors`: InvalidInputError for an argument, NotFoundError for what is not in the scope,
    BackendError and its children when the store fails. A default of `CONFIGURED` is a setting of the configuration.
    """

    def __init__(self, engine: Engine, *, actor: str = DEFAULT_ACTOR) -> None:
        self._engine = engine
        self._opened_by = actor
        self._is_adopted = False

    @classmethod
    def open(cls, store: str | Path | Config | None = None, *, actor: str = DEFAULT_ACTOR) -> Mnemic:
        """Open a memory.

        Args:
            store: A path, `sqlite:///path`, `postgresql://…` or `memory://`; None: the user's own store. All other
                settings come from the environment and the user's configuration file. A `Config` is taken as it is.
            actor: Written into the history of what is changed.
        """
        config = store if isinstance(store, Config) else load_config(store)
        return cls(build(config), actor=actor)

    @property
    def admission(self) -> Admission:
        """What a door over HTTP asks before it lets anybody in."""
        return Admission(self._engine)

    @property
    def repeats(self) -> Repeats:
        """What a door asks that lets requests be sent again."""
        return Repeats(self._engine)

    @property
    def model(self) -> str | None:
        """The name of the language model that answers; None when none is configured."""
        return None if self._engine.llm is None else self._engine.llm.name

    @property
    def settings(self) -> Settings:
        """The numbers that this memory was opened with."""
        return self._engine.settings

    @property
    def observer(self) -> Observer:
        """Where doors count what they do, beside what the engine counts."""
        return self._engine.observer

    @property
    def now(self) -> datetime:
        """The time of the clock that this memory keeps: aware, in UTC."""
        return self._engine.clock.now()

    def close(self) -> None:
        """Let go of the store, the index and the model; closing twice is harmless."""
        self._engine.accesses.flush(self._engine.store)
        self._engine.readers.close()
        self._engine.pool.shutdown(cancel_futures=True)
        self._engine.store.close()
        self._engine.index.close()
        for part in (self._engine.window, *self._engine.known_embedders, self._engine.reranker, self._engine.llm):
            if part is not None:
                part.close()
        self._engine.observer.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _exchange(messages: Iterable[MessageLike] | None, user: str | None, assistant: str | None) -> Iterable[MessageLike]:
    if messages is not None:
        if user is not None or assistant is not None:
            raise InvalidInputError("give either messages, or user= and assistant=, not both")
        return messages
    given = ((Role.USER, user), (Role.ASSISTANT, assistant))
    return [{"role": role, "content": text} for role, text in given if text is not None]
