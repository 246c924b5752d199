"""Mnemic: the object people hold. Every verb takes the scope first and is a few lines that call the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TypedDict, Unpack, cast

from mnemic.build import build
from mnemic.config import Config
from mnemic.engine import browse
from mnemic.engine.capture import capture, complete
from mnemic.engine.delete import delete
from mnemic.engine.inputs import check_choice, check_fraction, memory_draft, message_drafts
from mnemic.engine.parts import Parts
from mnemic.engine.recall import Question, recall
from mnemic.engine.remember import remember
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import MESSAGE
from mnemic.model.clocktime import as_utc
from mnemic.model.draft import MemoryDraft, MessageDraft
from mnemic.model.filter import parse_filter
from mnemic.model.history import HistoryEntry, Receipt
from mnemic.model.item import Item, Kind, Memory, Role, State, Turn
from mnemic.model.query import MemoryQuery, Order, Page
from mnemic.model.recall import Recall
from mnemic.model.scope import Level, Scope

DEFAULT_ACTOR = "library"
MessageLike = MessageDraft | Mapping[str, object]


class MemoryFields(TypedDict, total=False):
    """The optional arguments of `remember`; see `mnemic.model.draft.MemoryDraft` for defaults and meanings.

    `importance` is 0..1 or one of "low", "medium", "high"; times are aware datetimes or ISO 8601 texts.
    """

    kind: Kind | str
    level: Level | str | None
    importance: float | str
    confidence: float
    categories: Iterable[str]
    context: str
    snippet: str
    source: str
    observed_at: datetime | str | None
    valid_from: datetime | str | None
    valid_to: datetime | str | None
    expires_at: datetime | str | None
    is_private: bool
    is_pinned: bool
    trust: str
    metadata: Mapping[str, object]


class RecallFields(TypedDict, total=False):
    """The optional arguments of `recall`.

    `limit`: most hits in all (None: no limit). `limits`: most hits per level. `levels`, `kinds` (may hold "message"),
    `filter`: narrow what may be found. `min_similarity`: rank by cosine alone and drop what is below (inclusive).
    """

    limit: int | None
    limits: Mapping[Level | str, int] | None
    levels: Iterable[Level | str]
    kinds: Iterable[Kind | str]
    filter: Mapping[str, object] | None
    min_similarity: float | None


class ListFields(TypedDict, total=False):
    """The optional arguments of `list`: conditions, order ("newest", "oldest", "importance") and page."""

    levels: Iterable[Level | str]
    kinds: Iterable[Kind | str]
    states: Iterable[State | str]
    filter: Mapping[str, object] | None
    order: Order | str
    limit: int
    after: str | None


class Mnemic(AbstractContextManager["Mnemic"]):
    """An open memory. Safe to use from several threads; close it, or use it in a `with` block.

    Errors are those of `mnemic.errors`: InvalidInputError for an argument, NotFoundError for what is not in the scope,
    BackendError and its children when the store fails.
    """

    def __init__(self, parts: Parts, *, actor: str = DEFAULT_ACTOR) -> None:
        self._parts = parts
        self._actor = actor

    @classmethod
    def open(cls, store: str | Path | Config | None = None) -> Mnemic:
        """Open a memory: a path, `sqlite:///path`, `memory://`, or a `Config`; None for the user's own store."""
        config = store if isinstance(store, Config) else Config() if store is None else Config(store=str(store))
        return cls(build(config))

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
        return complete(self._parts, scope, turn_id, message_drafts([message], self._parts.settings)[0])

    def remember(self, scope: Scope, text: str, **fields: Unpack[MemoryFields]) -> Memory:
        """Keep one memory; what already says the same in the same place is given back instead."""
        return self.remember_many(scope, [{"text": text, **fields}])[0]

    def remember_many(self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]) -> list[Memory]:
        """Keep many memories in one durable transaction with batched embedding. Each is a text, a `MemoryDraft`, or a
        mapping of "text" and the arguments of `remember`.
        """
        drafts = [self._draft(memory) for memory in memories]
        return remember(self._parts, scope, drafts, actor=self._actor) if drafts else []

    def recall(self, scope: Scope, query: str, **fields: Unpack[RecallFields]) -> Recall:
        """Find what answers `query` among the messages and memories this scope may see; 5 hits unless told.

        When nothing matches, or the query is blank, the most important memories are given as general background
        (`Hit.is_fallback`), at most 5. `Recall.degraded` says which sources were missing.
        """
        if len(query) > self._parts.settings.max_query_chars:
            raise InvalidInputError(f"a query is a text of at most {self._parts.settings.max_query_chars:,} characters")
        return recall(self._parts, scope, _question(query.encode(errors="replace").decode(), fields))

    def get(self, scope: Scope, id: str) -> Item:
        """The memory or message with this id."""
        return browse.get(self._parts, scope, id)

    def list(self, scope: Scope, **fields: Unpack[ListFields]) -> Page:
        """A page of memories (not messages): the newest 50 active ones unless told otherwise."""
        return browse.list_memories(
            self._parts,
            scope,
            MemoryQuery(
                now=self._parts.clock.now(),
                states=tuple(check_choice(State, s, "states") for s in fields.get("states", (State.ACTIVE,))),
                kinds=tuple(check_choice(Kind, kind, "kinds") for kind in fields.get("kinds", ())),
                filter=parse_filter(fields.get("filter")),
                order=check_choice(Order, fields.get("order", Order.NEWEST), "order"),
                limit=fields.get("limit", 50),
                after=fields.get("after"),
            ),
            tuple(check_choice(Level, level, "levels") for level in fields.get("levels", ())),
        )

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """Remove the text, the vectors and the recorded history of one memory or message."""
        return delete(self._parts, scope, id, actor=self._actor, reason=reason)

    def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]:
        """What happened to a memory, oldest first; its deletion too."""
        return browse.history(self._parts, scope, id)

    def close(self) -> None:
        """Let go of the store, the index and the model; closing twice is harmless."""
        self._parts.store.close()
        self._parts.index.close()
        if self._parts.embedder is not None:
            self._parts.embedder.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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


def _question(query: str, fields: RecallFields) -> Question:
    limit, similarity = fields.get("limit", 5), fields.get("min_similarity")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers need not be typed
        raise InvalidInputError(f"limit must be a whole number from 1, or None for no limit, not {limit!r}")
    kinds = [kind if kind == MESSAGE else check_choice(Kind, kind, "kinds").value for kind in fields.get("kinds", ())]
    limits = fields.get("limits") or {}
    return Question(
        text=query,
        limit=limit,
        limits={check_choice(Level, level, "limits"): cap for level, cap in limits.items()},
        levels=tuple(check_choice(Level, level, "levels") for level in fields.get("levels", ())),
        kinds=frozenset(kinds),
        filter=parse_filter(fields.get("filter")),
        min_similarity=None if similarity is None else check_fraction(similarity, "min_similarity"),
    )
