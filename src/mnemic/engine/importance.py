"""Estimates how much facts and memories are worth keeping, and scores their importance: 0.5, plus what two learned
heads say of their lasting value. Personal and dated facts gain a little, and so does what is repeated or used.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import ItemVectors, Layers, indexed_text
from mnemic.model.candidates import Space
from mnemic.model.item import Fact, Kind, Memory
from mnemic.text.facts.worth import keep_probability, lasting_probability, shipped_model

EXTRACTED = 0.5  # the start value of an extracted fact
MOST = 0.9
"""Limit for extracted facts; what a person enters is 1.0."""

PERSONAL, DATED, CONFIRMED, USED = 0.1, 0.05, 0.1, 0.1
LEAST_LASTING = 0.3
"""Half of the facts that nobody would miss are below it, and get no bonus."""

LASTING = 0.8
"""Bonus per unit of lasting value above that, so that the most lasting facts reach the limit."""

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
    column = next((place for place, each in enumerate(engine.embedders) if each.space.model == shipped_model()), None)
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


def _importance(fact: Fact, lasting: float) -> float:
    raised = EXTRACTED + LASTING * max(0.0, lasting - LEAST_LASTING)
    raised += PERSONAL * (bool(fact.slot) or fact.kind in _PERSONAL)
    raised += DATED * (fact.valid_from is not None)
    return round(min(MOST, raised), 2)
