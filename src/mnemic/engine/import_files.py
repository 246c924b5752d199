"""Imports conversations and memories of other programs: idempotent, resumable, with progress and dry runs.

An imported id derives from the text, so it is recognised after an edit, a supersession or a deletion, which is final.
An edited line supersedes its former text (`undo` reverts it); a removed line is reported and stays. Imports never
supersede edits made here.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from mnemic.engine.conversation import Heard, capture
from mnemic.engine.edit import Editor
from mnemic.engine.engine import Engine
from mnemic.engine.fields import held_key, imported_id
from mnemic.engine.inputs import check_categories, check_line, check_metadata, check_text
from mnemic.engine.remember import remember
from mnemic.engine.secrets import fields_without_secrets, suspicion_of, without_secrets
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.bookkeeping import file_in, has_origin, is_from_file, note_import, origin_in
from mnemic.model.filter import Filter
from mnemic.model.item import Kind, Memory, MemoryDraft, MessageDraft, State, Trust
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.records import Action
from mnemic.model.scope import MAX_ID_CHARS, MICROSECOND, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.chatlogs import LoggedConversation, LogReading
from mnemic.text.memoryfiles import Entry, MemoryReading

BATCH_MESSAGES = 64  # one transaction and one embedding batch
OWN_BLOCKS = "blocks that Mnemic itself had put into a prompt"
Progress = Callable[[int, int | None], None]
"""Progress callback: `(records done, total if known)`."""


@dataclass(slots=True)
class ImportReport:
    """Counts of `added`, `known` and `skipped` records by kind; `problems` by line; `redacted` exchanges by kind of
    secret. For memories also `quarantined`, and `changed`: replaced or removed in the file, by place.
    """

    format: str
    added: Counter[str] = field(default_factory=Counter[str])
    known: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
    redacted: Counter[str] = field(default_factory=Counter[str])
    quarantined: int = 0
    changed: list[str] = field(default_factory=list[str])
    is_dry_run: bool = False


def import_logs(
    engine: Engine, scope: Scope, reading: LogReading, *, is_dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Capture logged conversations into sessions named after them, one transaction per batch. Interrupted imports
    resume, because known messages (by external id) are skipped. Times are the log's; trust is "imported".
    """
    report = ImportReport(reading.format, skipped=reading.skipped, problems=reading.problems, is_dry_run=is_dry_run)
    total = sum(len(conversation.messages) for conversation in reading.conversations)
    done, seen = 0, set[tuple[str | None, str | None]]()
    for conversation in reading.conversations:
        place = replace(scope, session=_session_name(conversation, scope))
        end = done + len(conversation.messages)
        for batch in _exchange_batches(_usable(engine, conversation, report)):
            messages = [message for exchange in batch for message in exchange]
            known = _known_messages(engine, place, messages)
            new = {(place.session, m.external_id) for m in messages if m.external_id not in known} - seen
            seen |= new
            if new and not is_dry_run:
                for turn in capture(engine, place, batch):
                    report.redacted.update(turn.redacted)
            report.added.update({"message": len(new)} if new else {})
            report.known.update({"message": len(messages) - len(new)} if len(new) < len(messages) else {})
            done += len(messages)
            _tell(progress, done, total)
        done = end
        _tell(progress, done, total)
    return report


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def _session_name(conversation: LoggedConversation, scope: Scope) -> str:
    """The log's name as a valid id."""
    name = "".join(c if c.isprintable() else " " for c in conversation.session).strip()[:MAX_ID_CHARS].strip()
    return name or scope.session or "imported"


def _usable(engine: Engine, conversation: LoggedConversation, report: ImportReport) -> list[list[MessageDraft]]:
    """The exchanges without invalid messages, which are reported."""
    exchanges: list[list[MessageDraft]] = []
    for exchange in conversation.exchanges():
        kept: list[MessageDraft] = []
        for message in exchange:
            try:
                check_text(message.text, "text", engine.settings)
                kept.append(message)
            except InvalidInputError as error:
                report.problems.append(f"{conversation.session}, message {message.external_id}: {error}")
        heard = Heard.of(kept)
        report.skipped.update({OWN_BLOCKS: heard.cut} if heard.cut else {})
        if heard.drafts:
            exchanges.append([*heard.drafts])
    return exchanges


def _exchange_batches(exchanges: Sequence[list[MessageDraft]]) -> Iterator[list[list[MessageDraft]]]:
    """Whole exchanges, about `BATCH_MESSAGES` messages at a time."""
    batch: list[list[MessageDraft]] = []
    for exchange in exchanges:
        batch.append(exchange)
        if sum(map(len, batch)) >= BATCH_MESSAGES:
            yield batch
            batch = []
    if batch:
        yield batch


def _known_messages(engine: Engine, scope: Scope, messages: Sequence[MessageDraft]) -> set[str]:
    ids = [message.external_id for message in messages if message.external_id is not None]
    with engine.store.read() as work:
        return set(work.messages.by_external_id(scope.message_partition, scope.session or "", ids))


ALIKE = 0.6
"""Likeness from which two texts under the same titles are one line before and after an edit."""

MAX_FORMER = 10_000  # earlier entries of a file to compare; bounds memory
MAX_COMPARED = 200  # per entry: SequenceMatcher takes time for each
MAX_COMPARED_CHARS = 2_000  # SequenceMatcher's time grows with the square of the length
TOLD_CHARS = 80  # one line of a report
_IDS_AT_ONCE = 200  # below the 500 values that a filter may list
_LIVE = (State.ACTIVE, State.QUARANTINED, State.DISPUTED)


@dataclass(frozen=True, slots=True)
class Revision:
    """A reading, its entries by memory id, and the partitions of the new ones."""

    reading: MemoryReading
    entries: Mapping[str, Entry]
    written: Mapping[str, Partition]


def revise(engine: Engine, scope: Scope, revision: Revision, report: ImportReport, *, actor: str) -> None:
    """Supersede edited texts of an imported file by their new form, and list the changes in `report.changed`. A dry run
    only lists. A text that is back in the file becomes active again.
    """
    if not revision.reading.file and not any(entry.origin for entry in revision.entries.values()):
        return
    revising = _Revising(engine, scope, revision, report, actor)
    with engine.store.read() as work:
        returned = list(revising.returned(work))
        former = [m for m in revising.former(work) if m.id not in revision.entries]
    for old, now in returned:
        revising.bring_back(old, now)
    taken = {now.id for _, now in returned}
    revising.replace([memory for memory in former if memory.id not in taken])


class _Revising:
    """One reading, compared with the earlier import."""

    def __init__(self, engine: Engine, scope: Scope, revision: Revision, report: ImportReport, actor: str) -> None:
        self._engine, self._scope, self._revision, self._report, self._actor = engine, scope, revision, report, actor
        self._file = revision.reading.file
        self._origins = {entry.origin: id_ for id_, entry in revision.entries.items() if entry.origin}
        self._under = defaultdict[tuple[Partition, str], dict[str, Entry]](dict)
        for id_, partition in revision.written.items():
            entry = revision.entries[id_]
            self._under[partition, " > ".join(entry.trail)][id_] = entry

    def former(self, work: UnitOfWork) -> Iterator[Memory]:
        """The live memories imported from the same file or under the same ids."""
        if self._origins:
            origins = sorted(self._origins)
            for start in range(0, len(origins), _IDS_AT_ONCE):
                wanted = has_origin(origins[start : start + _IDS_AT_ONCE])
                yield from work.memories.list(self._scope.visibility, self._query(wanted))
        elif self._file:
            yield from work.memories.list(self._scope.visibility, self._query(is_from_file(self._file)))

    def returned(self, work: UnitOfWork) -> Iterator[tuple[Memory, Memory]]:
        """Memories superseded by an edit that was reverted in the file, each with that edit."""
        ids = [id_ for id_ in self._revision.entries if id_ not in self._revision.written]
        for start in range(0, len(ids), _IDS_AT_ONCE):
            known = work.memories.get(self._scope.visibility, ids[start : start + _IDS_AT_ONCE])
            gone = [
                m for m in known if m.state is State.SUPERSEDED and m.other_id not in (None, *self._revision.entries)
            ]
            for old in gone:
                edits = work.memories.get(self._scope.visibility, [old.other_id or ""])
                is_free = work.memories.holder(old.partition, old.private_agent, old.dedup_key) is None
                if is_free and edits and self._is_same_place(old, edits[0]) and edits[0].state in _LIVE:
                    yield old, edits[0]

    def bring_back(self, old: Memory, edit: Memory) -> None:
        """Reactivate the text before an edit, which supersedes the edit."""
        place = self._revision.entries[old.id].place
        self._report.changed.append(f"{place}: was changed back to an earlier text: {_quote_memory(old)}")
        if self._report.is_dry_run:
            return
        with self._engine.store.write() as work:
            editor = Editor(self._engine, work, self._scope.visibility, self._actor)
            self._supersede(editor, edit, old.id, place)
            active = replace(old, state=State.ACTIVE, other_id=None, valid_to=None)
            editor.put(old, active, Action.RESTORED, f"{place} states it again")

    def replace(self, missing: Sequence[Memory]) -> None:
        """Supersede memories whose line changed. Report those whose line is gone."""
        for old in missing:
            new_id = self._find_successor(old)
            if new_id is None:
                if not self._origins:
                    self._report.changed.append(
                        f"{old.source or old.id}: no longer in the file, but kept in memory: {_quote_memory(old)}"
                    )
                continue
            place = self._revision.entries[new_id].place
            if old.id != imported_id(old.partition, old.dedup_key):
                self._report.changed.append(
                    f"{place}: was changed in the file and in memory; both are kept: {_quote_memory(old)}"
                )
                continue
            self._report.changed.append(f"{place}: was edited and supersedes {_quote_memory(old)}")
            if not self._report.is_dry_run:
                with self._engine.store.write() as work:
                    editor = Editor(self._engine, work, self._scope.visibility, self._actor)
                    self._supersede(editor, old, new_id, place)

    def _find_successor(self, old: Memory) -> str | None:
        """The id of the new memory in `old`'s place. Each replaces only one."""
        if origin := origin_in(old.bookkeeping):
            found = self._origins.get(origin, "")
            return found if self._revision.written.get(found) == old.partition else None
        rivals = self._under[old.partition, old.context]
        some = list(rivals.items())[:MAX_COMPARED]
        likeness, best = max(((_likeness(old.text, entry.text), id_) for id_, entry in some), default=(0.0, ""))
        if likeness < ALIKE:
            return None
        del rivals[best]
        return best

    def _supersede(self, editor: Editor, old: Memory, by: str, place: str) -> None:
        known = editor.get(old.id)
        if known.state in _LIVE:
            ends = max(editor.now, (known.valid_from or known.observed_at) + MICROSECOND)
            gone = replace(known, state=State.SUPERSEDED, other_id=by, valid_to=ends)
            editor.put(known, gone, Action.SUPERSEDED, f"{place} now says something else")

    def _is_same_place(self, one: Memory, other: Memory) -> bool:
        read = origin_in if origin_in(one.bookkeeping) else file_in
        return read(one.bookkeeping) is not None and read(one.bookkeeping) == read(other.bookkeeping)

    def _query(self, wanted: Filter) -> MemoryQuery:
        now = self._engine.clock.now()
        return MemoryQuery(now=now, states=_LIVE, filter=wanted, order=Order.OLDEST, limit=MAX_FORMER)


def _quote_memory(memory: Memory) -> str:
    text = " ".join(memory.text.split())
    short = text if len(text) <= TOLD_CHARS else f"{text[:TOLD_CHARS]}\u2026"
    return f"{short!r} (memory {memory.id})"


def _likeness(one: str, other: str) -> float:
    """Likeness from 0 to 1, by the first `MAX_COMPARED_CHARS` of both texts."""
    matcher = SequenceMatcher(None, one[:MAX_COMPARED_CHARS], other[:MAX_COMPARED_CHARS], autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()


BATCH = 64  # entries: one transaction and one embedding batch
TRIES = 3  # attempts if a concurrent import stores the same

_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Imported:
    """A prepared entry: its place, draft and id; `redacted`: kinds of secrets removed."""

    entry: Entry
    partition: Partition
    draft: MemoryDraft
    id: str
    key: str
    notes: Mapping[str, object]
    redacted: tuple[str, ...]


def import_memories(
    engine: Engine,
    scope: Scope,
    reading: MemoryReading,
    *,
    actor: str,
    is_dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Remember entries with their messages, one transaction per batch. Trust is "imported", times are the entries'.
    Secrets are redacted; orders to the model wait for review. Interrupted imports resume. Known or deleted texts are
    not added.
    """
    logged = LogReading(reading.format, reading.conversations)
    total = len(reading.entries) + sum(len(each.messages) for each in reading.conversations)
    report = import_logs(engine, scope, logged, is_dry_run=is_dry_run, progress=_shift_progress(progress, 0, total))
    report.skipped, report.problems = reading.skipped, [*reading.problems, *report.problems]
    said = total - len(reading.entries)
    importing = _Importing(engine, scope, report, actor)
    ready: list[Imported] = []
    added: set[str] = set()
    for done, batch in _entry_batches(reading.entries):
        usable = importing.prepared(reading, batch)
        added |= importing.take(usable)
        ready += usable
        if progress is not None:
            progress(said + done, total)
    entries = {one.id: one.entry for one in ready}
    written = {one.id: one.partition for one in ready if one.id in added and not importing.is_held_back(one)}
    revise(engine, scope, Revision(reading, entries, written), report, actor=actor)
    return report


def _shift_progress(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _total: progress(before + done, total)


def _entry_batches(entries: Sequence[Entry]) -> Iterator[tuple[int, Sequence[Entry]]]:
    """About `BATCH` entries at a time, with the number done after them."""
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        yield start + len(batch), batch


class _Importing:
    """One running import."""

    def __init__(self, engine: Engine, scope: Scope, report: ImportReport, actor: str) -> None:
        self._engine, self._scope, self._report, self._actor = engine, scope, report, actor
        self._now = engine.clock.now()
        self._seen: set[tuple[Partition, str]] = set()

    def prepared(self, reading: MemoryReading, entries: Sequence[Entry]) -> list[Imported]:
        """The valid entries. Invalid ones are reported, and expired ones counted."""
        found: list[Imported] = []
        for entry in entries:
            if entry.expires_at is not None and entry.expires_at <= self._now:
                self._report.skipped["memories that had expired"] += 1
                continue
            try:
                found.append(self._prepare_entry(reading, entry))
            except InvalidInputError as error:
                self._report.problems.append(f"{entry.place}: {error}")
        return found

    def take(self, batch: Sequence[Imported]) -> set[str]:
        """Remember the new entries of a batch. Returns their ids."""
        tries = TRIES
        while True:
            seen = self._seen.copy()
            with self._engine.store.read() as work:
                new = [one for one in batch if self._is_new(work, one)]
            tries -= 1
            try:
                if new and not self._report.is_dry_run:
                    remember(
                        self._engine,
                        self._scope,
                        [one.draft for one in new],
                        actor=self._actor,
                        ids=[one.id for one in new],
                        notes=[one.notes for one in new],
                    )
            except ConflictError:
                self._seen = seen
                if not tries:
                    raise
                continue
            self._count(batch, new)
            return {one.id for one in new}

    def is_held_back(self, one: Imported) -> bool:
        """True if it is quarantined when remembered."""
        return bool(suspicion_of(self._engine, one.draft.trust, (one.draft.text, one.draft.context)))

    def _prepare_entry(self, reading: MemoryReading, entry: Entry) -> Imported:
        settings = self._engine.settings
        level = entry.level if entry.level in {p.level for p in self._scope.visibility.partitions} else None
        is_ahead = entry.observed_at is not None and entry.observed_at > self._now
        draft = MemoryDraft(
            text=check_text(entry.text, "text", settings),
            kind=entry.kind,
            level=level or self._scope.default_level,
            categories=check_categories(entry.categories),
            context=check_line(_SEPARATOR.join(entry.trail), "context", limit=settings.max_text_chars),
            source=check_line(f"{reading.format}:{entry.origin}" if entry.origin else entry.place, "source"),
            observed_at=None if is_ahead else entry.observed_at,
            valid_from=entry.observed_at
            if entry.is_dated and (is_ahead or entry.kind is Kind.EVENT)
            else entry.valid_from,
            valid_to=entry.valid_to,
            expires_at=entry.expires_at,
            trust=Trust.IMPORTED,
            metadata=check_metadata(entry.metadata, settings),
        )
        draft, redacted = without_secrets(self._engine, draft)
        told = note_import(entry.notes, line=entry.line, file=reading.file, origin=entry.origin)
        fields = {"bookkeeping": check_metadata(told, settings)}
        clean, kinds = fields_without_secrets(self._engine, fields)
        key = held_key(draft.text, draft.kind, draft.valid_from)
        partition = self._scope.partition(draft.level or self._scope.default_level)
        return Imported(
            entry, partition, draft, imported_id(partition, key), key, clean["bookkeeping"], (*redacted, *kinds)
        )

    def _is_new(self, work: UnitOfWork, one: Imported) -> bool:
        """False if the text is known in its place, was deleted there, or came earlier in this reading."""
        place = (one.partition, one.key)
        if place in self._seen:
            return False
        visible = Visibility((one.partition,), self._scope.agent)
        self._seen.add(place)
        return not (work.memories.holder(one.partition, None, one.key) or work.history.of(visible, one.id))

    def _count(self, batch: Sequence[Imported], new: Sequence[Imported]) -> None:
        report = self._report
        report.added.update({"memory": len(new)} if new else {})
        report.known.update({"memory": len(batch) - len(new)} if len(new) < len(batch) else {})
        for one in new:
            report.redacted.update({*one.redacted})
            report.quarantined += self.is_held_back(one)
