"""How much a statement is worth keeping: a linear score over features that can be read off its words.

Answers for the number only. What a person says of themselves, concretely, in whole thoughts, for the first time, is
kept; comments on the talk are not. The weights are round and lie beside this file, in `salience.json`, which names
those that were set by hand and those that `benchmarks/fit/salience.py` moved on a set under a permissive licence.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mnemic.model.item import Kind
from mnemic.text.languages import Language

KEPT = 2.4
"""A statement of less is not kept."""

WHOLE_WORDS = 10
"""So many words that carry meaning make a whole thought."""

SHORT_WORDS = 2
"""Fewer are short, unless they fill a slot."""

OPENING_MESSAGES = 6
"""People open a talk with its news: what they say later mostly adds to it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement as the score sees it: its words, the terms that carry meaning, what was said before it.

    `terms`: stems without stop words. `said`: those of earlier messages of the talk. `position`: of its message among
    the user's in that talk, from 1. `is_dated`: it names a time. `is_restated`: the assistant said it, and the user
    took it up.
    """

    text: str
    language: Language
    terms: tuple[str, ...]
    kind: Kind
    is_slotted: bool
    is_dated: bool = False
    said: Collection[str] = frozenset()
    position: int = 1
    is_restated: bool = False


@cache
def load_weights() -> Mapping[str, float]:
    """By feature; each feature is 0 to 1, or a count where its reading says so."""
    text = Path(__file__).with_name("salience.json").read_text(encoding="utf-8")
    return json.loads(text)["weights"]


def is_own(text: str, language: Language) -> bool:
    """True for a statement in which the speaker is named at all."""
    return language.salience.owned.search(text) is not None


def goes_on(text: str, language: Language) -> bool:
    """True for a statement that is only understood from the one before: "It was …", "I got them on Friday"."""
    return language.salience.impersonal.match(text) is not None or language.salience.of_it.match(text) is not None


def measure_features(reading: Reading) -> dict[str, float]:
    """The features of a statement by name, before their weights."""
    text, terms, words = reading.text, reading.terms, reading.language.salience
    fresh = sum(term not in reading.said for term in terms) / max(len(terms), 1)
    is_impersonal = words.impersonal.match(text) is not None
    vague = sum(term in words.vague for term in terms) / max(len(terms), 1)
    return {
        "own": float(words.own.match(text) is not None),
        "owned": float(words.own.match(text) is None and words.owned.search(text) is not None),
        "content": min(len(terms), WHOLE_WORDS) / WHOLE_WORDS,
        "life": float(words.life.search(text) is not None),
        "slot": float(reading.is_slotted),
        "named": float(words.named.search(text) is not None),
        "number": float(words.number.search(text) is not None),
        "dated": float(reading.is_dated),
        "plain": (1.0 - vague) * (reading.kind in (Kind.EVENT, Kind.PREFERENCE)),
        "feeling": float(words.feeling.search(text) is not None),
        "decision": float(words.decision.search(text) is not None),
        "new": fresh,
        "opening": max(0.0, 1.0 - (reading.position - 1) / OPENING_MESSAGES),
        "vague": vague,
        "hanging": min(2.0, len(words.hanging.findall(words.held.sub("", text)))),
        "impersonal": float(is_impersonal),
        "opinion": float(words.opinion.search(text) is not None),
        "intention": float(words.intention.search(text) is not None),
        "courtesy": float(words.courtesy.search(text) is not None),
        "request": float(not reading.is_restated and words.request.search(text) is not None),
        "short": float(len(terms) < SHORT_WORDS and not (reading.is_slotted or words.life.search(text))),
        "restated": float(reading.is_restated),
    }


def score_salience(found: Mapping[str, float]) -> float:
    """The score: the features times their weights, summed."""
    return sum(load_weights()[name] * value for name, value in found.items())
