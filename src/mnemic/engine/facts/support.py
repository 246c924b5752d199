"""How much of a fact its sources carry: the share of its words and numbers that stand in the spans it names.

Answers for the number alone; what follows from it is decided by whoever writes the fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.engine.parts import Parts
from mnemic.model.fact import Fact
from mnemic.model.item import Provenance
from mnemic.model.scope import Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.writing import Writing, writing_of

MIN_SUPPORT = 0.5
"""A fact that its sources carry less is kept, but not recalled."""

_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DIGITS: Mapping[str, str] = {word: str(number) for number, word in enumerate(_NUMBER_WORDS, start=2)}
_LABELS = (
    "name occupation job work works employer lives home relationship status birthday speaks language age years old"
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_USER = "user others themselves"


def sources_of(work: UnitOfWork, visible: Visibility, facts: Iterable[Fact]) -> dict[str, str]:
    """The stored texts of all sources of some facts, by id: messages and memories that are not erased."""
    ids = list(dict.fromkeys(entry.source_id for fact in facts for entry in fact.provenance))
    found = {message.id: message.text for message in work.messages.get(visible, ids)} if ids else {}
    others = [source_id for source_id in ids if source_id not in found]
    return found | ({memory.id: memory.text for memory in work.memories.get(visible, others)} if others else {})


def supported(parts: Parts, fact: Fact, sources: Mapping[str, str]) -> tuple[tuple[Provenance, ...], float]:
    """The provenance of a fact with the support of each span, and that of all together, both 0..1.

    Words are compared by their stems, "two" is "2", and dates that the fact itself names are not asked for. Where a
    span is in another writing than the fact, words cannot be compared and the extractor's own number is kept.
    A source that is gone supports nothing. A fact that names no source has nothing to prove: 1.
    """
    if not fact.provenance:
        return (), 1.0
    wanted = _wanted(parts, fact)
    found: set[str] = set()
    entries: list[Provenance] = []
    own = 0.0
    for entry in fact.provenance:
        span = sources.get(entry.source_id, "")[entry.start : entry.end]
        if not span.strip():
            entries.append(replace(entry, support=0.0))
            continue
        if {writing_of(span), writing_of(fact.text)} == {Writing.LATIN, Writing.OTHER}:
            own = max(own, entry.support)
            entries.append(entry)
            continue
        here = wanted & _terms(parts, span)
        found |= here
        entries.append(replace(entry, support=_share(here, wanted)))
    return tuple(entries), max(own, _share(found, wanted))


def carried(parts: Parts, text: str, sources: Iterable[str]) -> float:
    """How much of a text some other texts carry, 0..1: the share of its words and numbers that stand in them."""
    wanted = {_DIGITS.get(word, word) for word in parts.analyser.query_terms(text)} - _terms(parts, _USER)
    return _share(wanted & {term for source in sources for term in _terms(parts, source)}, wanted)


def _share(found: set[str], wanted: set[str]) -> float:
    return round(len(found) / len(wanted), 2) if wanted else 1.0


def _wanted(parts: Parts, fact: Fact) -> set[str]:
    """The words and numbers that somebody must have said: no function words, not the user, no name of the slot."""
    free = _terms(parts, _USER) | _terms(parts, " ".join(_dates(fact)))
    if fact.slot:
        free |= _terms(parts, f"{fact.slot} {_LABELS}".replace("_", " "))
    words = {_DIGITS.get(word, word) for word in parts.analyser.query_terms(fact.text)}
    return words - free or words - _terms(parts, _USER)


def _terms(parts: Parts, text: str) -> set[str]:
    return {_DIGITS.get(term, term) for term in parts.analyser.terms(text)}


def _dates(fact: Fact) -> Sequence[str]:
    """What a fact may say of its own times without a source: "yesterday" has become a date."""
    times = [moment for moment in (fact.observed_at, fact.valid_from, fact.valid_to) if moment is not None]
    return [part for moment in times for part in _written(moment, fact.text)]


def _written(moment: datetime, text: str) -> list[str]:
    day, month, weekday = f"{moment:%Y-%m-%d}", _MONTHS[moment.month - 1], _DAYS[moment.weekday()]
    parts = [day, f"{moment:%Y-%m}", str(moment.year), month, weekday]
    is_dated = month in text or day in text
    return [*parts, str(moment.day), f"{moment.day:02}", f"{moment.month:02}"] if is_dated else parts
