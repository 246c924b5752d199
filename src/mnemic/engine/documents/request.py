"""How an ingest is asked for, and the sums of what it tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mnemic.model.ingest import Chunking, FileReport, Outcome, Secrets
from mnemic.model.scope import Level
from mnemic.model.settings import Settings
from mnemic.text.chunk_drafts import DOCUMENT_CHUNKS
from mnemic.text.chunking import ChunkConfig

Progress = Callable[[int, int, str], None]
"""Called with how many files are done, how many there are, and the source of the one at hand ("" at the end)."""

MAX_SOURCE_CHARS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """How to ingest. `source`: what the path is called in the store, None for its absolute path; `name` of bytes, whose
    ending tells their type. `is_again`: read what is unchanged too. `is_pruning`: remove the documents of files that
    are gone from the folder.
    """

    level: Level | None = None
    source: str | None = None
    name: str | None = None
    is_dry_run: bool = False
    is_pruning: bool = False
    is_again: bool = False
    is_private: bool = False
    chunking: Chunking = Chunking.STRUCTURE
    config: ChunkConfig = DOCUMENT_CHUNKS
    secrets: Secrets = Secrets.REFUSE
    progress: Progress | None = None

    @property
    def recipe(self) -> str:
        """How passages are cut, in a word: a document that was cut otherwise is read again."""
        sizes = (self.config.chunk_size, self.config.chunk_overlap, self.config.min_chunk_size)
        return f"{self.chunking.value} {'/'.join(map(str, sizes))}"


def chunk_config(settings: Settings) -> ChunkConfig:
    """What documents are cut with unless a call says otherwise: what was configured, else `DOCUMENT_CHUNKS`; what was
    not said follows the size in the same proportion. Raises `InvalidInputError` for an overlap that is not below it.
    """
    size = settings.chunk_size or DOCUMENT_CHUNKS.chunk_size
    part = size * DOCUMENT_CHUNKS.chunk_overlap // DOCUMENT_CHUNKS.chunk_size
    least = size * DOCUMENT_CHUNKS.min_chunk_size // DOCUMENT_CHUNKS.chunk_size
    return ChunkConfig(size, part if settings.chunk_overlap is None else settings.chunk_overlap, least)


def counted(files: Sequence[FileReport]) -> dict[str, int]:
    """Files by outcome, in the order of the outcomes, without those that nothing came to."""
    found = Counter(file.outcome for file in files)
    return {outcome.value: found[outcome] for outcome in Outcome if found[outcome]}


def why_nothing(files: Sequence[FileReport], *, is_dry_run: bool) -> str:
    """Why nothing was stored, in a sentence; "" when something was."""
    found = Counter(file.outcome for file in files)
    if found[Outcome.ADDED] or found[Outcome.REPLACED]:
        return ""
    if not files:
        return "there is no file in the folder"
    told: list[str] = []
    for outcome in (Outcome.UNCHANGED, Outcome.FAILED, Outcome.SKIPPED):
        reasons = Counter(file.reason for file in files if file.outcome is outcome and file.reason)
        usual = f" ({reasons.most_common(1)[0][0]})" if len(reasons) == 1 else ""
        if found[outcome]:
            told.append(f"{found[outcome]} {outcome.value}{usual}")
    nothing = "nothing would be stored" if is_dry_run else "nothing was stored"
    return f"{nothing}: {', '.join(told)}" if told else f"{nothing}: every file is gone"
