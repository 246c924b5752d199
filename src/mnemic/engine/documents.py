"""Ingests, lists, reads and erases documents (docs/decisions/0015-documents.md). A document and its vectors are one
transaction. Repeating an interrupted ingest completes it.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.engine import ingest_plan
from mnemic.engine.access import forget_answers
from mnemic.engine.browse import MAX_PAGE
from mnemic.engine.cascade import Cascaded, cascade
from mnemic.engine.dependants import Hand
from mnemic.engine.engine import Engine, new_entry, new_id
from mnemic.engine.fields import deletion
from mnemic.engine.indexing import ItemVectors, document_vectors, put_vectors, reached
from mnemic.engine.secrets import clean_reason
from mnemic.errors import ConflictError, InvalidInputError, MnemicError, NotFoundError
from mnemic.model.document import Document, DocumentQuery, DocumentStatus, FileReport, IngestReport, Outcome
from mnemic.model.item import Chunk
from mnemic.model.listing import Listing
from mnemic.model.records import Action, HistoryEntry, Receipt
from mnemic.model.scope import Level, Scope, Visibility
from mnemic.ports.store import UnitOfWork


@dataclass(frozen=True, slots=True, repr=False)
class DocumentPage(Listing[Document]):
    """A page of documents ordered by source. `after`: the id to continue from, None at the end."""

    documents: tuple[Document, ...]
    after: str | None


def list_documents(
    engine: Engine, scope: Scope, query: DocumentQuery, levels: Sequence[Level], after: str | None
) -> DocumentPage:
    """One page of the visible documents of these levels (empty: all). `query.limit`: 1..1000. Raises `NotFoundError`
    for an invisible `after`.
    """
    limit = MAX_PAGE if query.limit is None else query.limit
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInputError(f"limit must be from 1 to {MAX_PAGE}, not {limit}")
    visible = scope.visibility.at(*levels)
    with engine.store.read() as work:
        last = None if after is None else _get_by_id(work, scope.visibility, after)
        place = None if last is None else (last.source, last.id)
        found = work.documents.list(visible, replace(query, limit=limit + 1, after=place))
    page = tuple(found[:limit])
    return DocumentPage(page, page[-1].id if len(found) > limit else None)


def get_document(engine: Engine, scope: Scope, reference: str) -> Document:
    """The document with this id or source. Raises `NotFoundError`, or `ConflictError` if several levels have it."""
    with engine.store.read() as work:
        return _find_one(work, scope.visibility, reference)


def document_text(engine: Engine, scope: Scope, reference: str) -> str:
    """The stored text of a document, "" if it was never read. Raises as `get_document`."""
    with engine.store.read() as work:
        document = _find_one(work, scope.visibility, reference)
        return work.documents.text(scope.visibility, document.id) or ""


def document_passages(engine: Engine, scope: Scope, reference: str, first: int, count: int) -> list[Chunk]:
    """At most `count` passages of a document from index `first` on. Raises as `get_document`."""
    with engine.store.read() as work:
        document = _find_one(work, scope.visibility, reference)
        return work.documents.passages(scope.visibility, document.id, first, count)


def delete_document(engine: Engine, scope: Scope, reference: str, *, actor: str, reason: str = "") -> Receipt:
    """Erase a document with passages, vectors, history and dependants (as `delete`). Raises as `get_document`."""
    now, reason = engine.clock.now(), clean_reason(engine, reason)
    with engine.store.write(is_erasing=True) as work:
        document = _find_one(work, scope.visibility, reference)
        counts, followed = erase_documents(Hand(engine, work, actor, now), [document], reason=reason)
    notes = (*followed.notes, *engine.store.scrub(), *reached(engine, [document.partition]))
    return Receipt(now, {**counts, "chunks": document.chunks}, notes=notes)


def erase_documents(hand: Hand, documents: Sequence[Document], *, reason: str) -> tuple[dict[str, int], Cascaded]:
    """Erase documents of one partition with their history, and cascade to memories. Returns counts by table."""
    if not documents:
        return {}, Cascaded()
    work, now, partition = hand.work, hand.now, documents[0].partition
    ids = [document.id for document in documents]
    entries = [deletion(partition, document_id, hand.actor, reason, now) for document_id in ids]
    passages = [passage for pair in zip(documents, entries, strict=True) for passage in _passages_gone(work, *pair)]
    counts = {"documents": work.documents.erase(partition, ids, now), "history": work.history.scrub(partition, ids)}
    work.history.add(entries)
    followed = cascade(hand, [*entries, *passages])
    forget_answers(work, [partition])
    return counts | ({"memories": followed.erased} if followed.erased else {}), followed


def _passages_gone(work: UnitOfWork, document: Document, entry: HistoryEntry) -> list[HistoryEntry]:
    """A document's deletion entry, once for each of its passages, which have none of their own."""
    visible = Visibility((document.partition,), document.private_agent)
    found = work.documents.passages(visible, document.id, 0, document.chunks)
    return [replace(entry, item_id=chunk.id) for chunk in found]


def _get_by_id(work: UnitOfWork, visible: Visibility, document_id: str) -> Document:
    found = work.documents.get(visible, [document_id])
    if not found:
        raise NotFoundError(f"there is no document {document_id!r} in this scope")
    return found[0]


def _find_one(work: UnitOfWork, visible: Visibility, reference: str) -> Document:
    found = work.documents.get(visible, [reference])
    found = found or work.documents.list(visible, DocumentQuery(sources=(reference,)))
    if not found:
        raise NotFoundError(f"there is no document {reference!r} in this scope")
    if len(found) > 1:
        places = ", ".join(f"{each.id} ({each.level.value})" for each in found)
        raise ConflictError(f"several documents are called {reference!r}; use one of these ids: {places}")
    return found[0]


GROUP_FILES = 64  # per transaction: one flush for all, and other writers wait only a moment
GROUP_BYTES = 256 << 10  # of files that share a transaction; a larger file has its own
EMBEDDED = 256  # passages per embedding call, so that a book is not in memory twice
_ATTEMPTS = 3  # attempts if the document changes between reading and storing


@dataclass(frozen=True, slots=True)
class Result:
    """Result of reading a file: the prepared document, or the failure."""

    task: ingest_plan.Task
    sha256: str
    prepared: ingest_plan.Prepared | None
    failure: str = ""


class Storing:
    """The writing part of one ingest. `chunks` and `characters` count what was stored."""

    def __init__(self, engine: Engine, shelf: ingest_plan.Shelf, actor: str) -> None:
        self.chunks = self.characters = 0
        self.needs_vectors = False
        self._engine, self._shelf, self._actor = engine, shelf, actor
        self._sources: dict[str, str] = {}

    def begin(self, tasks: Sequence[ingest_plan.Task], first: int) -> None:
        """Store the documents to ingest: the first ones as being read, the others as waiting."""
        begun = 0
        for batch in ingest_plan.batches(tasks, ingest_plan.LOOKED_UP):
            now = self._engine.clock.now()
            with self._engine.store.write() as work:
                held = self._shelf.held(work, [task.source for task in batch])
                documents = [held.get(task.source) or self._new(task, now) for task in batch]
                marked = [DocumentStatus.PROCESSING if begun + n < first else _PENDING for n in range(len(batch))]
                work.documents.put(
                    [replace(d, status=status, updated_at=now) for d, status in zip(documents, marked, strict=True)]
                )
            begun += len(batch)

    def document(self, task: ingest_plan.Task) -> Document:
        """The known or new document of a file before it is read."""
        return task.known or self._new(task, self._engine.clock.now())

    def store(self, results: Sequence[Result], following: Sequence[ingest_plan.Task]) -> list[FileReport]:
        """Store a group and mark the next one as being read. A document that the store refuses fails alone."""
        vectors = self._vectors([text for each in results if each.prepared for text in each.prepared.indexed])
        refusal: MnemicError | None = None
        for _ in range(_ATTEMPTS):
            try:
                return self._write(results, vectors, following)
            except (ConflictError, InvalidInputError) as error:
                refusal = error
        if len(results) == 1:
            return self._write([replace(results[0], prepared=None, failure=str(refusal))], None, following)
        return [report for each in results for report in self.store([each], following)]

    def _vectors(self, texts: Sequence[str]) -> list[ItemVectors] | None:
        """The vectors of all texts. None in the place of each vector that a job must make."""
        if not self._engine.embedders:
            return []
        found: list[ItemVectors] = []
        for batch in ingest_plan.batches(texts, EMBEDDED):
            found += document_vectors(self._engine, batch) or [(None,) * len(self._engine.embedders)] * len(batch)
        self.needs_vectors |= any(vector is None for row in found for vector in row)
        return found

    def _write(
        self, results: Sequence[Result], vectors: list[ItemVectors] | None, following: Sequence[ingest_plan.Task]
    ) -> list[FileReport]:
        now, shelf = self._engine.clock.now(), self._shelf
        with self._engine.store.write() as work:
            sources = [each.task.source for each in results] + [task.source for task in following]
            held = shelf.held(work, sources)
            filled = [self._put(work, each, held.get(each.task.source), now) for each in results]
            items = [(shelf.partition, chunk_id) for document in filled for chunk_id in document[1]]
            put_vectors(self._engine, work, items, vectors or None, now)
            begun = [held[task.source] for task in following if task.source in held]
            work.documents.put([replace(each, status=DocumentStatus.PROCESSING, updated_at=now) for each in begun])
        stored = [each.prepared for each in results if each.prepared is not None]
        self.chunks += sum(len(each.chunks) for each in stored)
        self.characters += sum(len(each.text) for each in stored)
        return [self._report_file(each, document.id) for each, (document, _) in zip(results, filled, strict=True)]

    def _put(
        self, work: UnitOfWork, result: Result, held: Document | None, now: datetime
    ) -> tuple[Document, list[str]]:
        """Store one document in place of `held`. Returns the ids of its chunks."""
        base = held or self._new(result.task, now)
        if result.prepared is None:
            failed = replace(base, status=DocumentStatus.FAILED, reason=result.failure, updated_at=now)
            work.documents.put([failed])
            return failed, []
        ready = replace(
            result.prepared.document,
            id=base.id,
            status=DocumentStatus.READY,
            sha256=result.sha256,
            created_at=base.created_at,
            updated_at=now,
        )
        rows = [(replace(chunk, document_id=base.id), terms) for chunk, terms in result.prepared.chunks]
        work.documents.fill(ready, result.prepared.text, rows)
        work.history.add([self._entry(base, ready, result.prepared, now)])
        return ready, [chunk.id for chunk, _ in rows]

    def _entry(self, base: Document, ready: Document, prepared: ingest_plan.Prepared, now: datetime) -> HistoryEntry:
        action, replaced = Action.UPDATED if base.sha256 else Action.CREATED, ", ".join(prepared.redacted)
        reason = f"secrets were replaced: {replaced}" if replaced else ""
        before = {"sha256": base.sha256, "chunks": base.chunks} if base.sha256 else {}
        sides = (before, {"sha256": ready.sha256, "chunks": len(prepared.chunks)})
        return new_entry(now, (ready.partition, ready.id), action, self._actor, reason, sides)

    def _report_file(self, result: Result, document_id: str) -> FileReport:
        task, prepared = result.task, result.prepared
        outcome = Outcome.FAILED if prepared is None else task.outcome
        self._engine.observer.count(f"mnemic.ingest.{outcome.value}")
        replaced = f"secrets were replaced: {', '.join(prepared.redacted)}" if prepared and prepared.redacted else ""
        first = self._sources.setdefault(result.sha256, task.source) if prepared else task.source
        return FileReport(
            source=task.source,
            outcome=outcome,
            reason=result.failure or replaced,
            document_id=document_id,
            chunks=len(prepared.chunks) if prepared else 0,
            same_as=None if first == task.source else first,
        )

    def _new(self, task: ingest_plan.Task, now: datetime) -> Document:
        return Document(
            id=new_id(now),
            partition=self._shelf.partition,
            source=task.source,
            title=task.name,
            media_type="",
            status=_PENDING,
            created_at=now,
            updated_at=now,
            private_agent=self._shelf.private_agent,
        )


_PENDING = DocumentStatus.PENDING


def groups(tasks: Sequence[ingest_plan.Task]) -> Iterator[list[ingest_plan.Task]]:
    """The tasks in order, grouped by what fits into one transaction."""
    group: list[ingest_plan.Task] = []
    size = 0
    for task in tasks:
        if group and (len(group) >= GROUP_FILES or size + task.size > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(task)
        size += task.size
    if group:
        yield group


GONE = "the file is gone; ingesting the folder with is_pruning=True removes the document"


def ingest(
    engine: Engine, scope: Scope, content: str | bytes, request: ingest_plan.IngestRequest, *, actor: str
) -> IngestReport:
    """Ingest a file, a folder or bytes. A repeated call continues an interrupted ingest. Raises `InvalidInputError` if
    the path does not exist. A broken file fails alone.
    """
    if request.is_private and scope.agent is None:
        raise InvalidInputError("is_private=True requires an agent in the scope")
    if ingest_plan.ABOUT in (request.metadata or {}):
        raise InvalidInputError(f"the metadata key {ingest_plan.ABOUT!r} is reserved for the file's own properties")
    with engine.observer.span("mnemic.ingest", is_dry_run=request.is_dry_run) as span:
        report = _ingest_files(engine, scope, content, request, actor)
        span.note(files=len(report.files), chunks=report.chunks, characters=report.characters, **report.counts)
        return report


def _ingest_files(
    engine: Engine, scope: Scope, content: str | bytes, request: ingest_plan.IngestRequest, actor: str
) -> IngestReport:
    began, at = time.perf_counter(), engine.clock.now()
    shelf = ingest_plan.Shelf(
        scope.partition(request.level or scope.default_level), scope.agent if request.is_private else None
    )
    made = ingest_plan.plan(engine, shelf, content, request)
    storing = Storing(engine, shelf, actor)
    deed = _preview_files(made, request) if request.is_dry_run else _run_tasks(engine, made, storing, request, actor)
    files = sorted([*made.reports, *deed], key=lambda file: file.source)
    return IngestReport(
        at=at,
        files=tuple(files),
        counts=ingest_plan.counted(files),
        chunks=storing.chunks,
        characters=storing.characters,
        seconds=time.perf_counter() - began,
        needs_vectors=storing.needs_vectors,
        is_dry_run=request.is_dry_run,
        why_nothing=ingest_plan.why_nothing(files, is_dry_run=request.is_dry_run),
    )


def _preview_files(made: ingest_plan.Plan, request: ingest_plan.IngestRequest) -> Iterator[FileReport]:
    for task in made.tasks:
        known = task.known.id if task.known is not None else None
        yield FileReport(source=task.source, outcome=task.outcome, document_id=known)
    for document in made.gone:
        yield _report_gone(document, is_removed=request.is_pruning)


def _run_tasks(
    engine: Engine, made: ingest_plan.Plan, storing: Storing, request: ingest_plan.IngestRequest, actor: str
) -> Iterator[FileReport]:
    if made.tasks:
        yield from _store_files(engine, made, storing, request)
    if request.is_pruning:
        for batch in ingest_plan.batches(made.gone, ingest_plan.LOOKED_UP):
            with engine.store.write() as work:
                erase_documents(Hand(engine, work, actor, engine.clock.now()), batch, reason="its file is gone")
    for document in made.gone:
        yield _report_gone(document, is_removed=request.is_pruning)


def _store_files(
    engine: Engine, made: ingest_plan.Plan, storing: Storing, request: ingest_plan.IngestRequest
) -> Iterator[FileReport]:
    """Read, prepare and store group by group. The next groups are read meanwhile."""
    grouped: list[Sequence[ingest_plan.Task]] = [*groups(made.tasks), ()]
    storing.begin(made.tasks, len(grouped[0]))
    known, total = len(made.reports), len(made.reports) + len(made.tasks)
    done = known
    with closing(ingest_plan.read_ahead(engine, made.tasks)) as readings:
        for number, group in enumerate(grouped[:-1]):
            results: list[Result] = []
            for task in group:
                if request.progress is not None:
                    request.progress(done, total, task.source)
                results.append(_result(engine, storing, request, next(readings)))
                done += 1
            yield from storing.store(results, grouped[number + 1])
    if request.progress is not None:
        request.progress(total, total, "")


def _result(
    engine: Engine, storing: Storing, request: ingest_plan.IngestRequest, reading: ingest_plan.Reading
) -> Result:
    if reading.read is None:
        return Result(reading.task, reading.sha256, None, reading.failure)
    document = replace(storing.document(reading.task), sha256=reading.sha256)
    try:
        prepared = ingest_plan.prepare(engine, request, document, reading.read, engine.clock.now())
    except InvalidInputError as error:
        return Result(reading.task, reading.sha256, None, str(error))
    return Result(reading.task, reading.sha256, prepared)


def _report_gone(document: Document, *, is_removed: bool) -> FileReport:
    return FileReport(
        source=document.source,
        outcome=Outcome.REMOVED if is_removed else Outcome.VANISHED,
        reason="its file is gone" if is_removed else GONE,
        document_id=document.id,
        chunks=document.chunks,
    )
