"""How important an extracted fact is: 0.5, and more for cause. What is personal, dated or names a thing, what is likely
worth keeping, what is said again on another day and what was used outlives a year in which nothing recalls it.
"""

from collections.abc import Sequence
from dataclasses import replace

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import ItemVectors
from mnemic.engine.worth import estimate_worth
from mnemic.model.item import Fact, Kind, Memory
from mnemic.text.choices import named_things

EXTRACTED = 0.5
"""What an extracted fact starts with."""

MOST = 0.9
"""No cause lifts a fact above this; what a person enters is 1.0."""

PERSONAL, DATED, NAMED, CONFIRMED, USED = 0.2, 0.1, 0.1, 0.1, 0.1
WORTHY = 0.2
"""Added at a worth of 1.0, and nothing at the 0.5 from which extraction keeps a fact."""

_PERSONAL = (Kind.PREFERENCE, Kind.PERSONA)


def raise_importance(engine: Engine, facts: Sequence[Fact], vectors: Sequence[ItemVectors | None]) -> list[Fact]:
    """The facts with their importance; one that already has another importance than 0.5 keeps it."""
    if not facts:
        return []
    worth = estimate_worth(engine, facts, vectors)
    return [
        replace(fact, importance=_importance(fact, float(likely))) if fact.importance == EXTRACTED else fact
        for fact, likely in zip(facts, worth, strict=True)
    ]


def confirmed(known: Memory, again: Memory) -> float:
    """The importance of a memory that is said again: higher when that is on another day."""
    most = max(known.importance, again.importance)
    is_other_day = known.observed_at.date() != again.observed_at.date()
    return max(most, round(min(MOST, most + CONFIRMED), 2)) if is_other_day else most


def with_use(memory: Memory) -> float:
    """The importance of a memory, higher if something recalled it."""
    return min(1.0, memory.importance + USED) if memory.access_count else memory.importance


def _importance(fact: Fact, worth: float) -> float:
    raised = EXTRACTED + WORTHY * 2 * max(0.0, min(1.0, worth) - 0.5)
    raised += PERSONAL * (bool(fact.slot) or fact.kind in _PERSONAL)
    raised += DATED * (fact.valid_from is not None) + NAMED * bool(named_things(fact.text))
    return round(min(MOST, raised), 2)
