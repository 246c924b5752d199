"""From one message of a user to at most three facts, by rules alone. The door of this package."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemic.model.fact import Fact
from mnemic.model.item import Kind, Provenance, Trust
from mnemic.text.analyser import Analyser
from mnemic.text.attributes import attributes
from mnemic.text.facts import chinese, person
from mnemic.text.facts.kinds import kind_of
from mnemic.text.facts.salience import KEPT, Reading, salience
from mnemic.text.facts.slots import slot_of
from mnemic.text.facts.statements import Statement, statements
from mnemic.text.facts.when import When, when

EXTRACTOR = "extract"
VERSION = "rules-1"
"""What provenance names; the version changes with any rule of this package."""

MAX_FACTS = 3
MIN_CHARS = 10
"""A message of fewer characters, without outer white space, holds no fact."""

SPAN_SUPPORT = 1.0
"""A fact of the rules is the words of its span in another person."""

_INTENSIFIER = re.compile(
    r"\b(?:really|very|quite|definitely|absolutely|actually|honestly|totally|truly|incredibly|basically|certainly|indeed"
    r"|simply|extremely|particularly|especially)\s+(?!\w+ly\b|that\b|since\b|because\b|when\b|for\b|the\b)",
    re.IGNORECASE,
)
_CONFIDENCE = 0.7
_SLOT_CONFIDENCE = 0.85
_SHORTEST_CHARS = 5
_ANALYSER = Analyser()


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user: its id, text and time, its place (from 1) among the user's messages of the talk, and the
    terms (`terms_of`) of those before it.
    """

    id: str
    text: str
    at: datetime
    trust: Trust = Trust.USER
    position: int = 0
    before: Collection[str] = frozenset()


def find_facts(said: Said, limit: int = MAX_FACTS) -> list[Fact]:
    """The facts in a message, in their order there, at most `limit`. No string raises."""
    if len(said.text.strip()) < MIN_CHARS:
        return []
    scored: list[tuple[float, int, Fact]] = []
    for place, statement in enumerate(statements(said.text)):
        if len(statement.text) >= _SHORTEST_CHARS:
            score, fact = _read(said, statement)
            if score >= KEPT:
                scored.append((score, place, fact))
    best = sorted(scored, key=lambda each: (-each[0], each[1]))[:limit]
    return [fact for _, _, fact in sorted(best, key=lambda each: each[1])]


def terms_of(text: str) -> tuple[str, ...]:
    """The stems of a text that carry meaning, each once."""
    return tuple(_ANALYSER.query_terms(text))


def third_person(statement: Statement) -> str:
    """The statement with the speaker as "User", without words that only give weight."""
    if statement.is_chinese:
        return chinese.third_person(statement.text)
    text = person.third_person(_INTENSIFIER.sub("", statement.text))
    return text[:1].upper() + text[1:]


def _read(said: Said, statement: Statement) -> tuple[float, Fact]:
    slot, value = slot_of(statement.text)
    kind = _kind(statement.text, slot)
    reading = Reading(
        text=statement.text,
        terms=terms_of(statement.text),
        kind=kind,
        is_slotted=bool(slot),
        said=said.before,
        position=said.position,
    )
    score = salience(reading)
    named = when(statement.text, said.at)
    fact = Fact(
        text=_dated(third_person(statement), named, is_chinese=statement.is_chinese),
        kind=kind,
        observed_at=said.at,
        importance=round(min(0.9, max(0.3, 0.3 + score / 10)), 2),
        confidence=_SLOT_CONFIDENCE if slot else _CONFIDENCE,
        slot=slot,
        value=value,
        valid_from=named.start if named is not None and named.start <= said.at else None,
        provenance=(Provenance(said.id, statement.start, statement.end, EXTRACTOR, VERSION, SPAN_SUPPORT),),
        trust=said.trust,
        profile=attributes(statement.text),
    )
    return score, fact


def _kind(text: str, slot: str) -> Kind:
    """What fills a slot is a fact, whatever its wording: it does not fade like an event."""
    if slot:
        return Kind.PREFERENCE if slot.startswith(("favourite", "diet")) else Kind.FACT
    return kind_of(text)


def _dated(text: str, named: When | None, *, is_chinese: bool) -> str:
    """The text with the date of a time that is told by the words of that day alone."""
    if named is None or not named.is_relative:
        return text
    return f"{text}（{named.chinese_label}）" if is_chinese else f"{text} ({named.label})"


def spoken_terms(texts: Sequence[str]) -> set[str]:
    """The terms of several messages together."""
    return {term for text in texts for term in terms_of(text)}
