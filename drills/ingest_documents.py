"""Ingests a folder of real documents. Each must be stored, or fail with a reason that people understand.

The files are in MNEMIC_DATA/documents: PDF, office files and others, some of which are broken, scanned or encrypted on
purpose. They are ingested twice. The second time, no document that is ready may be read again. For each passage, its
text must equal the document's text between its start and end, its page must be the one that contains its first
character, and passages must be in order. Vectors are synthetic, so the drill measures reading, splitting and storing,
but not a model. To measure the effect of running headers and footers, each document is split with and without them. No
text of the data is stored.

    MNEMIC_DATA=path/to/data python drills/ingest_documents.py
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePath

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.model.document import Document, DocumentStatus, IngestReport
from mnemic.model.document import Outcome as FileOutcome
from mnemic.model.item import Chunk
from mnemic.model.scope import Scope
from mnemic.text.chunking import boilerplate, draft_chunks

SCOPE = Scope(user="anna")
ALL = 1000


def main() -> int:
    """Take them in, look at each, and tell."""
    options(__doc__)
    folder = Path(os.environ.get("MNEMIC_DATA", "../shared/data")) / "documents"
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as place, opened(Path(place) / "memory.db") as mnemic:
        mnemic.ingest(SCOPE, b"The process starts and imports its code.", name="first.txt")
        began = time.perf_counter()
        report = mnemic.ingest(SCOPE, folder, source="documents", secrets="redact")
        seconds = time.perf_counter() - began
        again = mnemic.ingest(SCOPE, folder, source="documents", secrets="redact")
        if again.counts.get("unchanged", 0) != report.counts.get("added", 0):
            problems.append(f"asked again: {again.counts}")
        found = list(_documents(mnemic))
        problems += [problem for document in found for problem in _against(mnemic, document)]
        edges = Counter[str]()
        for document in found:
            edges.update(_repeated(mnemic, document))
        rows = _rows(report, found)
    bytes_read = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    facts = {
        "files": sum(report.counts.values()),
        **{name: report.counts[name] for name in report.counts},
        "failed without a reason": sum(
            1 for file in report.files if file.outcome is FileOutcome.FAILED and not file.reason
        ),
        "passages": report.chunks,
        "characters": f"{report.characters:,}",
        "seconds for all": f"{seconds:.2f}",
        "characters a second": f"{report.characters / seconds:,.0f}",
        "MiB of files": f"{bytes_read / (1 << 20):.1f}",
        "peak MiB of this process": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}",
        "peak MiB of a process that reads": f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f}",
        **edges,
    }
    problems += ["a file failed without a reason"] * bool(facts["failed without a reason"])
    head = ["type", "files", "ready", "failed", "skipped", "passages"]
    return Outcome(
        name="ingest_documents", about=__doc__ or "", facts=facts, problems=problems, tables=[(head, rows)]
    ).told()


def _documents(mnemic: Mnemic) -> Iterator[Document]:
    page = mnemic.documents.list(SCOPE, under="documents/", limit=ALL)
    yield from page.documents


def _against(mnemic: Mnemic, document: Document) -> Iterator[str]:
    """What is wrong with a document, by the type of its file."""
    kind = PurePath(document.source).suffix
    if document.status is DocumentStatus.FAILED:
        if not document.reason:
            yield f"a {kind} file failed without a reason"
        return
    if document.status is not DocumentStatus.READY:
        yield f"a {kind} file stayed {document.status.value}"
    text = mnemic.documents.text(SCOPE, document.id)
    passages = mnemic.documents.passages(SCOPE, document.id, count=100_000)
    if not passages or len(passages) != document.chunks:
        yield f"a {kind} file has {len(passages)} passages, not {document.chunks}"
    if [chunk.index for chunk in passages] != list(range(len(passages))):
        yield f"the passages of a {kind} file are not in order"
    for chunk in passages:
        if text[chunk.start : chunk.end] != chunk.text:
            yield f"a passage of a {kind} file is not in its document"
        if chunk.page != _page(document, chunk):
            yield f"a passage of a {kind} file is on another page"


def _page(document: Document, chunk: Chunk) -> int | None:
    """The page that holds the first character of a passage."""
    return sum(1 for page in document.pages if page <= chunk.start) or None


def _repeated(mnemic: Mnemic, document: Document) -> dict[str, int]:
    """What running heads and feet change in the passages of a document."""
    text = mnemic.documents.text(SCOPE, document.id)
    lines = boilerplate(text, document.pages)
    if not lines:
        return {}
    drafts = draft_chunks(text, page_starts=document.pages, headings=document.headings)
    kept = mnemic.documents.passages(SCOPE, document.id, count=100_000)
    spans = {(chunk.start, chunk.end) for chunk in kept}
    return {
        "documents that repeat lines on their pages": 1,
        "repeated lines": len(lines),
        "passages of these documents": len(drafts),
        "of these left out": len(drafts) - len(kept),
        "of these shortened": len(kept) - sum((draft.start, draft.end) in spans for draft in drafts),
    }


def _rows(report: IngestReport, found: list[Document]) -> list[list[str]]:
    """What became of the files, by type."""
    by_kind: dict[str, Counter[str]] = {}
    passages = {document.source: document.chunks for document in found}
    for file in report.files:
        counts = by_kind.setdefault(PurePath(file.source).suffix.lower() or "none", Counter())
        counts[file.outcome.value] += 1
        counts["passages"] += passages.get(file.source, 0)
    rows: list[list[str]] = []
    for kind, counts in sorted(by_kind.items()):
        files = sum(counts.values()) - counts["passages"]
        numbers = (files, counts["added"], counts["failed"], counts["skipped"], counts["passages"])
        rows.append([kind, *map(str, numbers)])
    return rows


if __name__ == "__main__":
    sys.exit(main())
