"""What an ingest would do: which files there are, which of them are known and unchanged, and which are gone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TypeVar

from mnemic.engine.documents.request import MAX_SOURCE_CHARS, IngestRequest
from mnemic.engine.inputs import check_line
from mnemic.engine.parts import Parts
from mnemic.errors import ConfigError, InvalidInputError, MnemicError
from mnemic.model.document import Document, DocumentQuery, DocumentStatus
from mnemic.model.ingest import FileReport, Outcome
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.files import FoundFile, Place
from mnemic.ports.store import UnitOfWork

LOOKED_UP = 500
"""Sources asked for at once."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where documents go: their partition, and the agent whose own they are."""

    partition: Partition
    private_agent: str | None

    @property
    def visible(self) -> Visibility:
        """What can be seen of it, and beside it what all agents share."""
        return Visibility((self.partition,), self.private_agent)

    def held(self, work: UnitOfWork, sources: Iterable[str]) -> dict[str, Document]:
        """The documents with these sources."""
        found = work.documents.list(self.visible, DocumentQuery(sources=tuple(sources)))
        return {each.source: each for each in found if each.private_agent == self.private_agent}

    def under(self, work: UnitOfWork, start: str) -> Iterator[Document]:
        """The documents whose sources begin so."""
        after: tuple[str, str] | None = None
        while page := work.documents.list(self.visible, DocumentQuery(under=start, limit=LOOKED_UP, after=after)):
            yield from (each for each in page if each.private_agent == self.private_agent)
            after = page[-1].source, page[-1].id


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read. `load` gives its bytes, or raises `UnavailableError`. `known`: its document as it is now."""

    source: str
    name: str
    size: int
    load: Callable[[], bytes]
    known: Document | None = None

    @property
    def outcome(self) -> Outcome:
        """What reading it well comes to."""
        return Outcome.REPLACED if self.known is not None and self.known.sha256 else Outcome.ADDED


@dataclass(slots=True)
class Plan:
    """`tasks` are to be done; `reports` tell of the files with which nothing is done; `gone` are the documents of files
    that are no more.
    """

    tasks: list[Task] = field(default_factory=list[Task])
    reports: list[FileReport] = field(default_factory=list[FileReport])
    gone: list[Document] = field(default_factory=list[Document])


def plan(parts: Parts, shelf: Shelf, content: str | bytes, request: IngestRequest) -> Plan:
    """Look at everything and change nothing. Raises `InvalidInputError` for a path where nothing is."""
    made = Plan()
    place: Place | None = None
    if isinstance(content, bytes):
        candidates: Iterable[Task] = [_given(content, request)]
    else:
        place = _place(parts, content, request)
        candidates = list(_found(parts, place, made))
    done, total = 0, len(list(candidates))
    for batch in batches(candidates, LOOKED_UP):
        with parts.store.read() as work:
            known = shelf.held(work, [task.source for task in batch])
        for task in batch:
            _sort(task, known.get(task.source), request, made)
            done += 1
        if request.progress is not None and total > LOOKED_UP:
            request.progress(len(made.reports), total, "")
    if place is not None and place.is_folder:
        made.gone = _gone(parts, shelf, place, made)
    return made


def _given(data: bytes, request: IngestRequest) -> Task:
    name = check_line(request.name or request.source or "", "name", limit=MAX_SOURCE_CHARS).strip()
    source = check_line(request.source or name, "source", limit=MAX_SOURCE_CHARS).strip()
    if not name or not source:
        raise InvalidInputError("bytes need a name, such as name='report.pdf': its ending tells what they are")
    return Task(source, name.replace("\\", "/").rpartition("/")[2] or name, len(data), lambda: data)


def _place(parts: Parts, path: str, request: IngestRequest) -> Place:
    if parts.files is None:
        raise ConfigError("this Mnemic was put together without files")
    place = parts.files.find(path)
    if request.source is None:
        return place
    source = check_line(request.source, "source", limit=MAX_SOURCE_CHARS).strip().rstrip("/")
    if not source:
        raise InvalidInputError("source must not be blank")
    return Place(place.path, source, place.is_folder)


def _found(parts: Parts, place: Place, made: Plan) -> Iterator[Task]:
    """The files of a place as tasks; what is left out is reported."""
    files, most = parts.files, int(parts.settings.max_file_bytes)
    if files is None:
        return
    sources = set[str]()
    for entry in files.walk(place, most):
        if not isinstance(entry, FoundFile):
            made.reports.append(FileReport(source=entry.source, outcome=Outcome.SKIPPED, reason=entry.reason))
        elif entry.source in sources or len(entry.source) > MAX_SOURCE_CHARS:
            reason = "its path is too long" if entry.source not in sources else "another file is called so here"
            made.reports.append(FileReport(source=entry.source, outcome=Outcome.SKIPPED, reason=reason))
        else:
            sources.add(entry.source)
            yield Task(entry.source, entry.name, entry.size, partial(files.read, entry, most))


def _sort(task: Task, known: Document | None, request: IngestRequest, made: Plan) -> None:
    """To the tasks, or, where nothing has changed, to the reports."""
    if known is not None and not request.is_again and _is_unchanged(task, known, request):
        made.reports.append(
            FileReport(source=task.source, outcome=Outcome.UNCHANGED, document_id=known.id, chunks=known.chunks)
        )
    else:
        made.tasks.append(Task(task.source, task.name, task.size, task.load, known))


def _is_unchanged(task: Task, known: Document, request: IngestRequest) -> bool:
    if known.status is not DocumentStatus.READY or known.metadata.get("chunking") != request.recipe:
        return False
    try:
        return hashlib.sha256(task.load()).hexdigest() == known.sha256
    except MnemicError:
        return False  # reading it for good will say what is the matter


def _gone(parts: Parts, shelf: Shelf, place: Place, made: Plan) -> list[Document]:
    """The documents below a folder of which the walk has seen neither the file nor a folder that was left out."""
    root = f"{place.source.rstrip('/')}/"
    seen = {task.source for task in made.tasks} | {report.source for report in made.reports}
    with parts.store.read() as work:
        return [each for each in shelf.under(work, root) if not _is_seen(each.source, root, seen)]


def _is_seen(source: str, root: str, seen: set[str]) -> bool:
    """True for a source, or one of the folders it is in, that was met."""
    while len(source) >= len(root):
        if source in seen:
            return True
        source = source.rpartition("/")[0]
    return root.rstrip("/") in seen


def batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """The items in lists of `size`, the last one shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
