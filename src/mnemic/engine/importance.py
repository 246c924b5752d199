"""Estimates how much facts and memories are worth keeping, and scores their importance: 0.5, plus bonuses. Facts that
are personal, dated, named, likely worth keeping, repeated on another day or used survive a year without recall.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import ItemVectors, Layers, indexed_text
from mnemic.model.item import Fact, Kind, Memory
from mnemic.text.choices import named_things
from mnemic.text.facts.worth import keep_probability, shipped_model

EXTRACTED = 0.5  # the start value of an extracted fact
MOST = 0.9
"""Limit for extracted facts; what a person enters is 1.0."""

PERSONAL, DATED, NAMED, CONFIRMED, USED = 0.2, 0.1, 0.1, 0.1, 0.1
WORTHY = 0.2
"""Bonus at a worth of 1.0; none at 0.5, from which extraction keeps a fact."""

_PERSONAL = (Kind.PREFERENCE, Kind.PERSONA)


def estimate_worth(
    engine: Engine, items: Sequence[Fact | Memory], vectors: Sequence[ItemVectors | None], layers: Layers | None = None
) -> NDArray[np.float64]:
    """Probability that each item is worth keeping, `(n,)`, 0..1; extraction keeps from 0.5. `vectors`: each item's, one
    per space of the engine, or None. `layers`: features of new items from `fact_vectors`. Items without a vector of the
    shipped embedder are judged by their words alone, which is less certain.
    """
    texts, kinds = [item.text for item in items], [item.kind for item in items]
    column = next((place for place, each in enumerate(engine.embedders) if each.space.model == shipped_model()), None)
    if column is None:
        return keep_probability(texts, kinds)
    space = engine.embedders[column].space
    rows = np.zeros((len(items), space.dims), dtype=np.float32)
    for place, each in enumerate(vectors):
        row = None if not each else each[column]
        if row is not None:
            rows[place] = row
    shown = [(layers or {}).get(indexed_text(item)) for item in items]
    is_shown = all(each is not None for each in shown)
    return keep_probability(texts, kinds, rows, space, np.array(shown) if is_shown else None)


def raise_importance(engine: Engine, facts: Sequence[Fact], vectors: Sequence[ItemVectors | None]) -> list[Fact]:
    """The facts with their importance. One that already differs from 0.5 keeps it."""
    if not facts:
        return []
    worth = estimate_worth(engine, facts, vectors)
    return [
        replace(fact, importance=_importance(fact, float(likely))) if fact.importance == EXTRACTED else fact
        for fact, likely in zip(facts, worth, strict=True)
    ]


def confirmed(known: Memory, again: Memory) -> float:
    """A repeated memory's importance: higher if repeated on another day."""
    most = max(known.importance, again.importance)
    is_other_day = known.observed_at.date() != again.observed_at.date()
    return max(most, round(min(MOST, most + CONFIRMED), 2)) if is_other_day else most


def with_use(memory: Memory) -> float:
    """A memory's importance, higher if it was ever recalled."""
    return min(1.0, memory.importance + USED) if memory.access_count else memory.importance


def _importance(fact: Fact, worth: float) -> float:
    raised = EXTRACTED + WORTHY * 2 * max(0.0, min(1.0, worth) - 0.5)
    raised += PERSONAL * (bool(fact.slot) or fact.kind in _PERSONAL)
    raised += DATED * (fact.valid_from is not None) + NAMED * bool(named_things(fact.text))
    return round(min(MOST, raised), 2)
