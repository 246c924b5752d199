"""Finds memories that say the same, or that cannot both hold: by words, slots and vectors, without comparing all with
all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.health.findings import finding, is_live, shortened
from mnemic.engine.health.remedies import Remedies
from mnemic.engine.memories.settle import filled_of
from mnemic.engine.parts import Parts
from mnemic.model.item import Kind, Memory, State
from mnemic.model.memory_health import Ailment, HealthFinding
from mnemic.model.scope import Level, Partition, Visibility
from mnemic.ports.store import MAIN_VIEW, UnitOfWork
from mnemic.ranking.near_pairs import near_pairs
from mnemic.text.normalise import dedup_key, key_words
from mnemic.text.sameness import denials, may_be_same, same_statement
from mnemic.text.slots import Relation, is_single, relation, slot_of

NEAR_COSINE = 0.93
"""Two memories less near than this are not told as duplicates, unless they are so by their words."""

SHARED_TERMS = 0.6
"""So much of the terms of both must be shared where one says all that the other says, and more."""

SHARED_OTHERWISE = 0.85
"""And so much where each has terms of its own: in a short text one other word says something else."""

MAX_VECTORS = 250_000
"""About 800 MB while they are compared; of more memories the newest are not compared by vector, which is told."""

_AT_ONCE = 400
_DERIVED = (Kind.SUMMARY, Kind.REFLECTION, Kind.DOCUMENT)
"""What sums others up may be like them."""

Place = tuple[Partition, str | None]


@dataclass(slots=True)
class Pairs:
    """Collects, page by page, what is needed to find pairs, and then finds them."""

    parts: Parts
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
        """Take note of the live memories of one page."""
        live = [m for m in memories if m.state is State.ACTIVE and is_live(m, self.now) and _holds(m, self.now)]
        for memory in live:
            place = (partition, memory.private_agent)
            if memory.kind not in _DERIVED:
                self._words[" ".join(sorted(key_words(memory.text[:2000])))].append(memory.id)
            if memory.level in (Level.USER, Level.SESSION):
                self._note(place, memory)
        self._note_vectors(work, partition, [memory for memory in live if memory.kind not in _DERIVED])

    def contradictions(self) -> Iterator[HealthFinding]:
        """Pairs of one place that cannot both hold and that nobody has set against each other: one slot filled in two
        ways, or the same words affirmed and denied. The older one comes first.
        """
        told = set[frozenset[str]]()
        groups = [ids for (_, slot), ids in self._slots.items() if len(ids) > 1 and is_single(slot)]
        denied = [[id_, self._keys[place, key]] for place, key, id_ in self._denied if (place, key) in self._keys]
        memories = self._read([id_ for group in (*groups, *denied) for id_ in group])
        for group in groups:
            known = sorted((memories[id_] for id_ in group if id_ in memories), key=_said)
            for older in known[:-1]:
                if _values(older, known[-1]) is Relation.OTHER:
                    told.add(frozenset((older.id, known[-1].id)))
                    yield self._contradiction(older, known[-1])
        for pair in denied:
            known = sorted((memories[id_] for id_ in pair if id_ in memories), key=_said)
            ids = frozenset(memory.id for memory in known)
            if len(ids) > 1 and ids not in told:
                told.add(ids)
                yield self._contradiction(known[0], known[1])

    def duplicates(self, told: Callable[[float], object]) -> Iterator[HealthFinding]:
        """Memories that say the same, in one finding each: the best of them first. Across levels too."""
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
            yield from self._told(best, same)

    def _note(self, place: Place, memory: Memory) -> None:
        filled = filled_of(memory)
        if filled is not None:
            self._slots[place, filled.slot].append(memory.id)
        self._keys[place, memory.dedup_key] = memory.id
        self._denied += [(place, dedup_key(text), memory.id) for text in denials(memory.text)]

    def _note_vectors(self, work: UnitOfWork, partition: Partition, memories: Sequence[Memory]) -> None:
        if self.parts.embedder is None or not memories:
            return
        if len(self._ids) >= MAX_VECTORS:
            self.is_capped = True
            return
        ids = [memory.id for memory in memories]
        found = work.vectors.get(partition, ids, MAIN_VIEW, self.parts.embedder.space.id)
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
        """True when both say the same, as far as words tell; never where numbers, negations, names or days differ."""
        if Kind.EVENT in (one.kind, other.kind) and one.observed_at.date() != other.observed_at.date():
            return False
        if one.dedup_key == other.dedup_key or same_statement(one.text, other.text):
            return True
        if _values(one, other) is Relation.SAME and _only_fills(one) and _only_fills(other):
            return True
        first, second = (list(self.parts.analyser.terms(memory.text)) for memory in (one, other))
        common = set(first) & set(second)
        share = len(common) / max(len({*first, *second}), 1)
        is_part = common in (set(first), set(second))
        in_order = [term for term in first if term in common] == [term for term in second if term in common]
        is_like = share >= (SHARED_TERMS if is_part else SHARED_OTHERWISE)
        return is_like and in_order and may_be_same(one.text, other.text) and not _differ_in_names(one.text, other.text)

    def _told(self, best: Memory, same: Sequence[Memory]) -> Iterator[HealthFinding]:
        """The others of one place that merging loses nothing of; those that somebody should look at; those of other
        places, which cannot be merged.
        """
        here = [
            other for other in same if (other.partition, other.private_agent) == (best.partition, best.private_agent)
        ]
        safe = [other for other in here if _is_mergeable(best, other)]
        for group, is_safe in ((safe, True), ([other for other in here if other not in safe], False)):
            if group:
                remedy = self.remedies.merge([best.id, *(other.id for other in group)], is_safe=is_safe)
                reason = f"{len(group)} more say the same" if len(group) > 1 else "another says the same"
                told = f"{reason}: {shortened(group[0].text)!r}"
                yield finding(Ailment.DUPLICATE, [best, *group], told, remedy)
        for other in same:
            if other not in here:
                reason = f"the same is kept at {other.level.value} level too"
                yield finding(Ailment.DUPLICATE, [best, other], reason, self.remedies.delete(other.id))

    def _contradiction(self, older: Memory, newer: Memory) -> HealthFinding:
        reason = f"{shortened(newer.text)!r} cannot hold beside it"
        return finding(Ailment.CONTRADICTORY, [older, newer], reason, self.remedies.outdated(older.id, is_safe=True))

    def _read(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        found: dict[str, Memory] = {}
        for start in range(0, len(ids), _AT_ONCE):
            with self.parts.store.read() as work:
                found |= {m.id: m for m in work.memories.get(self.visible, ids[start : start + _AT_ONCE])}
        return {id_: memory for id_, memory in found.items() if memory.state is State.ACTIVE}


def _holds(memory: Memory, now: datetime) -> bool:
    return memory.valid_to is None or memory.valid_to > now


def _said(memory: Memory) -> tuple[datetime, datetime]:
    return memory.observed_at, memory.created_at


def _preference(memory: Memory) -> tuple[bool, int, float, datetime, str]:
    """The best of several that say the same: pinned, then used, then important, then known for long."""
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
    """True when a word that is written as a name, not at the beginning, stands in one of them only."""
    words = {word.casefold() for word in _bare(one.split())}, {word.casefold() for word in _bare(other.split())}
    names = [
        {w.casefold() for w in _bare(text.split()[1:]) if w[0].isupper() or w[0].isdigit()} for text in (one, other)
    ]
    return bool(names[0] - words[1] or names[1] - words[0])


def _bare(words: Iterable[str]) -> list[str]:
    return [bare for word in words if (bare := word.strip("\"'.,;:!?()[]*_"))]


def _is_mergeable(one: Memory, other: Memory) -> bool:
    """True when merging loses nothing: the same words but for articles, or the same value; the same kind and times."""
    is_same = same_statement(one.text, other.text) or (_values(one, other) is Relation.SAME and _only_fills(other))
    times = [(memory.valid_from, memory.valid_to, memory.expires_at) for memory in (one, other)]
    return is_same and one.kind is other.kind and times[0] == times[1] and not other.is_pinned
