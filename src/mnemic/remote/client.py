"""RemoteMnemic: the verbs of Mnemic on a server. No logic lives here; what an argument means is the server's matter."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Unpack, cast

from mnemic.aio import DEFAULT_THREADS, AsyncMnemic
from mnemic.api import (
    ContextFields,
    ImportFields,
    ListFields,
    MemoryFields,
    MessageFields,
    MessageLike,
    Mnemic,
    RecallFields,
    UpdateFields,
)
from mnemic.api.backup import BackupFields, RestoreFields, receive_backup
from mnemic.api.documents import Content, IngestFields
from mnemic.api.health import HealthFields
from mnemic.api.reembed import ReembedFields
from mnemic.api.review import REVIEW_LIMIT
from mnemic.engine.consolidate import ConsolidateReport
from mnemic.engine.conversation import EndReport
from mnemic.engine.curate import CurateReport
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.extract import ExtractReport
from mnemic.engine.health import HealthReport
from mnemic.engine.import_files import ImportReport
from mnemic.engine.jobs import POLL_S, Told, Worker, WorkReport
from mnemic.engine.recall import WhyNot
from mnemic.engine.reembed import ReembedReport
from mnemic.engine.reflect import ReflectReport
from mnemic.engine.summaries import SummariseReport
from mnemic.engine.upkeep import DecayReport, EvictReport
from mnemic.errors import UnsupportedError
from mnemic.model.backup import BackupReport, Contents, RestoreReport
from mnemic.model.document import IngestReport
from mnemic.model.health import Diagnosis
from mnemic.model.item import Item, Memory, MemoryDraft, Message, Review, Turn
from mnemic.model.recall import Context, Counts, MessagePage, Page, Recall
from mnemic.model.records import HistoryEntry, Receipt
from mnemic.model.scope import Level, Scope
from mnemic.remote.assistant import RemoteAssistant
from mnemic.remote.connection import Connection, Progress
from mnemic.remote.documents import RemoteDocuments, ingest
from mnemic.remote.graph import RemoteGraphPart
from mnemic.remote.parts import RemoteJobs, RemoteKeys, RemoteProfile
from mnemic.wire.reading import from_wire

TIMEOUT_S = 60.0


def connect(url: str, key: str | None = None, *, timeout_s: float = TIMEOUT_S) -> RemoteMnemic:
    """The verbs of Mnemic on the server at `url`, with the rights of `key`. Nothing is asked before the first verb."""
    return RemoteMnemic(Connection(url, key, timeout_s))


def connect_async(
    url: str, key: str | None = None, *, timeout_s: float = TIMEOUT_S, threads: int = DEFAULT_THREADS
) -> AsyncMnemic:
    """The same for asyncio: each verb waits on one of `threads` threads and never on the event loop."""
    remote = cast("Mnemic", connect(url, key, timeout_s=timeout_s))  # a test holds their verbs and arguments equal
    return AsyncMnemic(remote, threads=threads)


class RemoteMnemic(RemoteAssistant, RemoteGraphPart, AbstractContextManager["RemoteMnemic"]):
    """An open connection. Safe to use from several threads; close it, or use it in a `with` block.

    The verbs, their arguments, answers and errors are those of `Mnemic`. The org of a scope must be the key's, or
    "default", which stands for it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def capture(
        self,
        scope: Scope,
        messages: Iterable[MessageLike] | None = None,
        *,
        user: str | None = None,
        assistant: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """As `Mnemic.capture`."""
        said = _said(messages=messages, user=user, assistant=assistant, observed_at=observed_at)
        return self._ask("capture", Turn, scope, said)

    def capture_many(
        self,
        scope: Scope,
        exchanges: Iterable[Iterable[MessageLike]],
        *,
        observed_at: datetime | str | None = None,
    ) -> list[Turn]:
        """As `Mnemic.capture_many`."""
        said = _said(exchanges=exchanges, observed_at=observed_at)
        return self._ask("capture_many", builtins.list[Turn], scope, said)

    def complete(
        self,
        scope: Scope,
        turn_id: str,
        *,
        assistant: str | Sequence[str],
        name: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """As `Mnemic.complete`."""
        said = _said(turn_id=turn_id, assistant=assistant, name=name, observed_at=observed_at)
        return self._ask("complete", Turn, scope, said)

    def remember(self, scope: Scope, text: str, **fields: Unpack[MemoryFields]) -> Memory:
        """As `Mnemic.remember`."""
        return self._ask("remember", Memory, scope, {"text": text, **fields})

    def remember_many(self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]) -> list[Memory]:
        """As `Mnemic.remember_many`."""
        return self._ask("remember_many", builtins.list[Memory], scope, {"memories": memories})

    def recall(self, scope: Scope, query: str, **fields: Unpack[RecallFields]) -> Recall:
        """As `Mnemic.recall`."""
        return self._ask("recall", Recall, scope, {"query": query, **fields})

    def context(self, scope: Scope, query: str, **fields: Unpack[ContextFields]) -> Context:
        """As `Mnemic.context`."""
        return self._ask("context", Context, scope, {"query": query, **fields})

    def why_not(self, scope: Scope, id: str, query: str, **fields: Unpack[RecallFields]) -> WhyNot:
        """As `Mnemic.why_not`."""
        return self._ask("why_not", WhyNot, scope, {"id": id, "query": query, **fields})

    def get(self, scope: Scope, id: str) -> Item:
        """As `Mnemic.get`."""
        return self._ask("get", Item, scope, {"id": id})

    def list(self, scope: Scope, **fields: Unpack[ListFields]) -> Page:
        """As `Mnemic.list`."""
        return self._ask("list", Page, scope, fields)

    def count(self, scope: Scope) -> Counts:
        """As `Mnemic.count`."""
        return self._ask("count", Counts, scope, {})

    def update(self, scope: Scope, id: str, *, reason: str = "", **fields: Unpack[UpdateFields]) -> Memory:
        """As `Mnemic.update`."""
        return self._ask("update", Memory, scope, {"id": id, **fields, **_said(reason=reason or None)})

    def pin(self, scope: Scope, id: str, *, is_pinned: bool = True, reason: str = "") -> Memory:
        """As `Mnemic.pin`."""
        return self._ask("pin", Memory, scope, {"id": id, "is_pinned": is_pinned, "reason": reason})

    def merge(self, scope: Scope, ids: Sequence[str], *, text: str | None = None, reason: str = "") -> Memory:
        """As `Mnemic.merge`."""
        return self._ask("merge", Memory, scope, {"ids": ids, "text": text, "reason": reason})

    def undo(self, scope: Scope, id: str) -> Memory:
        """As `Mnemic.undo`."""
        return self._ask("undo", Memory, scope, {"id": id})

    def feedback(self, scope: Scope, id: str, verdict: str, *, reason: str = "") -> Memory:
        """As `Mnemic.feedback`."""
        return self._ask("feedback", Memory, scope, {"id": id, "verdict": verdict, "reason": reason})

    def review(self, scope: Scope, *, limit: int = REVIEW_LIMIT, after: str | None = None) -> builtins.list[Review]:
        """As `Mnemic.review`."""
        return self._ask("review", builtins.list[Review], scope, {"limit": limit, **_said(after=after)})

    def trust(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """As `Mnemic.trust`."""
        return self._ask("trust", Memory, scope, {"id": id, "reason": reason})

    def reject(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """As `Mnemic.reject`."""
        return self._ask("reject", Memory, scope, {"id": id, "reason": reason})

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """As `Mnemic.delete`."""
        return self._ask("delete", Receipt, scope, {"id": id, **_said(reason=reason or None)})

    def clear(self, scope: Scope, *, levels: Iterable[Level | str] = (), reason: str = "") -> Receipt:
        """As `Mnemic.clear`."""
        return self._ask("clear", Receipt, scope, {"levels": levels, "reason": reason})

    def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]:
        """As `Mnemic.history`."""
        return self._ask("history", Sequence[HistoryEntry], scope, {"id": id})

    def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> Iterator[str]:
        """As `Mnemic.export`; the lines come while the server makes them."""
        return self._connection.lines("export", scope, {"levels": builtins.list(levels)})

    def import_(self, scope: Scope, text: str | bytes, **fields: Unpack[ImportFields]) -> ImportReport:
        """As `Mnemic.import_`."""
        arguments = {name: value for name, value in fields.items() if name != "progress"}
        tell = _telling(fields.get("progress"))
        sent = text.encode() if isinstance(text, str) else text
        content = {"content": sent, "headers": {"Content-Type": "text/plain; charset=utf-8"}}
        return from_wire(ImportReport, self._connection.send_content("import_", scope, arguments, content, tell))

    def health(self, scope: Scope, **fields: Unpack[HealthFields]) -> HealthReport:
        """As `Mnemic.health`."""
        arguments = {name: value for name, value in fields.items() if name != "progress"}
        tell = _telling(fields.get("progress"))
        return from_wire(HealthReport, self._connection.send_content("health", scope, arguments, {}, tell))

    def doctor(self, *, is_quick: bool = False) -> Diagnosis:
        """As `Mnemic.doctor`."""
        return self._ask("doctor", Diagnosis, None, {"is_quick": is_quick})

    def window(self, scope: Scope, *, limit: int | None = None, include_closed: bool = False) -> builtins.list[Message]:
        """As `Mnemic.window`; at most 1,000 messages."""
        return self._ask("window", builtins.list[Message], scope, {"limit": limit, "include_closed": include_closed})

    def messages(self, scope: Scope, **fields: Unpack[MessageFields]) -> MessagePage:
        """As `Mnemic.messages`."""
        return self._ask("messages", MessagePage, scope, fields)

    def summarise(self, scope: Scope, *, is_flush: bool = False, is_dry_run: bool = False) -> SummariseReport:
        """As `Mnemic.summarise`."""
        return self._ask("summarise", SummariseReport, scope, {"is_flush": is_flush, "is_dry_run": is_dry_run})

    def end(self, scope: Scope) -> EndReport:
        """As `Mnemic.end`."""
        return self._ask("end", EndReport, scope, {})

    def reflect(self, scope: Scope, *, is_dry_run: bool = False) -> ReflectReport:
        """As `Mnemic.reflect`."""
        return self._ask("reflect", ReflectReport, scope, {"is_dry_run": is_dry_run})

    def curate(self, scope: Scope, *, day: date | str | None = None, is_dry_run: bool = False) -> CurateReport:
        """As `Mnemic.curate`."""
        last = None if day is None else str(day)
        return self._ask("curate", CurateReport, scope, {"day": last, "is_dry_run": is_dry_run})

    def consolidate(self, scope: Scope, *, is_dry_run: bool = False) -> ConsolidateReport:
        """As `Mnemic.consolidate`."""
        return self._ask("consolidate", ConsolidateReport, scope, {"is_dry_run": is_dry_run})

    def extract(self, scope: Scope, *, is_dry_run: bool = False) -> ExtractReport:
        """As `Mnemic.extract`."""
        return self._ask("extract", ExtractReport, scope, {"is_dry_run": is_dry_run})

    def decay(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> DecayReport:
        """As `Mnemic.decay`."""
        return self._ask("decay", DecayReport, scope, {"levels": levels, "is_dry_run": is_dry_run})

    def evict(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> EvictReport:
        """As `Mnemic.evict`."""
        return self._ask("evict", EvictReport, scope, {"levels": levels, "is_dry_run": is_dry_run})

    def ingest(self, scope: Scope, content: Content, **fields: Unpack[IngestFields]) -> IngestReport:
        """As `Mnemic.ingest`, of one file of this machine or of bytes. Raises UnsupportedError for a folder: call it
        for each file.
        """
        return ingest(self._connection, scope, content, fields)

    @property
    def documents(self) -> RemoteDocuments:
        """As `Mnemic.documents`."""
        return RemoteDocuments(self._connection)

    def erase(self, scope: Scope, *, level: Level | str | None = None, is_dry_run: bool = False) -> Receipt:
        """As `Mnemic.erase`."""
        return self._ask("erase", Receipt, scope, {"level": level, "is_dry_run": is_dry_run})

    def receipts(self, scope: Scope) -> Sequence[Receipt]:
        """As `Mnemic.receipts`."""
        return self._ask("receipts", Sequence[Receipt], scope, {})

    @property
    def profile(self) -> RemoteProfile:
        """As `Mnemic.profile`."""
        return RemoteProfile(self._connection)

    @property
    def jobs(self) -> RemoteJobs:
        """As `Mnemic.jobs`."""
        return RemoteJobs(self._connection)

    @property
    def keys(self) -> RemoteKeys:
        """As `Mnemic.keys`."""
        return RemoteKeys(self._connection)

    def work(self, *, until_idle: bool = True) -> WorkReport:
        """As `Mnemic.work`, on the server."""
        return self._ask("work", WorkReport, None, {"until_idle": until_idle})

    def reembed(self, **fields: Unpack[ReembedFields]) -> ReembedReport:
        """As `Mnemic.reembed`, on the server."""
        arguments = {name: value for name, value in fields.items() if name != "progress"}
        tell = _telling(fields.get("progress"))
        return from_wire(ReembedReport, self._connection.send_content("reembed", None, arguments, {}, tell))

    def backup(self, path: str | Path, **fields: Unpack[BackupFields]) -> BackupReport:
        """As `Mnemic.backup`, of the server's store to a file on this machine; it needs an operator's key."""
        asked = {"contents": str(fields.get("contents", Contents.WHOLE)), "is_sealed": fields.get("is_sealed")}
        return receive_backup(path, self._connection.content("backup", asked), **fields)

    def restore(self, path: str | Path, **fields: Unpack[RestoreFields]) -> RestoreReport:
        """A store is restored where it is. Raises UnsupportedError."""
        del path, fields
        raise UnsupportedError("a store is restored on its own machine: `mnemic restore`", capability="restore")

    def worker(self, *, poll_s: float = POLL_S, on_run: Told | None = None) -> Worker:
        """The server runs its own. Raises UnsupportedError."""
        del poll_s, on_run
        raise UnsupportedError("jobs run on the server: `mnemic serve` has a worker", capability="worker")

    def close(self) -> None:
        """Let go of the connections; closing twice is harmless."""
        self._connection.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, verb: str, answer: Any, scope: Scope | None, arguments: Mapping[str, Any]) -> Any:
        return self._connection.ask(verb, answer, scope, arguments)


def _telling(progress: Callable[[int, Any], object] | None) -> Progress | None:
    """What is told of an event, to a caller who wants to know how far the work has come."""
    if progress is None:
        return None

    def tell(event: Mapping[str, Any]) -> None:
        progress(event["done"], event["total"])

    return tell


def _said(**arguments: object) -> dict[str, object]:
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}
