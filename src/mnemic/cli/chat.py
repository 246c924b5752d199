"""`mnemic chat` and `mnemic tools …`: talk with an assistant that remembers, and the tools that it may call."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from mnemic.cli import output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.failures import UNEXPECTED, report_error
from mnemic.cli.options import ScopeOptions, Works, run_worker
from mnemic.cli.recall import explain_score, format_relevance, show_strong_hits
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.chat import Called, ChatEvent, Finish, Recalled, Replied, Reply, Said
from mnemic.model.item import Message
from mnemic.model.recall import Context, Hit, Recall
from mnemic.model.scope import Scope, find_login_name
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.model.chat import ToolOutcome, ToolSpec

NO_MODEL = """No language model is configured, so your messages only search your memories. To get answers, choose a
model in the environment (or as llm.name in the file that `mnemic init` writes), for example:
  MNEMIC_LLM=ollama:qwen3:4b mnemic chat     Ollama on this machine
  MNEMIC_LLM=llama-cpp mnemic chat           a small model in this process (pip install 'mnemic[llama-cpp]')"""
TINY = "gemma-3-270m"
TINY_WARNING = """This is a very small model for a first try; its answers are often wrong. Choose a better one with
MNEMIC_LLM, such as ollama:qwen3:4b. Your memories stay."""
SHOWN = 3
"""Lines about what was recalled. /why shows all of it."""

HELP = (
    ("/memory [N]", "list the newest N memories; default: 10"),
    ("/recall QUESTION", "search memory"),
    ("/why", "explain which memories the last answer used"),
    ("/why ID", "explain why it used, or missed, one memory"),
    ("/forget ID", "delete a memory or message, by its id or its number in the last list"),
    ("/profile", "show your profile"),
    ("/profile KEY=VALUE", "set a fact; an empty value removes it"),
    ("/tools", "list the tools that the assistant can call"),
    ("/session", "show the current conversation"),
    ("/quit", "end the chat"),
)
LISTED = 10  # memories; fits one screen


@command("chat")
def chat(options: ScopeOptions, arguments: Arguments, works: Works = True) -> None:
    """Chat with an assistant that remembers. Type one message per line, or /help for a list of commands. Use --session
    to continue an earlier conversation. With --json, or if the input is not a terminal, each input line is one message.
    With --json, the exit code is that of the last failure.
    """
    scope = options.scope
    arguments.setdefault("tools", True)
    scope = replace(scope, user=scope.user or find_login_name(), session=scope.session or str(uuid.uuid4()))
    with options.open() as mnemic, run_worker(mnemic, is_on=works):
        conversation = Conversation(mnemic, scope, arguments, is_json=options.as_json)
        conversation.greet()
        for line in read_lines(is_quiet=options.as_json):
            if not conversation.answer(line):
                break
        if options.session is None:
            with suppress(MnemicError):  # the messages are stored; a worker ends the session when it is idle
                mnemic.end(scope)
    if options.as_json and conversation.failure:
        raise typer.Exit(conversation.failure)


@verb_command("tools list")
def list_tools(tools: Sequence[ToolSpec]) -> None:
    """List the tools that a model can use: Mnemic's own and those from installed packages and configured modules."""
    output.show_rows(("tool",), [output.Row((tool.name,), tool.description, ()) for tool in tools])


@verb_command("tools call")
def call(outcome: ToolOutcome) -> None:
    """Call a tool as a model would. If the call fails, the command shows why and exits with code 1."""
    if outcome.is_error:
        output.note(output.escape_controls(outcome.text))
        raise typer.Exit(UNEXPECTED)
    output.write(output.escape_controls(outcome.text))


def read_lines(*, is_quiet: bool) -> Iterator[str]:
    """What is typed, line by line, until the end of the input. Ctrl-C leaves a line unsaid."""
    is_asked = sys.stdin.isatty() and output.is_terminal() and not is_quiet
    if is_asked:
        with suppress(ImportError):
            import_module("readline")  # gives input() a line editor and a history
    while True:
        try:
            line = input("you> " if is_asked else "")
        except EOFError:
            if is_asked:
                output.write("")
            return
        except UnicodeDecodeError:
            output.note("ignored a line that is not UTF-8")
            continue
        except KeyboardInterrupt:
            if not is_asked:
                raise
            output.write("")
            output.note("nothing was sent; press Ctrl-D or type /quit to end the chat")
            continue
        if line.strip():
            yield line.encode(errors="replace").decode().strip()


class Conversation:
    """One conversation: what is typed is a command or said to the assistant."""

    def __init__(self, mnemic: Mnemic, scope: Scope, arguments: Mapping[str, Any], *, is_json: bool) -> None:
        self._mnemic, self._scope, self._arguments, self._is_json = mnemic, scope, arguments, is_json
        self._commands = Commands(mnemic, scope)
        self.failure = 0
        """The exit code of what went wrong last."""

    def greet(self) -> None:
        """Say who talks with whom, or how to get somebody to talk with."""
        if self._is_json:
            return
        if self._mnemic.model is None:
            output.note(NO_MODEL)
        else:
            output.note(f"{output.one_line(self._mnemic.model)} answers {output.one_line(self._scope.user or '')}.")
            if self._mnemic.model == TINY:
                output.note(TINY_WARNING)
        output.note("/help lists the commands; /quit or Ctrl-D ends the chat.")

    def answer(self, line: str) -> bool:
        """Answer one line; False when the chat is over. What goes wrong is told, and the chat goes on."""
        try:
            if line.startswith("/"):
                return self._commands.run(line)
            if self._is_json:
                output.write(json.dumps(to_wire(self._mnemic.chat(self._scope, line, **self._arguments))))
            elif self._mnemic.model is None:
                self._look_up(line)
            else:
                self._stream_answer(line)
        except MnemicError as error:
            self.failure = report_error(error, is_json=self._is_json)
        return True

    def _look_up(self, line: str) -> None:
        found = self._mnemic.recall(self._scope, line)
        self._commands.note_recall(line, found)
        show_strong_hits(found)

    def _stream_answer(self, line: str) -> None:
        """Stream the answer; press Ctrl-C to stop, and what was written until then is kept."""
        with closing(self._mnemic.chat_stream(self._scope, line, **self._arguments)) as events:
            try:
                for event in events:
                    self._show(line, event)
            except KeyboardInterrupt:
                output.write("")
                output.note("stopped; the text received so far is stored")

    def _show(self, line: str, event: ChatEvent) -> None:
        match event:
            case Recalled(shown):
                self._commands.note_context(line, shown)
                _show_recalled(shown.recall.hits)
            case Said(text):
                _write_piece(text)
            case Called(step):
                outcome = step.outcome
                output.write("")
                called = f"{outcome.call.name}({output.one_line(outcome.call.arguments)})"
                _note_dimly(f"  → {called}: {_shorten(outcome.text)}")
            case Replied(reply):
                output.write("")
                self._commands.note_reply(reply)
                _show_missing(reply)


def _show_recalled(hits: tuple[Hit, ...]) -> None:
    if not hits:
        return
    kind = "as background" if hits[0].is_fallback else "for this"
    _note_dimly(f"  recalled {len(hits)} {kind}; /why explains them")
    for hit in hits[:SHOWN]:
        said = f"{hit.item.author}: " if isinstance(hit.item, Message) else ""
        _note_dimly(f"  · {_shorten(said + hit.item.text)}")


def _show_missing(reply: Reply) -> None:
    output.note_all(reply.degraded, "missing: ")
    if not reply.text.strip():
        output.note("the model returned an empty response")
    if reply.finish is Finish.LENGTH:
        output.note("the answer was cut off; raise assistant.max-tokens to allow longer answers")


def _write_piece(text: str) -> None:
    """Writes a piece of the answer without a line end, unable to steer the terminal."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(output.escape_controls(text).encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _note_dimly(text: str) -> None:
    """A remark beside the answer: dim on a terminal, on standard error, so that the answer itself stays clean."""
    output.note(f"\x1b[2m{text}\x1b[0m" if sys.stderr.isatty() else text)


def _shorten(text: str, room: int = 100) -> str:
    line = output.one_line(text)
    return line if len(line) <= room else f"{line[: room - 1]}…"


class Commands:
    """The commands of one conversation, and what they look back at."""

    def __init__(self, mnemic: Mnemic, scope: Scope) -> None:
        self._mnemic, self._scope = mnemic, scope
        self._ids: list[str] = []
        self._asked = ""
        self._recall: Recall | None = None
        self._reply: Reply | None = None
        self._timings: Mapping[str, float] = {}

    def note_recall(self, asked: str, found: Recall) -> None:
        """What was looked up last."""
        self._asked, self._recall, self._reply = asked, found, None
        self._ids = [hit.id for hit in found.hits]

    def note_context(self, asked: str, shown: Context) -> None:
        """What the answer under way was given."""
        self.note_recall(asked, shown.recall)
        self._timings = shown.timings_ms

    def note_reply(self, reply: Reply) -> None:
        """The last answer."""
        self._reply = reply

    def run(self, line: str) -> bool:
        """Do what a line beginning with a slash says; False when the chat is to end. Raises `MnemicError`."""
        name, _, rest = line[1:].partition(" ")
        rest = rest.strip()
        commands: dict[str, Callable[[str], None]] = {
            "help": self._show_help,
            "memory": self._list_memories,
            "recall": self._look_up,
            "why": self._explain,
            "forget": self._forget,
            "profile": self._edit_profile,
            "tools": self._list_tools,
            "session": self._show_session,
        }
        if name in ("quit", "exit", "q"):
            return False
        if name not in commands:
            raise InvalidInputError(f"unknown command /{name}; /help lists the commands")
        commands[name](rest)
        return True

    def _show_help(self, _rest: str) -> None:
        for usage, about in HELP:
            output.write(f"{usage:<20} {about}")

    def _list_memories(self, rest: str) -> None:
        if rest and not rest.isdecimal():
            raise InvalidInputError("/memory requires a number, such as /memory 20")
        page = self._mnemic.list(self._scope, limit=max(int(rest), 1) if rest else LISTED)
        self._ids = [memory.id for memory in page.memories]
        rows = [
            output.format_item(memory, str(n), memory.kind.value) for n, memory in enumerate(page.memories, start=1)
        ]
        nothing = "no memories yet; facts are extracted from your messages in the background"
        output.show_rows(("#", "kind"), rows, nothing)

    def _look_up(self, rest: str) -> None:
        found = self._mnemic.recall(self._scope, rest)
        self._ids = [hit.id for hit in found.hits]
        show_strong_hits(found)

    def _explain(self, rest: str) -> None:
        if rest:
            self._explain_absence(self._find_id(rest))
            return
        if self._recall is None:
            output.note("ask something first")
            return
        rows = [
            output.format_item(hit.item, str(n), format_relevance(hit), why=explain_score(hit))
            for n, hit in enumerate(self._recall.hits, start=1)
        ]
        output.show_rows(("#", "relevance"), rows, f"nothing found for: {self._asked}")
        if self._timings:
            output.note_timings("time: ", self._timings)
        for step in self._reply.steps if self._reply else ():
            output.write(f"{step.outcome.call.name}: {output.one_line(step.reason) or 'called without a reason'}")

    def _explain_absence(self, id: str) -> None:
        if not self._asked:
            output.note("ask something first")
            return
        found = self._mnemic.why_not(self._scope, id, self._asked)
        output.write(output.one_line(found.reason))

    def _forget(self, rest: str) -> None:
        item = self._mnemic.get(self._scope, self._find_id(rest))
        self._mnemic.delete(self._scope, item.id, reason="requested in a chat")
        output.write(f"deleted: {output.one_line(item.text)[:200]}")

    def _edit_profile(self, rest: str) -> None:
        if rest:
            key, sign, value = (part.strip() for part in rest.partition("="))
            if not sign:
                raise InvalidInputError("use /profile KEY=VALUE to set a fact, or /profile to show all")
            self._mnemic.profile.set(self._scope, {key: value or None})
        rows = [output.Row((key,), value, ()) for key, value in self._mnemic.profile.get(self._scope).items()]
        output.show_rows(("key",), rows, "the profile is empty; /profile KEY=VALUE sets a fact")

    def _list_tools(self, _rest: str) -> None:
        for tool in self._mnemic.tools.list():
            output.write(f"{tool.name:<18} {output.one_line(tool.description.partition('.')[0])}")

    def _show_session(self, _rest: str) -> None:
        output.write(
            f"user {output.one_line(self._scope.user or '')}, session {output.one_line(self._scope.session or '')}"
        )

    def _find_id(self, given: str) -> str:
        """Return an id, also from its number in the last list."""
        if given.isdecimal():
            if not 1 <= int(given) <= len(self._ids):
                raise InvalidInputError(f"number {given} is not in the last list; use an id or another number")
            return self._ids[int(given) - 1]
        if not given:
            raise InvalidInputError("give an id, or a number from the last list")
        return given
