"""The verbs of the assistant on a server: its model answers, its tools are called."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any, Unpack

from mnemic.api import ChatFields, ContextFields
from mnemic.api.research import ResearchFields
from mnemic.engine.research import ignore_progress
from mnemic.errors import BadReplyError, UnsupportedError
from mnemic.model.chat import Answer, ChatEvent, Replied, Reply, ToolOutcome, ToolSpec
from mnemic.model.document import ResearchReport
from mnemic.model.scope import Scope
from mnemic.ports.models import Tool
from mnemic.remote.connection import Connection, json_of
from mnemic.remote.failures import loads, problem_error
from mnemic.wire.events import event_from_wire
from mnemic.wire.reading import from_wire


class RemoteAssistant:
    """A part of `RemoteMnemic`."""

    _connection: Connection

    def chat(self, scope: Scope, message: str, **fields: Unpack[ChatFields]) -> Reply:
        """As `Mnemic.chat`."""
        return self._connection.ask("chat", Reply, scope, {"message": message, **fields})

    def chat_stream(self, scope: Scope, message: str, **fields: Unpack[ChatFields]) -> Generator[ChatEvent]:
        """As `Mnemic.chat_stream`; the events come while the server makes them."""
        return _events(self._connection.lines("chat_stream", scope, {"message": message, **fields}))

    def ask(self, scope: Scope, question: str, **fields: Unpack[ContextFields]) -> Answer:
        """As `Mnemic.ask`."""
        return self._connection.ask("ask", Answer, scope, {"question": question, **fields})

    def research(self, scope: Scope, document: str, question: str, **fields: Unpack[ResearchFields]) -> ResearchReport:
        """As `Mnemic.research`. The server tells how far it has come, so that no connection is idle meanwhile."""
        arguments = {name: value for name, value in fields.items() if name != "progress" and value is not None}
        body = json_of({"document": document, "question": question, **arguments})
        content = {"content": body, "headers": {"Content-Type": "application/json"}}
        progress = fields.get("progress") or ignore_progress

        def tell(event: Mapping[str, Any]) -> None:
            progress(event["done"], event["total"], event["what"])

        return from_wire(ResearchReport, self._connection.send_content("research", scope, {}, content, tell))

    @property
    def tools(self) -> RemoteTools:
        """As `Mnemic.tools`: those of the server."""
        return RemoteTools(self._connection)


class RemoteTools:
    """As `ToolVerbs`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> builtins.list[ToolSpec]:
        """As `ToolVerbs.list`."""
        return self._connection.ask("tools.list", builtins.list[ToolSpec], None, {})

    def add(self, *tools: Tool) -> None:
        """A function of this process cannot be called by a server. Raises UnsupportedError."""
        del tools
        raise UnsupportedError(
            "a server cannot call functions of this process; name their module in tools.modules there", capability="add"
        )

    def call(self, scope: Scope, name: str, arguments: Mapping[str, object] | None = None) -> ToolOutcome:
        """As `ToolVerbs.call`."""
        given = {"name": name, "arguments": dict(arguments or {})}
        return self._connection.ask("tools.call", ToolOutcome, scope, given)


def _events(lines: Generator[str]) -> Generator[ChatEvent]:
    """What the lines tell, until the reply. Raises the error that the server tells of."""
    with closing(lines):
        for line in lines:
            told = loads(line)
            if told.get("event") == "failed":
                raise problem_error(told["problem"]["status"], told["problem"])
            if (event := event_from_wire(told)) is not None:
                yield event
            if isinstance(event, Replied):
                return
    raise BadReplyError("the server ended the answer before the reply was whole")
