"""The verbs that search and answer: recall, context, why_not, chat and ask, with their checked requests."""

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
from mnemic.engine.recall_naming import recall, with_user_named
from mnemic.engine.why_not import WhyNot, why_not
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
    """The verbs that search and answer. A part of `Mnemic`."""

    _engine: Engine
    _toolbox: Toolbox | None = None
    _opening = threading.Lock()

    def recall(
        self,
        scope: Scope,
        query: str | None,
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
        """Find the messages and memories that answer `query`, best first.

        If nothing matches or the query is blank, returns up to 5 of the most important memories as background, marked
        with `Hit.is_fallback`. `Recall.degraded` lists unavailable sources.

        Args:
            query: The question, in natural language.
            limit: Maximum number of hits. None returns all. Default: the setting `recall.limit` (5).
            limits: Maximum number of hits per level, such as {"user": 3}.
            levels: Include only these levels. Default: all.
            kinds: Include only these kinds: memory kinds, or "message". Default: all.
            filter: Conditions on fields and metadata, such as {"categories": "work"}. Messages match only conditions
                on their metadata, such as {"metadata.topic": "tea"}.
            min_relevance: Drop hits with a `Hit.relevance` below this value, 0 to 1. Default: the setting
                `recall.min-relevance` (0).
            min_similarity: Rank by cosine similarity alone, and drop hits below this value, 0 to 1.
            as_of: Use only information that was true in the world at this time (ISO 8601). Default: now.
            known_at: Use only information that was known at this time (ISO 8601). Default: now.
            deadline_ms: Time limit in milliseconds, after which the results found so far are returned.
            rerank: Rerank the best hits. Default: True if a reranker is configured.
            diversity: How much to favour hits that differ from each other, 0 to 1. At 0, hits are ranked by score
                alone. Default: 0.
            hops: Maximum number of graph relations to follow from entities in the query, 0 to 4. Default: the setting
                `recall.hops` (0).
        """
        return recall(
            self._engine, scope, question_of(query or "", given_arguments(locals(), "query"), self._engine.settings)
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
        is_dry_run: bool = False,
    ) -> Context:
        """Build chat messages from memory, documents and history, with citations, to help a model answer `query`.

        The other arguments are the same as for `recall`.

        Args:
            query: The user's current message.
            system: Your own system prompt, placed first.
            budget_tokens: Maximum number of tokens that memory adds. Default: the setting `context.budget-tokens`
                (2048).
            placement: Where to put memory: "leading" or "before_last_user". Default: leading.
            history_messages: Maximum number of messages from the session. Default: the setting
                `context.history-messages` (20).
            documents: Maximum number of document excerpts, or 0 for none. Default: 5.
            role: The user's role, shown to the model.
            model: The model's name, shown to the model.
            language: The language of the headings, "en" or "zh". Default: the query's language.
            limit: Maximum number of memories. Default: as many as `limits` and the budget allow.
            limits: Maximum number of memories per level. Default: limited only by the budget. If `context.caps` is
                "levels", the default is 10 for session, 5 for user, 3 for agent, 5 for org, and 10 for user and agent
                combined. None removes these limits and the minimum importance.
            is_dry_run: Do not record the context or count the memories as accessed.
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
        """Explain why a memory or message is missing from the hits for `query`, or return its rank among them.

        The other arguments are the same as for `recall`.

        Args:
            id: The id of the memory or message that you expected.
            query: The question.
        """
        question = question_of(query or "", given_arguments(locals(), "id", "query"), self._engine.settings)
        return why_not(
            self._engine, scope, check_id(id), with_user_named(self._engine, scope, question, is_searched=False)
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
        """Answer the user's message with memory and tools, then store both messages.

        The worker extracts facts from both messages later. Without a session in the scope, a new conversation starts,
        with its id in `Reply.session`. The other arguments are the same as for `context`.

        Args:
            message: The user's message.
            plan: The steps of a plan, shown to the model after the profile.
            rules: Rules for following the plan.
            tools: Names of the tools that the model may call. Pass True for all or False for none. Default: True.
            max_tool_calls: Maximum number of tool calls in the whole turn. Default: the setting
                `assistant.max-tool-calls` (8).
            captures: If False, store nothing from this turn. Default: True.

        Raises:
            ConfigError: No language model is configured.
            BackendError: The model failed. The user's message is stored. If only memory fails, see `Reply.degraded`.
        """
        from mnemic.engine.assistant import chat

        request = self._chat_request(message, given_arguments(locals(), "message", "chat"), is_streaming=False)
        reply = None
        for event in chat(self._engine, scope, request):
            reply = event.reply if isinstance(event, Replied) else reply
        if reply is None:
            raise AssertionError("the turn ended without a reply")
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
        """Like `chat`, but yields events while the model writes: `Recalled`, then `Said` and `Called`, and
        finally `Replied`. The arguments are the same as for `chat`.

        If you close the generator early or the model fails midway, the text received so far is stored.
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
        """Answer a question only from memories and documents, with citations. Stores nothing.

        The other arguments are the same as for `context`.

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
        """Verbs for tools: list, add, call."""
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
        """The toolbox. Installed packages are searched on first use."""
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
    """Check a question's arguments. None counts as blank. Unpaired surrogates count as unknown characters."""
    query = "" if query is None else query
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, not {type(query).__name__}")
    if len(query) > settings.max_query_chars:
        raise InvalidInputError(f"a query can have at most {settings.max_query_chars:,} characters")
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
    """Ranking by similarity has no relevance. Passing both is an error; the configured minimum is ignored."""
    is_by_similarity = fields.get("min_similarity") is not None
    if is_by_similarity and fields.get("min_relevance"):
        raise InvalidInputError("pass min_similarity (ranks by cosine similarity alone) or min_relevance, not both")
    least = check_fraction(fields.get("min_relevance", settings.min_relevance or 0.0), "min_relevance")
    return 0.0 if is_by_similarity else least


def context_request_of(query: str, fields: Fields, settings: Settings) -> ContextRequest:
    """Check the arguments of a request for context."""
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
        is_dry_run=check_flag(fields.get("is_dry_run", False), "is_dry_run") or False,
    )


def _limit(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST):
        raise InvalidInputError(f"limit must be a positive whole number, or None for no limit, not {show_value(value)}")
    return value


def _limits(value: Mapping[Level | str, int] | None) -> dict[Level, int]:
    return {check_choice(Level, level, "limits"): check_whole(cap, "limits") for level, cap in (value or {}).items()}


def _deadline(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_MS:
        raise InvalidInputError(f"deadline_ms must be from 0 to {LONGEST_MS:,.0f} (one day), not {show_value(value)}")
    return value


def _read_lines(value: Sequence[str], name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(line, str) for line in cast("Sequence[object]", value)):
        raise InvalidInputError(f"{name} must be a list of strings")
    return tuple(value)
