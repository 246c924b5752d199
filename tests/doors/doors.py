"""The doors, each called in the same way: a verb, a scope, arguments; the answer as it is on the wire."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Protocol, cast

from mnemic import AsyncMnemic, Mnemic
from mnemic.cli import main
from mnemic.cli.failures import EXIT_CODES, PARTIAL
from mnemic.errors import error_kind
from mnemic.model.scope import Scope
from mnemic.verbs import VERBS
from mnemic.wire import to_wire
from mnemic.wire.reading import event_to_wire

OPTION_NAMES = {
    "categories": "--category",
    "tools": "--tool",
    "rules": "--rule",
    "kinds": "--kind",
    "levels": "--level",
    "states": "--state",
    "is_pinned": "--pin",
    "is_private": "--private",
    "is_dry_run": "--dry-run",
    "is_flush": "--flush",
    "is_ephemeral": "--ephemeral",
    "is_pruning": "--prune",
    "is_removed": "--remove",
    "is_quick": "--quick",
    "is_again": "--again",
    "statuses": "--status",
    "types": "--type",
}
UNASKED = {"clear", "erase"}
"""Commands that ask before they do it, unless told."""

COMMANDS = {
    verb.name: [*verb.command.split(), *(["--yes"] if verb.name in UNASKED else [])] for verb in VERBS if verb.command
}
POSITIONAL = (
    "text",
    "id",
    "document",
    "ids",
    "turn_id",
    "query",
    "question",
    "name",
    "verdict",
    "source",
    "target",
    "command",
)
WITHOUT_SCOPE = ("doctor", "work", "tools.list")
OPTIONS = {
    *(("update", "text"), ("merge", "text"), ("complete", "name"), ("graph.correct", "target")),
    *(("ingest", "name"), ("import_", "name"), ("ingest", "source"), ("remember", "source")),
}
"""Arguments that are options of their commands, although others give them as operands."""

ENDABLE = ("valid_from", "valid_to", "expires_at")
KINDS = {error_kind(error): error for error in EXIT_CODES}


class Door(Protocol):
    """A way in. `call` gives the answer on the wire, or raises the error that the door told."""

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any: ...

    def close(self) -> None: ...


class LibraryDoor:
    """Mnemic itself."""

    def __init__(self, store: str) -> None:
        self._mnemic = Mnemic.open(store)

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
        return on_wire(verb, called(self._mnemic, verb, scope, arguments))

    def close(self) -> None:
        self._mnemic.close()


class AsyncDoor:
    """AsyncMnemic, on an event loop of its own."""

    def __init__(self, store: str) -> None:
        self._runner = asyncio.Runner()
        self._mnemic = AsyncMnemic.open(store)

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
        return self._runner.run(awaited(self._mnemic, verb, scope, arguments))

    def close(self) -> None:
        self._runner.run(self._mnemic.close())
        self._runner.close()


def called(mnemic: Any, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
    """What a verb answers; some take no scope."""
    given = () if verb in WITHOUT_SCOPE else (scope,)
    return attrgetter(verb)(mnemic)(*given, **arguments)


async def awaited(mnemic: AsyncMnemic, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
    """The same for asyncio, on the wire."""
    answer = await called(mnemic, verb, scope, arguments)
    return on_wire(verb, [event async for event in answer] if verb == "chat_stream" else answer)


def on_wire(verb: str, answer: Any) -> Any:
    """An answer as doors tell it: a list where it comes bit by bit."""
    if verb == "chat_stream":
        return [event_to_wire(event) for event in answer]
    return to_wire(list(answer) if verb == "export" else answer)


class CommandLineDoor:
    """`mnemic … --json`, in this process."""

    def __init__(self, store: str) -> None:
        self._store = store
        run(["--store", store], ["work"])  # only a command that may write creates a store

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
        command, stdin = command_line(verb, arguments)
        code, out, err = run(["--store", self._store, "--json", *scope_options(scope), *command[1]], command[0], stdin)
        if code in (0, PARTIAL):
            return out.removesuffix("\n").split("\n") if verb == "export" else json.loads(out)
        told = json.loads(err)["error"]
        error = KINDS[told["kind"]]
        assert EXIT_CODES[error] == code
        raise error(told["message"])

    def close(self) -> None:
        """Nothing stays open between commands."""


def scope_options(scope: Scope) -> list[str]:
    parts = {"--org": scope.org, "--agent": scope.agent, "--user": scope.user, "--session": scope.session}
    return [word for option, value in parts.items() if value is not None for word in (option, value)]


def command_line(verb: str, arguments: Mapping[str, Any]) -> tuple[tuple[list[str], list[str]], bytes]:
    """The command, its options and operands, and its standard input."""
    given = dict(arguments)
    words = [name for name in POSITIONAL if name in given and (verb, name) not in OPTIONS]
    operands: list[str] = [str(word) for name in words for word in listed(given.pop(name))]
    stdin, command = b"", COMMANDS[verb]
    if verb == "pin" and not given.pop("is_pinned", True):
        command = ["memory", "unpin"]
    if verb in {"import_", "profile.set"}:
        facts = given.pop("facts", None)
        stdin, operands = (operands[0] if facts is None else json.dumps(facts)).encode(), ["-"]
    if verb == "remember" and ("\0" in operands[0] or len(operands[0]) > 30_000):  # what no argument can hold
        stdin, operands = operands[0].encode() + b"\n", ["-"]
    if verb == "chat":
        stdin, command = f"{given.pop('message')}\n".encode(), ["chat", "--no-worker"]
        if given.get("tools") is False:
            given["no_tools"] = given.pop("tools") is False
        if given.get("captures") is False:
            given["no_capture"] = given.pop("captures") is False
    if verb == "capture" and "messages" in given:
        stdin, operands = json.dumps(given.pop("messages")).encode(), ["-"]
    if verb in {"capture", "complete"}:
        given = {f"{name}_text" if name in {"user", "assistant"} else name: value for name, value in given.items()}
    if verb == "ingest":
        content = given.pop("content")
        stdin, operands = (content, ["-"]) if isinstance(content, bytes) else (b"", [content])
    options: list[str] = [word for name, value in given.items() for word in option(name, value)]
    return (command, [*options, "--", *operands]), stdin


def listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def option(name: str, value: Any) -> list[str]:
    flag = OPTION_NAMES.get(name, f"--{name.replace('_', '-')}")
    if value is None:
        return [flag, "none"] if name in ENDABLE else ["--all"]
    if name == "categories" and not value:
        return ["--no-categories"]
    if name == "limits":
        return [word for level, cap in value.items() for word in ("--level-limit", f"{level}={cap}")]
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, list):
        return [word for part in cast("list[object]", value) for word in (flag, str(part))]
    return [flag, json.dumps(value) if isinstance(value, dict) else str(value)]


def run(options: Sequence[str], command: Sequence[str], stdin: bytes = b"") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command line, run in this process."""
    with replaced_streams(stdin) as (out, err):
        code = main([*command, *options])
        sys.stdout.flush()
        sys.stderr.flush()
        return code, out.getvalue().decode(), err.getvalue().decode()


@contextmanager
def replaced_streams(stdin: bytes):
    kept = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", newline="\n")
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", newline="\n")
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
