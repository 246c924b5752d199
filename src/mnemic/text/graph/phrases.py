"""Words that relate names, and words that tell what a name stands for: the tables of `words.toml` and of the languages.

They are read when a text is first looked at, not on import. Languages without blanks have rules of their own
(`ClauseRules`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from mnemic.model.graph import EntityType
from mnemic.text.analyser import STOP_WORDS
from mnemic.text.languages import NameRules, languages

THING = EntityType.THING


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a phrase says: the type of the relation, from the first name to the second, or with `is_inverse` from the
    second to the first; and what the first and the second are, where it tells.
    """

    type: str
    first: EntityType = THING
    second: EntityType = THING
    is_inverse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """All tables; `words.toml` says what each is for. `meanings` are the phrases by name, `phrases` by their forms."""

    meanings: Mapping[str, Phrase]
    phrases: Mapping[str, Phrase]
    most_words: int
    kinds: Mapping[str, EntityType]
    suffixes: Mapping[str, EntityType]
    known: Mapping[str, EntityType]
    skipped_before: frozenset[str]
    skipped_behind: frozenset[str]
    joining: frozenset[str]
    going_on: frozenset[str]
    relative: frozenset[str]
    stopping: frozenset[str]
    doubting: frozenset[str]
    naming_first: frozenset[str]
    dropped_first: frozenset[str]
    honorifics: frozenset[str]
    openers: frozenset[str]
    speaker: re.Pattern[str]
    kind: re.Pattern[str]


_LISTED = [
    "skipped_before",
    "skipped_behind",
    "joining",
    "going_on",
    "relative",
    "stopping",
    "doubting",
    "naming_first",
    "dropped_first",
    "honorifics",
]


@cache
def load_words() -> Words:
    """The tables, those of the file and of every language together."""
    text = resources.files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8")
    data: dict[str, Any] = tomllib.loads(text)
    rules = [language.names for language in languages()]
    meanings = {name: _read_phrase(fields) for name, fields in data["phrases"].items()}
    phrases = {form: meanings[name] for name, forms in _join_forms(data["phrases"], rules) for form in forms}

    def listed(field: str) -> frozenset[str]:
        return frozenset(" ".join([data["words"][field], *(getattr(each, field) for each in rules)]).split())

    alone = "|".join(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in sorted(listed("speakers")))
    copulas, determiners = ("|".join(sorted(listed(field))) for field in ("copulas", "determiners"))
    return Words(
        **{field: listed(field) for field in _LISTED},
        meanings=meanings,
        phrases=phrases,
        most_words=max(len(form.split()) for form in phrases),
        kinds=_read_types([data["kinds"], *(each.kinds for each in rules)]),
        suffixes=_read_types([data["suffixes"]]),
        known=_read_types([data["known"]]),
        openers=listed("openers") | STOP_WORDS,
        speaker=re.compile(rf"(?<![\w'\u2019])(?:(?:I|[Uu]ser)(?=['\u2019\s])|(?:{alone})(?=\s))"),
        kind=re.compile(
            rf"(?:,|['\u2019]s)?\s+(?:(?:{copulas})\s+)?(?:{determiners})\s+(?P<words>[\w-]{{2,20}}(?:\s[\w-]{{2,20}}){{0,3}})"
        ),
    )


def relation_types() -> tuple[str, ...]:
    """The types of relations that the rules know, each once."""
    return tuple(dict.fromkeys(phrase.type for phrase in load_words().meanings.values()))


def _read_phrase(fields: Mapping[str, Any]) -> Phrase:
    first, second = (EntityType(fields.get(end, THING)) for end in ("first", "second"))
    return Phrase(fields["type"], first, second, bool(fields.get("is_inverse")))


def _join_forms(data: Mapping[str, Any], rules: Iterable[NameRules]) -> Iterable[tuple[str, list[str]]]:
    for name, fields in data.items():
        yield name, "|".join([*fields["forms"], *filter(None, (each.phrases.get(name) for each in rules))]).split("|")


def _read_types(tables: Iterable[Mapping[str, Any]]) -> dict[str, EntityType]:
    """Types by word. A table lists words with blanks between, or names joined by "|"."""
    return {
        word: EntityType(type_)
        for table in tables
        for type_, words in table.items()
        for word in (words.split() if isinstance(words, str) else "|".join(words).split("|"))
    }
