"""How files are taken in, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


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
