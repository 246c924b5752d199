"""Finds problems of memories and jobs, with remedies as verbs and commands: junk, stale, unsupported, orphaned,
disputed, duplicate or contradictory. Words, slots and vectors suggest pairs, so that not all are compared with all.
"""

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.dependants import told
from mnemic.engine.digest import TOLD_KINDS
from mnemic.engine.engine import Engine
from mnemic.engine.fields import is_lasting
from mnemic.engine.remember import filled_of
from mnemic.engine.upkeep import present_importance
from mnemic.model.bookkeeping import key_in
from mnemic.model.health import Ailment, HealthFinding, Remedy
from mnemic.model.item import Kind, Memory, State
from mnemic.model.records import Action, Job
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.model.settings import LifeSettings
from mnemic.ports.store import MAIN_VIEW, UnitOfWork
from mnemic.ranking.near_pairs import near_pairs
from mnemic.text.facts.worth import SHIPPED_MODEL, keep_probability
from mnemic.text.junk import junk_reason
from mnemic.text.languages import detect
from mnemic.text.normalise import dedup_key, key_words
from mnemic.text.prose import is_machine_text
from mnemic.text.sameness import denials, may_be_same, same_statement
from mnemic.text.slots import Relation, is_single, relation, slot_of


class Remedies:
    """Remedies for one scope."""

    def __init__(self, scope: Scope) -> None:
        named = (("--user", scope.user), ("--agent", scope.agent), ("--session", scope.session))
        parts = [("--org", scope.org)] if scope.org != Scope().org else []
        parts += [(option, value) for option, value in named if value is not None]
        self._options = " ".join(f"{option} {shlex.quote(value)}" for option, value in parts)

    def merge(self, ids: Sequence[str], *, is_safe: bool) -> Remedy:
        """Merge the others into the first."""
        return Remedy("merge", {"ids": list(ids)}, self._command("memory merge", *ids), is_safe)

    def delete(self, id_: str, *, is_safe: bool = False) -> Remedy:
        """Delete for good. If safe, `health` only archives."""
        return Remedy("delete", {"id": id_}, self._command("memory delete", id_), is_safe)

    def outdated(self, id_: str, *, is_safe: bool = False) -> Remedy:
        """Mark as no longer valid."""
        arguments = {"id": id_, "verdict": "outdated"}
        return Remedy("feedback", arguments, self._command("memory feedback", id_, "outdated"), is_safe)

    def judge(self, id_: str) -> Remedy:
        """Trust or reject, as the user decides."""
        either = f"{self._command('memory trust', id_)}; or memory reject"
        return Remedy("trust", {"id": id_}, either)

    def undo(self, id_: str) -> Remedy:
        """Undo the last change."""
        return Remedy("undo", {"id": id_}, self._command("memory undo", id_))

    def evict(self) -> Remedy:
        """Run the eviction that a worker runs every night."""
        return Remedy("evict", {}, self._command("evict"), is_safe=True)

    def retry(self, id_: str) -> Remedy:
        """Retry the job."""
        return Remedy("jobs.retry", {"ids": [id_]}, self._command("jobs retry", id_), is_safe=True)

    def _command(self, command: str, *operands: str) -> str:
        return " ".join(part for part in ("mnemic", command, *map(shlex.quote, operands), self._options) if part)


WORTHLESS = 0.12
"""Worth below which a fact is junk; extraction keeps from 0.5. Cheers, promises and "User loves it" are below 0.1,
short preferences such as "User prefers dark mode" above 0.2.
"""

TEXT_CHARS = 120  # one line of a report
_UNUSED_KINDS = (Kind.SUMMARY, Kind.REFLECTION, Kind.PERSONA)  # kinds that are no fault if never recalled


def is_live(memory: Memory, now: datetime) -> bool:
    """True for a memory that may be recalled now."""
    is_over = memory.expires_at is not None and memory.expires_at <= now
    return memory.state in (State.ACTIVE, State.DISPUTED) and not is_over


@dataclass(slots=True)
class Judge:
    """Examines pages of a scope's memories at one moment."""

    engine: Engine
    visible: Visibility
    remedies: Remedies
    now: datetime
    life: LifeSettings
    _pairs: set[frozenset[str]] = field(default_factory=set[frozenset[str]])

    def page(self, work: UnitOfWork, memories: Sequence[Memory]) -> Iterator[HealthFinding]:
        """Findings on each memory alone, and on the memories that it names."""
        present = present_importance(memories, self.now, self.life)
        worthless = self._find_worthless(work, memories)
        for memory, importance in zip(memories, present, strict=True):
            if memory.state is State.ACTIVE:
                yield from self._stale(memory, importance)
            if is_live(memory, self.now):
                yield from self._junk(memory, is_worthless=memory.id in worthless)
        yield from self._find_named(work, memories)
        yield from self._unsupported(work, [memory for memory in memories if is_live(memory, self.now)])

    def jobs(self, jobs: Iterable[Job]) -> Iterator[HealthFinding]:
        """Findings on jobs that failed permanently, so their results are missing."""
        for job in jobs:
            reason = f"the job {job.kind} failed permanently after {job.attempts} attempts: {job.error}"
            yield HealthFinding(Ailment.ORPHANED, (job.id,), reason, self.remedies.retry(job.id))

    def _junk(self, memory: Memory, *, is_worthless: bool) -> Iterator[HealthFinding]:
        """Judge by words; by the learned head if extraction kept it, or no context says more."""
        if memory.is_pinned or memory.kind is Kind.DOCUMENT:
            return
        reason = junk_reason(memory.text)
        says_more = memory.context.strip() or memory.snippet.strip()
        if reason and not (says_more and any(character.isalnum() for character in memory.text)):
            yield finding(Ailment.JUNK, [memory], reason, self.remedies.delete(memory.id, is_safe=True))
            return
        if memory.kind not in TOLD_KINDS or memory.access_count:
            return
        is_machine = (bool(memory.provenance) or "\n" in memory.text) and is_machine_text(memory.text)
        if is_machine or (is_worthless and not says_more):
            reason = "it is code, data or a log" if is_machine else "it says nothing worth keeping"
            yield finding(
                Ailment.JUNK, [memory], reason, self.remedies.delete(memory.id, is_safe=bool(memory.provenance))
            )

    def _find_worthless(self, work: UnitOfWork, memories: Sequence[Memory]) -> set[str]:
        """Ids of facts that the learned head would never keep. It judges facts with a vector of its embedder, in the
        form of its training data: extracted, or about the user in the third person. It misjudges people's own notes.
        """
        facts = [m for m in memories if m.kind in TOLD_KINDS and is_live(m, self.now)]
        facts = [m for m in facts if m.provenance or m.text.startswith(detect(m.text).user)]
        shipped = next((each.space for each in self.engine.embedders if each.space.model == SHIPPED_MODEL), None)
        if not facts or shipped is None:
            return set()
        column = work.vectors.get(facts[0].partition, [memory.id for memory in facts], MAIN_VIEW, shipped.id)
        judged = [memory for memory in facts if memory.id in column]
        vectors = np.array([column[memory.id] for memory in judged], dtype=np.float32).reshape(-1, shipped.dims)
        worth = keep_probability([m.text for m in judged], [m.kind for m in judged], vectors, shipped)
        return {memory.id for memory, value in zip(judged, worth, strict=True) if value < WORTHLESS}

    def _stale(self, memory: Memory, importance: float) -> Iterator[HealthFinding]:
        life, old = self.life, self.now - timedelta(days=self.life.evict_after_days)
        if memory.expires_at is not None and memory.expires_at <= self.now:
            reason = f"it expired on {memory.expires_at:%Y-%m-%d}"
            yield finding(Ailment.STALE, [memory], reason, self.remedies.evict())
        elif memory.valid_to is not None and memory.valid_to <= old and not memory.is_pinned:
            reason = f"it has not been true since {memory.valid_to:%Y-%m-%d}; only questions about the past find it"
            yield finding(Ailment.STALE, [memory], reason, self.remedies.delete(memory.id))
        elif memory.created_at < old and not is_lasting(memory) and memory.kind not in _UNUSED_KINDS:
            if memory.importance < life.kept_importance and importance < life.evict_below:
                reason = f"its importance has faded to {importance:.2f}, and it is old"
                yield finding(Ailment.STALE, [memory], reason, self.remedies.evict())
            elif not memory.access_count and memory.last_accessed_at is None:
                reason = f"it was stored on {memory.created_at:%Y-%m-%d} and has never been recalled"
                yield finding(Ailment.STALE, [memory], reason, self.remedies.outdated(memory.id))

    def _find_named(self, work: UnitOfWork, memories: Sequence[Memory]) -> Iterator[HealthFinding]:
        """Findings on flags after lost belief, on disputes, and on memories superseded by a deleted one."""
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
                reason = "the memory that superseded it was deleted, so nothing replaces it"
                yield finding(Ailment.ORPHANED, [memory], reason, self.remedies.undo(memory.id))
            elif memory.state is State.DISPUTED and is_live(memory, self.now):
                yield from self._find_dispute(memory, other)

    def _find_dispute(self, memory: Memory, other: Memory | None) -> Iterator[HealthFinding]:
        if other is None:
            reason = "it is disputed by a memory that was deleted"
            yield finding(Ailment.ORPHANED, [memory], reason, self.remedies.judge(memory.id))
            return
        pair = frozenset((memory.id, other.id))
        if pair not in self._pairs:
            self._pairs.add(pair)
            reason = f"it contradicts {shortened(other.text)!r}; decide which is right"
            yield finding(Ailment.CONTRADICTORY, [memory, other], reason, self.remedies.judge(memory.id))

    def _unsupported(self, work: UnitOfWork, memories: Sequence[Memory]) -> Iterator[HealthFinding]:
        """Memories without any remaining source. Flagged ones are reported elsewhere."""
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
                reason = "all of its sources are gone"
                yield finding(Ailment.UNSUPPORTED, [memory], reason, self.remedies.delete(memory.id, is_safe=True))

    def _was_trusted(self, work: UnitOfWork, memory: Memory) -> bool:
        """True if a person has trusted it since it was quarantined."""
        judged = (Action.QUARANTINED, Action.TRUSTED)
        entries = [entry.action for entry in work.history.of(self.visible, memory.id) if entry.action in judged]
        return entries[-1:] == [Action.TRUSTED]


def finding(ailment: Ailment, memories: Sequence[Memory], reason: str, remedy: Remedy) -> HealthFinding:
    """A finding about some memories, shown by the first."""
    ids = tuple(memory.id for memory in memories)
    return HealthFinding(ailment, ids, reason, remedy, shortened(memories[0].text))


def shortened(text: str) -> str:
    """The start of a text as one line."""
    line = " ".join(text[: 4 * TEXT_CHARS].split())
    return line if len(line) <= TEXT_CHARS else f"{line[: TEXT_CHARS - 1]}\u2026"


NEAR_COSINE = 0.93
"""Cosine below which memories are duplicates only by their words."""

SHARED_TERMS = 0.6
"""Minimum share of common terms if one memory says everything that the other says, and more."""

SHARED_OTHERWISE = 0.85
"""Minimum share if each has terms of its own: in a short text one other word changes the meaning."""

MAX_VECTORS = 250_000
"""About 800 MB while comparing. Newer memories above it are not compared by vector, which is reported."""

_IDS_AT_ONCE = 400  # per query: bounds memory
_DERIVED = (Kind.SUMMARY, Kind.REFLECTION, Kind.DOCUMENT)  # these summarise others and may resemble them
Place = tuple[Partition, str | None]


@dataclass(slots=True)
class Pairs:
    """Collects pages of memories, then finds pairs."""

    engine: Engine
    visible: Visibility
    remedies: Remedies
    now: datetime
    is_capped: bool = False
    _ids: list[str] = field(default_factory=list[str])
    _vectors: list[NDArray[np.float32]] = field(default_factory=list[NDArray[np.float32]])
    _words: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _slots: dict[tuple[Place, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    _keys: dict[tuple[Place, str], str] = field(default_factory=dict[tuple[Place, str], str])
    _denied: list[tuple[Place, str, str]] = field(default_factory=list[tuple[Place, str, str]])

    def page(self, work: UnitOfWork, partition: Partition, memories: Sequence[Memory]) -> None:
        """Collect the live memories of one page."""
        live = [m for m in memories if m.state is State.ACTIVE and is_live(m, self.now)]
        live = [m for m in live if m.valid_to is None or m.valid_to > self.now]
        for memory in live:
            place = (partition, memory.private_agent)
            if memory.kind not in _DERIVED:
                # bounds the time: longer memories are compared by their beginning
                self._words[" ".join(sorted(key_words(memory.text[:2000])))].append(memory.id)
            if memory.level in (Level.USER, Level.SESSION):
                self._note(place, memory)
        self._note_vectors(work, partition, [memory for memory in live if memory.kind not in _DERIVED])

    def contradictions(self) -> Iterator[HealthFinding]:
        """Contradictory pairs of one place that are not disputed yet: one slot with two values, or the same words
        affirmed and denied. The older one comes first.
        """
        told = set[frozenset[str]]()
        groups = [ids for (_, slot), ids in self._slots.items() if len(ids) > 1 and is_single(slot)]
        denied = [[id_, self._keys[place, key]] for place, key, id_ in self._denied if (place, key) in self._keys]
        memories = self._read([id_ for group in (*groups, *denied) for id_ in group])
        for group in groups:
            known = sorted((memories[id_] for id_ in group if id_ in memories), key=_statement_time)
            for older in known[:-1]:
                if _values(older, known[-1]) is Relation.OTHER:
                    told.add(frozenset((older.id, known[-1].id)))
                    yield self._contradiction(older, known[-1])
        for pair in denied:
            known = sorted((memories[id_] for id_ in pair if id_ in memories), key=_statement_time)
            ids = frozenset(memory.id for memory in known)
            if len(ids) > 1 and ids not in told:
                told.add(ids)
                yield self._contradiction(known[0], known[1])

    def duplicates(self, told: Callable[[float], object]) -> Iterator[HealthFinding]:
        """Groups of memories that say the same, best first, one finding each. Across levels too."""
        beside: dict[str, set[str]] = defaultdict(set)
        for one, other in self._candidates(told):
            beside[one].add(other)
            beside[other].add(one)
        memories = self._read(sorted(beside))
        taken = set[str]()
        for best in sorted(memories.values(), key=_preference):
            if best.id in taken:
                continue
            others = [memories[i] for i in beside[best.id] if i in memories and i not in taken]
            same = [other for other in sorted(others, key=_preference) if self._is_duplicate(best, other)]
            taken |= {best.id, *(other.id for other in same)} if same else set()
            yield from self._report_duplicates(best, same)

    def _note(self, place: Place, memory: Memory) -> None:
        filled = filled_of(memory)
        if filled is not None:
            self._slots[place, filled.slot].append(memory.id)
        self._keys[place, memory.dedup_key] = memory.id
        self._denied += [(place, dedup_key(text), memory.id) for text in denials(memory.text)]

    def _note_vectors(self, work: UnitOfWork, partition: Partition, memories: Sequence[Memory]) -> None:
        if self.engine.embedder is None or not memories:
            return
        if len(self._ids) >= MAX_VECTORS:
            self.is_capped = True
            return
        ids = [memory.id for memory in memories]
        found = work.vectors.get(partition, ids, MAIN_VIEW, self.engine.embedder.space.id)
        self._ids += found.keys()
        if found:
            self._vectors.append(np.stack(list(found.values())))

    def _candidates(self, told: Callable[[float], object]) -> Iterator[tuple[str, str]]:
        """Pairs of ids that may say the same."""
        for ids in self._words.values():
            yield from ((ids[0], other) for other in ids[1:])
        if self._vectors:
            rows = np.concatenate(self._vectors)
            self._vectors.clear()
            for one, other, _ in near_pairs(rows, NEAR_COSINE, told):
                yield self._ids[one], self._ids[other]
        by_slot = [ids for (_, slot), ids in self._slots.items() if len(ids) > 1 and is_single(slot)]
        yield from ((ids[0], other) for ids in by_slot for other in ids[1:])

    def _is_duplicate(self, one: Memory, other: Memory) -> bool:
        """True if the words of both say the same. Never if numbers, negations, names or days differ."""
        if Kind.EVENT in (one.kind, other.kind) and one.observed_at.date() != other.observed_at.date():
            return False
        if key_in(one.bookkeeping) != key_in(other.bookkeeping):
            return False
        if one.dedup_key == other.dedup_key or same_statement(one.text, other.text):
            return True
        if _values(one, other) is Relation.SAME and _only_fills(one) and _only_fills(other):
            return True
        first, second = (list(self.engine.analyser.terms(memory.text)) for memory in (one, other))
        common = set(first) & set(second)
        share = len(common) / max(len({*first, *second}), 1)
        is_part = common in (set(first), set(second))
        in_order = [term for term in first if term in common] == [term for term in second if term in common]
        is_like = share >= (SHARED_TERMS if is_part else SHARED_OTHERWISE)
        return is_like and in_order and may_be_same(one.text, other.text) and not _differ_in_names(one.text, other.text)

    def _report_duplicates(self, best: Memory, same: Sequence[Memory]) -> Iterator[HealthFinding]:
        """Duplicates of one place that merge without loss, those to review, and those elsewhere, which cannot merge."""
        here = [
            other for other in same if (other.partition, other.private_agent) == (best.partition, best.private_agent)
        ]
        safe = [other for other in here if _is_mergeable(best, other)]
        for group, is_safe in ((safe, True), ([other for other in here if other not in safe], False)):
            if group:
                remedy = self.remedies.merge([best.id, *(other.id for other in group)], is_safe=is_safe)
                reason = f"{len(group)} other memories say" if len(group) > 1 else "another memory says"
                told = f"{reason} the same: {shortened(group[0].text)!r}"
                yield finding(Ailment.DUPLICATE, [best, *group], told, remedy)
        for other in same:
            if other not in here:
                reason = f"it is also stored at the {other.level.value} level"
                yield finding(Ailment.DUPLICATE, [best, other], reason, self.remedies.delete(other.id))

    def _contradiction(self, older: Memory, newer: Memory) -> HealthFinding:
        reason = f"it contradicts the newer memory {shortened(newer.text)!r}"
        return finding(Ailment.CONTRADICTORY, [older, newer], reason, self.remedies.outdated(older.id, is_safe=True))

    def _read(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        found: dict[str, Memory] = {}
        for start in range(0, len(ids), _IDS_AT_ONCE):
            with self.engine.store.read() as work:
                found |= {m.id: m for m in work.memories.get(self.visible, ids[start : start + _IDS_AT_ONCE])}
        return {id_: memory for id_, memory in found.items() if memory.state is State.ACTIVE}


def _statement_time(memory: Memory) -> tuple[datetime, datetime]:
    return memory.observed_at, memory.created_at


def _preference(memory: Memory) -> tuple[bool, int, float, datetime, str]:
    """Sort key for the best of several duplicates: pinned, then used, then important, then older."""
    return not memory.is_pinned, -memory.access_count, -memory.importance, memory.created_at, memory.id


def _values(one: Memory, other: Memory) -> Relation | None:
    filled = (filled_of(one), filled_of(other))
    if filled[0] is None or filled[1] is None:
        return None
    return relation(filled[0].slot, filled[0].value, filled[1].value)


def _only_fills(memory: Memory) -> bool:
    filled = slot_of(memory.text)
    return filled is not None and not filled.is_change


def _differ_in_names(one: str, other: str) -> bool:
    """True if a word written as a name, not at the beginning, is in only one of them."""
    words = [[word.strip("\"'.,;:!?()[]*_") for word in text.split()] for text in (one, other)]
    names = [{w.casefold() for w in each[1:] if w[:1].isupper() or w[:1].isdigit()} for each in words]
    known = [{word.casefold() for word in each} for each in words]
    return bool(names[0] - known[1] or names[1] - known[0])


def _is_mergeable(one: Memory, other: Memory) -> bool:
    """True if merging loses nothing: equal words except for articles, or equal values; same kind and times."""
    is_same = same_statement(one.text, other.text) or (_values(one, other) is Relation.SAME and _only_fills(other))
    times = [(memory.valid_from, memory.valid_to, memory.expires_at) for memory in (one, other)]
    return is_same and one.kind is other.kind and times[0] == times[1] and not other.is_pinned
