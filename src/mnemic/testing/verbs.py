"""Which door offers which verb: the one table, with a reason for each gap.

The library and the same for asyncio have every verb. `tests/doors/test_verbs.py` holds the table to the real doors, and
docs/reference/verbs.md is made of it. The scenarios run through each door whose verbs they use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LIBRARY, CLI, REST, REMOTE, MCP = "library", "command line", "REST", "remote client", "MCP"
DOORS = (LIBRARY, CLI, REST, REMOTE, MCP)

_BULK = "a program's way; `import` brings many in"
_BY_ITSELF = "done by the worker, not for a model to decide"
_FOR_PEOPLE = "for a person to decide, not for a model"
_FOR_THE_OPERATOR = "for whoever runs the store"
_OWN_MODEL = "the client has a model of its own; `context` and `recall` give it memory"
_IN_CONTEXT = "`context` holds it"
_HERE = "lives in this process"
_ON_ITS_MACHINE = "on the store's own machine alone: with a stolen key everything could be replaced"
_FEW = "a chat needs few tools"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb by its name in the library. `command`: that of the command line, `tool`: that of MCP; "" where there is
    none, for the reason under the door's name in `gaps`.
    """

    name: str
    command: str = ""
    tool: str = ""
    gaps: Mapping[str, str] = field(default_factory=dict[str, str])

    def is_offered(self, door: str) -> bool:
        """True when the door has it."""
        return door not in self.gaps


def _verb(name: str, command: str, *, tool: str = "", mcp: str = "", cli: str = "", net: str = "") -> Verb:
    """A verb; `mcp`, `cli` and `net` (REST and the remote client) say why it is missing there."""
    gaps = {MCP: mcp, CLI: cli, REST: net, REMOTE: net}
    return Verb(name, command, tool, {door: reason for door, reason in gaps.items() if reason})


VERBS = (
    _verb("capture", "capture", tool="capture"),
    _verb("capture_many", "", mcp=_FEW, cli=_BULK),
    _verb("complete", "complete", mcp="`capture` takes both sides at once"),
    _verb("remember", "remember", tool="remember"),
    _verb("remember_many", "", mcp=_FEW, cli=_BULK),
    _verb("recall", "recall", tool="recall"),
    _verb("context", "context", tool="context"),
    _verb("why_not", "memory why-not", mcp=_FOR_PEOPLE),
    _verb("get", "memory show", tool="get_memory"),
    _verb("list", "memory list", tool="list_memories"),
    _verb("count", "memory count", mcp=_FOR_PEOPLE),
    _verb("update", "memory edit", tool="update_memory"),
    _verb("pin", "memory pin", mcp=_FOR_PEOPLE),
    _verb("merge", "memory merge", mcp=_FOR_PEOPLE),
    _verb("undo", "memory undo", mcp=_FOR_PEOPLE),
    _verb("feedback", "memory feedback", tool="judge_memory"),
    _verb("delete", "memory delete", tool="forget"),
    _verb("clear", "memory clear", mcp=_FOR_PEOPLE),
    _verb("history", "memory history", tool="memory_history"),
    _verb("review", "memory review", mcp=_FOR_PEOPLE),
    _verb("trust", "memory trust", mcp=_FOR_PEOPLE),
    _verb("reject", "memory reject", mcp=_FOR_PEOPLE),
    _verb("profile.set", "profile set", tool="set_profile"),
    _verb("profile.get", "", tool="profile", cli="`profile show` holds it"),
    _verb("profile.all", "profile show", mcp=_IN_CONTEXT),
    _verb("profile.format", "profile format", mcp=_IN_CONTEXT),
    _verb("window", "window", mcp=_IN_CONTEXT),
    _verb("messages", "messages", mcp="`recall` and `context` find what was said"),
    _verb("summarise", "summarise", mcp=_BY_ITSELF),
    _verb("end", "end", mcp=_BY_ITSELF),
    _verb("reflect", "reflect", mcp=_BY_ITSELF),
    _verb("extract", "extract", mcp=_BY_ITSELF),
    _verb("curate", "curate", mcp=_BY_ITSELF),
    _verb("consolidate", "consolidate", mcp=_BY_ITSELF),
    _verb("decay", "decay", mcp=_BY_ITSELF),
    _verb("evict", "evict", mcp=_BY_ITSELF),
    _verb("ingest", "ingest", mcp="a model does not name files of this machine"),
    _verb("research", "research", tool="analyze_large_document"),
    _verb("documents.list", "documents list", tool="list_documents"),
    _verb("documents.get", "documents show", mcp="`list_documents` holds it"),
    _verb("documents.text", "documents text", mcp="read as the resource `mnemic://documents/{id}`"),
    _verb("documents.passages", "documents passages", mcp="`search_documents` gives those that answer"),
    _verb("documents.delete", "documents delete", mcp=_FOR_PEOPLE),
    _verb("graph.entities", "graph entities", mcp="`related` names what it finds"),
    _verb("graph.neighbours", "graph neighbours", tool="related"),
    _verb("graph.path", "graph path", tool="how_related"),
    _verb("graph.extract", "graph extract", mcp=_BY_ITSELF),
    _verb("chat", "chat", mcp=_OWN_MODEL),
    _verb("chat_stream", "", mcp=_OWN_MODEL, cli="`chat` streams on a terminal, for people"),
    _verb("ask", "ask", mcp=_OWN_MODEL),
    _verb("tools.list", "tools list", mcp="the protocol's own `tools/list`"),
    _verb("tools.call", "tools call", mcp="the protocol's own `tools/call`"),
    _verb("tools.add", "", mcp=_HERE, cli=_HERE, net="a function of one process cannot be called by another"),
    _verb("export", "export", mcp=_FOR_PEOPLE),
    _verb("import_", "import", mcp=_FOR_PEOPLE),
    _verb("erase", "erase", mcp=_FOR_PEOPLE),
    _verb("receipts", "receipts", mcp=_FOR_PEOPLE),
    _verb("reembed", "reembed", mcp=_FOR_THE_OPERATOR),
    _verb("backup", "backup", mcp=_FOR_THE_OPERATOR),
    _verb("restore", "restore", mcp=_FOR_THE_OPERATOR, net=_ON_ITS_MACHINE),
    _verb("jobs.list", "jobs list", mcp=_FOR_THE_OPERATOR),
    _verb("jobs.retry", "jobs retry", mcp=_FOR_THE_OPERATOR),
    _verb("work", "work", mcp=_FOR_THE_OPERATOR),
    _verb("worker", "worker", mcp=_FOR_THE_OPERATOR, net="the server runs its own"),
    _verb("health", "health", mcp=_FOR_PEOPLE),
    _verb("doctor", "doctor", mcp=_FOR_THE_OPERATOR),
    _verb("keys.create", "keys create", mcp=_FOR_THE_OPERATOR),
    _verb("keys.list", "keys list", mcp=_FOR_THE_OPERATOR),
    _verb("keys.revoke", "keys revoke", mcp=_FOR_THE_OPERATOR),
    _verb("keys.rotate", "keys rotate", mcp=_FOR_THE_OPERATOR),
    _verb("keys.audit", "keys audit", mcp=_FOR_THE_OPERATOR),
)
"""Every verb, in the order of the reference."""

BY_NAME: Mapping[str, Verb] = {verb.name: verb for verb in VERBS}

OTHER_COMMANDS: Mapping[str, str] = {
    "memory add": "another name of `remember`",
    "memory unpin": "`memory pin` the other way",
    "profile remove": "`profile set` with nothing",
    "graph show": "draws what `graph neighbours` and `graph entities` find",
    "serve": "starts REST, MCP and the proxy",
    "mcp": "starts MCP for one client",
    "mcp install": "tells a client of it",
    "hooks install": "lets a coding assistant call it",
    "hooks uninstall": "takes that back",
    "hooks run": "answers one event of a coding assistant",
    "init": "writes a configuration",
    "config show": "tells what is configured",
    "tour": "shows what there is",
    "eval retrieval": "measures",
    "eval speed": "measures",
    "eval extraction": "measures",
    "eval guard": "measures",
    "eval answers": "measures",
}
"""Commands that are no verb, and what they are instead."""
