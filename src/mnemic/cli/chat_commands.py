"""What can be typed in a chat beside messages: look at the memory, see why, forget, and the profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mnemic.cli.output import Row, item_row, note, one_line, show_rows, write
from mnemic.cli.recall import explanation, show_recall
from mnemic.errors import InvalidInputError
from mnemic.model.chat import Reply
from mnemic.model.recall import Context, Recall
from mnemic.model.scope import Scope

if TYPE_CHECKING:
    from mnemic.api import Mnemic

HELP = (
    ("/memory [N]", "the newest memories, 10 unless said"),
    ("/recall QUESTION", "look something up"),
    ("/why", "why the last answer was given what it was given"),
    ("/why ID", "why a memory was, or was not, among it"),
    ("/forget ID", "delete a memory or message, by its id or its number in the last list"),
    ("/profile", "what is known of you by key"),
    ("/profile KEY=VALUE", "set a fact; an empty value removes it"),
    ("/tools", "the tools the assistant may call"),
    ("/session", "which conversation this is"),
    ("/quit", "end the chat"),
)
LISTED = 10


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
            "help": self._help,
            "memory": self._memory,
            "recall": self._look_up,
            "why": self._why,
            "forget": self._forget,
            "profile": self._profile,
            "tools": self._tools,
            "session": self._session,
        }
        if name in ("quit", "exit", "q"):
            return False
        if name not in commands:
            raise InvalidInputError(f"there is no command /{name}; /help lists them")
        commands[name](rest)
        return True

    def _help(self, _rest: str) -> None:
        for usage, about in HELP:
            write(f"{usage:<20} {about}")

    def _memory(self, rest: str) -> None:
        if rest and not rest.isdecimal():
            raise InvalidInputError("/memory takes a number, as /memory 20")
        page = self._mnemic.list(self._scope, limit=max(int(rest), 1) if rest else LISTED)
        self._ids = [memory.id for memory in page.memories]
        if not page.memories:
            note("nothing is remembered yet; what you say is kept, and facts are made of it by and by")
            return
        rows = [item_row(memory, str(n), memory.kind.value) for n, memory in enumerate(page.memories, start=1)]
        show_rows(("#", "kind"), rows)

    def _look_up(self, rest: str) -> None:
        found = self._mnemic.recall(self._scope, rest)
        self._ids = [hit.id for hit in found.hits]
        show_recall(found, is_explained=False)

    def _why(self, rest: str) -> None:
        if rest:
            self._why_one(self._id(rest))
            return
        if self._recall is None:
            note("nothing was asked yet")
            return
        rows = [
            item_row(hit.item, str(n), f"{hit.score:.2f}", why=explanation(hit))
            for n, hit in enumerate(self._recall.hits, start=1)
        ]
        if rows:
            show_rows(("#", "score"), rows)
        else:
            note(f"nothing was found for: {one_line(self._asked)}")
        if self._timings:
            note("time: " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in self._timings.items()))
        for step in self._reply.steps if self._reply else ():
            write(f"{step.outcome.call.name}: {one_line(step.reason) or 'called without a reason'}")

    def _why_one(self, id: str) -> None:
        if not self._asked:
            note("nothing was asked yet")
            return
        told = self._mnemic.why_not(self._scope, id, self._asked)
        write(one_line(told.reason))

    def _forget(self, rest: str) -> None:
        item = self._mnemic.get(self._scope, self._id(rest))
        self._mnemic.delete(self._scope, item.id, reason="asked to in a chat")
        write(f"forgotten: {one_line(item.text)[:200]}")

    def _profile(self, rest: str) -> None:
        if rest:
            key, sign, value = (part.strip() for part in rest.partition("="))
            if not sign:
                raise InvalidInputError("say /profile KEY=VALUE, or /profile alone to see it")
            self._mnemic.profile.set(self._scope, {key: value or None})
        known = self._mnemic.profile.get(self._scope)
        if known:
            show_rows(("key",), [Row((one_line(key),), one_line(value), ()) for key, value in known.items()])
        else:
            note("the profile is empty; /profile KEY=VALUE sets a fact")

    def _tools(self, _rest: str) -> None:
        for tool in self._mnemic.tools.list():
            write(f"{tool.name:<18} {one_line(tool.description.partition('.')[0])}")

    def _session(self, _rest: str) -> None:
        write(f"user {one_line(self._scope.user or '')}, session {one_line(self._scope.session or '')}")

    def _id(self, told: str) -> str:
        """An id, or the one that a number of the last list stands for."""
        if told.isdecimal():
            if not 1 <= int(told) <= len(self._ids):
                raise InvalidInputError(f"the last list has no number {told}")
            return self._ids[int(told) - 1]
        if not told:
            raise InvalidInputError("say which: an id, or the number in the last list")
        return told
