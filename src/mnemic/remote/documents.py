"""Files to a server, and what it keeps of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from os import fspath
from pathlib import Path
from typing import Any, Unpack

from mnemic.api.documents import LISTED, Content, DocumentFields, IngestFields
from mnemic.engine.documents import DocumentPage
from mnemic.errors import InvalidInputError, UnavailableError, UnsupportedError
from mnemic.model.document import Document, IngestReport
from mnemic.model.item import Chunk
from mnemic.model.records import Receipt
from mnemic.model.scope import Scope
from mnemic.remote.connection import Connection, Progress
from mnemic.wire.reading import from_wire

HERE_ONLY = ("is_pruning", "config")
"""Arguments that a server does not take: the one is about folders, the other belongs to its configuration."""


def ingest(connection: Connection, scope: Scope, content: Content, fields: IngestFields) -> IngestReport:
    """Send a file, or bytes."""
    given: dict[str, Any] = {name: value for name, value in fields.items() if name != "progress" and value is not None}
    for name in HERE_ONLY:
        if given.pop(name, None):
            raise UnsupportedError(f"a server takes no {name!r}", capability=name)
    data = content if isinstance(content, bytes) else _file(Path(fspath(content)), given)
    body = {"files": {"file": (str(given.get("name") or given.get("source") or ""), data)}}
    tell = _telling(fields.get("progress"))
    return from_wire(IngestReport, connection.send_content("ingest", scope, given, body, tell))


class RemoteDocuments:
    """As `DocumentVerbs`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, scope: Scope, **fields: Unpack[DocumentFields]) -> DocumentPage:
        """As `DocumentVerbs.list`."""
        return self._connection.ask("documents.list", DocumentPage, scope, fields)

    def get(self, scope: Scope, id: str) -> Document:
        """As `DocumentVerbs.get`."""
        return self._connection.ask("documents.get", Document, scope, {"id": id})

    def text(self, scope: Scope, id: str) -> str:
        """As `DocumentVerbs.text`."""
        return self._connection.ask("documents.text", str, scope, {"id": id})

    def passages(self, scope: Scope, id: str, *, first: int = 0, count: int = LISTED) -> builtins.list[Chunk]:
        """As `DocumentVerbs.passages`."""
        arguments = {"id": id, "first": first, "count": count}
        return self._connection.ask("documents.passages", builtins.list[Chunk], scope, arguments)

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """As `DocumentVerbs.delete`."""
        arguments = {"id": id} | ({"reason": reason} if reason else {})
        return self._connection.ask("documents.delete", Receipt, scope, arguments)


def _file(path: Path, given: dict[str, Any]) -> bytes:
    """The content of a file of this machine; its name and source go along as `Mnemic.ingest` would take them."""
    if path.is_dir():
        raise UnsupportedError(f"{path} is a folder; send its files one by one", capability="folder")
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is nothing at {path}") from error
    except OSError as error:
        raise UnavailableError(f"{path} cannot be read: {error.strerror}") from error
    given["name"] = path.name
    given.setdefault("source", str(path.absolute()))
    return data


def _telling(progress: Callable[[int, int, str], None] | None) -> Progress | None:
    if progress is None:
        return None

    def tell(event: Mapping[str, Any]) -> None:
        progress(event["done"], event["total"], event["source"])

    return tell
