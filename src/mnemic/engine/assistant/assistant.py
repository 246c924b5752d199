"""One turn of a chat with memory: context, model, tools, answer, and the capture of both sides; and questions.

The user's side is captured before the model is asked, the assistant's when it has ended or broken off, so that nothing
said is lost. Memory never fails a chat: what is missing of it is told in `degraded`, and the model answers anyway.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from mnemic.engine.assistant.rounds import Rounds, room_for_memory
from mnemic.engine.context.assembly import ContextRequest
from mnemic.engine.context.context import context
from mnemic.engine.conversation.capture import capture, complete
from mnemic.engine.conversation.window import window
from mnemic.engine.metering import Metered
from mnemic.engine.parts import Parts
from mnemic.engine.tools.toolbox import Toolbox
from mnemic.errors import BackendError, ConfigError
from mnemic.model.assistant import Answer, ChatEvent, Recalled, Replied, Reply, Said, ToolStep
from mnemic.model.context import ChatMessage, Context
from mnemic.model.draft import MessageDraft
from mnemic.model.item import Role, Turn
from mnemic.model.recall import Recall
from mnemic.model.scope import Scope
from mnemic.model.tool import ToolContext
from mnemic.ports.llm import Llm
from mnemic.text.guidance import ASK, LIMIT_REACHED, guidance
from mnemic.text.prompts import language_of

NO_MODEL = (
    "no language model is configured: set MNEMIC_LLM or llm.name in the configuration file, for example to "
    "ollama:qwen3:4b, to llama-cpp, or to openai with base_url and model in llm.options"
)
_MARK = re.compile(r"\[(\d{1,3}(?:\s*[,;，、]\s*\d{1,3})*)\]")
_log = logging.getLogger("mnemic.assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What the user says, and how the turn is to go.

    `context` holds the system prompt, budget and caps. `plan` and `rules` are shown after the profile. `toolbox` holds
    the tools that may be called, at most `max_tool_calls` times in all. `actor` is written into the history of what
    tools change. `is_streaming` False: each reply of the model comes as one piece. `captures` False keeps nothing.
    `injects` False: the model is shown the session, and nothing that is remembered.
    """

    message: str
    context: ContextRequest
    toolbox: Toolbox
    max_tool_calls: int
    actor: str
    plan: Sequence[str] = ()
    rules: Sequence[str] = ()
    is_streaming: bool = True
    captures: bool = True
    injects: bool = True


def model_of(parts: Parts) -> Llm:
    """The language model. Raises `ConfigError`, saying how to set one, when there is none."""
    if parts.llm is None:
        raise ConfigError(NO_MODEL)
    return parts.llm


def chat(parts: Parts, scope: Scope, request: ChatRequest) -> Generator[ChatEvent]:
    """What happens in one turn, as it happens. A scope without a session begins a conversation: `Reply.session`.

    Raises the errors of the model, with the user's side captured by then, and what was written of the answer marked by
    `is_partial` in its metadata; the same is kept when the generator is closed early.
    """
    model = Metered(model_of(parts))
    scope = scope if scope.session is not None else replace(scope, session=str(uuid.uuid4()))
    with closing(_ChatTurn(parts, scope, request, model).run()) as events:
        yield from events


def ask(parts: Parts, scope: Scope, wanted: ContextRequest) -> Answer:
    """The model's answer to a question from memory and documents alone; captures nothing, calls no tool."""
    model = Metered(model_of(parts))
    language = wanted.language or language_of([wanted.question.text])
    system = "\n\n".join(part for part in (wanted.system, ASK[language]) if part)
    request = ChatRequest(
        message=wanted.question.text,
        context=replace(wanted, system=system, language=language, history_messages=0),
        toolbox=Toolbox(),
        max_tool_calls=0,
        actor="",
        is_streaming=False,
        captures=False,
    )
    reply = None
    for event in _ChatTurn(parts, scope, request, model).run():
        reply = event.reply if isinstance(event, Replied) else reply
    if reply is None:
        raise AssertionError("a turn ended without a reply")
    named = {int(number) for marks in _MARK.findall(reply.text) for number in re.findall(r"\d+", marks)}
    cited = tuple(citation for citation in reply.context.citations if citation.number in named)
    return Answer(reply.text, cited, reply.context, reply.usage, reply.degraded)


@dataclass(slots=True)
class _ChatTurn:
    """The state of one turn."""

    parts: Parts
    scope: Scope
    request: ChatRequest
    model: Metered
    degraded: list[str] = field(default_factory=list[str])
    steps: list[ToolStep] = field(default_factory=list[ToolStep])
    captured: Turn | None = None

    def run(self) -> Generator[ChatEvent]:
        rounds = self._rounds(self._shown(1.0))
        self._hear()
        yield Recalled(rounds.shown)
        text, is_whole = "", False
        try:
            with closing(rounds.run(is_streaming=self.request.is_streaming)) as events:
                for event in events:
                    if isinstance(event, Said):
                        text += event.text
                    else:
                        text = ""
                        self.steps.append(event.step)
                    yield event
            is_whole = True
        finally:
            self._keep(text, is_whole=is_whole)
        missing = (*rounds.shown.degraded, *self.degraded, *rounds.degraded)
        yield Replied(
            Reply(
                text=text,
                session=self.scope.session or "",
                turn=self.captured,
                context=rounds.shown,
                steps=tuple(self.steps),
                finish=rounds.finish,
                usage=self.model.usage,
                degraded=tuple(dict.fromkeys(missing)),
            )
        )

    def _rounds(self, shown: Context) -> Rounds:
        return Rounds(
            model=self.model,
            toolbox=self.request.toolbox,
            settings=self.parts.settings.assistant,
            show=self._shown,
            shown=shown,
            about=ToolContext(self.scope, self.parts.clock.now(), self.request.actor),
            calls_left=self.request.max_tool_calls,
            refusal=LIMIT_REACHED[language_of([self.request.message])],
        )

    def _shown(self, share: float) -> Context:
        """What is shown to the model, with a share of memory's budget; 0 is the message without any memory."""
        wanted = self._wanted(share)
        try:
            if not share:
                shown = _bare(wanted)
            elif self.request.injects:
                shown = context(self.parts, self.scope, wanted)
            else:
                shown = self._history_alone(wanted)
        except BackendError as error:
            self._miss("context", error)
            shown = _bare(wanted)
        if shown.messages and shown.messages[-1].role is Role.USER:
            shown = replace(shown, messages=shown.messages[:-1])
        return replace(shown, messages=(*shown.messages, ChatMessage(Role.USER, self.request.message)))

    def _history_alone(self, wanted: ContextRequest) -> Context:
        """What was said in this session, without anything remembered."""
        heard = window(self.parts, self.scope, wanted.history_messages) if wanted.history_messages else []
        history = [ChatMessage(m.role, m.text) for m in heard if m.role in (Role.USER, Role.ASSISTANT)]
        bare = _bare(wanted)
        return replace(bare, messages=(*bare.messages[:-1], *history, bare.messages[-1]))

    def _wanted(self, share: float) -> ContextRequest:
        """The request for context with the plan, what is said about tools, and a budget that the model can take."""
        request, wanted = self.request, self.request.context
        language = wanted.language or language_of([request.message])
        calls = request.max_tool_calls if len(request.toolbox) and self.model.capabilities.has_tools else 0
        guided = guidance(request.plan, request.rules, calls, language)
        texts = iter((wanted.system, guided, request.message))
        room = room_for_memory(self.model, self.parts.settings.assistant, texts, request.toolbox)
        return replace(
            wanted,
            guidance=guided,
            budget_tokens=int(min(wanted.budget_tokens, room) * share),
            model=wanted.model or self.model.name,
            language=language,
        )

    def _hear(self) -> None:
        """Capture what the user said, before anything can go wrong with the answer."""
        if self.request.captures:
            try:
                self.captured = capture(self.parts, self.scope, [[self._user]])[0]
            except BackendError as error:
                self._miss("capture", error)

    def _keep(self, text: str, *, is_whole: bool) -> None:
        """Capture the answer, or what there is of it; both sides where the first could not be captured."""
        if not self.request.captures or not text.strip():
            return
        told: dict[str, object] = {} if is_whole else {"is_partial": True}
        if self.steps:
            told["tools"] = [step.outcome.call.name for step in self.steps]
        whole = text.encode(errors="replace").decode()[: self.parts.settings.max_text_chars]
        answer = MessageDraft(role=Role.ASSISTANT, text=whole, metadata=told)
        try:
            if self.captured is None or not self.captured.messages:
                self.captured = capture(self.parts, self.scope, [[self._user, answer]])[0]
                self.degraded = [each for each in self.degraded if not each.startswith("capture:")]
            else:
                self.captured = complete(self.parts, self.scope, self.captured.id, answer)
        except BackendError as error:
            self._miss("capture", error)

    @property
    def _user(self) -> MessageDraft:
        return MessageDraft(role=Role.USER, text=self.request.message)

    def _miss(self, what: str, error: BackendError) -> None:
        kind = type(error).__name__
        self.degraded.append(f"{what}: {kind}")
        _log.warning("a chat goes on without its %s (%s)", what, kind)
        self.parts.observer.count("mnemic.chat.missing", source=what, reason=kind)


def _bare(wanted: ContextRequest) -> Context:
    """What is shown when memory has nothing to give."""
    prompt = "\n\n".join(part for part in (wanted.system, wanted.guidance) if part)
    messages = [ChatMessage(Role.SYSTEM, prompt)] if prompt else []
    nothing = Recall(wanted.question.text, (), (), {})
    return Context((*messages, ChatMessage(Role.USER, wanted.question.text)), {}, (), 0, nothing, (), {})
