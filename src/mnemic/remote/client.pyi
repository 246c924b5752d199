# Made by scripts/verb_stubs.py.
import builtins
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from pathlib import Path

from mnemic.aio import AsyncMnemic
from mnemic.api.arguments import CONFIGURED, UNCHANGED, Configured, MessageLike, Unchanged
from mnemic.api.backup import Progress as BackupProgress
from mnemic.api.parts import AUDIT_PAGE, DEFAULT_RIGHTS, LISTED, OVERLAP_S, UNFINISHED
from mnemic.api.upkeep import HEALTH_LISTED, REVIEW_LIMIT, Content
from mnemic.engine.context.assembly import DOCUMENTS
from mnemic.engine.conversation.end import EndReport
from mnemic.engine.documents.documents import DocumentPage
from mnemic.engine.documents.request import Progress as IngestProgress
from mnemic.engine.exchange.export import OWN_LEVELS
from mnemic.engine.exchange.import_logs import ImportReport
from mnemic.engine.exchange.import_logs import Progress as ImportProgress
from mnemic.engine.facts.consolidate import ConsolidateReport
from mnemic.engine.facts.curate import CurateReport
from mnemic.engine.facts.extract import ExtractReport
from mnemic.engine.health.health import HealthReport
from mnemic.engine.health.health import Progress as HealthProgress
from mnemic.engine.indexing.reembed import Progress as ReembedProgress
from mnemic.engine.indexing.reembed import ReembedReport
from mnemic.engine.jobs.jobs import LISTED as JOBS_LISTED
from mnemic.engine.jobs.jobs import WorkReport
from mnemic.engine.jobs.worker import POLL_S, Told, Worker
from mnemic.engine.recall.why_not import WhyNot
from mnemic.engine.research.research import Told as ResearchProgress
from mnemic.engine.summaries.reflect import ReflectReport
from mnemic.engine.summaries.summarise import SummariseReport
from mnemic.engine.upkeep.decay import DecayReport
from mnemic.engine.upkeep.evict import EvictReport
from mnemic.model.access import ApiKey, AuditPage, IssuedKey, Right
from mnemic.model.assistant import Answer, ChatEvent, Reply
from mnemic.model.backup import BackupReport, Contents, RestoreReport
from mnemic.model.context import Context, Placement
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.draft import MemoryDraft
from mnemic.model.graph import EntityType, GraphPath, GraphReport, Neighbourhood, NodePage
from mnemic.model.health import Diagnosis
from mnemic.model.history import HistoryEntry, Receipt
from mnemic.model.ingest import Chunking, IngestReport, Secrets
from mnemic.model.item import Chunk, Item, Kind, Memory, Message, State, Trust, Turn
from mnemic.model.job import Job, JobState
from mnemic.model.llm import ToolSpec
from mnemic.model.memory_health import Ailment
from mnemic.model.profile import Profile, ProfileEntry
from mnemic.model.query import Counts, MessagePage, Order, Page
from mnemic.model.recall import Recall
from mnemic.model.research import ResearchReport
from mnemic.model.review import Review
from mnemic.model.scope import Level, Scope
from mnemic.model.tool import ToolOutcome
from mnemic.ports.tool import Tool
from mnemic.remote.connection import Connection
from mnemic.text.blocks import Language
from mnemic.text.chunking import ChunkConfig

def connect(url: str, key: str | None = None, *, timeout_s: float = ...) -> RemoteMnemic: ...
def connect_async(url: str, key: str | None = None, *, timeout_s: float = ..., threads: int = ...) -> AsyncMnemic: ...

class RemoteProfile:
    def set(self, scope: Scope, facts: Mapping[str, str | None]) -> builtins.list[ProfileEntry]: ...
    def get(self, scope: Scope) -> builtins.dict[str, str]: ...
    def all(self, scope: Scope) -> Profile: ...
    def format(self, scope: Scope, *, language: Language = "en") -> str: ...

class RemoteDocuments:
    def list(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = (),
        statuses: Iterable[DocumentStatus | str] = (),
        under: str = "",
        limit: int = LISTED,
        after: str | None = None,
    ) -> DocumentPage: ...
    def get(self, scope: Scope, id: str) -> Document: ...
    def text(self, scope: Scope, id: str) -> str: ...
    def passages(self, scope: Scope, id: str, *, first: int = 0, count: int = LISTED) -> builtins.list[Chunk]: ...
    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt: ...

class RemoteGraph:
    def entities(
        self,
        scope: Scope,
        query: str = "",
        *,
        types: Iterable[EntityType | str] = (),
        limit: int = LISTED,
        after: str | None = None,
    ) -> NodePage: ...
    def neighbours(
        self,
        scope: Scope,
        name: str,
        *,
        depth: int = 1,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
        limit: int = LISTED,
    ) -> Neighbourhood: ...
    def path(
        self,
        scope: Scope,
        source: str,
        target: str,
        *,
        max_hops: int = 4,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
    ) -> GraphPath: ...
    def extract(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = OWN_LEVELS,
        limit: int | None = None,
        is_dry_run: bool = False,
    ) -> GraphReport: ...

class RemoteTools:
    def list(self) -> builtins.list[ToolSpec]: ...
    def call(self, scope: Scope, name: str, arguments: Mapping[str, object] | None = None) -> ToolOutcome: ...
    def add(self, *tools: Tool) -> None: ...

class RemoteJobs:
    def list(
        self, scope: Scope, *, states: Iterable[JobState | str] = UNFINISHED, limit: int = JOBS_LISTED
    ) -> builtins.list[Job]: ...
    def retry(self, scope: Scope, ids: Sequence[str]) -> int: ...

class RemoteKeys:
    def create(
        self,
        scope: Scope,
        *,
        name: str = "",
        rights: Collection[Right | str] = DEFAULT_RIGHTS,
        expires_at: datetime | str | None = None,
    ) -> IssuedKey: ...
    def list(self, scope: Scope) -> builtins.list[ApiKey]: ...
    def revoke(self, scope: Scope, id: str) -> ApiKey: ...
    def rotate(self, scope: Scope, id: str, *, overlap_s: float = OVERLAP_S) -> IssuedKey: ...
    def audit(self, scope: Scope, *, before: int | None = None, limit: int = AUDIT_PAGE) -> AuditPage: ...

class RemoteMnemic(AbstractContextManager[RemoteMnemic]):
    def __init__(self, connection: Connection) -> None: ...
    def capture(
        self,
        scope: Scope,
        messages: Iterable[MessageLike] | None = None,
        *,
        user: str | None = None,
        assistant: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn: ...
    def capture_many(
        self, scope: Scope, exchanges: Iterable[Iterable[MessageLike]], *, observed_at: datetime | str | None = None
    ) -> builtins.list[Turn]: ...
    def complete(
        self,
        scope: Scope,
        turn_id: str,
        *,
        assistant: str | Sequence[str],
        name: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn: ...
    def remember(
        self,
        scope: Scope,
        text: str,
        *,
        kind: Kind | str = Kind.FACT,
        level: Level | str | None = None,
        importance: float | str = 0.8,
        confidence: float = 1.0,
        categories: Iterable[str] = (),
        context: str = "",
        snippet: str = "",
        source: str = "",
        observed_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        is_private: bool = False,
        is_pinned: bool = False,
        trust: Trust | str = Trust.USER,
        metadata: Mapping[str, object] | None = None,
    ) -> Memory: ...
    def remember_many(
        self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]
    ) -> builtins.list[Memory]: ...
    def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | Configured | None = CONFIGURED,
        limits: Mapping[Level | str, int] | None = None,
        levels: Iterable[Level | str] = (),
        kinds: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> Recall: ...
    def context(
        self,
        scope: Scope,
        query: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> Context: ...
    def why_not(
        self,
        scope: Scope,
        id: str,
        query: str,
        *,
        limit: int | Configured | None = CONFIGURED,
        limits: Mapping[Level | str, int] | None = None,
        levels: Iterable[Level | str] = (),
        kinds: Iterable[str] = (),
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> WhyNot: ...
    def get(self, scope: Scope, id: str) -> Item: ...
    def list(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = (),
        kinds: Iterable[Kind | str] = (),
        states: Iterable[State | str] = (State.ACTIVE,),
        filter: Mapping[str, object] | None = None,
        order: Order | str = Order.NEWEST,
        limit: int = 50,
        after: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
    ) -> Page: ...
    def count(self, scope: Scope) -> Counts: ...
    def update(
        self,
        scope: Scope,
        id: str,
        *,
        text: str | Unchanged = UNCHANGED,
        kind: Kind | str | Unchanged = UNCHANGED,
        importance: float | str | Unchanged = UNCHANGED,
        confidence: float | Unchanged = UNCHANGED,
        categories: Iterable[str] | Unchanged = UNCHANGED,
        context: str | Unchanged = UNCHANGED,
        snippet: str | Unchanged = UNCHANGED,
        source: str | Unchanged = UNCHANGED,
        observed_at: datetime | str | Unchanged = UNCHANGED,
        valid_from: datetime | str | Unchanged | None = UNCHANGED,
        valid_to: datetime | str | Unchanged | None = UNCHANGED,
        expires_at: datetime | str | Unchanged | None = UNCHANGED,
        trust: Trust | str | Unchanged = UNCHANGED,
        metadata: Mapping[str, object] | Unchanged = UNCHANGED,
        reason: str = "",
    ) -> Memory: ...
    def pin(self, scope: Scope, id: str, *, is_pinned: bool = True, reason: str = "") -> Memory: ...
    def merge(self, scope: Scope, ids: Sequence[str], *, text: str | None = None, reason: str = "") -> Memory: ...
    def undo(self, scope: Scope, id: str) -> Memory: ...
    def feedback(self, scope: Scope, id: str, verdict: str, *, reason: str = "") -> Memory: ...
    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt: ...
    def clear(self, scope: Scope, *, levels: Iterable[Level | str] = (), reason: str = "") -> Receipt: ...
    def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]: ...
    def review(self, scope: Scope, *, limit: int = REVIEW_LIMIT, after: str | None = None) -> builtins.list[Review]: ...
    def trust(self, scope: Scope, id: str, *, reason: str = "") -> Memory: ...
    def reject(self, scope: Scope, id: str, *, reason: str = "") -> Memory: ...
    def window(
        self, scope: Scope, *, limit: int | None = None, include_closed: bool = False
    ) -> builtins.list[Message]: ...
    def messages(
        self,
        scope: Scope,
        *,
        since: datetime | str | None = None,
        before: datetime | str | None = None,
        in_session: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> MessagePage: ...
    def summarise(self, scope: Scope, *, is_flush: bool = False, is_dry_run: bool = False) -> SummariseReport: ...
    def end(self, scope: Scope) -> EndReport: ...
    def reflect(self, scope: Scope, *, is_dry_run: bool = False) -> ReflectReport: ...
    def extract(self, scope: Scope, *, is_dry_run: bool = False) -> ExtractReport: ...
    def curate(self, scope: Scope, *, day: date | str | None = None, is_dry_run: bool = False) -> CurateReport: ...
    def consolidate(self, scope: Scope, *, is_dry_run: bool = False) -> ConsolidateReport: ...
    def decay(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> DecayReport: ...
    def evict(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> EvictReport: ...
    def ingest(
        self,
        scope: Scope,
        content: Content,
        *,
        level: Level | str | None = None,
        source: str | None = None,
        name: str | None = None,
        is_private: bool = False,
        is_dry_run: bool = False,
        is_pruning: bool = False,
        is_again: bool = False,
        chunking: Chunking | str = Chunking.STRUCTURE,
        config: ChunkConfig | None = None,
        secrets: Secrets | str = Secrets.REFUSE,
        progress: IngestProgress | None = None,
    ) -> IngestReport: ...
    def research(
        self,
        scope: Scope,
        document: str,
        question: str,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        deadline_s: float | None = None,
        parallel: int | None = None,
        piece_tokens: int | None = None,
        language: Language | None = None,
        is_dry_run: bool = False,
        progress: ResearchProgress | None = None,
    ) -> ResearchReport: ...
    def chat(
        self,
        scope: Scope,
        message: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
        plan: Sequence[str] = (),
        rules: Sequence[str] = (),
        tools: bool | Iterable[str] = True,
        max_tool_calls: int | Configured = CONFIGURED,
        captures: bool = True,
    ) -> Reply: ...
    def chat_stream(
        self,
        scope: Scope,
        message: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
        plan: Sequence[str] = (),
        rules: Sequence[str] = (),
        tools: bool | Iterable[str] = True,
        max_tool_calls: int | Configured = CONFIGURED,
        captures: bool = True,
    ) -> Generator[ChatEvent]: ...
    def ask(
        self,
        scope: Scope,
        question: str,
        *,
        system: str = "",
        budget_tokens: int | Configured = CONFIGURED,
        placement: Placement | str = Placement.LEADING,
        history_messages: int | Configured = CONFIGURED,
        documents: int = DOCUMENTS,
        role: str | None = None,
        model: str | None = None,
        language: str | None = None,
        limit: int | None = None,
        limits: Mapping[Level | str, int] | Configured | None = CONFIGURED,
        filter: Mapping[str, object] | None = None,
        min_relevance: float | Configured = CONFIGURED,
        min_similarity: float | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        deadline_ms: float | None = None,
        rerank: bool | None = None,
        diversity: float = 0.0,
        hops: int | Configured = CONFIGURED,
    ) -> Answer: ...
    def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> Iterator[str]: ...
    def import_(
        self,
        scope: Scope,
        text: str | bytes,
        *,
        format: str | None = None,
        name: str = "",
        is_dry_run: bool = False,
        include_tools: bool = False,
        progress: ImportProgress | None = None,
    ) -> ImportReport: ...
    def erase(self, scope: Scope, *, level: Level | str | None = None, is_dry_run: bool = False) -> Receipt: ...
    def receipts(self, scope: Scope) -> Sequence[Receipt]: ...
    def reembed(
        self, *, is_dry_run: bool = False, is_pruning: bool = False, progress: ReembedProgress | None = None
    ) -> ReembedReport: ...
    def backup(
        self,
        path: str | Path,
        *,
        contents: Contents | str = Contents.WHOLE,
        is_replacing: bool = False,
        is_sealed: bool | None = None,
        progress: BackupProgress | None = None,
    ) -> BackupReport: ...
    def restore(
        self,
        path: str | Path,
        *,
        receipts: str | Path | None = None,
        is_replacing: bool = False,
        is_dry_run: bool = False,
        progress: BackupProgress | None = None,
    ) -> RestoreReport: ...
    def work(self, *, until_idle: bool = True) -> WorkReport: ...
    def worker(self, *, poll_s: float = POLL_S, on_run: Told | None = None) -> Worker: ...
    def health(
        self,
        scope: Scope,
        *,
        only: Iterable[Ailment | str] = (),
        fix: Iterable[Ailment | str] = (),
        levels: Iterable[Level | str] = OWN_LEVELS,
        limit: int = HEALTH_LISTED,
        is_dry_run: bool = False,
        progress: HealthProgress | None = None,
    ) -> HealthReport: ...
    def doctor(self, *, is_quick: bool = False) -> Diagnosis: ...
    @property
    def profile(self) -> RemoteProfile: ...
    @property
    def documents(self) -> RemoteDocuments: ...
    @property
    def graph(self) -> RemoteGraph: ...
    @property
    def tools(self) -> RemoteTools: ...
    @property
    def jobs(self) -> RemoteJobs: ...
    @property
    def keys(self) -> RemoteKeys: ...
    def close(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
