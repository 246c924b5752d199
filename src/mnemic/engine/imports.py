"""Restores exports without loss or duplicates, and passes other programs' files to their importers. A document is one
transaction with its history and vectors.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from mnemic.engine.engine import Engine
from mnemic.engine.export import FORMAT, NO_LIMIT, VERSION, Cursors, Record, RecordReader, WholeDocument
from mnemic.engine.export import FORMAT as EXPORT_FORMAT
from mnemic.engine.import_files import ImportReport, Progress, import_logs, import_memories
from mnemic.engine.indexing import ItemVectors, document_vectors, indexed_text, passage_terms, put_vectors
from mnemic.engine.inputs import check_line
from mnemic.engine.profile import get_profile
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.document import DocumentQuery
from mnemic.model.graph import GRAPH_ITEM
from mnemic.model.item import Memory, Message, ProfileEntry, Remembered, State
from mnemic.model.records import HistoryEntry
from mnemic.model.scope import Partition, Scope, Visibility, unique_keys
from mnemic.ports.store import UnitOfWork
from mnemic.text.chatlogs import FORMATS, read_log
from mnemic.text.memoryfiles import ARCHIVE_MARK, DATABASE_MARK, MEMORY_FORMATS, Owner, memory_format, read_memories

EMBEDDED = 256  # passages per embedding call, so that a book is not in memory twice


def restore_document(
    engine: Engine,
    scope: Scope,
    report: ImportReport,
    numbered: tuple[int, WholeDocument],
    history: Sequence[HistoryEntry],
) -> None:
    """Store a document unless it is known, deleted, or its source was read from the same bytes. Other bytes of the same
    source are reported as a problem of the line.
    """
    number, whole = numbered
    document = whole.document
    with engine.store.read() as work:
        is_known = _is_known(work, whole, scope)
    if is_known:
        report.known["document"] += 1
        return
    if not report.is_dry_run:
        try:
            _store(engine, whole, history)
        except (ConflictError, InvalidInputError) as error:
            report.problems.append(f"line {number}: {error}")
            return
    report.added["document"] += 1
    engine.observer.count("mnemic.import.document", level=document.level.value)


def _is_known(work: UnitOfWork, whole: WholeDocument, scope: Scope) -> bool:
    document = whole.document
    visible = Visibility((document.partition,), scope.agent)
    if work.history.of(visible, document.id) or work.documents.get(visible, [document.id]):
        return True
    same = work.documents.list(visible, DocumentQuery(sources=(document.source,)))
    place = (document.private_agent, document.sha256)
    return bool(document.sha256) and any((each.private_agent, each.sha256) == place for each in same)


def _store(engine: Engine, whole: WholeDocument, history: Sequence[HistoryEntry]) -> None:
    document, texts = whole.document, [indexed_text(chunk) for chunk in whole.chunks]
    rows = [(chunk, passage_terms(engine, chunk)) for chunk in whole.chunks]
    vectors: list[ItemVectors] = []
    for start in range(0, len(texts), EMBEDDED):
        batch = texts[start : start + EMBEDDED]
        vectors += document_vectors(engine, batch) or [(None,) * len(engine.embedders)] * len(batch)
    with engine.store.write() as work:
        work.documents.fill(document, whole.text, rows)
        work.history.add([replace(entry, partition=document.partition) for entry in history])
        items = [(document.partition, chunk.id) for chunk in whole.chunks]
        put_vectors(engine, work, items, vectors, document.updated_at)


BATCH = 200  # records per transaction: one flush for all, and other writers wait only a moment
_KEEPS_ITS_KEY = (State.ACTIVE, State.QUARANTINED)


def restore_export(
    engine: Engine, scope: Scope, lines: Iterable[str], *, is_dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Import an export's records, one transaction per batch. Idempotent. Rows go to the scope's own user, agent and
    org; deletions here stay. Bad lines are reported. Raises `InvalidInputError` for no export or a newer version.
    """
    report = ImportReport(FORMAT, is_dry_run=is_dry_run)
    restoring = _Restoring(engine, scope, report)
    batch: list[tuple[int, Record]] = []
    number = 0
    for number, record in _records(lines):
        if isinstance(record, str):
            report.problems.append(f"line {number}: {record}")
            continue
        batch.append((number, record))
        is_full = len(batch) > (1 if record["type"] == "document" else BATCH)  # a document may be a book
        if is_full and record["type"] != "history":  # the history of an item goes with it
            restoring.take(batch[:-1])
            batch = batch[-1:]
            _tell(progress, number - 1)
    restoring.take(batch)
    _tell(progress, number)
    return report


def is_export(text: str) -> bool:
    """True if the text begins with the header of an export."""
    return f'"format":"{FORMAT}"' in text[:200].replace(" ", "")  # the header is the first line


def _tell(progress: Progress | None, done: int) -> None:
    if progress is not None:
        progress(done, None)


def _records(lines: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Numbered records; for a bad line the problem."""
    is_first = True
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line.removeprefix("\ufeff"), object_pairs_hook=unique_keys)
        except (ValueError, RecursionError) as error:
            record = f"not JSON: {error}"
        if is_first:
            _check_header(record)
            is_first = False
        elif isinstance(record, str) or not isinstance(record, dict):
            yield number, record if isinstance(record, str) else "not a JSON object"
        else:
            mapping = cast("Mapping[str, Any]", record)
            yield number, mapping if isinstance(mapping.get("type"), str) else "it has no type"
    if is_first:
        raise InvalidInputError("there is nothing to import: the input is empty")


def _check_header(record: Any) -> None:
    header: Mapping[str, Any] = cast("Mapping[str, Any]", record) if isinstance(record, dict) else {}
    if header.get("format") != FORMAT:
        raise InvalidInputError("this is not a Mnemic export: its first line must be the header written by `export`")
    if header.get("version") != VERSION:
        raise InvalidInputError(f"export version {header.get('version')!r:.40} is not supported; upgrade Mnemic")


@dataclass(slots=True)
class _Batch:
    """Records to write in one transaction; items with their line number."""

    facts: list[ProfileEntry] = field(default_factory=list[ProfileEntry])
    items: list[tuple[int, Remembered]] = field(default_factory=list[tuple[int, Remembered]])


class _Restoring:
    """One running import."""

    def __init__(self, engine: Engine, scope: Scope, report: ImportReport) -> None:
        self._engine, self._scope, self._report = engine, scope, report
        self._reader = RecordReader(engine, scope)
        self._seen: set[tuple[object, ...]] = set()
        self._entries: set[str] = set()
        self._ids: set[str] = set()
        self._taken: dict[tuple[Partition, str], set[int]] = {}

    def take(self, numbered: Sequence[tuple[int, Record]]) -> None:
        """Write some records, each item with its history."""
        batch, history = _Batch(), defaultdict[str, list[HistoryEntry]](list)
        talks: list[Cursors] = []
        self._reader.note_merges(record for _, record in numbered)
        documents: list[tuple[int, WholeDocument]] = []
        for number, record in numbered:
            try:
                if record["type"] == "conversation":
                    talks.append(self._reader.cursors(record))
                    continue
                if record["type"] == "document":
                    documents.append((number, self._reader.document(record)))
                    continue
                noun = self._reader.noun(record)
            except InvalidInputError as error:
                self._report.problems.append(f"line {number}: {error}")
                continue
            if isinstance(noun, ProfileEntry):
                batch.facts.append(noun)
            elif isinstance(noun, HistoryEntry):
                history[noun.item_id] += [noun] if noun.id not in self._entries else []
                self._entries.add(noun.id)
            else:
                batch.items.append((number, noun))
                self._ids.add(noun.id)
        for numbered_document in documents:
            of_it = history.get(numbered_document[1].document.id, ())
            restore_document(self._engine, self._scope, self._report, numbered_document, of_it)
        self._correct_graph(history.pop(GRAPH_ITEM, []))
        new = self._select_new(batch)
        if self._report.is_dry_run:
            self._count(new)
            return
        texts = [indexed_text(item) for _, item in new.items]
        vectors = document_vectors(self._engine, texts) if texts else None
        ids = [item.id for _, item in new.items]
        self._write(new, history, dict(zip(ids, vectors, strict=True)) if vectors else {})
        for talk in talks:
            self._move(talk)

    def _correct_graph(self, corrections: Sequence[HistoryEntry]) -> None:
        """Store the graph's corrections that are not here."""
        if not corrections or self._report.is_dry_run:
            return
        places = Visibility(tuple({entry.partition for entry in corrections}), self._scope.agent)
        with self._engine.store.write() as work:
            here = {entry.id for entry in work.history.of(places, GRAPH_ITEM)}
            work.history.add([entry for entry in corrections if entry.id not in here])

    def _move(self, talk: Cursors) -> None:
        """Take over cursors that were never moved here if all messages before them are the export's. They move at most
        to the last message here. Otherwise messages here are still unread.
        """
        place = (talk.partition, talk.session)
        with self._engine.store.write() as work:
            here = work.conversations.get(*place)
            positions = {name: min(p, here.messages) for name, p in talk.positions.items()} if here else {}
            furthest = max(positions.values(), default=0)
            said = work.conversations.messages(*place, 0, furthest)
            if all(message.id in self._ids for message in said if message.position <= furthest):
                for name, position in positions.items():
                    work.conversations.move(*place, name, 0, position)
        self._clear_windows([place])

    def _select_new(self, batch: _Batch) -> _Batch:
        """The records that are new here. Others are counted as known."""
        there = {entry.key: entry for entry in get_profile(self._engine, self._scope)} if batch.facts else {}
        new = _Batch()
        for fact in batch.facts:
            old = there.get(fact.key)
            most = self._engine.settings.max_profile_facts
            if old is None and len(there) >= most:
                self._report.problems.append(
                    f"the fact {fact.key!r} was not imported: the profile has {len(there)} of {most} facts"
                )
            elif old is None or (old.value != fact.value and old.updated_at < fact.updated_at):
                new.facts.append(fact)
                there[fact.key] = fact
            else:
                self._report.known["profile"] += 1
        with self._engine.store.read() as work:
            for number, item in batch.items:
                keys = _keys(item)
                if self._seen.isdisjoint(keys) and not self._is_known(work, item):
                    self._seen.update(keys)
                    new.items.append((number, item))
                else:
                    self._report.known[_kind(item)] += 1
        return new

    def _is_known(self, work: UnitOfWork, item: Remembered) -> bool:
        """True if the item is here, was deleted here, or another one has the same words in its place."""
        visible = Visibility((item.partition,), self._scope.agent)
        if work.history.of(visible, item.id):
            return True
        if isinstance(item, Message):
            external = [item.external_id] if item.external_id else []
            return bool(work.messages.get(visible, [item.id])) or bool(
                work.messages.by_external_id(item.partition, item.session, external)
            )
        is_held = item.state in _KEEPS_ITS_KEY and work.memories.holder(
            item.partition, item.private_agent, item.dedup_key
        )
        return bool(is_held) or bool(work.memories.get(visible, [item.id]))

    def _write(
        self,
        batch: _Batch,
        history: Mapping[str, list[HistoryEntry]],
        vectors: Mapping[str, ItemVectors],
        *,
        is_appended: bool = False,
    ) -> None:
        """Write all or nothing. After a concurrent write, retry one by one and report the items that still fail."""
        if not batch.facts and not batch.items:
            return
        try:
            with self._engine.store.write() as work:
                work.profiles.put(batch.facts)
                for _, item in sorted(batch.items, key=_order):
                    self._insert(work, item, is_appended=is_appended)
                    work.history.add([replace(e, partition=item.partition) for e in history.get(item.id, ())])
                    self._put_vector(work, item, vectors)
            self._clear_windows(
                {(item.partition, item.session) for _, item in batch.items if isinstance(item, Message)}
            )
            self._count(batch)
        except ConflictError as error:
            self._taken.clear()
            if len(batch.items) + bool(batch.facts) > 1:
                self._write(_Batch(facts=batch.facts), history, vectors)
                for one in batch.items:
                    self._write(_Batch(items=[one]), history, vectors)
            elif not is_appended:
                self._write(batch, history, vectors, is_appended=True)
            else:
                self._report.problems += [f"line {number}: {error}" for number, _ in batch.items]

    def _clear_windows(self, sessions: Iterable[tuple[Partition, str]]) -> None:
        """Clear cached windows of sessions that got messages, not always at their end."""
        if self._engine.window is not None:
            for partition, session in sessions:
                self._engine.window.clear(partition, session)

    def _insert(self, work: UnitOfWork, item: Remembered, *, is_appended: bool) -> None:
        if isinstance(item, Message):
            terms = self._engine.terms(item.name, item.text)
            place = self._position(work, item, is_appended=is_appended)
            work.messages.add([(replace(item, position=place), terms)])
        elif not work.memories.add([(item, self._engine.terms(indexed_text(item)))])[0]:
            raise ConflictError("another memory already has this text")

    def _position(self, work: UnitOfWork, message: Message, *, is_appended: bool) -> int:
        """Its own position in the conversation if free, else the next one at the end."""
        conversation = work.messages.conversation(message.partition, message.session, message.observed_at)
        key = (message.partition, message.session)
        if key not in self._taken:
            visible = Visibility((message.partition,), None)
            said = work.messages.latest(visible, message.session, NO_LIMIT) if conversation.messages else []
            self._taken[key] = {other.position for other in said}
        is_free = not is_appended and message.position not in self._taken[key]
        place = message.position if is_free else conversation.messages + 1
        self._taken[key].add(place)
        return place

    def _put_vector(self, work: UnitOfWork, item: Remembered, vectors: Mapping[str, ItemVectors]) -> None:
        """Store a new row's vector, dated with the row's last change, or leave it to a job."""
        at = item.updated_at if isinstance(item, Memory) else item.created_at
        ready = [vectors[item.id]] if item.id in vectors else None
        put_vectors(self._engine, work, [(item.partition, item.id)], ready, at)

    def _count(self, batch: _Batch) -> None:
        kinds = ["profile"] * len(batch.facts) + [_kind(item) for _, item in batch.items]
        self._report.added.update(kinds)


def _order(numbered: tuple[int, Remembered]) -> tuple[int, str, int]:
    """Messages by position in the conversation, memories as in the file."""
    number, item = numbered
    return (0, item.session, item.position) if isinstance(item, Message) else (1, "", number)


def _kind(item: Remembered) -> str:
    return "message" if isinstance(item, Message) else "memory"


def _keys(item: Remembered) -> set[tuple[object, ...]]:
    keys: set[tuple[object, ...]] = {(_kind(item), item.partition, item.id)}
    if isinstance(item, Message):
        return keys | ({("external", item.partition, item.session, item.external_id)} if item.external_id else set())
    is_held = item.state in _KEEPS_ITS_KEY
    return keys | ({("dedup", item.partition, item.private_agent, item.dedup_key)} if is_held else set())


_PROJECTS = re.compile(r"(?i)(?:^|/)projects(?:[-_]\d+\.json|\.json|/[^/]+)$")
ALL_FORMATS = (EXPORT_FORMAT, *FORMATS, *MEMORY_FORMATS)
"""All format names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """Options of an import. `format` None detects it; `name` is the file's name."""

    format: str | None = None
    name: str = ""
    is_dry_run: bool = False
    include_tools: bool = False
    progress: Progress | None = None


def import_content(
    engine: Engine, scope: Scope, content: str | bytes, request: ImportRequest, *, actor: str
) -> ImportReport:
    """Import a text, UTF-8 bytes, mem0's history database, or a ChatGPT or Claude.ai zip archive. Invalid parts are
    reported. Raises `InvalidInputError` for an unknown format or an invalid name.
    """
    format_, name = request.format, check_line(request.name, "name")
    if format_ is not None and format_ not in ALL_FORMATS:
        raise InvalidInputError(f"unknown format {format_!r}; use one of {', '.join(ALL_FORMATS)}")
    importing = _ImportingTexts(engine, scope, request, actor)
    if isinstance(content, bytes) and content.startswith(ARCHIVE_MARK) and engine.archive_texts is not None:
        return importing.take_archive(engine.archive_texts(content, name or "the archive"))
    return importing.take(content if isinstance(content, str) else _text(engine, content), name, request.progress)


@dataclass(slots=True)
class _ImportingTexts:
    """An import of one text, or of several from an archive. `titles`: names of Claude's projects by id."""

    engine: Engine
    scope: Scope
    request: ImportRequest
    actor: str
    titles: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, text: str, name: str, progress: Progress | None) -> ImportReport:
        """Import one text. `name`: its file."""
        format_, is_dry_run = self.request.format, self.request.is_dry_run
        if format_ == EXPORT_FORMAT or (format_ is None and is_export(text)):
            lines = text.split("\n")
            return restore_export(self.engine, self.scope, lines, is_dry_run=is_dry_run, progress=progress)
        if format_ in MEMORY_FORMATS or (format_ is None and memory_format(text, name)):
            owner = Owner(self.scope.user, self.scope.agent)
            reading = read_memories(text, format_, name=name, owner=owner, titles=self.titles)
            return import_memories(
                self.engine, self.scope, reading, actor=self.actor, is_dry_run=is_dry_run, progress=progress
            )
        logged = read_log(text, format_, include_tools=self.request.include_tools)
        return import_logs(self.engine, self.scope, logged, is_dry_run=is_dry_run, progress=progress)

    def take_archive(self, texts: Mapping[str, str]) -> ImportReport:
        """Import an archive's texts, each named by the last part of its path, which later archives keep."""
        from mnemic.text.memoryfiles.exports import project_titles

        projects = {name for name in texts if _PROJECTS.search(name)}
        for name in projects:
            self.titles |= project_titles(texts[name])
        if len(projects) == len(texts):
            raise InvalidInputError(
                "the archive contains no conversations.json or memories.json; "
                "unpack it and import its files, or run `mnemic ingest` for documents"
            )
        whole, formats = ImportReport("zip", is_dry_run=self.request.is_dry_run), dict[str, None]()
        for name, text in texts.items():
            if name in projects or not text.strip("[]{} \r\n"):
                continue
            try:
                report = self.take(text, name.rpartition("/")[2], _after(self.request.progress, whole))
            except InvalidInputError as error:
                whole.problems.append(f"{name}: {error}")
                continue
            formats[report.format] = None
            for counts in ("added", "known", "skipped", "redacted"):
                getattr(whole, counts).update(getattr(report, counts))
            whole.quarantined += report.quarantined
            whole.changed += report.changed
            whole.problems += [f"{name}: {problem}" for problem in report.problems]
        if whole.problems and not formats:
            raise InvalidInputError(whole.problems[0])
        return replace(whole, format=", ".join(formats) or whole.format)


def _after(progress: Progress | None, whole: ImportReport) -> Progress | None:
    """Progress that continues the count of earlier texts' records. The total is unknown."""
    before = whole.added.total() + whole.known.total()
    return None if progress is None else lambda done, _total: progress(before + done, None)


def _text(engine: Engine, content: bytes) -> str:
    if content.startswith(DATABASE_MARK) and engine.database_lines is not None:
        return engine.database_lines(content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(
            f"the content is not UTF-8 text (line {line}); save it as UTF-8, or run `mnemic ingest` for a document"
        ) from error
