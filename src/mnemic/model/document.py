"""Documents: the result of reading a file, stored documents, ingest reports and research on one long document."""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from mnemic.errors import InvalidInputError
from mnemic.model.chat import Usage
from mnemic.model.item import ResearchQuote
from mnemic.model.scope import Level, Partition

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its character offset in the text, its level (1 is the highest) and its title."""

    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """The text of a file, never blank, to be split into passages and cited by page.

    `pages`: the character offset of each page, ascending from 0; empty if the format has no pages. A page is a PDF
    page, a slide or a sheet. `headings` ascend by offset. `metadata`: author, language, encoding and the like, as
    stated in the file. Raises `InvalidInputError` for an offset outside the text or out of order.
    """

    title: str
    media_type: str
    text: str
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    def __post_init__(self) -> None:
        places = [heading.offset for heading in self.headings]
        for offsets in (list(self.pages), places):
            if any(not 0 <= offset <= len(self.text) for offset in offsets):
                raise InvalidInputError("the offsets of pages and headings must be within the text")
            if offsets != sorted(offsets):
                raise InvalidInputError("pages and headings must be listed in the order of the text")
        if self.pages and self.pages[0] != 0:
            raise InvalidInputError("the first page must start at offset 0")

    def page_at(self, offset: int) -> int | None:
        """The number of the page, from 1, at character `offset`; None without pages."""
        return bisect.bisect_right(self.pages, offset) or None


MEBIBYTE = 1 << 20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """Limits on reading one file, each checked as early as the format allows.

    `max_bytes`: file size. `max_characters`: text length. `max_unpacked_bytes`, `max_members`: of an archive, such as
    an office file or e-book. `max_ratio`: unpacked to packed size, checked above 10 MiB. `max_depth`: nested messages.
    `timeout_s`, `memory_bytes`: of the reading process (memory only if the system can limit it).
    """

    max_bytes: int = 100 * MEBIBYTE
    max_pages: int = 5_000
    max_characters: int = 50_000_000
    max_unpacked_bytes: int = 400 * MEBIBYTE
    max_members: int = 20_000
    max_ratio: int = 200
    max_depth: int = 8
    timeout_s: float = 60.0
    memory_bytes: int = 1_024 * MEBIBYTE


class DocumentStatus(StrEnum):
    """The status of a document. Its chunks can be recalled after it has first been READY."""

    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    ERASED = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """An ingested file without its text.

    `source` is the path or name, unique in its partition and private agent unless erased. `sha256` is the digest of the
    bytes last read, or "" if there are none. `reason` explains a failure. If a later read fails, the old text, chunks
    and `sha256` stay. `pages`: the character offset of each page. `headings` ascend by offset. `characters` and
    `chunks` are stored counts. `metadata` comes from the file, and `bookkeeping` belongs to Mnemic.
    """

    id: str
    partition: Partition
    source: str
    title: str
    media_type: str
    status: DocumentStatus
    created_at: datetime
    updated_at: datetime
    sha256: str = ""
    reason: str = ""
    private_agent: str | None = None
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    characters: int = 0
    chunks: int = 0
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    bookkeeping: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def level(self) -> Level:
        """The level of the owner."""
        return self.partition.level


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuery:
    """Conditions on documents, ordered by source. `statuses` empty: all but erased. `sources`: any of these; None:
    any. `under`: the source starts with this. `titles`: the title has one of these keys (see
    `text.titles.title_key`); None: any. `after`: source and id of the previous page's last document.
    """

    statuses: tuple[DocumentStatus, ...] = ()
    sources: tuple[str, ...] | None = None
    under: str = ""
    titles: frozenset[str] | None = None
    limit: int | None = None
    after: tuple[str, str] | None = None


class Chunking(StrEnum):
    """How to split text: by `chunk_text`, by whole sentences, or by sections and then sentences."""

    PARAGRAPHS = "paragraphs"
    SENTENCES = "sentences"
    STRUCTURE = "structure"


class Secrets(StrEnum):
    """How to treat a file with a secret. `refuse`: the file fails. `redact`: the secret is replaced."""

    REFUSE = "refuse"
    REDACT = "redact"


class Outcome(StrEnum):
    """The outcome for a file, or the planned outcome in a dry run."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    SKIPPED = "skipped"
    VANISHED = "vanished"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The outcome of one file or skipped folder. `reason`: why it failed or was skipped, or what was redacted.
    `same_as`: the source of another file of this run with the same bytes; both are stored.
    """

    source: str
    outcome: Outcome
    reason: str = ""
    document_id: str | None = None
    chunks: int = 0
    same_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """The result of an ingest, or the plan of a dry run, which does not open files. `counts`: files by outcome.
    `why_nothing`: the reason if nothing was stored, or "". `chunks` and `characters` are the stored amounts.
    `needs_vectors`: keyword search finds the passages now, and semantic search after a job has run. `note`: a warning,
    for example if the embedder does not know the language of the texts.
    """

    at: datetime
    files: tuple[FileReport, ...]
    counts: Mapping[str, int]
    chunks: int = 0
    characters: int = 0
    seconds: float = 0.0
    needs_vectors: bool = False
    is_dry_run: bool = False
    why_nothing: str = ""
    note: str = ""


STEPS_KEPT = timedelta(days=30)
"""How long replies about pieces are kept, so that repeating a question costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A stored reply of a language model, so that the same prompt is not sent twice. `key` is the prompt's digest,
    `at` the time of the reply. Tokens are as the model reported them.
    """

    key: str
    reply: str
    at: datetime
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchLimits:
    """Strict limits on one `research` call. Replies kept from earlier calls do not count.

    `max_calls`: of the language model, retries included. `max_tokens`: prompts and replies together. No call starts or
    waits after `deadline_s`. `parallel`: calls at a time; None: four for a server, one for a model in this process.
    `piece_tokens`: maximum tokens of a piece; None: what the model's context allows, at most 16,000.
    """

    max_calls: int = 256
    max_tokens: int = 4_000_000
    deadline_s: float = 1800.0
    parallel: int | None = None
    piece_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ResearchPlan:
    """The maximum cost of reading a document, and how much the limits allow.

    `pieces`: the pieces of the document. `kept`: those kept from earlier calls. `read`: those that the limits allow,
    including kept ones. `calls` and `tokens`: the cost of these, including combining and the answer, but not retries.
    """

    pieces: int
    kept: int
    read: int
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ResearchCitation:
    """The source of a mark `[number]` in an answer: the note, and the quotes that support it."""

    number: int
    says: str
    document_id: str
    source: str
    title: str
    quotes: tuple[ResearchQuote, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """An unread part of a document: its characters, the reason, and its pages if known."""

    start: int
    end: int
    reason: str
    first_page: int | None = None
    last_page: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a document was read, in pieces and characters. `kept` pieces were read by an earlier call, `failed`
    pieces got no usable reply, and `unread` pieces were not tried. `missing` lists up to 100 unread parts.
    """

    pieces: int = 0
    read: int = 0
    kept: int = 0
    failed: int = 0
    unread: int = 0
    characters: int = 0
    characters_read: int = 0
    missing: tuple[Stretch, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True if the whole document was read."""
        return self.characters_read >= self.characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchReport:
    """The answer to a question about one document. `citations` are the sources that the text cites by `[number]`.

    `text` ends with a sentence on any unread parts. `is_extractive`: no model answered, and the text lists passages.
    `degraded` lists unavailable sources, with the reason. A dry run has only a `plan`. `usage` is the cost of this
    call.
    """

    at: datetime
    question: str
    document_id: str
    source: str
    title: str
    text: str
    citations: tuple[ResearchCitation, ...]
    coverage: Coverage
    plan: ResearchPlan
    usage: Usage = field(default_factory=Usage)
    degraded: tuple[str, ...] = ()
    seconds: float = 0.0
    is_extractive: bool = False
    is_dry_run: bool = False
