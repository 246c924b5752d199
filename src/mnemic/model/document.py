"""What is kept of files beside their passages (`item.Chunk`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemic.model.document_text import Heading
from mnemic.model.scope import Level, Partition


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
    and `chunks` count what is stored.
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
