"""What the curator keeps of a day: a gem, and the memory that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from mnemic.model.item import Memory

CATEGORIES = (
    "decision",
    "technical",
    "preference",
    "project",
    "knowledge",
    "insight",
    "plan",
    "architecture",
    "workflow",
)
"""The controlled list: a gem has at least one of these, and no other."""

IMPORTANCE_WORDS = {"low": 0.3, "medium": 0.6, "high": 0.9}
"""The words for importance, from the lowest, and their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gem:
    """One thing worth knowing in six months: what is so (`gem`), why it mattered (`context`), and the dialogue that it
    comes from, with the names of the speakers (`snippet`).

    `importance` is a word, `confidence` 0..1. `timestamp` is ISO 8601 in the time zone of the days, `date` its first
    ten characters. `source_turns` are numbers of turns in the conversation, ascending; `turn_range` is "first-last",
    with a comma where turns between are left out.
    """

    gem: str
    context: str
    snippet: str
    categories: tuple[str, ...]
    importance: str
    confidence: float
    timestamp: str
    date: str
    conversation_id: str
    turn_range: str
    source_turns: tuple[int, ...]


IN_METADATA = ("timestamp", "date", "conversation_id", "turn_range", "source_turns")
"""The fields of a gem for which a memory has no place of its own."""


def gem_of(memory: Memory) -> Gem:
    """The gem that a memory of kind gem holds; a field that it does not say is "" or empty."""
    told = {name: memory.metadata.get(name, "") for name in IN_METADATA}
    return Gem(
        gem=memory.text,
        context=memory.context,
        snippet=memory.snippet,
        categories=memory.categories,
        importance=importance_word(memory.importance),
        confidence=memory.confidence,
        timestamp=str(told["timestamp"]),
        date=str(told["date"]),
        conversation_id=str(told["conversation_id"]),
        turn_range=str(told["turn_range"]),
        source_turns=tuple(cast("Sequence[int]", told["source_turns"] or ())),
    )


def importance_word(importance: float) -> str:
    """The word whose number is nearest; the higher one of two."""
    return min(reversed(IMPORTANCE_WORDS), key=lambda word: abs(IMPORTANCE_WORDS[word] - importance))


def turn_range(turns: Sequence[int]) -> str:
    """As "15-16" for 15 and 16, "15-16,18" for 15, 16 and 18, "15-15" for one turn. `turns` ascend, at least one."""
    runs: list[list[int]] = []
    for turn in turns:
        if runs and turn == runs[-1][-1] + 1:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    if len(runs) == 1:
        return f"{turns[0]}-{turns[-1]}"
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
