"""From one message of a user to at most three facts, by rules alone. The door of this package."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemic.model.fact import Fact
from mnemic.model.item import Kind, Provenance, Trust
from mnemic.text import scripts
from mnemic.text.analyser import Analyser
from mnemic.text.attributes import attributes
from mnemic.text.facts import chinese, person
from mnemic.text.facts.kinds import kind_of
from mnemic.text.facts.salience import KEPT, Reading, goes_on, is_own, salience
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
    r"(?<!\ba )(?<!\ban )\b(?:recently|lately|just|a (?:lot|bit)|really|very|quite|definitely|absolutely|actually"
    r"|honestly|totally"
    r"|truly|incredibly|basically|certainly|indeed"
    r"|simply|extremely|particularly|especially)\s+(?!\w+ly\b|that\b|since\b|because\b|when\b|for\b|the\b)",
    re.IGNORECASE,
)
_HAN = re.compile(f"[{scripts.HAN}]")
_CONFIDENCE = 0.7
_SLOT_CONFIDENCE = 0.85
_SHORTEST_CHARS = 5
_GAP_CHARS = 24
"""More between two sentences, and the second does not go on about the first."""

_MOST_STATEMENTS = 2
_THOUGHT_CHARS = 320
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
    position: int = 1
    before: Collection[str] = frozenset()


def find_facts(said: Said, limit: int = MAX_FACTS) -> list[Fact]:
    """The facts in a message, in their order there, at most `limit`. No string raises."""
    if not is_long_enough(said.text):
        return []
    scored: list[tuple[float, int, Fact]] = []
    for place, (statement, *further) in enumerate(_thoughts(said.text)):
        score, fact = _read(said, statement, further)
        if score >= KEPT and is_own(statement.text):
            scored.append((score, place, fact))
    best = sorted(scored, key=lambda each: (-each[0], each[1]))[:limit]
    return [fact for _, _, fact in sorted(best, key=lambda each: each[1])]


def is_long_enough(text: str) -> bool:
    """True for at least `MIN_CHARS` characters without outer white space; one of Chinese counts as two."""
    text = text.strip()
    return len(text) >= MIN_CHARS or len(text) + len(_HAN.findall(text)) >= MIN_CHARS


def terms_of(text: str) -> tuple[str, ...]:
    """The stems of a text that carry meaning, each once."""
    return tuple(_ANALYSER.query_terms(text))


def third_person(statement: Statement) -> str:
    """The statement with the speaker as "User", without words that only give weight."""
    if statement.is_chinese:
        return chinese.third_person(statement.text)
    text = person.third_person(_INTENSIFIER.sub("", statement.text))
    return text[:1].upper() + text[1:]


def _thoughts(text: str) -> list[list[Statement]]:
    """The statements of a message; one that only goes on about what was just said ("It was …") stays with it."""
    thoughts: list[list[Statement]] = []
    for statement in statements(text):
        if len(statement.text) < _SHORTEST_CHARS:
            continue
        if thoughts and goes_on(statement.text) and _follows(thoughts[-1], statement, text):
            thoughts[-1].append(statement)
        else:
            thoughts.append([statement])
    return thoughts


def _follows(thought: list[Statement], statement: Statement, text: str) -> bool:
    gap = text[thought[-1].end : statement.start]
    is_near = len(gap) <= _GAP_CHARS and "?" not in gap
    return is_near and len(thought) < _MOST_STATEMENTS and statement.end - thought[0].start <= _THOUGHT_CHARS


def _read(said: Said, statement: Statement, further: Sequence[Statement]) -> tuple[float, Fact]:
    slot, value = slot_of(statement.text)
    kind = _kind(statement.text, slot)
    named = when(statement.text, said.at)
    reading = Reading(
        text=statement.text,
        terms=terms_of(" ".join(each.text for each in (statement, *further))),
        kind=kind,
        is_slotted=bool(slot),
        is_dated=named is not None,
        said=said.before,
        position=said.position,
    )
    score = salience(reading)
    fact = Fact(
        text=_dated(_told(statement, further), None if slot == "birthday" else named, is_chinese=statement.is_chinese),
        kind=kind,
        observed_at=said.at,
        importance=round(min(0.9, max(0.3, 0.3 + score / 10)), 2),
        confidence=_SLOT_CONFIDENCE if slot else _CONFIDENCE,
        slot=slot,
        value=value,
        valid_from=named.start if named is not None and named.start <= said.at else None,
        provenance=(
            Provenance(said.id, statement.start, (statement, *further)[-1].end, EXTRACTOR, VERSION, SPAN_SUPPORT),
        ),
        trust=said.trust,
        profile=attributes(statement.text),
    )
    return score, fact


def _told(statement: Statement, further: Sequence[Statement]) -> str:
    """The thought as one sentence."""
    text = third_person(statement)
    for each in further:
        more = third_person(each)
        if not each.is_chinese and not more.startswith("User"):
            more = more[:1].lower() + more[1:]
        text += ("；" if each.is_chinese else "; ") + more
    return text


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
