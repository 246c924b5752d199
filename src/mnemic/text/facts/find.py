"""From one message of a user, and the reply it answers, to at most three facts, by rules alone. The package's door."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.model.item import TRUST_ORDER, Fact, Kind, Provenance, Trust
from mnemic.text import scripts
from mnemic.text.analyser import Analyser
from mnemic.text.facts.restated import find_restated
from mnemic.text.facts.salience import KEPT, Reading, goes_on, is_own, measure_features, score_salience
from mnemic.text.facts.slots import HOW_LONG, read_attributes, slot_of
from mnemic.text.facts.statements import Statement, find_statements
from mnemic.text.facts.when import When, find_time
from mnemic.text.languages import Language
from mnemic.text.late_pattern import late_pattern

EXTRACTOR = "extract"
VERSION = "rules-3"
"""What provenance names; the version changes with any rule of this package or of a language."""

MAX_FACTS = 3
MIN_CHARS = 10
"""A message of fewer characters, without outer white space, holds no fact."""

SPAN_SUPPORT = 1.0
"""A fact of the rules is the words of its span in another person."""

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
    kept = [(place, each) for place, each in enumerate(find_candidates(said)) if each.score >= KEPT]
    best = sorted(kept, key=lambda each: (-each[1].score, each[0]))[:limit]
    return [each.fact for _, each in sorted(best, key=lambda each: each[0])]


def find_candidates(said: Said) -> list[Candidate]:
    """All that could be a fact: what is taken up of the reply, then the user's own statements in order."""
    return [
        *_read_reply(said),
        *(_read_thought(said, thought) for thought in _find_thoughts(said.text) if _is_own(thought[0])),
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
    language = statement.language
    return language.begin(language.third_person(language.intensifier.sub("", statement.text)))


def _is_own(statement: Statement) -> bool:
    return is_own(statement.text, statement.language)


def _find_thoughts(text: str) -> list[list[Statement]]:
    """The statements of a message; one that only goes on about what was just said ("It was …") stays with it."""
    thoughts: list[list[Statement]] = []
    for statement in find_statements(text):
        if len(statement.text) < _SHORTEST_CHARS:
            continue
        if thoughts and goes_on(statement.text, statement.language) and _follows(thoughts[-1], statement, text):
            thoughts[-1].append(statement)
        else:
            thoughts.append([statement])
    return thoughts


def _follows(thought: list[Statement], statement: Statement, text: str) -> bool:
    gap = text[thought[-1].end : statement.start]
    is_near = len(gap) <= _GAP_CHARS and "?" not in gap
    return is_near and len(thought) < _MOST_STATEMENTS and statement.end - thought[0].start <= _THOUGHT_CHARS


def _read_reply(said: Said) -> Iterator[Candidate]:
    """What the assistant said of the user and the user took up: with the lower trust, and both as its sources."""
    if said.reply is None:
        return
    for each in find_restated(said.reply.text, said.text, terms_of, said.before):
        read = _read(said, each.statement, (), is_restated=True)
        spoken = Provenance(said.reply.id, each.start, each.end, EXTRACTOR, VERSION, SPAN_SUPPORT)
        answered = Provenance(said.id, 0, len(said.text), EXTRACTOR, VERSION, round(each.taken_up, 2))
        trust = min(said.trust, said.reply.trust, key=TRUST_ORDER.index)
        sources = (spoken, answered)
        fact = replace(read.fact, provenance=sources, trust=trust, profile={}, confidence=_RESTATED_CONFIDENCE)
        yield replace(read, fact=fact)


def _read_thought(said: Said, thought: Sequence[Statement]) -> Candidate:
    """A thought is worth as much as the best of its statements about the speaker."""
    first, *further = thought
    read = _read(said, first, further)
    best = max((_read(said, each, ()) for each in further if _is_own(each)), key=lambda each: each.score, default=read)
    return read if best.score <= read.score else replace(read, features=best.features, score=best.score)


def _read(said: Said, statement: Statement, further: Sequence[Statement], *, is_restated: bool = False) -> Candidate:
    language = statement.language
    slot, value = slot_of(statement.text, language)
    told = (find_time(each.text, said.at, each.language.dates) for each in (statement, *further))
    named = next((each for each in told if each is not None), None)
    if slot in _CHANGES and named is not None and named.start > said.at:
        slot, value = "", ""  # it is to come: what holds today stays
    kind = _kind_of(statement, slot)
    reading = Reading(
        text=statement.text,
        language=language,
        terms=terms_of(" ".join(each.text for each in (statement, *further))),
        kind=kind,
        is_slotted=bool(slot) and not slot.startswith(HOW_LONG),
        is_dated=named is not None,
        said=said.before,
        position=said.position,
        is_restated=is_restated,
    )
    found = measure_features(reading)
    score = score_salience(found)
    fact = Fact(
        text=_join_thought(statement, further) + ("" if slot == "birthday" else _label_time(named, language)),
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
        profile=read_attributes(statement.text),
    )
    return Candidate(fact, found, score)


def _join_thought(statement: Statement, further: Sequence[Statement]) -> str:
    """The thought as one sentence."""
    text = third_person(statement)
    for each in further:
        more = third_person(each)
        if each.language.is_cased and not more.startswith(each.language.user):
            more = more[:1].lower() + more[1:]
        text += each.language.joint + more
    return text


def _kind_of(statement: Statement, slot: str) -> Kind:
    """What fills a slot is a fact, whatever its wording: it does not fade like an event."""
    if slot and not slot.startswith(HOW_LONG):
        return Kind.PREFERENCE if slot.startswith(("favourite", "diet")) else Kind.FACT
    return next((kind for kind, rule in statement.language.kinds if rule.search(statement.text)), Kind.FACT)


def _label_time(named: When | None, language: Language) -> str:
    """The date of a time that is told by the words of that day alone, as it stands behind a fact."""
    return language.dates.labels[named.unit].format(named.start) if named is not None and named.is_relative else ""
