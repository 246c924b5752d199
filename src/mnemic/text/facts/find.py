"""From one message of a user, and the reply it answers, to at most three facts, by rules alone. The package's door."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.model.item import TRUST_ORDER, Fact, Kind, Provenance, Trust
from mnemic.text import scripts
from mnemic.text.analyser import Analyser
from mnemic.text.attributes import attributes
from mnemic.text.facts import chinese, person
from mnemic.text.facts.kinds import kind_of
from mnemic.text.facts.restated import restated
from mnemic.text.facts.salience import KEPT, Reading, features, goes_on, is_own, salience
from mnemic.text.facts.slots import HOW_LONG, slot_of
from mnemic.text.facts.statements import Statement, statements
from mnemic.text.facts.when import When, when
from mnemic.text.late_pattern import late_pattern

EXTRACTOR = "extract"
VERSION = "rules-3"
"""What provenance names; the version changes with any rule of this package."""

MAX_FACTS = 3
MIN_CHARS = 10
"""A message of fewer characters, without outer white space, holds no fact."""

SPAN_SUPPORT = 1.0
"""A fact of the rules is the words of its span in another person."""

_INTENSIFIER = late_pattern(
    r"(?<!\ba )(?<!\ban )(?<!\bnot )(?<!n['’]t )(?<![\"“])\b(?:recently|lately|just|a (?:lot|bit)|really|very|quite"
    r"|definitely|absolutely|actually|honestly|totally|truly|incredibly|basically|certainly|indeed"
    r"|simply|extremely|particularly|especially)\s+"
    r"(?!\w+ly\b|(?:that|since|because|when|for|the|of|in|on|at|with|as|if|a few|a bit)\b)"
    r"|,\s+(?:actually|though|by the way|too|you know)$",
    re.IGNORECASE,
)
_HAN = late_pattern(f"[{scripts.HAN}]")
_CONFIDENCE = 0.7
_SLOT_CONFIDENCE = 0.85
_RESTATED_CONFIDENCE = 0.6
_SHORTEST_CHARS = 5
_GAP_CHARS = 24
"""More between two sentences, and the second does not go on about the first."""

_CHANGES = ("home", "job", "employer", "relationship")
_MOST_STATEMENTS = 2
_THOUGHT_CHARS = 320
_ANALYSER = Analyser()


@dataclass(frozen=True, slots=True)
class Reply:
    """What the assistant said right before."""

    id: str
    text: str
    trust: Trust = Trust.ASSISTANT


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user: its id, text and time, its place (from 1) among the user's messages of the talk, the
    terms (`terms_of`) of those before it, and the reply that it answers.
    """

    id: str
    text: str
    at: datetime
    trust: Trust = Trust.USER
    position: int = 1
    before: Collection[str] = frozenset()
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement told as a fact, its features by name, and the score that they make."""

    fact: Fact
    features: Mapping[str, float]
    score: float


def find_facts(said: Said, limit: int = MAX_FACTS) -> list[Fact]:
    """The facts in a message, in their order there, and in what it takes up of the reply before it; at most `limit`.
    No string raises.
    """
    if not is_long_enough(said.text):
        return []
    kept = [(place, each) for place, each in enumerate(candidates(said)) if each.score >= KEPT]
    best = sorted(kept, key=lambda each: (-each[1].score, each[0]))[:limit]
    return [each.fact for _, each in sorted(best, key=lambda each: each[0])]


def candidates(said: Said) -> list[Candidate]:
    """All that could be a fact: what is taken up of the reply, then the user's own statements in order."""
    return [
        *_taken_up(said),
        *(_thought(said, thought) for thought in _thoughts(said.text) if is_own(thought[0].text)),
    ]


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


def _taken_up(said: Said) -> Iterator[Candidate]:
    """What the assistant said of the user and the user took up: with the lower trust, and both as its sources."""
    if said.reply is None:
        return
    for each in restated(said.reply.text, said.text, terms_of, said.before):
        read = _read(said, each.statement, (), is_restated=True)
        spoken = Provenance(said.reply.id, each.start, each.end, EXTRACTOR, VERSION, SPAN_SUPPORT)
        answered = Provenance(said.id, 0, len(said.text), EXTRACTOR, VERSION, round(each.taken_up, 2))
        trust = min(said.trust, said.reply.trust, key=TRUST_ORDER.index)
        sources = (spoken, answered)
        fact = replace(read.fact, provenance=sources, trust=trust, profile={}, confidence=_RESTATED_CONFIDENCE)
        yield replace(read, fact=fact)


def _thought(said: Said, thought: Sequence[Statement]) -> Candidate:
    """A thought is worth as much as the best of its statements about the speaker."""
    first, *further = thought
    read = _read(said, first, further)
    best = max(
        (_read(said, each, ()) for each in further if is_own(each.text)), key=lambda each: each.score, default=read
    )
    return read if best.score <= read.score else replace(read, features=best.features, score=best.score)


def _read(said: Said, statement: Statement, further: Sequence[Statement], *, is_restated: bool = False) -> Candidate:
    slot, value = slot_of(statement.text)
    told = (when(each.text, said.at) for each in (statement, *further))
    named = next((each for each in told if each is not None), None)
    if slot in _CHANGES and named is not None and named.start > said.at:
        slot, value = "", ""  # it is to come: what holds today stays
    kind = _kind(statement.text, slot)
    reading = Reading(
        text=statement.text,
        terms=terms_of(" ".join(each.text for each in (statement, *further))),
        kind=kind,
        is_slotted=bool(slot) and not slot.startswith(HOW_LONG),
        is_dated=named is not None,
        said=said.before,
        position=said.position,
        is_restated=is_restated,
    )
    found = features(reading)
    score = salience(found)
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
    return Candidate(fact, found, score)


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
    if slot and not slot.startswith(HOW_LONG):
        return Kind.PREFERENCE if slot.startswith(("favourite", "diet")) else Kind.FACT
    return kind_of(text)


def _dated(text: str, named: When | None, *, is_chinese: bool) -> str:
    """The text with the date of a time that is told by the words of that day alone."""
    if named is None or not named.is_relative:
        return text
    return f"{text}（{named.chinese_label}）" if is_chinese else f"{text} ({named.label})"
