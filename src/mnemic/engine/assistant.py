"""Chats with memory, turn by turn (context, model, tools, answer, capture), and answers single questions.

The user's message is captured before the model is asked, the answer when it ends or breaks off, so nothing is lost. A
failing memory never fails a chat: `degraded` lists what is missing. If the prompt exceeds the model's context, it is
retried with less memory.
"""

import json
import logging
import re
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from mnemic.engine.context import ContextRequest, context
from mnemic.engine.context_records import through
from mnemic.engine.conversation import capture, complete
from mnemic.engine.engine import Engine, Metered
from mnemic.engine.tools.toolbox import Toolbox, read_arguments
from mnemic.engine.window import window
from mnemic.errors import BackendError, BadReplyError, ConfigError, InvalidInputError, UnsupportedError
from mnemic.model import chat as dialogue
from mnemic.model.bookkeeping import note_answer
from mnemic.model.item import MessageDraft, NotedDraft, Role, Turn
from mnemic.model.recall import ChatMessage, Context, Recall
from mnemic.model.scope import Scope
from mnemic.ports.models import Llm
from mnemic.text.blocks import guidance
from mnemic.text.prompts import language_of
from mnemic.text.wordings import wording

CHARS_PER_TOKEN = 3  # below English's four: overestimates the prompt, so that the reply still fits
SHARES = (0.25, 0.0)
"""Shares of memory's budget in the retries of a prompt that was too long: a quarter, then none."""

REPLY_SHARE = 4  # the reply may take at most a quarter of the model's context


@dataclass(slots=True, kw_only=True)
class Rounds:
    """The model calls of one turn. `show` builds the context with a share of its budget; `shown` is the one that the
    model answered. Tools get `about`. `refusal` answers a call when `calls_left` is 0.
    """

    model: Metered
    toolbox: Toolbox
    settings: dialogue.AssistantSettings
    show: Callable[[float], Context]
    shown: Context
    about: dialogue.ToolContext
    calls_left: int
    refusal: str
    degraded: list[str] = field(default_factory=list[str])
    finish: dialogue.Finish = dialogue.Finish.STOP
    _exchange: list[dialogue.PromptMessage] = field(default_factory=list[dialogue.PromptMessage])

    def run(self, *, is_streaming: bool) -> Generator[dialogue.Said | dialogue.Called]:
        """Yield the model's text and tool calls until it has answered. Raises the model's errors."""
        self._check_tools()
        while True:
            is_offered = self._offers
            completion = yield from self._ask(is_streaming=is_streaming)
            if not completion.tool_calls or not is_offered:
                self.finish = completion.finish
                return
            calls = tuple(map(_mend_call, completion.tool_calls))
            self._exchange.append(dialogue.PromptMessage(Role.ASSISTANT, completion.text, calls))
            for call in completion.tool_calls:
                outcome = self._outcome(call)
                told = outcome.text[: self.model.capabilities.context_tokens]
                self._exchange.append(dialogue.PromptMessage(Role.TOOL, told, tool_call_id=call.id))
                yield dialogue.Called(dialogue.ToolStep(completion.text.strip(), outcome))

    @property
    def _offers(self) -> bool:
        return self.calls_left > 0 and len(self.toolbox) > 0

    def _check_tools(self) -> None:
        if self._offers and not self.model.capabilities.has_tools:
            self._without_tools(f"{self.model.name} does not support tools")

    def _without_tools(self, reason: str) -> None:
        self.calls_left = 0
        self.degraded.append(f"tools: {reason}")

    def _ask(self, *, is_streaming: bool) -> Generator[dialogue.Said, None, dialogue.Completion]:
        """Yield one reply. A prompt refused before any text is retried without tools or with less memory."""
        shares = iter(SHARES)
        while True:
            has_said, completion = False, None
            try:
                with closing(self._pieces(is_streaming=is_streaming)) as pieces:
                    for piece in pieces:
                        completion = piece.completion or completion
                        if piece.text:
                            has_said = True
                            yield dialogue.Said(piece.text)
            except UnsupportedError as error:
                if has_said or not self._offers:
                    raise
                self._without_tools(str(error))
            except InvalidInputError:
                share = None if has_said else next(shares, None)
                if share is None:
                    raise
                self.shown = self.show(share)
                self.degraded.append("context: shortened to fit the model")
            else:
                if completion is None:
                    raise BadReplyError(f"{self.model.name} ended without a reply")
                return completion

    def _pieces(self, *, is_streaming: bool) -> Generator[dialogue.Piece]:
        prompt = self._prompt()
        if is_streaming:
            with closing(self.model.stream(prompt)) as pieces:
                yield from pieces
            return
        completion = self.model.complete(prompt)
        yield dialogue.Piece(completion.text)
        yield dialogue.Piece(completion=completion)

    def _prompt(self) -> dialogue.Prompt:
        shown = [dialogue.PromptMessage(message.role, message.content) for message in self.shown.messages]
        return dialogue.Prompt(
            messages=(*shown, *self._exchange),
            tools=self.toolbox.specs if self._offers else (),
            max_tokens=reply_tokens(self.model, self.settings),
            timeout_s=self.settings.timeout_s,
        )

    def _outcome(self, call: dialogue.ToolCall) -> dialogue.ToolOutcome:
        if self.calls_left <= 0:
            return dialogue.ToolOutcome(call, self.refusal, is_error=True, seconds=0.0)
        self.calls_left -= 1
        return self.toolbox.run(call, self.about)


def _mend_call(call: dialogue.ToolCall) -> dialogue.ToolCall:
    """The call as the model sees it again. Servers refuse a prompt whose arguments are no JSON object."""
    try:
        return replace(call, arguments=json.dumps(dict(read_arguments(call.arguments)), ensure_ascii=False))
    except InvalidInputError:
        return replace(call, arguments="{}")


def reply_tokens(model: Metered, settings: dialogue.AssistantSettings) -> int:
    """Maximum tokens of a reply."""
    return min(settings.max_tokens, max(model.capabilities.context_tokens // REPLY_SHARE, 1))


def room_for_memory(
    model: Metered, settings: dialogue.AssistantSettings, texts: Iterator[str], toolbox: Toolbox
) -> int:
    """Tokens left for memory: half of the rest, since memory tends to need more tokens than estimated."""
    tools = sum(len(json.dumps(dict(spec.parameters))) + len(spec.description) for spec in toolbox.specs)
    taken = (sum(map(len, texts)) + tools) // CHARS_PER_TOKEN + reply_tokens(model, settings)
    return max((model.capabilities.context_tokens - taken) // 2, 0)


NO_MODEL = (
    "no language model is configured: set MNEMIC_LLM or llm.name in the configuration file, for example to "
    "ollama:qwen3:4b, to llama-cpp, or to openai with base_url and model in llm.options"
)
_MARK = re.compile(r"\[(\d{1,3}(?:\s*[,;，、]\s*\d{1,3})*)\]")
_log = logging.getLogger("mnemic.assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One turn's message and settings. `context`: system prompt, budget and caps. `plan` and `rules` follow the
    profile. `toolbox`: tools for at most `max_tool_calls` calls. `actor` is recorded for changes by tools. Without
    `is_streaming` replies come whole, without `captures` nothing is kept, without `injects` no memories are shown.
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


def model_of(engine: Engine) -> Llm:
    """The language model. Raises `ConfigError` with the way to set one if there is none."""
    if engine.llm is None:
        raise ConfigError(NO_MODEL)
    return engine.llm


def chat(engine: Engine, scope: Scope, request: ChatRequest) -> Generator[dialogue.ChatEvent]:
    """Yield the events of one turn. A scope without a session starts one: `Reply.session`. Raises the model's errors.
    The user's message is kept, and a partial answer is marked `is_partial`, also if the generator is closed early.
    """
    model = Metered(model_of(engine))
    scope = scope if scope.session is not None else replace(scope, session=str(uuid.uuid4()))
    with closing(_ChatTurn(engine, scope, request, model).run()) as events:
        yield from events


def ask(engine: Engine, scope: Scope, wanted: ContextRequest) -> dialogue.Answer:
    """Answer a question from memory and documents alone. Captures nothing and calls no tool."""
    model = Metered(model_of(engine))
    language = wanted.language or language_of([wanted.question.text])
    system = "\n\n".join(part for part in (wanted.system, wording(language, "answer.ask")) if part)
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
    for event in _ChatTurn(engine, scope, request, model).run():
        reply = event.reply if isinstance(event, dialogue.Replied) else reply
    if reply is None:
        raise AssertionError("a turn ended without a reply")
    named = {int(number) for marks in _MARK.findall(reply.text) for number in re.findall(r"\d+", marks)}
    cited = tuple(citation for citation in reply.context.citations if citation.number in named)
    return dialogue.Answer(reply.text, cited, reply.context, reply.usage, reply.degraded)


@dataclass(slots=True)
class _ChatTurn:
    """State of one turn."""

    engine: Engine
    scope: Scope
    request: ChatRequest
    model: Metered
    degraded: list[str] = field(default_factory=list[str])
    steps: list[dialogue.ToolStep] = field(default_factory=list[dialogue.ToolStep])
    captured: Turn | None = None

    def run(self) -> Generator[dialogue.ChatEvent]:
        rounds = self._rounds(self._show_context(1.0))
        self._capture_message()
        yield dialogue.Recalled(rounds.shown)
        text, is_whole = "", False
        try:
            with closing(rounds.run(is_streaming=self.request.is_streaming)) as events:
                for event in events:
                    if isinstance(event, dialogue.Said):
                        text += event.text
                    else:
                        text = ""
                        self.steps.append(event.step)
                    yield event
            is_whole = True
        finally:
            self._capture_answer(text, is_whole=is_whole)
        missing = (*rounds.shown.degraded, *self.degraded, *rounds.degraded)
        yield dialogue.Replied(
            dialogue.Reply(
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
            settings=self.engine.settings.assistant,
            show=self._show_context,
            shown=shown,
            about=dialogue.ToolContext(self.scope, self.engine.clock.now(), self.request.actor),
            calls_left=self.request.max_tool_calls,
            refusal=wording(language_of([self.request.message]), "answer.limit_reached"),
        )

    def _show_context(self, share: float) -> Context:
        """The context for the model with a share of memory's budget. 0: the message without memory."""
        wanted = self._request_context(share)
        try:
            if not share:
                shown = _bare_context(wanted)
            elif self.request.injects:
                with through("chat"):
                    shown = context(self.engine, self.scope, wanted)
            else:
                shown = self._history_alone(wanted)
        except BackendError as error:
            self._note_missing("context", error)
            shown = _bare_context(wanted)
        if shown.messages and shown.messages[-1].role is Role.USER:
            shown = replace(shown, messages=shown.messages[:-1])
        return replace(shown, messages=(*shown.messages, ChatMessage(Role.USER, self.request.message)))

    def _history_alone(self, wanted: ContextRequest) -> Context:
        """The session's history without memories."""
        heard = window(self.engine, self.scope, wanted.history_messages) if wanted.history_messages else []
        history = [ChatMessage(m.role, m.text) for m in heard if m.role in (Role.USER, Role.ASSISTANT)]
        bare = _bare_context(wanted)
        return replace(bare, messages=(*bare.messages[:-1], *history, bare.messages[-1]))

    def _request_context(self, share: float) -> ContextRequest:
        """The context request with plan and tool guidance, and a budget that fits the model."""
        request, wanted = self.request, self.request.context
        language = wanted.language or language_of([request.message])
        calls = request.max_tool_calls if len(request.toolbox) and self.model.capabilities.has_tools else 0
        guided = guidance(request.plan, request.rules, calls, language)
        texts = iter((wanted.system, guided, request.message))
        room = room_for_memory(self.model, self.engine.settings.assistant, texts, request.toolbox)
        return replace(
            wanted,
            guidance=guided,
            budget_tokens=int(min(wanted.budget_tokens, room) * share),
            model=wanted.model or self.model.name,
            language=language,
        )

    def _capture_message(self) -> None:
        """Capture the user's message before the answer can fail."""
        if self.request.captures:
            try:
                self.captured = capture(self.engine, self.scope, [[self._user]])[0]
            except BackendError as error:
                self._note_missing("capture", error)

    def _capture_answer(self, text: str, *, is_whole: bool) -> None:
        """Capture the whole or partial answer, and the user's message too if it could not be captured before."""
        if not self.request.captures or not text.strip():
            return
        notes = note_answer(is_whole=is_whole, tools=[step.outcome.call.name for step in self.steps])
        whole = text.encode(errors="replace").decode()[: self.engine.settings.max_text_chars]
        answer = NotedDraft(role=Role.ASSISTANT, text=whole, bookkeeping=notes)
        try:
            if self.captured is None or not self.captured.messages:
                self.captured = capture(self.engine, self.scope, [[self._user, answer]])[0]
                self.degraded = [each for each in self.degraded if not each.startswith("capture:")]
            else:
                self.captured = complete(self.engine, self.scope, self.captured.id, answer)
        except BackendError as error:
            self._note_missing("capture", error)

    @property
    def _user(self) -> MessageDraft:
        return MessageDraft(role=Role.USER, text=self.request.message)

    def _note_missing(self, what: str, error: BackendError) -> None:
        kind = type(error).__name__
        self.degraded.append(f"{what}: {kind}")
        _log.warning("continuing the chat without %s (%s)", what, kind)
        self.engine.observer.count("mnemic.chat.missing", source=what, reason=kind)


def _bare_context(wanted: ContextRequest) -> Context:
    """The context without any memory."""
    prompt = "\n\n".join(part for part in (wanted.system, wanted.guidance) if part)
    messages = [ChatMessage(Role.SYSTEM, prompt)] if prompt else []
    nothing = Recall(wanted.question.text, (), (), {})
    return Context((*messages, ChatMessage(Role.USER, wanted.question.text)), {}, (), 0, nothing, (), {})
