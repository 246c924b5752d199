"""Scores the importance of extracted facts: 0.5, plus bonuses. Facts that are personal, dated, named, likely worth
keeping, repeated on another day or used survive a year without recall.
"""

from collections.abc import Sequence
from dataclasses import replace

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import ItemVectors
from mnemic.engine.worth import estimate_worth
from mnemic.model.item import Fact, Kind, Memory
from mnemic.text.choices import named_things

EXTRACTED = 0.5  # the start value of an extracted fact
MOST = 0.9
"""Limit for extracted facts; what a person enters is 1.0."""

PERSONAL, DATED, NAMED, CONFIRMED, USED = 0.2, 0.1, 0.1, 0.1, 0.1
WORTHY = 0.2
"""Bonus at a worth of 1.0; none at 0.5, from which extraction keeps a fact."""

_PERSONAL = (Kind.PREFERENCE, Kind.PERSONA)


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
