"""The door of MCP: the official client in this process, its answers as they are on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from mcp import Client

from mnemic import Mnemic
from mnemic.mcp.server import FULL, KIND, RESULT, Access, make_server
from mnemic.mcp.verbs import verb_tools
from mnemic.model.scope import Scope
from mnemic.verbs import BY_NAME
from tests.doors.doors import KINDS


class McpDoor:
    """Calls tools, each in the scope of its step."""

    def __init__(self, store: str) -> None:
        self._mnemic = Mnemic.open(store)
        self._scope = Scope()
        self._runner = asyncio.Runner()
        self._server = make_server(self._mnemic, lambda _: self._access())

    def call(self, verb: str, scope: Scope, arguments: Mapping[str, Any]) -> Any:
        self._scope = scope
        return self._runner.run(self._called(BY_NAME[verb].tool, dict(arguments)))

    def close(self) -> None:
        self._runner.close()
        self._mnemic.close()

    def _access(self) -> Access:
        return Access(self._scope, lambda _: None, lambda _name, _done: None, lambda _: None)

    async def _called(self, tool: str, arguments: dict[str, Any]) -> Any:
        async with Client(self._server) as client:
            answer = await client.call_tool(tool, arguments, meta=cast("Any", {FULL: True}))
        said = "\n".join(getattr(part, "text", "") for part in answer.content)
        if answer.is_error:
            raise KINDS[(answer.meta or {})[KIND]](said)
        assert said, "a model is told nothing"
        told: Any = answer.structured_content
        assert told["text"] == said
        return told[RESULT]


@cache
def arguments_of(tool: str) -> frozenset[str]:
    """What a tool takes."""
    with Mnemic.open("memory://") as mnemic:
        tools = {each.spec.name: each.spec for each in (*mnemic.tools.toolbox, *verb_tools(mnemic))}
    return frozenset(cast("dict[str, object]", tools[tool].parameters["properties"]))


def takes(verb: str, arguments: Mapping[str, object]) -> bool:
    """True when the tool of a verb has these arguments: models get few."""
    return set(arguments) <= arguments_of(BY_NAME[verb].tool)
