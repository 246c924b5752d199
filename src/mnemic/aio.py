"""AsyncMnemic: the verbs of Mnemic for asyncio, on a bounded pool of threads of its own. No logic lives here."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from datetime import date, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, Unpack

from mnemic.api import (
    DEFAULT_ACTOR,
    Content,
    ContextFields,
    DocumentFields,
    DocumentVerbs,
    ImportFields,
    IngestFields,
    ListFields,
    MemoryFields,
    MessageLike,
    Mnemic,
    ProfileVerbs,
    RecallFields,
    UpdateFields,
)
from mnemic.api.async_assistant import AsyncAssistantVerbs
from mnemic.api.async_graph import AsyncGraphPart
from mnemic.api.async_review import AsyncReviewVerbs
from mnemic.api.async_upkeep import AsyncUpkeepVerbs
from mnemic.api.documents import LISTED as LISTED_PASSAGES
from mnemic.api.jobs import UNFINISHED, JobVerbs
from mnemic.api.keys import AUDIT_PAGE, DEFAULT_RIGHTS, OVERLAP_S, KeyVerbs
from mnemic.config import Config
from mnemic.engine.consolidate import ConsolidateReport
from mnemic.engine.conversation import EndReport
from mnemic.engine.curate import CurateReport
from mnemic.engine.documents import DocumentPage
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.extract import ExtractReport
from mnemic.engine.import_files import ImportReport
from mnemic.engine.jobs import LISTED, POLL_S, Told, Worker
from mnemic.engine.recall import WhyNot
from mnemic.engine.reflect import ReflectReport
from mnemic.engine.summaries import SummariseReport
from mnemic.engine.upkeep import DecayReport, EvictReport
from mnemic.model.document import Document, IngestReport
from mnemic.model.health import Diagnosis
from mnemic.model.item import Chunk, Item, Memory, MemoryDraft, Profile, ProfileEntry, Turn
from mnemic.model.recall import Context, Counts, Page, Recall
from mnemic.model.records import ApiKey, AuditPage, HistoryEntry, IssuedKey, Job, JobState, Receipt, Right
from mnemic.model.scope import Level, Scope
from mnemic.text.blocks import Language

DEFAULT_THREADS = 4
_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


class AsyncMnemic(
    AsyncAssistantVerbs, AsyncReviewVerbs, AsyncUpkeepVerbs, AsyncGraphPart, AbstractAsyncContextManager["AsyncMnemic"]
):
    """An open memory for asyncio: each verb runs on one of `threads` threads and never on the event loop."""

    def __init__(self, mnemic: Mnemic, *, threads: int = DEFAULT_THREADS) -> None:
        self._mnemic = mnemic
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mnemic")

    @classmethod
    async def open(
        cls,
        store: str | Path | Config | None = None,
        *,
        actor: str = DEFAULT_ACTOR,
        threads: int = DEFAULT_THREADS,
    ) -> AsyncMnemic:
        """As `Mnemic.open`."""
        return cls(await asyncio.to_thread(Mnemic.open, store, actor=actor), threads=threads)

    async def capture(
        self,
        scope: Scope,
        messages: Iterable[MessageLike] | None = None,
        *,
        user: str | None = None,
        assistant: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """As `Mnemic.capture`."""
        said = partial(self._mnemic.capture, user=user, assistant=assistant, observed_at=observed_at)
        return await self._run(said, scope, messages)

    async def capture_many(
        self,
        scope: Scope,
        exchanges: Iterable[Iterable[MessageLike]],
        *,
        observed_at: datetime | str | None = None,
    ) -> list[Turn]:
        """As `Mnemic.capture_many`."""
        return await self._run(self._mnemic.capture_many, scope, exchanges, observed_at=observed_at)

    async def complete(
        self,
        scope: Scope,
        turn_id: str,
        *,
        assistant: str | Sequence[str],
        name: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """As `Mnemic.complete`."""
        said = partial(self._mnemic.complete, assistant=assistant, name=name, observed_at=observed_at)
        return await self._run(said, scope, turn_id)

    async def remember(self, scope: Scope, text: str, **fields: Unpack[MemoryFields]) -> Memory:
        """As `Mnemic.remember`."""
        return await self._run(self._mnemic.remember, scope, text, **fields)

    async def remember_many(
        self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]
    ) -> list[Memory]:
        """As `Mnemic.remember_many`."""
        return await self._run(self._mnemic.remember_many, scope, memories)

    async def recall(self, scope: Scope, query: str, **fields: Unpack[RecallFields]) -> Recall:
        """As `Mnemic.recall`."""
        return await self._run(self._mnemic.recall, scope, query, **fields)

    async def context(self, scope: Scope, query: str, **fields: Unpack[ContextFields]) -> Context:
        """As `Mnemic.context`."""
        return await self._run(self._mnemic.context, scope, query, **fields)

    async def why_not(self, scope: Scope, id: str, query: str, **fields: Unpack[RecallFields]) -> WhyNot:
        """As `Mnemic.why_not`."""
        return await self._run(self._mnemic.why_not, scope, id, query, **fields)

    async def get(self, scope: Scope, id: str) -> Item:
        """As `Mnemic.get`."""
        return await self._run(self._mnemic.get, scope, id)

    async def list(self, scope: Scope, **fields: Unpack[ListFields]) -> Page:
        """As `Mnemic.list`."""
        return await self._run(self._mnemic.list, scope, **fields)

    async def count(self, scope: Scope) -> Counts:
        """As `Mnemic.count`."""
        return await self._run(self._mnemic.count, scope)

    async def update(self, scope: Scope, id: str, *, reason: str = "", **fields: Unpack[UpdateFields]) -> Memory:
        """As `Mnemic.update`."""
        return await self._run(partial(self._mnemic.update, reason=reason), scope, id, **fields)

    async def pin(self, scope: Scope, id: str, *, is_pinned: bool = True, reason: str = "") -> Memory:
        """As `Mnemic.pin`."""
        return await self._run(self._mnemic.pin, scope, id, is_pinned=is_pinned, reason=reason)

    async def merge(self, scope: Scope, ids: Sequence[str], *, text: str | None = None, reason: str = "") -> Memory:
        """As `Mnemic.merge`."""
        return await self._run(self._mnemic.merge, scope, ids, text=text, reason=reason)

    async def undo(self, scope: Scope, id: str) -> Memory:
        """As `Mnemic.undo`."""
        return await self._run(self._mnemic.undo, scope, id)

    async def feedback(self, scope: Scope, id: str, verdict: str, *, reason: str = "") -> Memory:
        """As `Mnemic.feedback`."""
        return await self._run(self._mnemic.feedback, scope, id, verdict, reason=reason)

    async def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """As `Mnemic.delete`."""
        return await self._run(self._mnemic.delete, scope, id, reason=reason)

    async def clear(self, scope: Scope, *, levels: Iterable[Level | str] = (), reason: str = "") -> Receipt:
        """As `Mnemic.clear`."""
        return await self._run(self._mnemic.clear, scope, levels=levels, reason=reason)

    async def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]:
        """As `Mnemic.history`."""
        return await self._run(self._mnemic.history, scope, id)

    async def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> list[str]:
        """As `Mnemic.export`, all lines at once."""
        return await self._run(lambda: list(self._mnemic.export(scope, levels=levels)))

    async def import_(self, scope: Scope, text: str | bytes, **fields: Unpack[ImportFields]) -> ImportReport:
        """As `Mnemic.import_`; `progress` is called from another thread."""
        return await self._run(self._mnemic.import_, scope, text, **fields)

    async def ingest(self, scope: Scope, content: Content, **fields: Unpack[IngestFields]) -> IngestReport:
        """As `Mnemic.ingest`; `progress` is called from another thread."""
        return await self._run(self._mnemic.ingest, scope, content, **fields)

    async def doctor(self, *, is_quick: bool = False) -> Diagnosis:
        """As `Mnemic.doctor`."""
        return await self._run(self._mnemic.doctor, is_quick=is_quick)

    async def summarise(self, scope: Scope, *, is_flush: bool = False, is_dry_run: bool = False) -> SummariseReport:
        """As `Mnemic.summarise`."""
        return await self._run(self._mnemic.summarise, scope, is_flush=is_flush, is_dry_run=is_dry_run)

    async def end(self, scope: Scope) -> EndReport:
        """As `Mnemic.end`."""
        return await self._run(self._mnemic.end, scope)

    async def reflect(self, scope: Scope, *, is_dry_run: bool = False) -> ReflectReport:
        """As `Mnemic.reflect`."""
        return await self._run(self._mnemic.reflect, scope, is_dry_run=is_dry_run)

    async def curate(self, scope: Scope, *, day: date | str | None = None, is_dry_run: bool = False) -> CurateReport:
        """As `Mnemic.curate`."""
        return await self._run(self._mnemic.curate, scope, day=day, is_dry_run=is_dry_run)

    async def consolidate(self, scope: Scope, *, is_dry_run: bool = False) -> ConsolidateReport:
        """As `Mnemic.consolidate`."""
        return await self._run(self._mnemic.consolidate, scope, is_dry_run=is_dry_run)

    async def extract(self, scope: Scope, *, is_dry_run: bool = False) -> ExtractReport:
        """As `Mnemic.extract`."""
        return await self._run(self._mnemic.extract, scope, is_dry_run=is_dry_run)

    async def decay(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> DecayReport:
        """As `Mnemic.decay`."""
        return await self._run(self._mnemic.decay, scope, levels=levels, is_dry_run=is_dry_run)

    async def evict(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> EvictReport:
        """As `Mnemic.evict`."""
        return await self._run(self._mnemic.evict, scope, levels=levels, is_dry_run=is_dry_run)

    async def erase(self, scope: Scope, *, level: Level | str | None = None, is_dry_run: bool = False) -> Receipt:
        """As `Mnemic.erase`."""
        return await self._run(self._mnemic.erase, scope, level=level, is_dry_run=is_dry_run)

    async def receipts(self, scope: Scope) -> Sequence[Receipt]:
        """As `Mnemic.receipts`."""
        return await self._run(self._mnemic.receipts, scope)

    @property
    def profile(self) -> AsyncProfileVerbs:
        """As `Mnemic.profile`."""
        return AsyncProfileVerbs(self._mnemic.profile, self._run)

    @property
    def documents(self) -> AsyncDocumentVerbs:
        """As `Mnemic.documents`."""
        return AsyncDocumentVerbs(self._mnemic.documents, self._run)

    @property
    def jobs(self) -> AsyncJobVerbs:
        """As `Mnemic.jobs`."""
        return AsyncJobVerbs(self._mnemic.jobs, self._run)

    @property
    def keys(self) -> AsyncKeyVerbs:
        """As `Mnemic.keys`."""
        return AsyncKeyVerbs(self._mnemic.keys, self._run)

    async def worker(self, *, poll_s: float = POLL_S, on_run: Told | None = None) -> Worker:
        """As `Mnemic.worker`: it has a thread of its own."""
        return await self._run(self._mnemic.worker, poll_s=poll_s, on_run=on_run)

    async def close(self) -> None:
        """As `Mnemic.close`; waits for the verbs under way."""
        await asyncio.to_thread(self._pool.shutdown)
        await asyncio.to_thread(self._mnemic.close)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(
        self, verb: Callable[_Arguments, _Answer], *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, partial(copy_context().run, verb, *arguments, **named)
        )


class AsyncProfileVerbs:
    """As `ProfileVerbs`."""

    def __init__(self, verbs: ProfileVerbs, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run

    async def set(self, scope: Scope, facts: Mapping[str, str | None]) -> list[ProfileEntry]:
        """As `ProfileVerbs.set`."""
        return await self._run(self._verbs.set, scope, facts)

    async def get(self, scope: Scope) -> dict[str, str]:
        """As `ProfileVerbs.get`."""
        return await self._run(self._verbs.get, scope)

    async def all(self, scope: Scope) -> Profile:
        """As `ProfileVerbs.all`."""
        return await self._run(self._verbs.all, scope)

    async def format(self, scope: Scope, *, language: Language = "en") -> str:
        """As `ProfileVerbs.format`."""
        return await self._run(self._verbs.format, scope, language=language)


class AsyncDocumentVerbs:
    """As `DocumentVerbs`."""

    def __init__(self, verbs: DocumentVerbs, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run

    async def list(self, scope: Scope, **fields: Unpack[DocumentFields]) -> DocumentPage:
        """As `DocumentVerbs.list`."""
        return await self._run(self._verbs.list, scope, **fields)

    async def get(self, scope: Scope, id: str) -> Document:
        """As `DocumentVerbs.get`."""
        return await self._run(self._verbs.get, scope, id)

    async def text(self, scope: Scope, id: str) -> str:
        """As `DocumentVerbs.text`."""
        return await self._run(self._verbs.text, scope, id)

    async def passages(
        self, scope: Scope, id: str, *, first: int = 0, count: int = LISTED_PASSAGES
    ) -> builtins.list[Chunk]:
        """As `DocumentVerbs.passages`."""
        return await self._run(self._verbs.passages, scope, id, first=first, count=count)

    async def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """As `DocumentVerbs.delete`."""
        return await self._run(self._verbs.delete, scope, id, reason=reason)


class AsyncJobVerbs:
    """As `JobVerbs`."""

    def __init__(self, verbs: JobVerbs, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run

    async def list(
        self, scope: Scope, *, states: Iterable[JobState | str] = UNFINISHED, limit: int = LISTED
    ) -> builtins.list[Job]:
        """As `JobVerbs.list`."""
        return await self._run(self._verbs.list, scope, states=states, limit=limit)

    async def retry(self, scope: Scope, ids: Sequence[str]) -> int:
        """As `JobVerbs.retry`."""
        return await self._run(self._verbs.retry, scope, ids)


class AsyncKeyVerbs:
    """As `KeyVerbs`."""

    def __init__(self, verbs: KeyVerbs, run: Callable[..., Awaitable[Any]]) -> None:
        self._verbs, self._run = verbs, run

    async def create(
        self,
        scope: Scope,
        *,
        name: str = "",
        rights: Collection[Right | str] = DEFAULT_RIGHTS,
        expires_at: datetime | str | None = None,
    ) -> IssuedKey:
        """As `KeyVerbs.create`."""
        return await self._run(self._verbs.create, scope, name=name, rights=rights, expires_at=expires_at)

    async def list(self, scope: Scope) -> builtins.list[ApiKey]:
        """As `KeyVerbs.list`."""
        return await self._run(self._verbs.list, scope)

    async def revoke(self, scope: Scope, id: str) -> ApiKey:
        """As `KeyVerbs.revoke`."""
        return await self._run(self._verbs.revoke, scope, id)

    async def rotate(self, scope: Scope, id: str, *, overlap_s: float = OVERLAP_S) -> IssuedKey:
        """As `KeyVerbs.rotate`."""
        return await self._run(self._verbs.rotate, scope, id, overlap_s=overlap_s)

    async def audit(self, scope: Scope, *, before: int | None = None, limit: int = AUDIT_PAGE) -> AuditPage:
        """As `KeyVerbs.audit`."""
        return await self._run(self._verbs.audit, scope, before=before, limit=limit)
