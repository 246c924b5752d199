"""The table of verbs: each verb's name, and its command, route and tool.

A row names a method of `Mnemic` (`recall`, or `documents.list` for a method of a group). Parameters, defaults and
result are in that method's signature and docstring only; `mnemic.api.signatures` reads them. The remote client, the
asyncio version, REST's routes, bodies and threads, and docs/reference/verbs.md are derived from both. This module
imports nothing of Mnemic, so that commands can read it at no cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PREFIX = "/v1"
LIBRARY, CLI, REST, REMOTE, MCP = "library", "command line", "REST", "remote client", "MCP"
DOORS = (LIBRARY, CLI, REST, REMOTE, MCP)
"""The library and its asyncio version have every verb."""


class Access(StrEnum):
    """The right that a verb needs. An operator has the right admin in the org `default` and manages the whole store."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    OPERATOR = "operator"


class Lane(StrEnum):
    """The server's thread pool for a verb: quick reads, quick writes, or long work."""

    READ = "read"
    WRITE = "write"
    LONG = "long"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb by its name in the library.

    `method` and `path`: its REST route below `PREFIX`, with path arguments in braces. `tag` groups it in the OpenAPI
    description, `right` is needed to call it, `lane` selects the threads, `status` is the success code. `in_query`: the
    arguments go into the query although it is not a GET. `here`: arguments that are sent differently, such as a file's
    content, or not at all, such as a backup's path. `takes_long`: it calls a language model or reads all rows, and may
    take minutes. `command` and `tool`: its command and MCP tool; "" if there is none, with the reason in `gaps`.
    """

    name: str
    method: str = ""
    path: str = ""
    tag: str = ""
    right: Access = Access.READ
    lane: Lane = Lane.READ
    command: str = ""
    tool: str = ""
    gaps: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 200
    in_query: bool = False
    here: tuple[str, ...] = ()
    takes_long: bool = False

    def is_offered(self, door: str) -> bool:
        """True if this door has the verb."""
        return door not in self.gaps

    @property
    def has_body(self) -> bool:
        """True if the other arguments are sent as a JSON object."""
        return self.method in ("POST", "PATCH", "PUT")

    def divided(self, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The path, the query and the body of a request."""
        from urllib.parse import quote  # the command line needs none of it

        left, path = dict(arguments), self.path
        for name in list(left):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(str(left.pop(name)), safe=""))
        if not self.has_body:
            return PREFIX + path, left, {}
        query = {name: left.pop(name) for name in list(left) if self.in_query and name not in self.here}
        return PREFIX + path, query, left


DEFAULT_TOOLS = "recall,remember,update_memory,forget,list_memories,search_documents"
"""The tools of an MCP client that chooses none. Each tool costs a model some of its context."""

_BULK = "for programs; use `import` to bring in many"
_BY_ITSELF = "done by the worker, not decided by a model"
_PEOPLE = "decided by people, not by a model"
_OPERATORS = "for operators of the store"
_OWN_MODEL = "the client has its own model; `context` and `recall` give it memory"
_IN_CONTEXT = "included in `context`"
_HERE = "only works within one process"
_ON_ITS_MACHINE = "only on the store's machine: a stolen key could replace everything"
_FEW = "a chat needs few tools"
_BOTH_SIDES = "`capture` takes both sides at once"
_LOCAL = "a model cannot choose local files"
_LISTED = "included in `list_documents`"
_RESOURCE = "the resource `mnemic://documents/{id}`"
_SEARCHED = "use `search_documents`"
_STREAM = "`chat` streams in a terminal"
_CALLED = "the protocol's own `tools/call`"
READ, WRITE, ADMIN, OPERATOR = Access
ADMIN_LONG = ADMIN, Lane.LONG
ADMIN_READ = ADMIN, Lane.READ
ADMIN_WRITE = ADMIN, Lane.WRITE
OPERATOR_LONG = OPERATOR, Lane.LONG
READS = READ, Lane.READ
READ_LONG = READ, Lane.LONG
WRITES = WRITE, Lane.WRITE
WRITE_LONG = WRITE, Lane.LONG
"""The right that a verb needs over HTTP, and its threads."""


def _row(name: str, route: str, tag: str, access: tuple[Access, Lane], command: str, **rest: Any) -> Verb:
    """A verb. `mcp`, `cli` and `net` (REST and the remote client) are the reasons why it is missing there."""
    net = rest.pop("net", "")
    gaps = {MCP: rest.pop("mcp", ""), CLI: rest.pop("cli", ""), REST: net, REMOTE: net}
    method, _, path = route.partition(" ")
    told = {door: reason for door, reason in gaps.items() if reason}
    return Verb(name, method, path, tag, *access, command, gaps=told, **rest)


VERBS = (
    _row("capture", "POST /messages", "messages", WRITES, "capture", tool="capture", status=201),
    _row("capture_many", "POST /messages/batch", "messages", WRITE_LONG, "", mcp=_FEW, cli=_BULK, status=201),
    _row("complete", "POST /turns/{turn_id}/complete", "messages", WRITES, "complete", mcp=_BOTH_SIDES),
    _row("remember", "POST /memories", "memories", WRITES, "remember", tool="remember", status=201),
    _row("remember_many", "POST /memories/batch", "memories", WRITE_LONG, "", mcp=_FEW, cli=_BULK, status=201),
    _row("recall", "POST /recall", "memories", READS, "recall", tool="recall"),
    _row("context", "POST /context", "memories", READS, "context", tool="context"),
    _row("why_not", "POST /memories/{id}/why-not", "memories", READS, "memory why-not", mcp=_PEOPLE),
    _row("get", "GET /memories/{id}", "memories", READS, "memory show", tool="get_memory"),
    _row("list", "GET /memories", "memories", READS, "memory list", tool="list_memories"),
    _row("count", "GET /counts", "memories", READS, "memory count", mcp=_PEOPLE),
    _row("update", "PATCH /memories/{id}", "memories", WRITES, "memory edit", tool="update_memory"),
    _row("pin", "POST /memories/{id}/pin", "memories", WRITES, "memory pin", mcp=_PEOPLE),
    _row("merge", "POST /memories/merge", "memories", WRITES, "memory merge", mcp=_PEOPLE),
    _row("undo", "POST /memories/{id}/undo", "memories", WRITES, "memory undo", mcp=_PEOPLE),
    _row("feedback", "POST /memories/{id}/feedback", "memories", WRITES, "memory feedback", tool="judge_memory"),
    _row("delete", "DELETE /memories/{id}", "memories", WRITES, "memory delete", tool="forget"),
    _row("clear", "POST /memories/clear", "memories", WRITE_LONG, "memory clear", mcp=_PEOPLE),
    _row("history", "GET /memories/{id}/history", "memories", READS, "memory history", tool="memory_history"),
    _row("review", "GET /review", "memories", READS, "memory review", mcp=_PEOPLE),
    _row("trust", "POST /memories/{id}/trust", "memories", WRITES, "memory trust", mcp=_PEOPLE),
    _row("reject", "POST /memories/{id}/reject", "memories", WRITES, "memory reject", mcp=_PEOPLE),
    _row("run_file_command", "POST /files", "memories", (READ, Lane.WRITE), "files run", tool="memory"),
    _row("profile.set", "PATCH /profile", "profile", WRITES, "profile set", tool="set_profile"),
    _row("profile.get", "GET /profile/facts", "profile", READS, "", tool="profile", cli="included in `profile show`"),
    _row("profile.all", "GET /profile", "profile", READS, "profile show", mcp=_IN_CONTEXT),
    _row("profile.format", "GET /profile/block", "profile", READS, "profile format", mcp=_IN_CONTEXT),
    _row("window", "GET /window", "messages", READS, "window", mcp=_IN_CONTEXT),
    _row("messages", "GET /messages", "messages", READS, "messages", mcp="use `recall` or `context`"),
    _row("contexts", "GET /contexts", "messages", READS, "contexts", mcp=_PEOPLE),
    _row("sessions", "GET /sessions", "messages", READS, "sessions", mcp=_PEOPLE),
    _row("summarise", "POST /summarise", "life", WRITE_LONG, "summarise", mcp=_BY_ITSELF),
    _row("end", "POST /end", "life", WRITE_LONG, "end", mcp=_BY_ITSELF),
    _row("reflect", "POST /reflect", "life", WRITE_LONG, "reflect", mcp=_BY_ITSELF),
    _row("extract", "POST /extract", "life", WRITE_LONG, "extract", mcp=_BY_ITSELF),
    _row("curate", "POST /curate", "life", WRITE_LONG, "curate", mcp=_BY_ITSELF),
    _row("consolidate", "POST /consolidate", "life", WRITE_LONG, "consolidate", mcp=_BY_ITSELF),
    _row("decay", "POST /decay", "life", WRITE_LONG, "decay", mcp=_BY_ITSELF),
    _row("evict", "POST /evict", "life", WRITE_LONG, "evict", mcp=_BY_ITSELF),
    _row(
        "ingest",
        "POST /documents",
        "documents",
        WRITE_LONG,
        "ingest",
        mcp=_LOCAL,
        in_query=True,
        here=("content", "config", "is_pruning"),
    ),
    _row(
        "research", "POST /research", "documents", READ_LONG, "research", tool="analyze_large_document", takes_long=True
    ),
    _row("documents.list", "GET /documents", "documents", READS, "documents list", tool="list_documents"),
    _row("documents.get", "GET /documents/{id}", "documents", READS, "documents show", mcp=_LISTED),
    _row("documents.text", "GET /texts/{id}", "documents", READS, "documents text", mcp=_RESOURCE),
    _row("documents.passages", "GET /passages/{id}", "documents", READS, "documents passages", mcp=_SEARCHED),
    _row("documents.delete", "DELETE /documents/{id}", "documents", WRITES, "documents delete", mcp=_PEOPLE),
    _row("graph.entities", "GET /graph/entities", "graph", READS, "graph entities", mcp="use `related`"),
    _row("graph.overview", "GET /graph", "graph", READS, "", mcp="use `related`", cli="drawn by `graph show`"),
    _row("graph.neighbours", "GET /graph/neighbours", "graph", READS, "graph neighbours", tool="related"),
    _row("graph.path", "GET /graph/path", "graph", READS, "graph path", tool="how_related"),
    _row("graph.correct", "POST /graph/correct", "graph", WRITES, "graph correct", tool="correct_graph"),
    _row("graph.undo", "POST /graph/undo", "graph", WRITES, "graph undo", mcp=_PEOPLE),
    _row("graph.extract", "POST /graph/extract", "graph", WRITE_LONG, "graph extract", mcp=_BY_ITSELF, takes_long=True),
    _row("chat", "POST /chat", "assistant", WRITE_LONG, "chat", mcp=_OWN_MODEL, takes_long=True),
    _row("chat_stream", "POST /chat/stream", "assistant", WRITE_LONG, "", mcp=_OWN_MODEL, cli=_STREAM, takes_long=True),
    _row("ask", "POST /ask", "assistant", READ_LONG, "ask", mcp=_OWN_MODEL, takes_long=True),
    _row("tools.list", "GET /tools", "assistant", READS, "tools list", mcp="the protocol's own `tools/list`"),
    _row("tools.call", "POST /tools/{name}/call", "assistant", READ_LONG, "tools call", mcp=_CALLED, takes_long=True),
    _row("tools.add", "", "", OPERATOR_LONG, "", mcp=_HERE, cli=_HERE, net="another process cannot call the function"),
    _row("export", "GET /export", "transfer", READ_LONG, "export", mcp=_PEOPLE),
    _row("import_", "POST /import", "transfer", WRITE_LONG, "import", mcp=_PEOPLE, in_query=True, here=("text",)),
    _row("erase", "POST /erase", "life", WRITE_LONG, "erase", mcp=_PEOPLE),
    _row("receipts", "GET /receipts", "life", READS, "receipts", mcp=_PEOPLE),
    _row("reembed", "POST /reembed", "upkeep", OPERATOR_LONG, "reembed", mcp=_OPERATORS, in_query=True),
    _row(
        "backup",
        "POST /backup",
        "upkeep",
        OPERATOR_LONG,
        "backup",
        mcp=_OPERATORS,
        takes_long=True,
        in_query=True,
        here=("path", "is_replacing"),
    ),
    _row("restore", "", "", OPERATOR_LONG, "restore", mcp=_OPERATORS, net=_ON_ITS_MACHINE),
    _row("jobs.list", "GET /jobs", "upkeep", READS, "jobs list", mcp=_OPERATORS),
    _row("jobs.retry", "POST /jobs/retry", "upkeep", WRITE_LONG, "jobs retry", mcp=_OPERATORS),
    _row("work", "POST /work", "upkeep", OPERATOR_LONG, "work", mcp=_OPERATORS),
    _row("worker", "", "", OPERATOR_LONG, "worker", mcp=_OPERATORS, net="the server runs its own"),
    _row("health", "POST /health", "upkeep", READ_LONG, "health", mcp=_PEOPLE, takes_long=True, in_query=True),
    _row("doctor", "GET /doctor", "upkeep", OPERATOR_LONG, "doctor", mcp=_OPERATORS),
    _row("users", "GET /users", "upkeep", OPERATOR_LONG, "users", mcp=_OPERATORS),
    _row("agents", "GET /agents", "upkeep", OPERATOR_LONG, "agents", mcp=_OPERATORS),
    _row("keys.create", "POST /keys", "keys", ADMIN_LONG, "keys create", mcp=_OPERATORS, status=201),
    _row("keys.list", "GET /keys", "keys", ADMIN_READ, "keys list", mcp=_OPERATORS),
    _row("keys.revoke", "DELETE /keys/{id}", "keys", ADMIN_WRITE, "keys revoke", mcp=_OPERATORS),
    _row("keys.rotate", "POST /keys/{id}/rotate", "keys", ADMIN_LONG, "keys rotate", mcp=_OPERATORS, status=201),
    _row("keys.audit", "GET /audit", "keys", ADMIN_READ, "keys audit", mcp=_OPERATORS),
)
"""Every verb, in the order of the reference."""

BY_NAME: Mapping[str, Verb] = {verb.name: verb for verb in VERBS}
ALIASES: Mapping[str, str] = {"summarize": "summarise", "graph.neighbors": "graph.neighbours"}
"""American spellings in the library. The British one is the name everywhere else."""

OTHER_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("add", "save", "store", "put"), "remember, or capture for messages"),
    **dict.fromkeys(("search", "query", "retrieve", "find"), "recall"),
    **dict.fromkeys(("get_all", "get_memories"), "list"),
    **dict.fromkeys(("delete_all", "reset"), "clear, or erase to leave no trace"),
    **dict.fromkeys(("forget", "remove"), "delete"),
    "get_context": "context",
}
"""Names that other programs have for verbs, and ours."""

ROUTES: Mapping[str, Verb] = {verb.name: verb for verb in VERBS if verb.method}
"""The verbs with a REST route."""
