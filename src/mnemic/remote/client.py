"""RemoteMnemic: Mnemic's verbs on a server, which checks the arguments. No logic lives here. Verbs are derived from the
library's: a call is bound to the signature and sent to its route, and the answer is parsed as the return type. Only
streams, files and unsupported verbs are written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing
from functools import wraps
from os import fspath
from pathlib import Path
from typing import Any, TypeVar, cast

from mnemic.aio import DEFAULT_THREADS, AsyncMnemic
from mnemic.api import DocumentVerbs, GraphVerbs, JobVerbs, KeyVerbs, MnemicVerbs, ProfileVerbs, ToolVerbs
from mnemic.api.doors import receive_backup
from mnemic.api.signatures import bind, hints_of
from mnemic.api.views import Scoping
from mnemic.errors import BadReplyError, InvalidInputError, UnavailableError, UnsupportedError
from mnemic.model.chat import ChatEvent, Replied
from mnemic.remote.connection import Connection, Progress, json_of, loads, problem_error
from mnemic.verbs import ALIASES, BY_NAME
from mnemic.wire.reading import PROGRESS, event_from_wire, from_wire

TIMEOUT_S = 60.0
"""Enough for a slow embedder on the server. Longer work has its own, longer time limit."""

REFUSALS: Mapping[str, tuple[str, str]] = {
    "restore": ("restore", "a store can only be restored on its own machine; run `mnemic restore` there"),
    "worker": ("worker", "jobs run on the server; `mnemic serve` runs a worker"),
    "tools.add": ("add", "a server cannot call functions in this process; add their module to tools.modules there"),
}
"""Verbs that a server lacks: the missing capability, and what to do instead."""

HERE_ONLY = ("is_pruning", "config")
"""Arguments of `ingest` that a server does not accept: one is for folders, the other is in its configuration."""

_Class = TypeVar("_Class", bound=type)


def connect(url: str, key: str | None = None, *, timeout_s: float = TIMEOUT_S) -> RemoteMnemic:
    """Connect to the server at `url` with an API key. Sends no request before the first verb."""
    return RemoteMnemic(Connection(url, key, timeout_s))


def connect_async(
    url: str, key: str | None = None, *, timeout_s: float = TIMEOUT_S, threads: int = DEFAULT_THREADS
) -> AsyncMnemic:
    """Like `connect`, for asyncio. Each verb waits on one of `threads` threads, never on the event loop."""
    return AsyncMnemic(connect(url, key, timeout_s=timeout_s), threads=threads)


def _ask_server_for(group: str = "") -> Callable[[_Class], _Class]:
    """Replace a class's inherited verbs by requests to a server."""

    def made(cls: _Class) -> _Class:
        for verb in (*BY_NAME, *ALIASES):
            name = verb.removeprefix(group)
            if verb.startswith(group) and "." not in name:
                setattr(cls, name, _make_verb(ALIASES.get(verb, verb), getattr(cls, name)))
        return cls

    return made


def _make_verb(verb: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a verb with the library's signature."""

    @wraps(function)
    def call(self: _Part, *arguments: Any, **named: Any) -> Any:
        if verb in REFUSALS:
            capability, told = REFUSALS[verb]
            raise UnsupportedError(told, capability=capability)
        return BY_HAND.get(verb, _ask)(self.connection, verb, bind(verb, arguments, named))

    return call


def _ask(connection: Connection, verb: str, given: dict[str, Any]) -> Any:
    """Call a verb on the server and parse its answer."""
    return connection.ask(verb, hints_of(verb)["return"], given.pop("scope", None), given)


def _send(connection: Connection, verb: str, given: dict[str, Any], content: Mapping[str, Any]) -> Any:
    """Send a body, or only a query, and report progress."""
    scope, progress = given.pop("scope", None), given.pop("progress", None)
    names = PROGRESS[verb]

    def tell(event: Mapping[str, Any]) -> None:
        if progress is not None:
            progress(*(event[name] for name in names))

    # Without progress events, the connection of `research` would be idle for minutes.
    wanted: Progress | None = tell if progress is not None or verb == "research" else None
    return from_wire(hints_of(verb)["return"], connection.send_content(verb, scope, given, content, wanted))


class _Part:
    """Verbs of a server."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


@_ask_server_for("profile.")
class RemoteProfile(_Part, ProfileVerbs):
    """Like `ProfileVerbs`."""


@_ask_server_for("documents.")
class RemoteDocuments(_Part, DocumentVerbs):
    """Like `DocumentVerbs`."""


@_ask_server_for("graph.")
class RemoteGraph(_Part, GraphVerbs):
    """Like `GraphVerbs`."""


@_ask_server_for("tools.")
class RemoteTools(_Part, ToolVerbs):
    """Like `ToolVerbs`."""


@_ask_server_for("jobs.")
class RemoteJobs(_Part, JobVerbs):
    """Like `JobVerbs`."""


@_ask_server_for("keys.")
class RemoteKeys(_Part, KeyVerbs):
    """Like `KeyVerbs`. The hash of a key's secret stays on the server."""


@_ask_server_for()
class RemoteMnemic(_Part, MnemicVerbs, Scoping, AbstractContextManager["RemoteMnemic"]):
    """An open connection. Thread-safe. Close it, or use it in a `with` block. It has the verbs of `Mnemic` with the
    same arguments, results and errors. A scope's org must be the key's org, or "default", which stands for it.
    """

    @property
    def profile(self) -> RemoteProfile:
        """Like `Mnemic.profile`."""
        return RemoteProfile(self.connection)

    @property
    def documents(self) -> RemoteDocuments:
        """Like `Mnemic.documents`."""
        return RemoteDocuments(self.connection)

    @property
    def graph(self) -> RemoteGraph:
        """Like `Mnemic.graph`."""
        return RemoteGraph(self.connection)

    @property
    def tools(self) -> RemoteTools:
        """Like `Mnemic.tools`, with the server's tools."""
        return RemoteTools(self.connection)

    @property
    def jobs(self) -> RemoteJobs:
        """Like `Mnemic.jobs`."""
        return RemoteJobs(self.connection)

    @property
    def keys(self) -> RemoteKeys:
        """Like `Mnemic.keys`."""
        return RemoteKeys(self.connection)

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self.connection.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def _stream_chat(connection: Connection, verb: str, given: dict[str, Any]) -> Generator[ChatEvent]:
    """Like `Mnemic.chat_stream`. Events arrive while the server makes them."""
    return _read_events(connection.lines(verb, given.pop("scope"), given))


def _stream_export(connection: Connection, verb: str, given: dict[str, Any]) -> Generator[str]:
    """Like `Mnemic.export`. Lines arrive while the server makes them."""
    return connection.lines(verb, given.pop("scope"), given)


def _send_import(connection: Connection, verb: str, given: dict[str, Any]) -> Any:
    """Like `Mnemic.import_`."""
    text = given.pop("text")
    content = text.encode() if isinstance(text, str) else text
    headers = {"Content-Type": "text/plain; charset=utf-8"}
    return _send(connection, verb, given, {"content": content, "headers": headers})


def _send_file(connection: Connection, verb: str, given: dict[str, Any]) -> Any:
    """Like `Mnemic.ingest`, for one local file or bytes. Raises `UnsupportedError` for a folder."""
    given = {name: value for name, value in given.items() if value is not None}
    for name in HERE_ONLY:
        if given.pop(name, None):
            raise UnsupportedError(f"a server does not accept {name!r}; omit it", capability=name)
    content = given.pop("content")
    data = content if isinstance(content, bytes) else _read_file(Path(fspath(cast("str", content))), given)
    file = (str(given.get("name") or given.get("source") or ""), data)
    return _send(connection, verb, given, {"files": {"file": file}})


def _send_question(connection: Connection, verb: str, given: dict[str, Any]) -> Any:
    """Like `Mnemic.research`."""
    sent = {name: given.pop(name) for name in list(given) if name not in ("scope", "progress")}
    body = json_of({name: value for name, value in sent.items() if value is not None})
    return _send(connection, verb, given, {"content": body, "headers": {"Content-Type": "application/json"}})


def _send_nothing(connection: Connection, verb: str, given: dict[str, Any]) -> Any:
    """Call a verb that reports progress and has all arguments in the query."""
    return _send(connection, verb, given, {})


def _receive_backup(connection: Connection, verb: str, given: dict[str, Any]) -> Any:
    """Like `Mnemic.backup`, from the server's store to a local file. Needs an operator's key."""
    here = {name: given.pop(name) for name in ("is_replacing", "progress") if name in given}
    return receive_backup(given.pop("path"), connection.content(verb, given), **here)


BY_HAND: Mapping[str, Callable[[Connection, str, dict[str, Any]], Any]] = {
    "chat_stream": _stream_chat,
    "export": _stream_export,
    "import_": _send_import,
    "ingest": _send_file,
    "research": _send_question,
    "health": _send_nothing,
    "reembed": _send_nothing,
    "backup": _receive_backup,
}
"""Streams, files and progress."""


def _read_events(lines: Generator[str]) -> Generator[ChatEvent]:
    """Parse events up to the reply. Raises the error that the server reports."""
    with closing(lines):
        for line in lines:
            told = loads(line)
            if told.get("event") == "failed":
                raise problem_error(told["problem"]["status"], told["problem"])
            if (event := event_from_wire(told)) is not None:
                yield event
            if isinstance(event, Replied):
                return
    raise BadReplyError("the server stopped before its response was complete; try again")


def _read_file(path: Path, given: dict[str, Any]) -> bytes:
    """Read a local file, and add its name and source as `Mnemic.ingest` would."""
    if path.is_dir():
        raise UnsupportedError(f"{path} is a folder; a server accepts one file at a time", capability="folder")
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path} does not exist") from error
    except OSError as error:
        raise UnavailableError(f"{path} cannot be read: {error.strerror}") from error
    given["name"] = path.name
    given.setdefault("source", str(path.absolute()))
    return data
