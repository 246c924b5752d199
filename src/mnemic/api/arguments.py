"""The optional arguments of the verbs, as typed keyword arguments, and their checked forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict, cast

from mnemic.api.known import refuse_unknown
from mnemic.engine.context import DOCUMENTS, ContextRequest
from mnemic.engine.import_files import Progress
from mnemic.engine.inputs import Question, check_choice, check_fraction, check_id, check_line, memory_draft
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import MESSAGE
from mnemic.model.filter import parse_filter
from mnemic.model.item import Kind, MessageDraft, State
from mnemic.model.recall import MemoryQuery, MessageQuery, Order, Placement
from mnemic.model.scope import Level, Scope
from mnemic.model.settings import Settings
from mnemic.model.values import as_utc

MOST = 2**31
"""The largest of the numbers that count something."""

MOST_HOPS = 4
LONGEST_MS = 86_400_000.0
MessageLike = MessageDraft | Mapping[str, object]
"""A message to capture: a draft, or a mapping with role and content."""


class MemoryFields(TypedDict, total=False):
    """The optional arguments of `remember`; see `mnemic.model.item.MemoryDraft` for defaults and meanings.

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

    `limit`: most hits in all (None: all it found). `limits`: most per level. `levels`, `kinds` (may hold "message"),
    `filter`: narrow what may be found. `min_relevance`: drop what is less sure to have to do with the question, 0 to 1
    (inclusive; see `Hit.relevance`). `min_similarity`: rank by cosine alone and drop what is below (inclusive).
    `rerank`: whether the configured reranker judges the best hits (None: it does where there is one). `diversity`: 0
    ranks by score alone, towards 1 a hit that is like a better one falls behind. `hops`: follow the graph so many
    relations, at most 4, from what the query is about; 0 leaves it alone.
    """

    limit: int | None
    limits: Mapping[Level | str, int] | None
    levels: Iterable[Level | str]
    kinds: Iterable[Kind | str]
    filter: Mapping[str, object] | None
    min_relevance: float
    min_similarity: float | None
    as_of: datetime | str | None
    known_at: datetime | str | None
    deadline_ms: float | None
    rerank: bool | None
    diversity: float
    hops: int


class ListFields(TypedDict, total=False):
    """The optional arguments of `list`: conditions, order ("newest", "oldest", "importance") and page."""

    levels: Iterable[Level | str]
    kinds: Iterable[Kind | str]
    states: Iterable[State | str]
    filter: Mapping[str, object] | None
    order: Order | str
    limit: int
    after: str | None
    as_of: datetime | str | None
    known_at: datetime | str | None


class MessageFields(TypedDict, total=False):
    """The optional arguments of `messages`: when they were said (`since` then or later, `before` then), whether
    only the scope's own session is looked at, and page.
    """

    since: datetime | str | None
    before: datetime | str | None
    in_session: bool
    limit: int
    after: str | None


class UpdateFields(TypedDict, total=False):
    """What `update` can change; None ends or empties a time. `text` gets new vectors. `trust` is that of whoever says
    so now: it can lower a memory's, never raise it.
    """

    text: str
    kind: Kind | str
    importance: float | str
    confidence: float
    categories: Iterable[str]
    context: str
    snippet: str
    source: str
    observed_at: datetime | str
    valid_from: datetime | str | None
    valid_to: datetime | str | None
    expires_at: datetime | str | None
    trust: str
    metadata: Mapping[str, object]


class ContextFields(TypedDict, total=False):
    """The optional arguments of `context`.

    `system` is the caller's own system prompt. `budget_tokens` bounds what memory adds. `placement`: "leading" or
    "before_last_user". `history_messages`: how much of the session is shown. `documents`: most excerpts of documents
    (5; 0 leaves them out). `role` of the user and `model` are told to
    the model. `language` "en" or "zh"; None follows the question. The rest as in `recall`, with caps per level
    (10 session, 5 user, 3 agent, 5 org) and at most 10 of user and agent together unless told; `limits=None` lifts
    both.
    """

    system: str
    budget_tokens: int
    placement: Placement | str
    history_messages: int
    documents: int
    role: str | None
    model: str | None
    language: str | None
    limit: int | None
    limits: Mapping[Level | str, int] | None
    filter: Mapping[str, object] | None
    min_relevance: float
    min_similarity: float | None
    as_of: datetime | str | None
    known_at: datetime | str | None
    deadline_ms: float | None
    rerank: bool | None
    diversity: float
    hops: int


class ImportFields(TypedDict, total=False):
    """The optional arguments of `import_`.

    `format` None finds it out; `name` is that of the file, which says what `.md` is, and where memories came from.
    `is_dry_run` says what would happen and changes nothing. `include_tools` keeps the
    results of tool calls too. `progress` is called with (records done, records in all or None) after each batch.
    """

    format: str | None
    name: str
    is_dry_run: bool
    include_tools: bool
    progress: Progress | None


def question_of(query: str, fields: RecallFields, settings: Settings) -> Question:
    """The checked form of a question. Half surrogate pairs in the query count as unknown characters."""
    refuse_unknown("recall", fields, RecallFields)
    if len(query) > settings.max_query_chars:
        raise InvalidInputError(f"a query is a text of at most {settings.max_query_chars:,} characters")
    similarity = fields.get("min_similarity")
    kinds = [kind if kind == MESSAGE else check_choice(Kind, kind, "kinds").value for kind in fields.get("kinds", ())]
    return Question(
        text=query.encode(errors="replace").decode(),
        limit=_limit(fields.get("limit", settings.recall_limit)),
        limits=_limits(fields.get("limits")),
        levels=tuple(check_choice(Level, level, "levels") for level in fields.get("levels", ())),
        kinds=frozenset(kinds),
        filter=parse_filter(fields.get("filter")),
        min_similarity=None if similarity is None else check_fraction(similarity, "min_similarity"),
        min_relevance=_least_relevance(fields, settings),
        as_of=_time(fields.get("as_of"), "as_of"),
        known_at=_time(fields.get("known_at"), "known_at"),
        deadline_ms=_deadline(fields.get("deadline_ms")),
        rerank=_flag(fields.get("rerank"), "rerank"),
        diversity=check_fraction(fields.get("diversity", 0.0), "diversity"),
        hops=_hops(fields.get("hops", settings.recall_hops)),
    )


def _hops(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_HOPS:
        raise InvalidInputError(f"hops must be a whole number from 0 to {MOST_HOPS}, not {value!r}")
    return value


def _least_relevance(fields: RecallFields, settings: Settings) -> float:
    """By similarity alone there is no relevance: asking for both is a mistake, what is configured does not count."""
    is_by_similarity = fields.get("min_similarity") is not None
    if is_by_similarity and fields.get("min_relevance"):
        raise InvalidInputError("give min_similarity (by cosine alone) or min_relevance, not both")
    least = check_fraction(fields.get("min_relevance", settings.min_relevance), "min_relevance")
    return 0.0 if is_by_similarity else least


def context_request_of(query: str, fields: ContextFields, settings: Settings) -> ContextRequest:
    """The checked form of a request for context."""
    refuse_unknown("context", fields, ContextFields)
    limits = fields.get("limits", settings.level_limits)
    asked = {name: value for name, value in fields.items() if name in RecallFields.__annotations__}
    question = question_of(query, cast("RecallFields", {"limit": None, **asked, "limits": limits}), settings)
    is_capped = limits is not None
    language = fields.get("language")
    if language not in (None, "en", "zh"):
        raise InvalidInputError(f"language must be en, zh or None, not {language!r}")
    return ContextRequest(
        question=_with_caps(question, settings) if is_capped else question,
        system=check_line(fields.get("system", ""), "system", limit=settings.max_text_chars),
        budget_tokens=_whole(fields.get("budget_tokens", settings.context_tokens), "budget_tokens"),
        placement=check_choice(Placement, fields.get("placement", Placement.LEADING), "placement"),
        history_messages=_whole(fields.get("history_messages", settings.window_messages), "history_messages"),
        documents=_whole(fields.get("documents", DOCUMENTS), "documents"),
        role=fields.get("role"),
        model=fields.get("model"),
        language=language,
    )


def changes_of(fields: UpdateFields, settings: Settings) -> dict[str, Any]:
    """The checked changes of `update`."""
    if not fields:
        raise InvalidInputError("there is nothing to change; name at least one field")
    unknown = [name for name in fields if name not in UpdateFields.__annotations__]
    if unknown:
        known = ", ".join(UpdateFields.__annotations__)
        raise InvalidInputError(f"update cannot change {unknown[0]!r}; it can change {known}")
    given = {name: value for name, value in fields.items() if name != "text" and value is not None}
    draft = memory_draft(fields.get("text", "unchanged"), given, settings)
    ended = {name: None for name, value in fields.items() if value is None and name in _ENDABLE}
    return {name: getattr(draft, name) for name in fields if fields.get(name) is not None} | ended


_ENDABLE = ("valid_from", "valid_to", "expires_at")


def memory_query_of(fields: ListFields, now: datetime) -> MemoryQuery:
    """The checked form of the conditions of `list`."""
    refuse_unknown("list", fields, ListFields)
    return MemoryQuery(
        now=now,
        states=tuple(check_choice(State, state, "states") for state in fields.get("states", (State.ACTIVE,))),
        kinds=tuple(check_choice(Kind, kind, "kinds") for kind in fields.get("kinds", ())),
        filter=parse_filter(fields.get("filter")),
        as_of=_time(fields.get("as_of"), "as_of"),
        known_at=_time(fields.get("known_at"), "known_at"),
        order=check_choice(Order, fields.get("order", Order.NEWEST), "order"),
        limit=fields.get("limit", 50),
        after=None if fields.get("after") is None else check_id(fields.get("after"), "after"),
    )


def message_query_of(scope: Scope, fields: MessageFields) -> MessageQuery:
    """The checked form of the conditions of `messages`."""
    in_session = _flag(fields.get("in_session", False), "in_session")
    if in_session and scope.session is None:
        raise InvalidInputError("in_session needs a scope with session=…; this one has none")
    return MessageQuery(
        since=_time(fields.get("since"), "since"),
        until=_time(fields.get("before"), "before"),
        session=scope.session if in_session else None,
        limit=_whole(fields.get("limit", 50), "limit"),
        after=None if fields.get("after") is None else check_id(fields.get("after"), "after"),
    )


def levels_of(fields: ListFields) -> tuple[Level, ...]:
    """The levels that `list` is narrowed to."""
    return tuple(check_choice(Level, level, "levels") for level in fields.get("levels", ()))


def _with_caps(question: Question, settings: Settings) -> Question:
    return replace(question, max_results=settings.max_results, min_importance=settings.min_importance)


def _time(value: datetime | str | None, name: str) -> datetime | None:
    return None if value is None else as_utc(value, name)


def _flag(value: object, name: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be True, False or None, not {value!r}")
    return value


def _limit(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST):
        raise InvalidInputError(f"limit must be a whole number from 1, or None for no limit, not {_shown(value)}")
    return value


def _limits(value: Mapping[Level | str, int] | None) -> dict[Level, int]:
    return {check_choice(Level, level, "limits"): _whole(cap, "limits") for level, cap in (value or {}).items()}


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise InvalidInputError(f"{name} must be a whole number from 0 to {MOST:,}, not {_shown(value)}")
    return value


def _deadline(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_MS:
        raise InvalidInputError(f"deadline_ms must be a number of milliseconds from 0 to a day, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """A value in an error, where it may be a number of any length."""
    return "one so large" if isinstance(value, int) and abs(value) > MOST else repr(value)[:80]
