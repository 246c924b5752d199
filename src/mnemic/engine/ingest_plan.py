"""Plans an ingest, reads files ahead on threads within a memory limit, and cuts redacted texts into passages."""

import hashlib
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TypeVar

from mnemic.engine.engine import Engine, new_id
from mnemic.engine.indexing import indexed_text, passage_terms
from mnemic.engine.inputs import check_line
from mnemic.engine.secrets import Redacted, redact
from mnemic.errors import ConfigError, InvalidInputError, MnemicError
from mnemic.model import document as documents
from mnemic.model.bookkeeping import chunking_in, note_chunking
from mnemic.model.candidates import Terms
from mnemic.model.item import Chunk
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.model.settings import Settings
from mnemic.ports.files import ClosableReader, FoundFile, Place
from mnemic.ports.store import UnitOfWork
from mnemic.text.analyser import Analyser
from mnemic.text.chunking import DOCUMENT_CHUNKS, ChunkConfig, ChunkDraft, Span, boilerplate, draft_chunks, trimmed
from mnemic.text.outline import last_page_of, page_of

Progress = Callable[[int, int, str], None]
"""Progress callback: `(files done, total, current source)`; the source is "" at the end."""

MAX_SOURCE_CHARS = 4096  # Linux's longest path (PATH_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """Options of an ingest. `source`: the stored name, default the absolute path. `name`: the file name of bytes, for
    the type. `is_again`: read unchanged files too. `is_pruning`: remove documents of vanished files.
    `metadata`: the caller's, None to keep what a document has. `include`: folder names that are not skipped.
    """

    level: Level | None = None
    source: str | None = None
    name: str | None = None
    is_dry_run: bool = False
    is_pruning: bool = False
    is_again: bool = False
    is_private: bool = False
    chunking: documents.Chunking = documents.Chunking.STRUCTURE
    config: ChunkConfig = DOCUMENT_CHUNKS
    secrets: documents.Secrets = documents.Secrets.REFUSE
    metadata: Mapping[str, object] | None = None
    include: frozenset[str] = frozenset()
    progress: Progress | None = None

    @property
    def recipe(self) -> str:
        """The chunk settings as a word. A document with another one is read again."""
        sizes = (self.config.chunk_size, self.config.chunk_overlap, self.config.min_chunk_size)
        return f"{self.chunking.value} {'/'.join(map(str, sizes))}"


def chunk_config(settings: Settings) -> ChunkConfig:
    """The configured chunk settings, else `DOCUMENT_CHUNKS`. Missing values follow the size in proportion. Raises
    `InvalidInputError` for an overlap that is not below the size.
    """
    size = settings.chunk_size or DOCUMENT_CHUNKS.chunk_size
    part = size * DOCUMENT_CHUNKS.chunk_overlap // DOCUMENT_CHUNKS.chunk_size
    least = size * DOCUMENT_CHUNKS.min_chunk_size // DOCUMENT_CHUNKS.chunk_size
    return ChunkConfig(size, part if settings.chunk_overlap is None else settings.chunk_overlap, least)


def counted(files: Sequence[documents.FileReport]) -> dict[str, int]:
    """Files per outcome, in the order of outcomes, without zeros."""
    found = Counter(file.outcome for file in files)
    return {outcome.value: found[outcome] for outcome in documents.Outcome if found[outcome]}


def why_nothing(files: Sequence[documents.FileReport], *, is_dry_run: bool) -> str:
    """Why nothing was stored, as a sentence; "" if something was."""
    found = Counter(file.outcome for file in files)
    if found[documents.Outcome.ADDED] or found[documents.Outcome.REPLACED]:
        return ""
    if not files:
        return "the folder contains no files"
    told: list[str] = []
    for outcome in (documents.Outcome.UNCHANGED, documents.Outcome.FAILED, documents.Outcome.SKIPPED):
        reasons = Counter(file.reason for file in files if file.outcome is outcome and file.reason)
        usual = f" ({reasons.most_common(1)[0][0]})" if len(reasons) == 1 else ""
        if found[outcome]:
            told.append(f"{found[outcome]} {outcome.value}{usual}")
    nothing = "nothing would be stored" if is_dry_run else "nothing was stored"
    return f"{nothing}: {', '.join(told)}" if told else f"{nothing}: all files are gone"


CODE = "text/x-code"
ABOUT = "about"  # the key of a file's own properties in a document's metadata
_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,6})?")
MAX_ABOUT = 32  # fields of a file's own metadata to keep; a forged file may have thousands
MAX_ABOUT_CHARS = 500  # characters of one field


_tokens = Analyser().token_count


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be stored except for its vectors. `indexed`: each chunk's text to embed."""

    document: documents.Document
    text: str
    chunks: tuple[tuple[Chunk, Terms], ...]
    indexed: tuple[str, ...]
    redacted: tuple[str, ...]


def prepare(
    engine: Engine, request: IngestRequest, document: documents.Document, read: documents.ReadDocument, at: datetime
) -> Prepared:
    """The document with the reader's results. Raises `InvalidInputError` for a secret if those are refused."""
    clean = redact(engine, read.text)
    title, about = redact(engine, read.title), _clean_about(engine, read.metadata)
    if clean.findings and request.secrets is documents.Secrets.REFUSE:
        raise InvalidInputError(_refusal(clean))
    pages = tuple(clean.moved(page) for page in read.pages)
    headings = tuple(
        documents.Heading(clean.moved(each.offset), each.level, redact(engine, each.title).text)
        for each in read.headings
    )
    filled = replace(
        document,
        title=title.text,
        media_type=read.media_type,
        pages=pages,
        headings=headings,
        reason="",
        metadata={**_given_metadata(document, request), **({ABOUT: about} if about else {})},
        bookkeeping=note_chunking(request.recipe),
        updated_at=at,
    )
    drafts = _drafts(request, filled, clean.text)
    chunks = [_chunk(filled, draft, at) for draft in drafts]
    indexed = tuple(indexed_text(chunk) for chunk in chunks)
    rows = tuple((chunk, passage_terms(engine, chunk)) for chunk in chunks)
    return Prepared(filled, clean.text, rows, indexed, clean.kinds)


def _given_metadata(known: documents.Document, request: IngestRequest) -> Mapping[str, object]:
    """The caller's metadata: the request's, else the stored."""
    stored = {key: value for key, value in known.metadata.items() if key != ABOUT}
    return stored if request.metadata is None else request.metadata


def _drafts(request: IngestRequest, document: documents.Document, text: str) -> list[ChunkDraft]:
    """The passages without running heads and feet. A text without passages is one itself."""
    drafts = draft_chunks(
        text,
        request.config,
        request.chunking,
        is_code=document.media_type == CODE,
        page_starts=document.pages,
        headings=document.headings,
    )
    repeated = boilerplate(text, document.pages)
    if repeated:
        drafts = [
            draft for each in drafts if (draft := _cut_repeated(text, each, repeated, document.pages)) is not None
        ]
    if not drafts:
        start = len(text) - len(text.lstrip())
        drafts = [_cut(text, ChunkDraft("", 0, 0, 0, 0), start, start + len(text.strip()), document.pages)]
    return [replace(draft, index=index) for index, draft in enumerate(drafts)]


def _cut_repeated(text: str, draft: ChunkDraft, repeated: Sequence[Span], pages: Sequence[int]) -> ChunkDraft | None:
    span = trimmed(text, (draft.start, draft.end), repeated)
    if span == (draft.start, draft.end):
        return draft
    return None if span is None else _cut(text, draft, *span, pages)


def _cut(text: str, draft: ChunkDraft, start: int, end: int, pages: Sequence[int]) -> ChunkDraft:
    """The passage with other borders."""
    return replace(
        draft,
        text=text[start:end],
        start=start,
        end=end,
        token_count=_tokens(text[start:end]),
        page=page_of(pages, start),
        last_page=last_page_of(pages, start, end),
    )


def _chunk(document: documents.Document, draft: ChunkDraft, at: datetime) -> Chunk:
    return Chunk(
        id=new_id(at),
        partition=document.partition,
        document_id=document.id,
        index=draft.index,
        start=draft.start,
        end=draft.end,
        text=draft.text,
        token_count=draft.token_count,
        title=document.title,
        source=document.source,
        created_at=at,
        observed_at=at,
        page=draft.page,
        last_page=draft.last_page,
        headings=draft.headings,
        private_agent=document.private_agent,
        metadata=document.metadata,
    )


def _clean_about(engine: Engine, told: Mapping[str, str]) -> dict[str, str | float]:
    """The file's own metadata, bounded and without secrets."""
    entries = list(told.items())[:MAX_ABOUT]
    return {key[:MAX_ABOUT_CHARS]: _typed(redact(engine, value).text[:MAX_ABOUT_CHARS]) for key, value in entries}


def _typed(value: str) -> str | float:
    """Convert a number so that filters can compare it. Keeps text that would change, such as "007" or "1.10"."""
    number = (float if "." in value else int)(value) if _NUMBER.fullmatch(value) else value
    return number if str(number) == value else value


def _refusal(clean: Redacted) -> str:
    first, *more = clean.findings
    others = f", and {len(more)} more" if more else ""
    return (
        f"it contains a secret ({first.kind}) in line {first.line}{others}; remove it, or ingest with secrets='redact' "
        "to keep the rest"
    )


LOOKED_UP = 500  # sources per look-up
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Shelf:
    """The place of documents: their partition, and the agent that they are private to."""

    partition: Partition
    private_agent: str | None

    @property
    def visible(self) -> Visibility:
        """The place, and the shared documents beside it."""
        return Visibility((self.partition,), self.private_agent)

    def held(self, work: UnitOfWork, sources: Iterable[str]) -> dict[str, documents.Document]:
        """The documents with these sources, by source."""
        found = work.documents.list(self.visible, documents.DocumentQuery(sources=tuple(sources)))
        return {each.source: each for each in found if each.private_agent == self.private_agent}

    def under(self, work: UnitOfWork, start: str) -> Iterator[documents.Document]:
        """The documents whose sources start with `start`."""
        after: tuple[str, str] | None = None
        while page := work.documents.list(
            self.visible, documents.DocumentQuery(under=start, limit=LOOKED_UP, after=after)
        ):
            yield from (each for each in page if each.private_agent == self.private_agent)
            after = page[-1].source, page[-1].id


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read. `load` returns its bytes or raises `UnavailableError`. `known`: its current document."""

    source: str
    name: str
    size: int
    load: Callable[[], bytes]
    known: documents.Document | None = None

    @property
    def outcome(self) -> documents.Outcome:
        """The outcome if reading succeeds."""
        return documents.Outcome.REPLACED if self.known is not None and self.known.sha256 else documents.Outcome.ADDED


@dataclass(slots=True)
class Plan:
    """`tasks` to do, `reports` of skipped files, and `gone`: documents whose files vanished."""

    tasks: list[Task] = field(default_factory=list[Task])
    reports: list[documents.FileReport] = field(default_factory=list[documents.FileReport])
    gone: list[documents.Document] = field(default_factory=list[documents.Document])


def plan(engine: Engine, shelf: Shelf, content: str | bytes, request: IngestRequest) -> Plan:
    """Compare files with stored documents, without changes. Raises `InvalidInputError` for a missing path."""
    made = Plan()
    place: Place | None = None
    if isinstance(content, bytes):
        candidates: Iterable[Task] = [_task_of_bytes(content, request)]
    else:
        place = _place(engine, content, request)
        candidates = list(_find_tasks(engine, place, made, request.include))
    done, total = 0, len(list(candidates))
    for batch in batches(candidates, LOOKED_UP):
        with engine.store.read() as work:
            known = shelf.held(work, [task.source for task in batch])
        for task in batch:
            _sort(task, known.get(task.source), request, made)
            done += 1
        if request.progress is not None and total > LOOKED_UP:
            request.progress(len(made.reports), total, "")
    if place is not None and place.is_folder:
        made.gone = _find_gone(engine, shelf, place, made)
    return made


def _task_of_bytes(data: bytes, request: IngestRequest) -> Task:
    name = check_line(request.name or request.source or "", "name", limit=MAX_SOURCE_CHARS).strip()
    source = check_line(request.source or name, "source", limit=MAX_SOURCE_CHARS).strip()
    if not name or not source:
        raise InvalidInputError("bytes require a name with an extension, such as name='report.pdf'")
    return Task(source, name.replace("\\", "/").rpartition("/")[2] or name, len(data), lambda: data)


def _place(engine: Engine, path: str, request: IngestRequest) -> Place:
    if engine.files is None:
        raise ConfigError("this Mnemic instance cannot read files")
    place = engine.files.find(path)
    if request.source is None:
        return place
    source = check_line(request.source, "source", limit=MAX_SOURCE_CHARS).strip().rstrip("/")
    if not source:
        raise InvalidInputError("source must not be blank")
    return Place(place.path, source, place.is_folder)


def _find_tasks(engine: Engine, place: Place, made: Plan, include: Collection[str]) -> Iterator[Task]:
    """The files of a place as tasks. Skipped files are reported."""
    files, most = engine.files, int(engine.settings.max_file_bytes)
    if files is None:
        return
    sources = set[str]()
    for entry in files.walk(place, most, include):
        if not isinstance(entry, FoundFile):
            made.reports.append(
                documents.FileReport(source=entry.source, outcome=documents.Outcome.SKIPPED, reason=entry.reason)
            )
        elif entry.source in sources or len(entry.source) > MAX_SOURCE_CHARS:
            reason = "its path is too long" if entry.source not in sources else "another file has this name"
            made.reports.append(
                documents.FileReport(source=entry.source, outcome=documents.Outcome.SKIPPED, reason=reason)
            )
        else:
            sources.add(entry.source)
            yield Task(entry.source, entry.name, entry.size, partial(files.read, entry, most))


def _sort(task: Task, known: documents.Document | None, request: IngestRequest, made: Plan) -> None:
    """Add a task to the plan, or a report if nothing changed."""
    if known is not None and not request.is_again and _is_unchanged(task, known, request):
        made.reports.append(
            documents.FileReport(
                source=task.source, outcome=documents.Outcome.UNCHANGED, document_id=known.id, chunks=known.chunks
            )
        )
    else:
        made.tasks.append(Task(task.source, task.name, task.size, task.load, known))


def _is_unchanged(task: Task, known: documents.Document, request: IngestRequest) -> bool:
    if known.status is not documents.DocumentStatus.READY or chunking_in(known.bookkeeping) != request.recipe:
        return False
    if request.metadata is not None and {ABOUT: None, **request.metadata} != {**known.metadata, ABOUT: None}:
        return False
    try:
        return hashlib.sha256(task.load()).hexdigest() == known.sha256
    except MnemicError:
        return False  # reading it for good will report the problem


def _find_gone(engine: Engine, shelf: Shelf, place: Place, made: Plan) -> list[documents.Document]:
    """Documents below a folder whose file was not found and is in no skipped folder."""
    root = f"{place.source.rstrip('/')}/"
    seen = {task.source for task in made.tasks} | {report.source for report in made.reports}
    with engine.store.read() as work:
        return [each for each in shelf.under(work, root) if not _is_seen(each.source, root, seen)]


def _is_seen(source: str, root: str, seen: set[str]) -> bool:
    """True if the source or a folder above it was found."""
    while len(source) >= len(root):
        if source in seen:
            return True
        source = source.rpartition("/")[0]
    return root.rstrip("/") in seen


def batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """Lists of `size` items; the last may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


AHEAD_FILES = 32  # read while others are stored; more only hold memory
AHEAD_BYTES = 16 << 20  # bytes of files that were read and wait to be stored; one file may be larger


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading a file: the document, or None and the `failure`. `sha256` is "" without bytes."""

    task: Task
    sha256: str
    read: documents.ReadDocument | None
    failure: str = ""


def read_ahead(engine: Engine, tasks: Sequence[Task]) -> Generator[Reading]:
    """Yield each file's reading. Closing the iterator early aborts reads in progress."""
    run = _Run(engine)
    executor = ThreadPoolExecutor(engine.readers.number, thread_name_prefix="mnemic-read")
    waiting = deque[tuple[Task, Future[Reading]]]()
    ahead = 0
    try:
        for task in tasks:
            while waiting and (len(waiting) >= AHEAD_FILES or ahead + task.size > AHEAD_BYTES):
                first, future = waiting[0]
                yield future.result()
                ahead -= first.size
                waiting.popleft()
            waiting.append((task, executor.submit(run.read, task)))
            ahead += task.size
        while waiting:
            yield waiting[0][1].result()
            waiting.popleft()
    finally:
        if waiting:
            run.stop()
        executor.shutdown(cancel_futures=True)
        engine.readers.rest()


class _Run:
    """The readings of one ingest."""

    def __init__(self, engine: Engine) -> None:
        settings = engine.settings
        self._engine = engine
        self._limits = documents.ReadLimits(max_bytes=int(settings.max_file_bytes), timeout_s=settings.read_timeout_s)
        self._using: set[ClosableReader] = set()
        self._guard = threading.Lock()
        self._is_stopped = False

    def read(self, task: Task) -> Reading:
        sha256 = ""
        try:
            data = task.load()
            sha256 = hashlib.sha256(data).hexdigest()
            with self._engine.readers.lent() as reader:
                return Reading(task, sha256, self._read(reader, data, task.name))
        except MnemicError as error:
            return Reading(task, sha256, None, str(error))

    def stop(self) -> None:
        """Abort reads in progress."""
        with self._guard:
            self._is_stopped = True
            using = list(self._using)
        for reader in using:
            reader.close()

    def _read(self, reader: ClosableReader, data: bytes, name: str) -> documents.ReadDocument | None:
        with self._guard:
            if self._is_stopped:
                return None
            self._using.add(reader)
        try:
            return reader.read(data, name, self._limits)
        finally:
            with self._guard:
                self._using.discard(reader)
