"""Pydantic AI: a toolset over the memory, and a capability that recalls before a request and captures after a run."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mnemic.integrations import memory as shared
from mnemic.model.item import Role
from mnemic.model.scope import Scope

try:
    from pydantic_ai import AgentRunResult, FunctionToolset, RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserContent, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_core import to_json
except ModuleNotFoundError as error:
    raise shared.explain_absence(error, "pydantic-ai", "pydantic_ai", "pydantic_core") from error

ScopeOf = Callable[[RunContext[Any]], Scope]
_log = logging.getLogger("mnemic.integrations")


def memory_toolset(
    mnemic: shared.AnyMnemic, scope: Scope | ScopeOf, *, may_forget: bool = True
) -> FunctionToolset[Any]:
    """Tools to remember, recall and forget: `Agent(…, toolsets=[memory_toolset(mnemic, scope)])`. `scope` is the
    developer's, or a function of the run's context (for example its `deps`). No argument of the model changes it. If
    the memory fails, the tool reports it to the model and the run continues.
    """
    functions = shared.make_tool_functions(
        lambda ctx: shared.MemoryTools(mnemic, _scope_of(scope, ctx)), RunContext[Any], may_forget=may_forget
    )
    return FunctionToolset([Tool(function, takes_ctx=True) for function in functions], id="mnemic")


@dataclass
class MnemicMemory(AbstractCapability[Any]):
    """A capability that gives an agent memory: `Agent(…, capabilities=[MnemicMemory(mnemic, scope)])`.

    Memory for the user's prompt is added to each request, but not to the message history. After the run, the prompt and
    the final answer are captured. `scope` is the developer's, or a function of the run's context. Give it a session, or
    each run starts its own conversation. If the memory fails or takes longer than `timeout_s`, that is logged and the
    run continues without it.
    """

    mnemic: shared.AnyMnemic
    scope: Scope | ScopeOf
    budget_tokens: int = shared.BUDGET_TOKENS
    timeout_s: float = shared.TIMEOUT_S
    captures: bool = True
    _found: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: an open memory cannot be serialized."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:  # noqa: ARG002 -- the interface
        """A copy for one run, which keeps its recalled memory."""
        return replace(self, _found={})

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add memory for the user's last prompt before the request that contains it."""
        place, question = _last_prompt(request_context.messages)
        if place is None:
            return request_context
        if question not in self._found:
            self._found[question] = await self._conversation(ctx).recall(question, known=place)
        told = self._found[question]
        if told:
            request = ModelRequest(parts=[SystemPromptPart(content=told)])
            messages = [*request_context.messages[:place], request, *request_context.messages[place:]]
            return replace(request_context, messages=messages)
        return request_context

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Capture the prompt and the answer."""
        said = shared.to_messages([(Role.USER, _words(ctx.prompt)), (Role.ASSISTANT, _output(result.output))])
        if self.captures:
            await self._conversation(ctx).capture(said)
        return result

    def _conversation(self, ctx: RunContext[Any]) -> shared.Conversation:
        return shared.Conversation(self.mnemic, _scope_of(self.scope, ctx), self.budget_tokens, self.timeout_s)


def _scope_of(scope: Scope | ScopeOf, ctx: RunContext[Any]) -> Scope:
    return scope if isinstance(scope, Scope) else scope(ctx)


def _last_prompt(messages: Sequence[ModelMessage]) -> tuple[int | None, str]:
    """The index of the last request with text of the user, and the text."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, ModelRequest):
            words = "\n".join(_words(part.content) for part in message.parts if isinstance(part, UserPromptPart))
            if words.strip():
                return place, words
    return None, ""


def _words(prompt: str | Sequence[UserContent] | None) -> str:
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(part for part in prompt if isinstance(part, str))


def _output(output: object) -> str:
    """An answer as text, or as JSON if it is of another type."""
    if isinstance(output, str):
        return output
    return to_json(output, fallback=str, inf_nan_mode="strings").decode()
