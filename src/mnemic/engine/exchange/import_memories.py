"""Takes in memories of other programs: idempotent, resumable, with progress, and as a dry run.

What is imported has an id that is made of what it says, so that it is known again when it is read again: after an edit,
after it was superseded, and after it was deleted, which is for good. What follows a line that was edited in its file is
in `revised_lines`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemic.engine.exchange.import_logs import ImportReport, Progress, import_logs
from mnemic.engine.exchange.revised_lines import FILE, IMPORT, ORIGIN, Revision, revise
from mnemic.engine.inputs import check_categories, check_line, check_metadata, check_text
from mnemic.engine.memories.fields import held_key, imported_id
from mnemic.engine.memories.gate import suspicion_of
from mnemic.engine.memories.remember import remember
from mnemic.engine.parts import Parts
from mnemic.engine.secrets import without_secrets
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.model.draft import MemoryDraft
from mnemic.model.item import Kind, Trust
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.chatlogs import LogReading
from mnemic.text.memoryfiles import Entry, MemoryReading

BATCH = 64
TRIES = 3
"""Somebody else may import the same at the same time; then what is new is looked up again."""

OWN_KEYS = ("slot", "value", "merged_ids", IMPORT)
"""Keys of metadata that mean something here; what another program noted under them is kept with the import's."""

_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Imported:
    """An entry made ready: where it goes, what is kept, under which id; `redacted`: kinds of secrets taken out."""

    entry: Entry
    partition: Partition
    draft: MemoryDraft
    id: str
    key: str
    redacted: tuple[str, ...]


def import_memories(
    parts: Parts,
    scope: Scope,
    reading: MemoryReading,
    *,
    actor: str,
    is_dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Remember every entry, in batches of one transaction each, and capture the messages that came with them.

    Trust is "imported", times are those of the entries; secrets are redacted, and what gives orders to the model waits
    for a review. A batch that was committed stays when the call is interrupted; called again, it goes on from there.
    What an entry says that is known in its place, or was deleted there, is not added again.
    """
    logged = LogReading(reading.format, reading.conversations)
    total = len(reading.entries) + sum(len(each.messages) for each in reading.conversations)
    report = import_logs(parts, scope, logged, is_dry_run=is_dry_run, progress=_behind(progress, 0, total))
    report.skipped, report.problems = reading.skipped, [*reading.problems, *report.problems]
    said = total - len(reading.entries)
    importing = _Importing(parts, scope, report, actor)
    ready: list[Imported] = []
    added: set[str] = set()
    for done, batch in _batches(reading.entries):
        usable = importing.prepared(reading, batch)
        added |= importing.take(usable)
        ready += usable
        if progress is not None:
            progress(said + done, total)
    entries = {one.id: one.entry for one in ready}
    written = {one.id: one.partition for one in ready if one.id in added and not importing.is_held_back(one)}
    revise(parts, scope, Revision(reading, entries, written), report, actor=actor)
    return report


def _behind(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _total: progress(before + done, total)


def _batches(entries: Sequence[Entry]) -> Iterator[tuple[int, Sequence[Entry]]]:
    """About `BATCH` entries at a time, and how many are done with them."""
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        yield start + len(batch), batch


class _Importing:
    """One import under way."""

    def __init__(self, parts: Parts, scope: Scope, report: ImportReport, actor: str) -> None:
        self._parts, self._scope, self._report, self._actor = parts, scope, report, actor
        self._now = parts.clock.now()
        self._seen: set[tuple[Partition, str]] = set()

    def prepared(self, reading: MemoryReading, entries: Sequence[Entry]) -> list[Imported]:
        """Those that can be kept; what cannot is reported, and what has expired is counted."""
        found: list[Imported] = []
        for entry in entries:
            if entry.expires_at is not None and entry.expires_at <= self._now:
                self._report.skipped["memories that had expired"] += 1
                continue
            try:
                found.append(self._prepared(reading, entry))
            except InvalidInputError as error:
                self._report.problems.append(f"{entry.place}: {error}")
        return found

    def take(self, batch: Sequence[Imported]) -> set[str]:
        """Remember what is new of a batch; the ids of it."""
        tries = TRIES
        while True:
            seen = self._seen.copy()
            with self._parts.store.read() as work:
                new = [one for one in batch if self._is_new(work, one)]
            tries -= 1
            try:
                if new and not self._report.is_dry_run:
                    ids = [one.id for one in new]
                    remember(self._parts, self._scope, [one.draft for one in new], actor=self._actor, ids=ids)
            except ConflictError:
                self._seen = seen
                if not tries:
                    raise
                continue
            self._count(batch, new)
            return {one.id for one in new}

    def is_held_back(self, one: Imported) -> bool:
        """True when it is quarantined as it is remembered."""
        return bool(suspicion_of(self._parts, one.draft.trust, (one.draft.text, one.draft.context)))

    def _prepared(self, reading: MemoryReading, entry: Entry) -> Imported:
        settings = self._parts.settings
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
            valid_from=entry.observed_at if entry.is_dated and (is_ahead or entry.kind is Kind.EVENT) else None,
            expires_at=entry.expires_at,
            trust=Trust.IMPORTED,
            metadata=check_metadata(_metadata(reading.file, entry), settings),
        )
        draft, redacted = without_secrets(self._parts, draft)
        key = held_key(draft.text, draft.kind, draft.valid_from)
        partition = self._scope.partition(draft.level or self._scope.default_level)
        return Imported(entry, partition, draft, imported_id(partition, key), key, redacted)

    def _is_new(self, work: UnitOfWork, one: Imported) -> bool:
        """False for what is known in its place, was deleted there, or came before in the same reading."""
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
            report.redacted.update(one.redacted)
            report.quarantined += self.is_held_back(one)


def _metadata(file: str, entry: Entry) -> dict[str, object]:
    """What another program noted, and where it came from."""
    theirs = {key: value for key, value in entry.metadata.items() if key not in OWN_KEYS}
    reserved = {key: value for key, value in entry.metadata.items() if key in OWN_KEYS}
    own: dict[str, object] = {"line": entry.line} if entry.line else {}
    own |= {FILE: file} if file else {}
    own |= {ORIGIN: entry.origin} if entry.origin else {}
    own |= {"metadata": reserved} if reserved else {}
    return {**theirs, IMPORT: own}
