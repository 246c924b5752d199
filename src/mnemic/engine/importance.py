"""Estimates whether facts are worth keeping, sets the importance of extracted facts, and selects the most important
memories. An extracted fact starts at 0.5. It gains up to 0.4 for its lasting value, which two learned heads estimate,
and a little if it is personal, dated, repeated on another day or used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import ItemVectors, Layers, indexed_text
from mnemic.model.bookkeeping import slot_in
from mnemic.model.candidates import Space
from mnemic.model.filter import All, Condition
from mnemic.model.item import Fact, Kind, Memory
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.facts.worth import SHIPPED_MODEL, keep_probability, lasting_probability
from mnemic.text.slots import is_for_any_prompt

EXTRACTED = 0.5  # the start value of an extracted fact
MOST = 0.9
"""Limit for extracted facts; what a person enters is 1.0."""

PERSONAL, DATED, CONFIRMED, USED = 0.1, 0.05, 0.1, 0.1
"""Bonuses. Larger ones for slots and dates agree less with readers (`benchmarks/results/lasting.md`)."""

LEAST_LASTING = 0.3
"""A third of the facts that readers call worthless have a lower lasting value. Such facts get no bonus."""

LASTING = 0.8
"""Bonus per unit of lasting value above `LEAST_LASTING`. The best facts have 0.8 and reach the limit."""

_PERSONAL = (Kind.PREFERENCE, Kind.PERSONA)


def estimate_worth(
    engine: Engine, items: Sequence[Fact | Memory], vectors: Sequence[ItemVectors | None], layers: Layers | None = None
) -> NDArray[np.float64]:
    """Probability that each item is worth keeping, `(n,)`, 0..1; extraction keeps from 0.5. `vectors`: each item's, one
    per space of the engine, or None. `layers`: features of new items from `fact_vectors`. Items without a vector of the
    shipped embedder are judged by their words alone, which is less certain.
    """
    rows, space = _rows_of(engine, vectors)
    shown = [(layers or {}).get(indexed_text(item)) for item in items]
    is_shown = space is not None and all(each is not None for each in shown)
    texts, kinds = [item.text for item in items], [item.kind for item in items]
    return keep_probability(texts, kinds, rows, space, np.array(shown) if is_shown else None)


def _rows_of(engine: Engine, vectors: Sequence[ItemVectors | None]) -> tuple[NDArray[np.float32] | None, Space | None]:
    """The vectors of the shipped embedder, 0 for an item that has none, and their space."""
    column = next((place for place, each in enumerate(engine.embedders) if each.space.model == SHIPPED_MODEL), None)
    if column is None:
        return None, None
    space = engine.embedders[column].space
    rows = np.zeros((len(vectors), space.dims), dtype=np.float32)
    for place, each in enumerate(vectors):
        row = None if not each else each[column]
        if row is not None:
            rows[place] = row
    return rows, space


def raise_importance(engine: Engine, facts: Sequence[Fact], vectors: Sequence[ItemVectors | None]) -> list[Fact]:
    """The facts with their importance. One that already differs from 0.5 keeps it."""
    if not facts:
        return []
    worth, texts, kinds = estimate_worth(engine, facts, vectors), [f.text for f in facts], [f.kind for f in facts]
    lasting = lasting_probability(texts, kinds, *_rows_of(engine, vectors)) * np.sqrt(worth)
    return [
        replace(fact, importance=_importance(fact, float(each))) if fact.importance == EXTRACTED else fact
        for fact, each in zip(facts, lasting, strict=True)
    ]


def confirmed(known: Memory, again: Memory) -> float:
    """A repeated memory's importance: higher if repeated on another day."""
    most = max(known.importance, again.importance)
    is_other_day = known.observed_at.date() != again.observed_at.date()
    return max(most, round(min(MOST, most + CONFIRMED), 2)) if is_other_day else most


def with_use(memory: Memory) -> float:
    """A memory's importance, higher if it was ever recalled."""
    return min(1.0, memory.importance + USED) if memory.access_count else memory.importance


_LEVELS = 0.7, 0.0
"""Minimum importance of the memories to read. The second read is skipped if the first one returns enough."""

_TRIFLE = 0.4
"""Lasting value that counts as nothing. With 0.5, summaries lose to single facts, of which readers call half noise."""

_LEAST_SINGLE = 0.6
"""Minimum importance of an extracted fact that adds nothing by `_TRIFLE`, as for eviction (`kept_importance`)."""

_MOST_CHOSEN = 12  # more than a context or a profile shows
_COVERED = 0.9  # share of a summary's characters that its facts must have; full stops and spaces are the rest
_HALF_LIFE = timedelta(days=365)
"""Of the factors that were compared (none, two years, one year, four months), a year agrees best with readers."""


def most_important(work: UnitOfWork, visible: Visibility, query: MemoryQuery) -> list[Memory]:
    """The memories of a query that together contain the most lasting value, best first, up to twice its limit. A
    summary counts as the facts in it, and each fact counts once. Other facts follow, by value, except extracted trifles
    and those of a chosen summary.
    """
    found: dict[str, Memory] = {}
    for level in (All((query.filter, Condition(("importance",), "gte", least))) for least in _LEVELS):
        if len(found) < (query.limit or 1):
            found |= {each.id: each for each in work.memories.list(visible, replace(query, filter=level))}
    value = {id_: lasting_value(memory, query.now) for id_, memory in found.items()}
    at = query.as_of or query.known_at or query.now
    facts = {id_: each.text for id_, each in found.items() if not _is_repetition(each) and is_present(each, at)}
    parts = {id_: [id_] if id_ in facts else _find_facts(memory.text, facts) for id_, memory in found.items()}
    left = {id_: max(0.0, value[id_] - _TRIFLE) for id_ in facts}

    def gain(id_: str) -> float:
        return sum(left[each] for each in parts[id_])

    chosen: list[str] = []
    for _ in range(min(_MOST_CHOSEN, len(found))):
        best = max((id_ for id_ in found if id_ not in chosen), key=gain)
        if gain(best) <= 0.0:
            break
        chosen.append(best)
        left |= dict.fromkeys(parts[best], 0.0)
    others = found.keys() - {*chosen}.union(*(parts[id_] for id_ in chosen))
    if chosen:
        others &= {id_ for id_ in facts if found[id_].importance >= _LEAST_SINGLE or not found[id_].provenance}
    return [found[id_] for id_ in (*chosen, *sorted(others, key=lambda id_: (id_ not in facts, -value[id_], id_)))]


def _find_facts(summary: str, facts: Mapping[str, str]) -> list[str]:
    """Ids of the facts in a summary. Empty if it contains more than these facts, which may be outdated."""
    found = [id_ for id_, text in facts.items() if text in summary]
    return found if sum(len(facts[id_]) for id_ in found) >= _COVERED * len(summary) else []


def is_present(memory: Memory, now: datetime) -> bool:
    """True for a memory that holds now: begun and not ended."""
    has_begun = memory.valid_from is None or memory.valid_from <= now
    return has_begun and (memory.valid_to is None or memory.valid_to > now)


def lasting_value(memory: Memory, now: datetime) -> float:
    """A memory's stored importance, halved with each year."""
    return memory.importance * 0.5 ** max(0.0, (now - memory.observed_at) / _HALF_LIFE)


def _is_repetition(memory: Memory) -> bool:
    """True for a summary, which repeats facts, and for a standing order, which is in every prompt anyway."""
    slot, _ = slot_in(memory.bookkeeping) or ("", "")
    return memory.kind is Kind.SUMMARY or is_for_any_prompt(slot)


def _importance(fact: Fact, lasting: float) -> float:
    raised = EXTRACTED + LASTING * max(0.0, lasting - LEAST_LASTING)
    raised += PERSONAL * (bool(fact.slot) or fact.kind in _PERSONAL)
    raised += DATED * (fact.valid_from is not None)
    return round(min(MOST, raised), 2)
