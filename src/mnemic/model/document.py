"""What reading a file gives: one text, with the places of its pages and headings; and the limits of reading.

What is kept of files beside their passages (`item.Chunk`).

How files are taken in, and what became of each.

One huge document and a question: how it is researched, what was read of it, and what came of it.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from mnemic.errors import InvalidInputError
from mnemic.model.chat import Usage
from mnemic.model.scope import Level, Partition

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: where it begins in the text (a character offset), its level (1 is the highest), and its words."""

    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """The text of a file, never blank, so that passages can be cut from it and cited by page.

    `pages`: the offset at which each page begins, ascending, the first 0; empty where the format has no pages. A page
    is what a reader would cite: the page of a PDF, the slide of a presentation, the sheet of a workbook. `headings`
    ascend by offset. `metadata`: what the file says of itself, in words (author, language, encoding).
    Raises `InvalidInputError` when an offset is outside the text or out of order.
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
            if offsets != sorted(offsets) or any(not 0 <= offset <= len(self.text) for offset in offsets):
                raise InvalidInputError("the pages and headings of a document ascend, inside its text")
        if self.pages and self.pages[0] != 0:
            raise InvalidInputError("the first page of a document begins with its text")

    def page_at(self, offset: int) -> int | None:
        """The number of the page, counted from 1, that holds the character at `offset`; None without pages."""
        return bisect.bisect_right(self.pages, offset) or None


MEBIBYTE = 1 << 20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """How much one file may cost before it is refused; each is checked as early as the format allows.

    `max_bytes`: of the file. `max_characters`: of its text. `max_unpacked_bytes`, `max_members`: of an archive, which
    office files and e-books are. `max_ratio`: unpacked to packed size, looked at above 10 MiB. `max_depth`: messages
    within messages. `timeout_s`, `memory_bytes`: of the process that reads (memory where the system can limit it).
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
    """How far a document has come; only the chunks of a document that was READY once are recalled."""

    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    ERASED = "erased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """An ingested file without its text.

    `source` is where it came from (a path or any name), unique in its partition and private agent while it is not
    erased. `sha256` is that of the bytes that were read last, "" before. `reason` says why it failed, for a person;
    a document that failed when it was read again keeps the text and chunks it had, and `sha256` of these.
    `pages`: the character offset at which each page begins; `headings` of the text, ascending by offset. `characters`
    and `chunks` count what is stored. `metadata` is what the file says of itself, `bookkeeping` Mnemic's own.
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
        """The level it belongs to."""
        return self.partition.level


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuery:
    """Conditions on documents, in the order of their sources. `statuses` empty: every one but erased. `sources`: any of
    these, None: of any. `under`: those whose source begins so. `titles`: those whose title has one of these keys (see
    `text.titles.title_key`), None: any title. `after`: the source and id of the last document of the page before.
    """

    statuses: tuple[DocumentStatus, ...] = ()
    sources: tuple[str, ...] | None = None
    under: str = ""
    titles: frozenset[str] | None = None
    limit: int | None = None
    after: tuple[str, str] | None = None


class Chunking(StrEnum):
    """How to cut. `paragraphs`: `chunk_text`. `sentences`: whole sentences. `structure`: sections, then sentences."""

    PARAGRAPHS = "paragraphs"
    SENTENCES = "sentences"
    STRUCTURE = "structure"


class Secrets(StrEnum):
    """What becomes of a file that holds a secret. `refuse`: it fails. `redact`: it is kept with the secret replaced."""

    REFUSE = "refuse"
    REDACT = "redact"


class Outcome(StrEnum):
    """What became of a file; of a dry run, what would."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    SKIPPED = "skipped"
    VANISHED = "vanished"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What became of one file, or of a folder that was left out. `reason`: why it failed or was skipped, or what was
    taken out of it. `same_as`: the source of another file of this run with the same bytes; both are kept.
    """

    source: str
    outcome: Outcome
    reason: str = ""
    document_id: str | None = None
    chunks: int = 0
    same_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did, or in a dry run would do: whether a file can be read, and what it gives, shows only when it
    is read. `counts` of files by outcome. `why_nothing`: where nothing was stored, why; else "". `chunks` were stored,
    of `characters` of text. `needs_vectors`: they are found by words now, and by meaning when a job has run.
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


STEPS_KEPT = timedelta(days=30)
"""How long the replies about pieces of a document are kept, so that asking the same again pays for nothing twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One reply of a language model, kept so that it is not asked for again. `key` is the digest of all that was asked,
    `at` when it was answered; tokens are as the model told them.
    """

    key: str
    reply: str
    at: datetime
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchLimits:
    """What one call of `research` may cost; each limit is kept exactly, and what was kept from earlier costs nothing.

    `max_calls`: of the language model, second tries included. `max_tokens`: of prompts and replies together. No call is
    begun after `deadline_s`, and none waits longer. `parallel`: calls under way at a time; None: four of a server, one
    of a model in this process. `piece_tokens`: the most tokens of one piece; None: as the model's context allows, at
    most 16,000.
    """

    max_calls: int = 256
    max_tokens: int = 4_000_000
    deadline_s: float = 1800.0
    parallel: int | None = None
    piece_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ResearchPlan:
    """What reading all of a document takes at most, and what the limits allow of it.

    `pieces` it is cut into, `kept` of them read earlier for the same question. `read`: how many the limits allow to be
    read, those kept included. `calls` and `tokens`: for these, with combining and the answer, without second tries.
    """

    pieces: int
    kept: int
    read: int
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ResearchQuote:
    """What stands in the document, word for word: characters `start` until before `end` of its text, from `page` to
    `last_page` (from 1) where these are known.
    """

    text: str
    start: int
    end: int
    page: int | None = None
    last_page: int | None = None


@dataclass(frozen=True, slots=True)
class ResearchCitation:
    """What the mark `[number]` in an answer stands for: what was noted, and the quotes of the document it rests on."""

    number: int
    says: str
    document_id: str
    source: str
    title: str
    quotes: tuple[ResearchQuote, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a document that was not read, and why: characters, and pages where they are known."""

    start: int
    end: int
    reason: str
    first_page: int | None = None
    last_page: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a document was read, in pieces and characters; `kept` of the pieces were read by an earlier call.
    `failed` were asked about in vain, `unread` were not asked about; `missing` says where these lie, at most the first
    hundred stretches.
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
        """True when all of the document was read."""
        return self.characters_read >= self.characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchReport:
    """The answer to a question about one document. `citations` are those that the text names by `[number]`.

    `text` ends with what was not read, in words, where that is anything. `is_extractive`: no model has answered; the
    text is a list of what was found. `degraded` says what was missing and why. Of a dry run only `plan` is made.
    `usage` is what this call cost.
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
