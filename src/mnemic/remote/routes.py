"""Which route each verb is behind: one table, the server's description in short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

PREFIX = "/v1"


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path. Arguments whose names are in braces in the path go there; of the rest those in `query`, or
    all where there is no body, go into the query, and what is left makes the body. `takes_long`: a language model
    answers, or all rows are gone through, which may take minutes.
    """

    method: str
    path: str
    query: tuple[str, ...] = ()
    takes_long: bool = False

    @property
    def has_body(self) -> bool:
        """True when what is not in path and query is sent as a JSON object."""
        return self.method in ("POST", "PATCH", "PUT")

    def divided(self, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The path, what goes into the query, and what goes into the body."""
        left, path = dict(arguments), self.path
        for name in list(left):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(str(left.pop(name)), safe=""))
        names = self.query if self.has_body else tuple(left)
        query = {name: left.pop(name) for name in names if name in left}
        return PREFIX + path, query, left


ROUTES: Mapping[str, Route] = {
    "recall": Route("POST", "/recall"),
    "context": Route("POST", "/context"),
    "list": Route("GET", "/memories"),
    "count": Route("GET", "/counts"),
    "get": Route("GET", "/memories/{id}"),
    "history": Route("GET", "/memories/{id}/history"),
    "why_not": Route("POST", "/memories/{id}/why-not"),
    "remember": Route("POST", "/memories"),
    "remember_many": Route("POST", "/memories/batch"),
    "clear": Route("POST", "/memories/clear"),
    "delete": Route("DELETE", "/memories/{id}"),
    "update": Route("PATCH", "/memories/{id}"),
    "undo": Route("POST", "/memories/{id}/undo"),
    "merge": Route("POST", "/memories/merge"),
    "pin": Route("POST", "/memories/{id}/pin"),
    "review": Route("GET", "/review"),
    "trust": Route("POST", "/memories/{id}/trust"),
    "reject": Route("POST", "/memories/{id}/reject"),
    "feedback": Route("POST", "/memories/{id}/feedback"),
    "capture": Route("POST", "/messages"),
    "capture_many": Route("POST", "/messages/batch"),
    "complete": Route("POST", "/turns/{turn_id}/complete"),
    "window": Route("GET", "/window"),
    "messages": Route("GET", "/messages"),
    "summarise": Route("POST", "/summarise"),
    "end": Route("POST", "/end"),
    "reflect": Route("POST", "/reflect"),
    "extract": Route("POST", "/extract"),
    "curate": Route("POST", "/curate"),
    "consolidate": Route("POST", "/consolidate"),
    "decay": Route("POST", "/decay"),
    "evict": Route("POST", "/evict"),
    "erase": Route("POST", "/erase"),
    "receipts": Route("GET", "/receipts"),
    "profile.all": Route("GET", "/profile"),
    "profile.set": Route("PATCH", "/profile"),
    "profile.get": Route("GET", "/profile/facts"),
    "profile.format": Route("GET", "/profile/block"),
    "jobs.list": Route("GET", "/jobs"),
    "jobs.retry": Route("POST", "/jobs/retry"),
    "work": Route("POST", "/work"),
    "reembed": Route("POST", "/reembed", query=("is_dry_run", "is_pruning")),
    "backup": Route("POST", "/backup", query=("contents", "is_sealed"), takes_long=True),
    "health": Route("POST", "/health", query=("only", "fix", "levels", "limit", "is_dry_run"), takes_long=True),
    "doctor": Route("GET", "/doctor"),
    "keys.create": Route("POST", "/keys"),
    "keys.list": Route("GET", "/keys"),
    "keys.revoke": Route("DELETE", "/keys/{id}"),
    "keys.rotate": Route("POST", "/keys/{id}/rotate"),
    "keys.audit": Route("GET", "/audit"),
    "chat": Route("POST", "/chat", takes_long=True),
    "chat_stream": Route("POST", "/chat/stream", takes_long=True),
    "ask": Route("POST", "/ask", takes_long=True),
    "tools.list": Route("GET", "/tools"),
    "tools.call": Route("POST", "/tools/{name}/call", takes_long=True),
    "export": Route("GET", "/export"),
    "import_": Route("POST", "/import", query=("format", "name", "is_dry_run", "include_tools")),
    "ingest": Route(
        "POST",
        "/documents",
        query=("name", "source", "level", "is_private", "is_dry_run", "is_again", "chunking", "secrets"),
    ),
    "research": Route("POST", "/research", takes_long=True),
    "documents.list": Route("GET", "/documents"),
    "documents.get": Route("GET", "/documents/{id}"),
    "documents.text": Route("GET", "/texts/{id}"),
    "documents.passages": Route("GET", "/passages/{id}"),
    "documents.delete": Route("DELETE", "/documents/{id}"),
    "graph.entities": Route("GET", "/graph/entities"),
    "graph.neighbours": Route("GET", "/graph/neighbours"),
    "graph.path": Route("GET", "/graph/path"),
    "graph.extract": Route("POST", "/graph/extract", takes_long=True),
}
