"""The verbs that find and answer: recall, context, why_not, chat and ask; and the checked forms of their questions."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from mnemic.api.arguments import (
    CONFIGURED,
    LONGEST_MS,
    MOST,
    MOST_HOPS,
    Configured,
    Fields,
    check_arguments,
    check_flag,
    check_number,
    check_whole,
    given_arguments,
    read_time,
    show_value,
)
from mnemic.api.doors import acting
from mnemic.api.parts import TOOL_ACTOR, ToolVerbs
from mnemic.engine.context import DOCUMENTS, ContextRequest, context
from mnemic.engine.engine import Engine
from mnemic.engine.inputs import Question, check_choice, check_fraction, check_id, check_line, check_text
from mnemic.engine.recall import WhyNot, recall, why_not
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import MESSAGE
from mnemic.model.chat import Answer, ChatEvent, Replied, Reply
from mnemic.model.filter import parse_filter
from mnemic.model.item import Kind
from mnemic.model.recall import Context, Placement, Recall
from mnemic.model.scope import Level, Scope
from mnemic.model.settings import Caps, Settings
from mnemic.ports.models import Tool

if TYPE_CHECKING:
    from mnemic.engine.assistant import ChatRequest  # with tools and asyncio: who only asks needs none of it
    from mnemic.engine.tools.toolbox import Toolbox


@check_arguments()
class AskingVerbs:
    """What finds and answers; a part of `Mnemic`."""

    _engine: Engine
    _toolbox: Toolbox | None = None
    _opening = threading.Lock()

    def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | Configured | None = CONFIGURED,
        limits: Mapping[Level | str, int] | None = None,
        levels: Iterable[Level | str] = (),
        kinds: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> Recall:
        """Find what answers `query` among the messages and memories that the scope may see, best first.

        When nothing matches, or the query is blank, the most important memories are returned as general background
        (`Hit.is_fallback`), at most 5. `Recall.degraded` names the sources that were missing.

        Args:
            query: The question, in any words.
            limit: Most hits in all; None: all that were found. Configured by `recall.limit`: 5.
            limits: Most hits of a level, such as {"user": 3}.
            levels: Only what belongs to these levels; all unless named.
            kinds: Only these kinds, of which one may be "message"; all unless named.
            filter: Conditions on fields and metadata, such as {"categories": {"contains": "work"}}.
            min_relevance: Drop hits that are less sure to have to do with the question, 0 to 1, inclusive; see
                `Hit.relevance`. Configured by `recall.min-relevance`: 0.
            min_similarity: Rank by cosine similarity alone, and drop what is below, 0 to 1, inclusive.
            as_of: Only what is true in the world at this time, ISO 8601. Default: now.
            known_at: Only what was known at this time, ISO 8601. Default: now.
            deadline_ms: Answer within this time, with what was found until then.
            rerank: Let the configured reranker judge the best hits. Default: if there is one.
            diversity: 0 ranks by score alone; towards 1, a hit that is like a better one falls behind.
            hops: Follow so many relations of the graph from what the query names, at most 4. Configured by
                `recall.hops`: 0.
        """
        return recall(
            self._engine, scope, question_of(query, given_arguments(locals(), "query"), self._engine.settings)
        )

    def context(
        self,
        scope: Scope,
        query: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> Context:
        """Everything to put in front of a model that is about to answer `query`, as chat messages with citations.

        Conditions that are not explained here are those of `recall`.

        Args:
            query: What the user says now.
            system: Your own system prompt; it comes first.
            budget_tokens: The most tokens that memory adds. Configured by `context.budget-tokens`: 2048.
            placement: Where memory stands: "leading", or "before_last_user".
            history_messages: Most messages of the session that are shown. Configured by `context.history-messages`: 20.
            documents: Most excerpts of documents; 0 leaves them out.
            role: The user's role, shown to the model.
            model: The model's own name, shown to it.
            language: Of the headings, "en" or "zh". Default: that of the query.
            limit: Most memories in all. Default: as many as `limits` and the budget allow.
            limits: Most memories of a level. Default: the budget alone decides; with `context.caps = "levels"`, 10 of
                the session, 5 of the user, 3 of the agent, 5 of the org, and at most 10 of user and agent together.
                None lifts these caps and the least importance.
        """
        fields = given_arguments(locals(), "query")
        return context(self._engine, scope, context_request_of(query, fields, self._engine.settings))

    def why_not(
        self,
        scope: Scope,
        id: str,
        query: str,
        *,
        limit: int | Configured | None = CONFIGURED,
        limits: Mapping[Level | str, int] | None = None,
        levels: Iterable[Level | str] = (),
        kinds: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> WhyNot:
        """Where a memory or message was lost on its way to the answer to `query`, or at which rank it is.

        The conditions are those of `recall`.

        Args:
            id: The memory or message that was expected.
            query: The question.
        """
        return why_not(
            self._engine,
            scope,
            check_id(id),
            question_of(query, given_arguments(locals(), "id", "query"), self._engine.settings),
        )

    def chat(
        self,
        scope: Scope,
        message: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
        plan: Sequence[str] = (),
        rules: Sequence[str] = (),
        tools: bool | Iterable[str] = True,
        max_tool_calls: int | Configured = CONFIGURED,
        captures: bool = True,
    ) -> Reply:
        """Answer what the user says: memory before, tools between, both sides captured after.

        The worker extracts facts from it later. Without a session in the scope a conversation begins:
        `Reply.session`. Arguments that are not explained here are those of `context`.

        Args:
            message: What the user says.
            plan: Planned steps, shown after the profile.
            rules: How to keep to them.
            tools: Names of the tools that may be called; True: all, False: none.
            max_tool_calls: In the whole turn. Configured by `assistant.max-tool-calls`: 8.
            captures: False: nothing of this turn is kept.

        Raises:
            ConfigError: No language model is configured.
            BackendError: The model failed; the user's side is captured. A failure of memory is in `Reply.degraded`.
        """
        from mnemic.engine.assistant import chat

        request = self._chat_request(message, given_arguments(locals(), "message", "chat"), is_streaming=False)
        reply = None
        for event in chat(self._engine, scope, request):
            reply = event.reply if isinstance(event, Replied) else reply
        if reply is None:
            raise AssertionError("a turn ended without a reply")
        return reply

    def chat_stream(
        self,
        scope: Scope,
        message: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
        plan: Sequence[str] = (),
        rules: Sequence[str] = (),
        tools: bool | Iterable[str] = True,
        max_tool_calls: int | Configured = CONFIGURED,
        captures: bool = True,
    ) -> Generator[ChatEvent]:
        """As `chat`, event by event while the model writes: Recalled, pieces Said and tools Called, Replied.

        Closing it early, or a model that breaks off, keeps what was said until then. The arguments are those of `chat`.
        """
        from mnemic.engine.assistant import chat

        request = self._chat_request(message, given_arguments(locals(), "message", "chat"), is_streaming=True)
        return chat(self._engine, scope, request)

    def ask(
        self,
        scope: Scope,
        question: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> Answer:
        """Answer a question from memory and documents alone, with citations; nothing is captured.

        Arguments that are not explained here are those of `context`.

        Args:
            question: The question.

        Raises:
            ConfigError: No language model is configured.
            BackendError: The model failed.
        """
        from mnemic.engine.assistant import ask

        fields = given_arguments(locals(), "question", "ask")
        question = check_text(question, "question", self._engine.settings)
        return ask(self._engine, scope, context_request_of(question, fields, self._engine.settings))

    @property
    def tools(self) -> ToolVerbs:
        """The verbs of tools: list, add, call."""
        return ToolVerbs(self._all_tools, self._add_tools, self._engine)

    def _chat_request(self, message: str, fields: Fields, *, is_streaming: bool) -> ChatRequest:
        from mnemic.engine.assistant import ChatRequest

        settings = self._engine.settings
        message = check_text(message, "message", settings)
        most = fields.get("max_tool_calls", settings.assistant.max_tool_calls)
        return ChatRequest(
            message=message,
            context=context_request_of(message[: settings.max_query_chars], fields, settings),
            toolbox=self._chosen_tools(fields["tools"]),
            max_tool_calls=check_number(most, "max_tool_calls", least=0),
            actor=acting() or TOOL_ACTOR,
            plan=_read_lines(fields["plan"], "plan"),
            rules=_read_lines(fields["rules"], "rules"),
            is_streaming=is_streaming,
            captures=fields["captures"],
            injects=settings.proxy.injects_context,
        )

    def _chosen_tools(self, tools: Any) -> Toolbox:
        from mnemic.engine.tools.toolbox import Toolbox

        if isinstance(tools, str):
            raise InvalidInputError("tools must be a list of names, True for all or False for none")
        if isinstance(tools, bool):
            return self._all_tools() if tools else Toolbox()
        return self._all_tools().only(tools)

    def _all_tools(self) -> Toolbox:
        """The toolbox; packages are looked for when it is first asked for."""
        from mnemic.engine.tools.own import open_toolbox

        with self._opening:
            if self._toolbox is None:
                self._toolbox = open_toolbox(self._engine)
            return self._toolbox

    def _add_tools(self, tools: Iterable[Tool]) -> None:
        known = self._all_tools()
        with self._opening:
            self._toolbox = known.with_tools(tools)


def question_of(query: object, fields: Fields, settings: Settings) -> Question:
    """The checked form of a question. None counts as a blank one, half surrogate pairs as unknown characters."""
    query = "" if query is None else query
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, not {type(query).__name__}")
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
        as_of=read_time(fields.get("as_of"), "as_of"),
        known_at=read_time(fields.get("known_at"), "known_at"),
        deadline_ms=_deadline(fields.get("deadline_ms")),
        rerank=check_flag(fields.get("rerank"), "rerank"),
        diversity=check_fraction(fields.get("diversity", 0.0), "diversity"),
        hops=check_number(fields.get("hops", settings.recall_hops), "hops", MOST_HOPS, least=0),
    )


def _least_relevance(fields: Fields, settings: Settings) -> float:
    """By similarity alone there is no relevance: asking for both is a mistake, what is configured does not count."""
    is_by_similarity = fields.get("min_similarity") is not None
    if is_by_similarity and fields.get("min_relevance"):
        raise InvalidInputError("give min_similarity (by cosine alone) or min_relevance, not both")
    least = check_fraction(fields.get("min_relevance", settings.min_relevance or 0.0), "min_relevance")
    return 0.0 if is_by_similarity else least


def context_request_of(query: str, fields: Fields, settings: Settings) -> ContextRequest:
    """The checked form of a request for context."""
    limits = fields.get("limits", settings.level_limits if settings.caps is Caps.LEVELS else {})
    question = question_of(query, {"limit": None, **fields, "limits": limits}, settings)
    is_judged = settings.min_relevance is None and "min_relevance" not in fields and question.min_similarity is None
    question = replace(
        question,
        is_judged=is_judged,
        min_importance=question.min_importance if limits is None else settings.min_importance,
        max_results=settings.max_results if limits else None,
    )
    language = fields.get("language")
    if language not in (None, "en", "zh"):
        raise InvalidInputError(f"language must be en, zh or None, not {language!r}")
    return ContextRequest(
        question=question,
        system=check_line(fields.get("system", ""), "system", limit=settings.max_text_chars),
        budget_tokens=check_whole(fields.get("budget_tokens", settings.context_tokens), "budget_tokens"),
        placement=check_choice(Placement, fields.get("placement", Placement.LEADING), "placement"),
        history_messages=check_whole(fields.get("history_messages", settings.window_messages), "history_messages"),
        documents=check_whole(fields.get("documents", DOCUMENTS), "documents"),
        role=fields.get("role"),
        model=fields.get("model"),
        language=language,
    )


def _limit(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST):
        raise InvalidInputError(f"limit must be a whole number from 1, or None for no limit, not {show_value(value)}")
    return value


def _limits(value: Mapping[Level | str, int] | None) -> dict[Level, int]:
    return {check_choice(Level, level, "limits"): check_whole(cap, "limits") for level, cap in (value or {}).items()}


def _deadline(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_MS:
        raise InvalidInputError(
            f"deadline_ms must be a number of milliseconds from 0 to a day, not {show_value(value)}"
        )
    return value


def _read_lines(value: Sequence[str], name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(line, str) for line in cast("Sequence[object]", value)):
        raise InvalidInputError(f"{name} must be a list of texts")
    return tuple(value)
