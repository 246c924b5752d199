"""MCP over standard input and output: one client with one scope, fixed at start."""

import anyio
from mcp.server.stdio import stdio_server

from mnemic.api import Mnemic
from mnemic.mcp.server import Access, all_tools, choose_tools, make_server
from mnemic.model.scope import Scope


def serve_stdio(mnemic: Mnemic, scope: Scope, tools: str) -> None:
    """Serve until the client closes the input. Nothing else may write to standard output meanwhile. `tools`: as in
    `Access`. Raises `InvalidInputError` for an unknown tool.
    """
    choose_tools(all_tools(mnemic), tools)
    access = Access(scope, lambda _right: None, lambda _name, _done: None, lambda _partition: None, tools=tools)
    server = make_server(mnemic, lambda _request: access)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
