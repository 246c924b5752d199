"""Takes in files: plans, reads, cuts and stores them, so that what is interrupted at any point is finished by asking
again. The data flow is that of docs/decisions/0015-documents.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from mnemic.engine.documents.chunks import prepare
from mnemic.engine.documents.documents import erase_documents
from mnemic.engine.documents.plan import LOOKED_UP, Plan, Shelf, Task, batches, plan
from mnemic.engine.documents.reading import Reading, read_ahead
from mnemic.engine.documents.request import IngestRequest, counted, why_nothing
from mnemic.engine.documents.store import Result, Storing, groups
from mnemic.engine.memories.dependants import Hand
from mnemic.engine.parts import Parts
from mnemic.errors import InvalidInputError
from mnemic.model.document import Document
from mnemic.model.ingest import FileReport, IngestReport, Outcome
from mnemic.model.scope import Scope

GONE = "the file is gone; ingesting the folder with is_pruning=True removes the document"


def ingest(parts: Parts, scope: Scope, content: str | bytes, request: IngestRequest, *, actor: str) -> IngestReport:
    """Ingest a file, a folder, or bytes. What was stored stays when it is interrupted; called again, it goes on from
    there. Raises `InvalidInputError` for a path where nothing is; what is wrong with one file fails that file.
    """
    if request.is_private and scope.agent is None:
        raise InvalidInputError("is_private=True keeps documents to their agent; this scope names none")
    with parts.observer.span("mnemic.ingest", is_dry_run=request.is_dry_run) as span:
        report = _ingested(parts, scope, content, request, actor)
        span.note(files=len(report.files), chunks=report.chunks, characters=report.characters, **report.counts)
        return report


def _ingested(parts: Parts, scope: Scope, content: str | bytes, request: IngestRequest, actor: str) -> IngestReport:
    began, at = time.perf_counter(), parts.clock.now()
    shelf = Shelf(scope.partition(request.level or scope.default_level), scope.agent if request.is_private else None)
    made = plan(parts, shelf, content, request)
    storing = Storing(parts, shelf, actor)
    deed = _would(made, request) if request.is_dry_run else _done(parts, made, storing, request, actor)
    files = sorted([*made.reports, *deed], key=lambda file: file.source)
    return IngestReport(
        at=at,
        files=tuple(files),
        counts=counted(files),
        chunks=storing.chunks,
        characters=storing.characters,
        seconds=time.perf_counter() - began,
        needs_vectors=storing.needs_vectors,
        is_dry_run=request.is_dry_run,
        why_nothing=why_nothing(files, is_dry_run=request.is_dry_run),
    )


def _would(made: Plan, request: IngestRequest) -> Iterator[FileReport]:
    for task in made.tasks:
        known = task.known.id if task.known is not None else None
        yield FileReport(source=task.source, outcome=task.outcome, document_id=known)
    for document in made.gone:
        yield _gone(document, is_removed=request.is_pruning)


def _done(parts: Parts, made: Plan, storing: Storing, request: IngestRequest, actor: str) -> Iterator[FileReport]:
    if made.tasks:
        yield from _stored(parts, made, storing, request)
    if request.is_pruning:
        for batch in batches(made.gone, LOOKED_UP):
            with parts.store.write() as work:
                erase_documents(Hand(parts, work, actor, parts.clock.now()), batch, reason="its file is gone")
    for document in made.gone:
        yield _gone(document, is_removed=request.is_pruning)


def _stored(parts: Parts, made: Plan, storing: Storing, request: IngestRequest) -> Iterator[FileReport]:
    """Read, prepare and store, group after group; the next ones are read meanwhile."""
    grouped: list[Sequence[Task]] = [*groups(made.tasks), ()]
    storing.begin(made.tasks, len(grouped[0]))
    known, total = len(made.reports), len(made.reports) + len(made.tasks)
    done = known
    with closing(read_ahead(parts, made.tasks)) as readings:
        for number, group in enumerate(grouped[:-1]):
            results: list[Result] = []
            for task in group:
                if request.progress is not None:
                    request.progress(done, total, task.source)
                results.append(_result(parts, storing, request, next(readings)))
                done += 1
            yield from storing.store(results, grouped[number + 1])
    if request.progress is not None:
        request.progress(total, total, "")


def _result(parts: Parts, storing: Storing, request: IngestRequest, reading: Reading) -> Result:
    if reading.read is None:
        return Result(reading.task, reading.sha256, None, reading.failure)
    document = replace(storing.document(reading.task), sha256=reading.sha256)
    try:
        prepared = prepare(parts, request, document, reading.read, parts.clock.now())
    except InvalidInputError as error:
        return Result(reading.task, reading.sha256, None, str(error))
    return Result(reading.task, reading.sha256, prepared)


def _gone(document: Document, *, is_removed: bool) -> FileReport:
    return FileReport(
        source=document.source,
        outcome=Outcome.REMOVED if is_removed else Outcome.VANISHED,
        reason="its file is gone" if is_removed else GONE,
        document_id=document.id,
        chunks=document.chunks,
    )
