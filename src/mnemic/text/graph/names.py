"""Finds names in a text, with their comparison key and type. A name starts with a capital. Words around it are in
`words.toml` and the languages, loaded on first use. Languages without blanks have rules of their own (`ClauseRules`).
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from mnemic.model.graph import MAX_NAME_CHARS, EntityType
from mnemic.text import normalise as scripts
from mnemic.text.analyser import STOP_WORDS
from mnemic.text.languages import NameRules, languages
from mnemic.text.normalise import late_pattern, normalise, visible

THING = EntityType.THING


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase's relation type, from the first name to the second, or with `is_inverse` the other way. Also the types
    of both names, if it implies them.
    """

    type: str
    first: EntityType = THING
    second: EntityType = THING
    is_inverse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """All tables, explained in `words.toml`. `meanings` are the phrases by name, `phrases` by their forms."""

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
    alone: frozenset[str]
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
    """The tables of the file and of every language together."""
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
        alone=frozenset(data["words"]["alone"].split()),
        speaker=re.compile(rf"(?<![\w'\u2019])(?:(?:I|[Uu]ser)(?=['\u2019\s])|(?:{alone})(?=\s))"),
        kind=re.compile(
            rf"(?:,|['\u2019]s)?\s+(?:(?:{copulas})\s+)?(?:{determiners})\s+(?P<words>[\w-]{{2,20}}(?:\s[\w-]{{2,20}}){{0,3}})"
        ),
    )


def relation_types() -> tuple[str, ...]:
    """The relation types of the rules, each once."""
    return tuple(dict.fromkeys(phrase.type for phrase in load_words().meanings.values()))


def _read_phrase(fields: Mapping[str, Any]) -> Phrase:
    first, second = (EntityType(fields.get(end, THING)) for end in ("first", "second"))
    return Phrase(fields["type"], first, second, bool(fields.get("is_inverse")))


def _join_forms(data: Mapping[str, Any], rules: Iterable[NameRules]) -> Iterable[tuple[str, list[str]]]:
    for name, fields in data.items():
        yield name, "|".join([*fields["forms"], *filter(None, (each.phrases.get(name) for each in rules))]).split("|")


def _read_types(tables: Iterable[Mapping[str, Any]]) -> dict[str, EntityType]:
    """Types by word. A table lists words separated by blanks, or names by "|"."""
    return {
        word: EntityType(type_)
        for table in tables
        for type_, words in table.items()
        for word in (words.split() if isinstance(words, str) else "|".join(words).split("|"))
    }


MOST_NAME_WORDS = 7  # a longer run of capitals is a headline
MOST_ASKED_TOKENS = 80  # first tokens of a question that are examined
_ALONE = scripts.UNSEGMENTED
_WORD = late_pattern(
    f"[^\\W_{_ALONE}](?:[^\\W_{_ALONE}]|[.&+#/_-](?=[^\\W_{_ALONE}])|['\u2019](?=[^\\W_{_ALONE}]{{2}}))*+[+#]{{0,2}}"
)
_TOKEN = late_pattern(f"[{_ALONE}]|[^\\W{_ALONE}](?:[^\\s{_ALONE}]*[^\\W{_ALONE}])?[+#]{{0,2}}")
_IS_ALONE = late_pattern(f"[{_ALONE}]")
_EDGES = (
    " \t\"'.,;:!?()[]{}<>*_`~|/\\-\u2018\u2019\u201c\u201d\u00ab\u00bb"
    "\u300a\u300b\u300c\u300d\u3001\u3002\uff0c\u2013\u2014"
)
_ARTICLE = "the "
_ENDS = frozenset('.!?\u2026:\n"')
_INSIDE = frozenset(("of", "de", "da", "do", "dos", "del", "di", "von", "van", "der", "den", "la", "le", "al", "bin"))
_SPEAKERS = ("i", "user", "assistant")
_FEW_WORDS = 6  # a sentence of fewer may consist of names ("Anna met Bob.")
_MOSTLY_NAMES = 0.34
"""If a larger share of the words inside a sentence is capitalised, capitals mark no names: German, titles, shouting."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name at `start` to `end` of a text. `is_sure`: its capital alone proves it."""

    text: str
    start: int
    end: int
    type: EntityType = EntityType.THING
    is_sure: bool = False

    @property
    def key(self) -> str:
        """The comparison key."""
        return name_key(self.text)


def name_key(name: str) -> str:
    """A folded name of at most `MAX_NAME_CHARS`, without white space, punctuation and articles around it; "" if it is
    no name. No string raises.
    """
    key = normalise(name).strip(_EDGES)
    key = key.removesuffix("'s").removesuffix("\u2019s").strip(_EDGES)
    key = key.removeprefix(_ARTICLE)[:MAX_NAME_CHARS].strip()
    return key if any(character.isalnum() for character in key) else ""


def printable_name(name: str) -> str:
    """A name for display, without invisible and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in visible(name)).split())[:MAX_NAME_CHARS].strip()


def clean_name(name: str) -> str:
    """A name for display, also without punctuation around it."""
    return printable_name(name).strip(_EDGES.replace("+", "")).strip()


def type_of(name: str) -> EntityType:
    """The entity type as far as the name itself shows it."""
    key = name_key(name)
    known = load_words().known.get(key)
    words = key.split()
    if known is not None or not words:
        return known or EntityType.THING
    if words[0].rstrip(".") in load_words().honorifics and len(words) > 1:
        return EntityType.PERSON
    if len(words) > 1:
        first, last = words[0], words[-1].rstrip(".")
        type_ = load_words().suffixes.get(last)
        if type_ is None and first in load_words().naming_first:
            type_ = load_words().kinds.get(first)
        return type_ or EntityType.THING
    return EntityType.THING


def names_in(text: str, start: int, end: int) -> list[Name]:
    """The names in one sentence, in order."""
    words = [_Word(match.group(), match.start(), match.end()) for match in _WORD.finditer(text, start, end)]
    capitals = [word.is_capital for word in words[1:]]
    tells = not capitals or sum(capitals) <= _MOSTLY_NAMES * len(capitals) or len(capitals) < _FEW_WORDS
    found: list[Name] = []
    place = 0
    while place < len(words):
        length = _run(text, words, place)
        if length:
            found += _name(text, words, place, length, tells=tells)
        place += max(length, 1)
    return found


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def is_capital(self) -> bool:
        """True for a capital at the start, or inside as in iPhone."""
        return self.text[0].isupper() or any(character.isupper() for character in self.text[1:])

    @property
    def is_opener(self) -> bool:
        return self.text.lower() in load_words().openers


def _run(text: str, words: Sequence[_Word], place: int) -> int:
    """How many words from here form one name; 0 for none."""
    first = words[place].text.lower()
    if not words[place].is_capital or first in _SPEAKERS or load_words().kinds.get(first) is EntityType.PERSON:
        return 0
    end = place + 1
    while end < len(words) and end - place < MOST_NAME_WORDS and _goes_on(text, words[end - 1], words[end]):
        word, behind = words[end], words[end + 1] if end + 1 < len(words) else None
        if (word.is_capital and word.text != "I") or word.text.isdecimal():
            end += 1
        elif word.text in _INSIDE and behind is not None and behind.is_capital and _goes_on(text, word, behind):
            end += 2
        else:
            break
    return end - place


def _goes_on(text: str, word: _Word, following: _Word) -> bool:
    between = text[word.end : following.start]
    return between in (" ", "\u00a0") or (between == ". " and word.text.lower() in load_words().honorifics)


def _name(text: str, words: Sequence[_Word], place: int, length: int, *, tells: bool) -> list[Name]:
    """The name of a run, without the opener of a sentence; empty if nothing is left."""
    first = place
    while first < place + length and (
        words[first].is_opener or words[first].text.lower() in load_words().dropped_first
    ):
        first += 1
    run = words[first : place + length]
    if not run or run[0].text.isdecimal() or (len(run) == 1 and len(run[0].text) == 1):
        return []
    is_first = first == 0 or text[max(run[0].start - 3, 0) : run[0].start].rstrip()[-1:] in _ENDS
    if len(run) == 1 and is_first and run[0].text.lower() in load_words().alone:
        return []
    shown = clean_name(text[run[0].start : run[-1].end])
    is_sure = tells and (first > 0 or len(run) > 1)
    before = words[first - 1].text.lower() if first else ""
    type_ = type_of(shown)
    if type_ is EntityType.THING and before in load_words().kinds:
        type_ = load_words().kinds[before]
    return [Name(shown, run[0].start, run[-1].end, type_, is_sure)] if name_key(shown) else []


def possible_names(question: str) -> dict[str, list[tuple[int, int]]]:
    """Name keys of all runs of up to `MOST_NAME_WORDS` words of a question, with their character spans. One stop word,
    or one character of Chinese and the like, is no name. No string raises.
    """
    tokens = [(match.start(), match.end(), match.group()) for match in _TOKEN.finditer(question)][:MOST_ASKED_TOKENS]
    found: dict[str, list[tuple[int, int]]] = {}
    for first, (start, _, word) in enumerate(tokens):
        for last in range(first, min(first + MOST_NAME_WORDS, len(tokens))):
            end = tokens[last][1]
            says_nothing = word.casefold() in STOP_WORDS or bool(_IS_ALONE.match(word))
            key = "" if first == last and says_nothing else name_key(question[start:end])
            if key:
                found.setdefault(key, []).append((start, end))
    return found


def told_names(possible: dict[str, list[tuple[int, int]]], known: Collection[str]) -> list[str]:
    """The known ones of the possible names, in order, without those that only occur inside longer ones."""
    spans = {key: possible[key] for key in known if key in possible}
    every = [span for found in spans.values() for span in found]

    def is_part(span: tuple[int, int]) -> bool:
        return any(a <= span[0] and span[1] <= b and (a, b) != span for a, b in every)

    kept = [key for key, found in spans.items() if not all(is_part(span) for span in found)]
    return sorted(kept, key=lambda key: (spans[key][0], key))
