"""What becomes of imported memories whose place says something else now: a line of a file, or a memory of mem0.

The new text supersedes the one before, which `undo` brings back; a line that was taken out of its file is told and
stays. What somebody changed here is never superseded by a file: it is told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from difflib import SequenceMatcher
from typing import cast

from mnemic.engine.exchange.import_logs import ImportReport
from mnemic.engine.memories.edit import Editor
from mnemic.engine.memories.fields import imported_id
from mnemic.engine.parts import Parts
from mnemic.model.filter import Condition
from mnemic.model.history import Action
from mnemic.model.item import Memory, State
from mnemic.model.query import MemoryQuery, Order
from mnemic.model.scope import Partition, Scope
from mnemic.ports.store import UnitOfWork
from mnemic.text.memoryfiles import Entry, MemoryReading

IMPORT, FILE, ORIGIN = "import", "file", "id"
"""Under which keys of its metadata a memory notes where it was imported from."""

ALIKE = 0.6
"""Two texts under the same titles that share so much are one line before and after an edit."""

MAX_FORMER = 10_000
MAX_COMPARED = 200
MAX_COMPARED_CHARS = 2_000
TOLD_CHARS = 80
_AT_ONCE = 200
_TICK = timedelta(microseconds=1)
_LIVE = (State.ACTIVE, State.QUARANTINED, State.DISPUTED)


@dataclass(frozen=True, slots=True)
class Revision:
    """A reading, its entries by the ids of their memories, and where those were written that are new."""

    reading: MemoryReading
    entries: Mapping[str, Entry]
    written: Mapping[str, Partition]


def revise(parts: Parts, scope: Scope, revision: Revision, report: ImportReport, *, actor: str) -> None:
    """Supersede what stands no longer where it was imported from, by what stands there now, and tell it in
    `report.changed`; a dry run only tells. What says again what it said before it was edited is active again.
    """
    if not revision.reading.file and not any(entry.origin for entry in revision.entries.values()):
        return
    revising = _Revising(parts, scope, revision, report, actor)
    with parts.store.read() as work:
        returned = list(revising.returned(work))
        former = [m for m in revising.former(work) if m.id not in revision.entries]
    for old, now in returned:
        revising.bring_back(old, now)
    taken = {now.id for _, now in returned}
    revising.replace([memory for memory in former if memory.id not in taken])


class _Revising:
    """One reading, and what it was before."""

    def __init__(self, parts: Parts, scope: Scope, revision: Revision, report: ImportReport, actor: str) -> None:
        self._parts, self._scope, self._revision, self._report, self._actor = parts, scope, revision, report, actor
        self._file = revision.reading.file
        self._origins = {entry.origin: id_ for id_, entry in revision.entries.items() if entry.origin}
        self._under = defaultdict[tuple[Partition, str], dict[str, Entry]](dict)
        for id_, partition in revision.written.items():
            entry = revision.entries[id_]
            self._under[partition, " > ".join(entry.trail)][id_] = entry

    def former(self, work: UnitOfWork) -> Iterator[Memory]:
        """What was imported from the same file, or under the same ids, and is not gone."""
        if self._origins:
            origins = sorted(self._origins)
            for start in range(0, len(origins), _AT_ONCE):
                wanted = Condition(("metadata", IMPORT, ORIGIN), "in", tuple(origins[start : start + _AT_ONCE]))
                yield from work.memories.list(self._scope.visibility, self._query(wanted))
        elif self._file:
            wanted = Condition(("metadata", IMPORT, FILE), "eq", self._file)
            yield from work.memories.list(self._scope.visibility, self._query(wanted))

    def returned(self, work: UnitOfWork) -> Iterator[tuple[Memory, Memory]]:
        """What was superseded by an edit that was taken back, each with the text of that edit."""
        ids = [id_ for id_ in self._revision.entries if id_ not in self._revision.written]
        for start in range(0, len(ids), _AT_ONCE):
            known = work.memories.get(self._scope.visibility, ids[start : start + _AT_ONCE])
            gone = [
                m for m in known if m.state is State.SUPERSEDED and m.other_id not in (None, *self._revision.entries)
            ]
            for old in gone:
                edits = work.memories.get(self._scope.visibility, [old.other_id or ""])
                is_free = work.memories.holder(old.partition, old.private_agent, old.dedup_key) is None
                if is_free and edits and self._is_same_place(old, edits[0]) and edits[0].state in _LIVE:
                    yield old, edits[0]

    def bring_back(self, old: Memory, edit: Memory) -> None:
        """The text before an edit is active again, and the edit superseded by it."""
        place = self._revision.entries[old.id].place
        self._report.changed.append(f"{place}: says again what it said before: {_told(old)}")
        if self._report.is_dry_run:
            return
        with self._parts.store.write() as work:
            editor = Editor(self._parts, work, self._scope.visibility, self._actor)
            self._supersede(editor, edit, old.id, place)
            active = replace(old, state=State.ACTIVE, other_id=None, valid_to=None)
            editor.put(old, active, Action.RESTORED, f"{place} says it again")

    def replace(self, missing: Sequence[Memory]) -> None:
        """Supersede those whose place says something else now; tell of those that have none any more."""
        for old in missing:
            new_id = self._now_of(old)
            if new_id is None:
                if not self._origins:
                    self._report.changed.append(f"{_place(old)}: no longer in the file, and kept here: {_told(old)}")
                continue
            place = self._revision.entries[new_id].place
            if old.id != imported_id(old.partition, old.dedup_key):
                self._report.changed.append(f"{place}: was changed there and here, and both are kept: {_told(old)}")
                continue
            self._report.changed.append(f"{place}: was edited, which supersedes {_told(old)}")
            if not self._report.is_dry_run:
                with self._parts.store.write() as work:
                    editor = Editor(self._parts, work, self._scope.visibility, self._actor)
                    self._supersede(editor, old, new_id, place)

    def _now_of(self, old: Memory) -> str | None:
        """Which of the new memories stands where `old` was read; each stands in the place of one."""
        if origin := _note(old, ORIGIN):
            found = self._origins.get(str(origin), "")
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
            ends = max(editor.now, (known.valid_from or known.observed_at) + _TICK)
            gone = replace(known, state=State.SUPERSEDED, other_id=by, valid_to=ends)
            editor.put(known, gone, Action.SUPERSEDED, f"{place} says otherwise now")

    def _is_same_place(self, one: Memory, other: Memory) -> bool:
        name = ORIGIN if _note(one, ORIGIN) else FILE
        return _note(one, name) is not None and _note(one, name) == _note(other, name)

    def _query(self, wanted: Condition) -> MemoryQuery:
        now = self._parts.clock.now()
        return MemoryQuery(now=now, states=_LIVE, filter=wanted, order=Order.OLDEST, limit=MAX_FORMER)


def _note(memory: Memory, name: str) -> object:
    """What a memory notes about where it came from."""
    notes = memory.metadata.get(IMPORT)
    return cast("Mapping[str, object]", notes).get(name) if isinstance(notes, Mapping) else None


def _place(memory: Memory) -> str:
    return memory.source or memory.id


def _told(memory: Memory) -> str:
    text = " ".join(memory.text.split())
    short = text if len(text) <= TOLD_CHARS else f"{text[:TOLD_CHARS]}\u2026"
    return f"{short!r} (memory {memory.id})"


def _likeness(one: str, other: str) -> float:
    """From 0 to 1; both texts are looked at as far as `MAX_COMPARED_CHARS`."""
    matcher = SequenceMatcher(None, one[:MAX_COMPARED_CHARS], other[:MAX_COMPARED_CHARS], autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()
