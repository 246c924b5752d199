"""Judges single memories and jobs: junk, stale, unsupported, orphaned, disputed. One page of memories at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mnemic.engine.health.remedies import Remedies
from mnemic.engine.memories.archive import is_lasting
from mnemic.engine.memories.dependants import told
from mnemic.engine.upkeep.decay import present_importance
from mnemic.model.history import Action
from mnemic.model.item import Kind, Memory, State
from mnemic.model.job import Job
from mnemic.model.life import LifeSettings
from mnemic.model.memory_health import Ailment, HealthFinding, Remedy
from mnemic.model.scope import Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.junk import junk_reason

TEXT_CHARS = 120
_UNUSED_KINDS = (Kind.SUMMARY, Kind.REFLECTION, Kind.PERSONA)
"""Of these it is no fault that no question found them."""


def is_live(memory: Memory, now: datetime) -> bool:
    """True for what may be recalled now."""
    is_over = memory.expires_at is not None and memory.expires_at <= now
    return memory.state in (State.ACTIVE, State.DISPUTED) and not is_over


@dataclass(slots=True)
class Judge:
    """Looks at pages of what a scope sees, at one moment."""

    visible: Visibility
    remedies: Remedies
    now: datetime
    life: LifeSettings
    _pairs: set[frozenset[str]] = field(default_factory=set[frozenset[str]])

    def page(self, work: UnitOfWork, memories: Sequence[Memory]) -> Iterator[HealthFinding]:
        """What is wrong with each by itself, and with what it names."""
        present = present_importance(memories, self.now, self.life)
        for memory, importance in zip(memories, present, strict=True):
            if memory.state is State.ACTIVE:
                yield from self._stale(memory, importance)
            if is_live(memory, self.now):
                yield from self._junk(memory)
        yield from self._named(work, memories)
        yield from self._unsupported(work, [memory for memory in memories if is_live(memory, self.now)])

    def jobs(self, jobs: Iterable[Job]) -> Iterator[HealthFinding]:
        """Jobs that gave up: what they were to make of memories is missing."""
        for job in jobs:
            reason = f"the job {job.kind} gave up after {job.attempts} tries: {job.error}"
            yield HealthFinding(Ailment.ORPHANED, (job.id,), reason, self.remedies.retry(job.id))

    def _junk(self, memory: Memory) -> Iterator[HealthFinding]:
        reason = "" if memory.is_pinned or memory.kind is Kind.DOCUMENT else junk_reason(memory.text)
        says_more = memory.context.strip() or memory.snippet.strip()
        if reason and not (says_more and any(character.isalnum() for character in memory.text)):
            yield finding(Ailment.JUNK, [memory], reason, self.remedies.delete(memory.id, is_safe=True))

    def _stale(self, memory: Memory, importance: float) -> Iterator[HealthFinding]:
        life, old = self.life, self.now - timedelta(days=self.life.evict_after_days)
        if memory.expires_at is not None and memory.expires_at <= self.now:
            reason = f"it expired on {memory.expires_at:%Y-%m-%d}"
            yield finding(Ailment.STALE, [memory], reason, self.remedies.evict())
        elif memory.valid_to is not None and memory.valid_to <= old and not memory.is_pinned:
            reason = f"it has not held since {memory.valid_to:%Y-%m-%d}; only questions about the past find it"
            yield finding(Ailment.STALE, [memory], reason, self.remedies.delete(memory.id))
        elif memory.created_at < old and not is_lasting(memory) and memory.kind not in _UNUSED_KINDS:
            if memory.importance < life.kept_importance and importance < life.evict_below:
                reason = f"its importance has faded to {importance:.2f}, and it is old"
                yield finding(Ailment.STALE, [memory], reason, self.remedies.evict())
            elif not memory.access_count and memory.last_accessed_at is None:
                reason = f"nothing has recalled it since {memory.created_at:%Y-%m-%d}"
                yield finding(Ailment.STALE, [memory], reason, self.remedies.outdated(memory.id))

    def _named(self, work: UnitOfWork, memories: Sequence[Memory]) -> Iterator[HealthFinding]:
        """Flags of what was made of something no longer believed; disputes; and what gave way to something gone."""
        naming = [m for m in memories if m.other_id and m.state in (State.ACTIVE, State.DISPUTED, State.SUPERSEDED)]
        ids = sorted({m.other_id for m in naming if m.other_id})
        others = {m.id: m for m in work.memories.get(self.visible, ids)} if ids else {}
        for memory in memories:
            if memory.flags and is_live(memory, self.now):
                reason = "; ".join(dict.fromkeys(told(flag) for flag in memory.flags))
                yield finding(Ailment.ORPHANED, [memory], reason, self.remedies.judge(memory.id))
        for memory in naming:
            other = others.get(memory.other_id or "")
            if other is None and memory.state is State.SUPERSEDED:
                reason = "what superseded it was deleted, so nothing says it now"
                yield finding(Ailment.ORPHANED, [memory], reason, self.remedies.undo(memory.id))
            elif memory.state is State.DISPUTED and is_live(memory, self.now):
                yield from self._disputed(memory, other)

    def _disputed(self, memory: Memory, other: Memory | None) -> Iterator[HealthFinding]:
        if other is None:
            reason = "it is in dispute with something that was deleted"
            yield finding(Ailment.ORPHANED, [memory], reason, self.remedies.judge(memory.id))
            return
        pair = frozenset((memory.id, other.id))
        if pair not in self._pairs:
            self._pairs.add(pair)
            reason = f"it contradicts {shortened(other.text)!r}, and nobody has decided between them"
            yield finding(Ailment.CONTRADICTORY, [memory, other], reason, self.remedies.judge(memory.id))

    def _unsupported(self, work: UnitOfWork, memories: Sequence[Memory]) -> Iterator[HealthFinding]:
        """Those none of whose sources is left; where flags tell so already, they are told."""
        derived = [memory for memory in memories if memory.provenance and not memory.flags]
        left = {entry.source_id for memory in derived for entry in memory.provenance}
        seen = set[str]()
        for read in (work.memories.get, work.messages.get, work.documents.chunks):
            if wanted := sorted(left - seen):
                seen |= {item.id for item in read(self.visible, wanted)}
        for memory in derived:
            named = {entry.source_id for entry in memory.provenance}
            if not named.isdisjoint(seen) or self._was_trusted(work, memory):
                continue
            if named.isdisjoint(source.id for source in work.dependants.sources(memory)):
                reason = "all that it was derived from is gone"
                yield finding(Ailment.UNSUPPORTED, [memory], reason, self.remedies.delete(memory.id, is_safe=True))

    def _was_trusted(self, work: UnitOfWork, memory: Memory) -> bool:
        """True when somebody has judged it since it was quarantined."""
        judged = (Action.QUARANTINED, Action.TRUSTED)
        entries = [entry.action for entry in work.history.of(self.visible, memory.id) if entry.action in judged]
        return entries[-1:] == [Action.TRUSTED]


def finding(ailment: Ailment, memories: Sequence[Memory], reason: str, remedy: Remedy) -> HealthFinding:
    """A finding about some memories, the first of which it shows."""
    ids = tuple(memory.id for memory in memories)
    return HealthFinding(ailment, ids, reason, remedy, shortened(memories[0].text))


def shortened(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text[: 4 * TEXT_CHARS].split())
    return line if len(line) <= TEXT_CHARS else f"{line[: TEXT_CHARS - 1]}\u2026"
