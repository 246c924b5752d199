"""LangChain: a middleware that gives an agent memory, and a retriever."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeAlias

from mnemic.integrations import memory as shared
from mnemic.model.item import Role
from mnemic.model.recall import Hit
from mnemic.model.scope import Scope
from mnemic.text.sanitise import sanitise

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
    from langchain_core.retrievers import BaseRetriever
    from langgraph.runtime import Runtime
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "langchain", "langchain", "langchain_core", "langgraph") from error

ScopeOf = Callable[[Runtime[Any]], Scope]
Request: TypeAlias = ModelRequest[Any]
Response: TypeAlias = ModelResponse[Any]
MOST_RUNS = 100  # at once: with more, some recall again. A recalled text has some 8 kB


class MnemicMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Memory for an agent: `create_agent(…, middleware=[MnemicMiddleware(mnemic, scope)])`.

    Each request has memory for the user's last message at the end of its system message. Neither the agent's state nor
    a checkpoint contains it, and a run recalls it once. After the run, the user's message and the final answer are
    captured. `scope` is the developer's, or a function of LangGraph's runtime. If it has no session, the thread is the
    session. If the memory fails, that is logged and the run continues without it; an asynchronous run also continues
    after `timeout_s`.
    """

    def __init__(
        self,
        mnemic: shared.AnyMnemic,
        scope: Scope | ScopeOf,
        *,
        budget_tokens: int = shared.BUDGET_TOKENS,
        timeout_s: float = shared.TIMEOUT_S,
        captures: bool = True,
    ) -> None:
        super().__init__()
        self._mnemic, self._scope, self._captures = mnemic, scope, captures
        self._limits = (budget_tokens, timeout_s)
        self._recall = lru_cache(MOST_RUNS)(partial(_recall, mnemic, budget_tokens))

    def wrap_model_call(self, request: Request, handler: Callable[[Request], Response]) -> Response:
        """Call the model with memory in the system message."""
        return handler(_add(request, self._recall(*self._find_question(request))))

    async def awrap_model_call(self, request: Request, handler: Callable[[Request], Awaitable[Response]]) -> Response:
        """Call the model with memory in the system message."""
        recall = partial(self._recall, *self._find_question(request))
        told = await shared.try_in_time(recall, "", timeout_s=self._limits[1], what="nothing was recalled")
        return await handler(_add(request, told))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Capture the user's message and the answer."""
        scope, said = self._scope_of(runtime), _exchange(state["messages"])
        if self._captures and said:
            shared.try_verb(lambda: self._mnemic.capture(scope, said), None, what="messages were not captured")

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Capture the user's message and the answer."""
        if self._captures:
            await self._conversation(runtime).capture(_exchange(state["messages"]))

    def _find_question(self, request: Request) -> tuple[object, Scope, tuple[str, int]]:
        """The run (LangGraph makes a `RunControl` for each), its scope, and the question."""
        runtime = request.runtime
        return runtime.control or object(), self._scope_of(runtime), _last_question(request.messages)

    def _conversation(self, runtime: Runtime[Any]) -> shared.Conversation:
        return shared.Conversation(self._mnemic, self._scope_of(runtime), *self._limits)

    def _scope_of(self, runtime: Runtime[Any]) -> Scope:
        scope = self._scope if isinstance(self._scope, Scope) else self._scope(runtime)
        info = runtime.execution_info
        return replace(scope, session=info.thread_id) if info and not scope.session else scope


class MnemicRetriever(BaseRetriever):
    """Finds memories, messages and document passages: `MnemicRetriever(mnemic=mnemic, scope=scope)`.

    Returns at most `limit` documents, best first. Their text is sanitised like a context. Their metadata has `kind`,
    `source` and `observed_at`, and, if known, `relevance` and `page`. `options` are other arguments of `recall`, such
    as `{"kinds": ["document"], "min_relevance": 0.5}`. Raises the memory's errors.
    """

    mnemic: Any
    scope: Scope
    limit: int = 5
    options: dict[str, Any] = {}  # noqa: RUF012 -- pydantic copies the default

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        del run_manager
        found = self.mnemic.recall(self.scope, query[: shared.MAX_QUERY_CHARS], limit=self.limit, **self.options)
        return [_document(hit) for hit in found.hits if not hit.is_fallback]


def _recall(mnemic: shared.AnyMnemic, budget_tokens: int, run: object, scope: Scope, last: tuple[str, int]) -> str:
    """The memory for the question `last`. `run` only keeps it apart from other runs' in a cache."""
    del run
    recall = partial(shared.recall_block, mnemic, scope, last[0], budget_tokens, known=last[1])
    return shared.try_verb(recall, "", what="nothing was recalled")


def _document(hit: Hit) -> Document:
    known = {"kind": hit.kind, "source": hit.source, "observed_at": hit.item.observed_at.isoformat()}
    further = {"relevance": hit.relevance, "page": hit.page}
    known |= {name: value for name, value in further.items() if value is not None}
    return Document(id=hit.id, page_content=sanitise(hit.text), metadata=known)


def _add(request: Request, told: str) -> Request:
    """The request with a text at the end of its system message."""
    if not told:
        return request
    blocks = request.system_message.content_blocks if request.system_message else []
    return request.override(system_message=SystemMessage(content_blocks=[*blocks, {"type": "text", "text": told}]))


def _last_question(messages: Sequence[AnyMessage]) -> tuple[str, int]:
    """The user's last message, and the number of messages before it."""
    places = (place for place in range(len(messages) - 1, -1, -1) if isinstance(messages[place], HumanMessage))
    place = next(places, None)
    return ("", 0) if place is None else (str(messages[place].text), place)


def _exchange(messages: Sequence[AnyMessage]) -> list[dict[str, object]]:
    """The user's last message and the answer after it, to capture."""
    said: list[dict[str, object]] = []
    place = _last_question(messages)[1]
    for each in (*messages[place : place + 1], *messages[place + 1 :][-1:]):
        if isinstance(each, HumanMessage | AIMessage):
            role = Role.USER if isinstance(each, HumanMessage) else Role.ASSISTANT
            said += shared.draft_message(role, str(each.text), *(("langchain", each.id) if each.id else ()))
    return said
