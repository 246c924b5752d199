"""What the rules need to know of a language: its words are in a `.toml` named by its code, and what only code can say
in the module beside it, which holds a `LANGUAGE`.

A module that lies here is found by itself: adding a language is these two files. None is imported, and no expression
compiled, before a text is read. Algorithms take a `Language` and know none by name. English is the fallback.

In a file the fields of `Language` stand first, those of its parts in tables of their names, and what only the module
reads in the table `own`. A long text is a list of strings that are joined. In an expression `(?i)` at the start takes
upper and lower case as the same; `@name@` stands for one of the `parts` of the file or of the table, or for the keys of
a mapping beside it, the longest first.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module, resources
from typing import Any

from mnemic.model.item import Kind
from mnemic.text.normalise import late_pattern

FALLBACK = "en"
LEAST_SHARE = 0.25
"""So much of a text's letters must be of the script of a language. One quoted word of Chinese makes no text Chinese."""

MOST_FOREIGN = 0.1
"""More letters of a script that the language never uses, beside so many of its own: Japanese writes Chinese characters
too.
"""

CODE_CHARS = 2  # of ISO 639-1
TECHNICAL = (
    r"\b(?:APIs?|SQL\w*|database|Postgres\w*|SQLite|Redis|Python|Rust|TypeScript|JavaScript|Java|Docker|Kubernetes|Linux"
    r"|server|compiler|bug|cache|index|regex|git|library|framework|embedding|vector|model|query|test suite|deploy\w*"
    r"|latency|memory leak|thread|encoding)\b"
)
"""Engineers name these in English, whatever language they speak."""

NEVER = late_pattern(r"(?!)")
"""Stands where a language has no such wording."""

_WORD = late_pattern(r"[^\W\d_]+")
_PART = re.compile(r"@(\w+)@")
Rules = Sequence[tuple[str, re.Pattern[str]]]
"""Expressions by name: the first that matches counts."""


def words(listed: str) -> frozenset[str]:
    """The words of a list that is written with blanks between."""
    return frozenset(listed.split())


def any_case(source: str) -> re.Pattern[str]:
    """An expression for which upper and lower case are the same."""
    return late_pattern(source, re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRules:
    """How clauses are told apart, and which state nothing of the user.

    `opening`: greetings and fillers before a statement. `refused`: questions, guesses, words of others. `condition`:
    begins a sentence that supposes. `material`: asks for work on the text that follows. `own_label`: labels that the
    user puts before own words ("Note:"). `cut`: where a clause may end; `keeps_together` (what stands before the cut,
    the sentence, the cut) takes it back. `find_reason`: the span of a reason within a question. `find_comment`: where a
    mere comment begins in a clause. `impersonal` and `of_it` match a clause that is understood from the one before
    alone; `is_hanging` finds pronouns without a noun. `add_subject` gives a clause the "I" that its writer left out.
    `is_told`: the third person of a clause is a true sentence; false for "we're eleven", which is not said of one.
    `first_person`: what must not be left in the third person outside quotations.
    """

    opening: re.Pattern[str]
    refused: re.Pattern[str]
    condition: re.Pattern[str]
    material: re.Pattern[str]
    impersonal: re.Pattern[str]
    of_it: re.Pattern[str] = NEVER
    cut: re.Pattern[str]
    own_label: re.Pattern[str] = NEVER
    keeps_together: Callable[[str, str, re.Match[str]], bool] = lambda _left, _sentence, _cut: False
    find_reason: Callable[[str], tuple[int, int] | None] = lambda _sentence: None
    find_comment: Callable[[str], int | None] = lambda _clause: None

    is_hanging: Callable[[str], bool] = lambda _clause: False
    add_subject: Callable[[str], str] = lambda clause: clause
    is_told: Callable[[str], bool] = lambda _clause: True
    first_person: re.Pattern[str] = NEVER

    def goes_on(self, clause: str) -> bool:
        """True for a clause that goes on about what was just said: "It was …", "I got them on Friday"."""
        return self.impersonal.match(clause) is not None or self.of_it.match(clause) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRules:
    """Which attribute of the user a sentence fills. Every rule has a group `value`.

    `plain` are the careful rules of the profile, which read whole plain sentences: none that `commission` (work on a
    text), `unsure` (questions, negations, the past, reports) or nothing in the `first_person` speaks against; values
    that `no_value` matches are none. `loose` count more wordings, unless `doubt` stands before their end. `told` match
    whole sentences in the third person, as memories are written; `change` says that the value replaces another one.
    `things` have a group `thing` too, which makes the slot's name behind the one given. `feels` has the groups
    `feeling`, by `feelings`, and `object`;
    `stopped` the group `rest`; `prefers` the groups `one` and `other`. `open_end`: words that make a value more than
    one thing; `pronouns` name nobody.
    """

    plain: Rules
    commission: re.Pattern[str]
    unsure: re.Pattern[str]
    first_person: re.Pattern[str]
    no_value: re.Pattern[str] = NEVER
    loose: Rules
    doubt: re.Pattern[str]
    things: Rules = ()
    told: Rules
    change: re.Pattern[str] = NEVER
    feels: re.Pattern[str] = NEVER
    feelings: Mapping[str, str]
    stopped: re.Pattern[str] = NEVER
    prefers: re.Pattern[str] = NEVER
    open_end: re.Pattern[str] = NEVER
    pronouns: frozenset[str] = frozenset()
    begins_first_person: tuple[str, ...] = ()
    begins_lower: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRules:
    """How times are told.

    `rules` are tried in order; each name is a reader of `facts.when`, and what its groups hold is looked up here:
    `day` in `days`, `n` in `numbers`, `unit` in `units`, `step` in `steps` ("last", "this", "next", "coming"),
    `weekday` in `weekdays` (from 0, Monday), `month` in `months`. `vague` is a word for a count that nobody counted.
    `labels` are written behind a fact, by the unit of its time. `ahead`: the sentence speaks of what is to come.
    `is_past`: its verbs, and not only what they say of a feeling, are in the past. `undecided`: what may be to come
    although the verb is in the past ("booked", "wanted to"). `present`: a verb in the present; `turn`: another clause
    may begin here. `yearly`: what comes back every year, so that its day is of no year. `months`:
    their names in all forms, parted by commas; a month alone counts after one of the `leads`.
    `has_ordinal_stop`: a full stop behind a number makes it an ordinal.

    In questions, `written` dates have the groups year, month and day; `ago` has two, count and unit; `since` are
    wordings for so many days back, from the first to the last.
    """

    rules: Rules
    days: Mapping[str, int]
    numbers: Mapping[str, int]
    units: Mapping[str, str]
    steps: Mapping[str, str]
    weekdays: Mapping[str, int]
    months: str = ""
    years: Mapping[str, int] = field(default_factory=dict[str, int])
    labels: Mapping[str, str]
    vague: str = ""
    ahead: re.Pattern[str] = NEVER
    undecided: re.Pattern[str] = NEVER
    present: re.Pattern[str] = NEVER
    turn: re.Pattern[str] = NEVER
    yearly: re.Pattern[str] = NEVER
    is_past: Callable[[str], bool] = lambda _folded: False
    leads: str = ""
    written: re.Pattern[str] = NEVER
    ago: re.Pattern[str] = NEVER
    last_weekday: re.Pattern[str] = NEVER
    since: Sequence[tuple[re.Pattern[str], int, int]] = ()
    cues: tuple[str, ...] = ()
    has_ordinal_stop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestatingRules:
    """How an assistant tells the user what the user said, and how the user takes it up.

    `assent` and `denial` open the user's answer, `negation` is anywhere in it. Of the assistant's sentence `frame` and
    `vocative` are cut away; one without `user`, with `own` or with `no_report` says nothing of the user. In the first
    person (`first_person`) it must match `about`, and no `praise`; `praised` of a trait is told as `praised_as`.
    """

    assent: re.Pattern[str]
    denial: re.Pattern[str]
    negation: re.Pattern[str]
    frame: re.Pattern[str]
    vocative: re.Pattern[str] = NEVER
    user: re.Pattern[str]
    own: re.Pattern[str]
    no_report: re.Pattern[str]
    first_person: Callable[[str], str]
    about: re.Pattern[str]
    named: re.Pattern[str] = NEVER
    praise: re.Pattern[str] = NEVER
    praised: re.Pattern[str] = NEVER
    praised_as: str = ""


@dataclass(frozen=True, slots=True)
class Cue:
    """A wording: the category that it speaks for, and how much it speaks for keeping the sentence."""

    category: str
    weight: float
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GemRules:
    """By which words the curator without a model tells what to keep.

    `cues` speak for a sentence, `topics` say what it is about. `asking` sentences are left out, `opening` words cut
    off. `said_as`: beginnings that become words in the third person.
    """

    cues: tuple[Cue, ...]
    topics: tuple[Cue, ...]
    reason: re.Pattern[str]
    concrete: re.Pattern[str]
    passing: re.Pattern[str]
    hanging: re.Pattern[str]
    asking: re.Pattern[str]
    opening: re.Pattern[str]
    said_as: Sequence[tuple[re.Pattern[str], str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRules:
    """Which statement in the third person tells of a choice: `rules` by verb, with the groups `who` and `thing`.

    `tail` is cut off the thing, then `article`. `refused`: turned down or only thought about. `summary` has the fields
    who, verb, thing, times, first and last; `plural` (who, verb) gives the verb's form. `qualities`: what different
    things may be chosen for, by name; `compound` matches further names of qualities; `shared` is the sentence on one.
    """

    rules: Rules
    tail: re.Pattern[str]
    article: re.Pattern[str] = NEVER
    refused: re.Pattern[str]
    summary: str
    acts: re.Pattern[str] = NEVER
    qualities: Rules = ()
    compound: re.Pattern[str] = NEVER
    shared: str = ""
    plural: Callable[[str, str], str] = lambda _who, verb: verb


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRules:
    """Words around names; those of all languages are read together. What a phrase means stands in `graph.phrases`.

    `phrases`: by the name of a relation, its forms, joined by "|". `kinds`: by the type of an entity, nouns that tell
    it. `openers`: words that begin a sentence with a capital and are no name.
    """

    phrases: Mapping[str, str]
    kinds: Mapping[str, str]
    openers: str = ""
    speakers: str = ""
    skipped_before: str = ""
    skipped_behind: str = ""
    joining: str = ""
    going_on: str = ""
    relative: str = ""
    stopping: str = ""
    doubting: str = ""
    naming_first: str = ""
    dropped_first: str = ""
    honorifics: str = ""
    copulas: str = ""
    determiners: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseRules:
    """How names are found where no capital tells them: by what stands around a phrase within a clause.

    `relations`: expressions for a whole clause with the groups `a` and `b`, by the name of the phrase. `before_name`
    and `typed` words are cut off a name, `nobody` is none, and `endings` tell its type. A clause that `denying` matches
    says nothing.
    """

    relations: Rules
    speakers: tuple[str, ...]
    before_name: re.Pattern[str]
    typed: re.Pattern[str]
    denying: re.Pattern[str]
    nobody: re.Pattern[str]
    endings: Mapping[str, str]


NO_NAMES = NameRules(phrases={}, kinds={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language as far as the rules know it.

    A text is of the language whose `script` carries it (and not `never`), else of the one most of whose `common` words
    it has. `third_person` tells a clause of the speaker, named `user`; `intensifier` words are cut out before. `joint`
    stands between two clauses that become one sentence. `is_cased`: a sentence begins with a capital and a clause after
    the joint does not. `asks_assistant`: a question, in lower case, for what the assistant said before. `courtesies`:
    words of which a text that says nothing consists. `cues`: what tells whether a sentence is understood alone and
    lasts, for the head that estimates what is worth keeping; a name means the same in every language.
    """

    code: str
    script: re.Pattern[str] | None = None
    never: re.Pattern[str] = NEVER
    common: frozenset[str] = frozenset()
    user: str
    third_person: Callable[[str], str]
    intensifier: re.Pattern[str] = NEVER
    joint: str = "; "
    is_cased: bool = True
    statements: StatementRules
    kinds: Sequence[tuple[Kind, re.Pattern[str]]]
    cues: Mapping[str, re.Pattern[str]]
    slots: SlotRules
    dates: DateRules
    restating: RestatingRules
    gems: GemRules
    choices: ChoiceRules
    names: NameRules = NO_NAMES
    clauses: ClauseRules | None = None
    asks_assistant: re.Pattern[str] = NEVER
    courtesies: str = ""

    def begin(self, text: str) -> str:
        """The text as the beginning of a sentence."""
        return text[:1].upper() + text[1:] if self.is_cased else text


_TABLES = {
    "statements": StatementRules,
    "slots": SlotRules,
    "dates": DateRules,
    "restating": RestatingRules,
    "gems": GemRules,
    "choices": ChoiceRules,
    "names": NameRules,
    "clauses": ClauseRules,
}


class OwnRules:
    """What the module of a language alone reads: the table `own` of its file."""

    def __init__(self, code: str) -> None:
        self._table: Mapping[str, Any] = _read_file(code)["own"]

    def pattern(self, name: str) -> re.Pattern[str]:
        """An expression, compiled when it is first used."""
        return _compile(self._table[name], self._table)

    def words(self, name: str) -> frozenset[str]:
        """A list of words."""
        return words("".join(self._table[name]))

    def forms(self, name: str) -> Mapping[str, str]:
        """Words by the words that they replace."""
        return self._table[name]


@cache
def _read_file(code: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__name__).joinpath(f"{code}.toml").read_text(encoding="utf-8"))


def read_language(code: str, **given: Any) -> Language:
    """The language of the file of a code. `given` are fields that the file lacks; those of a table, by its name."""
    data: dict[str, Any] = {"code": code, **deepcopy(_read_file(code))}
    data.pop("own", None)
    shared: dict[str, Any] = {"technical": TECHNICAL, **data.pop("parts", {})}
    values = given
    for name, rules in _TABLES.items():
        if name in data:
            values[name] = rules(**_read_fields(rules, data.pop(name), shared), **given.get(name, {}))
    values["kinds"] = [(Kind[name.upper()], rule) for name, rule in _read_rules(data.pop("kinds"), shared).items()]
    values["cues"] = _read_rules(data.pop("cues", {}), shared)
    return Language(**_read_fields(Language, data, shared), **values)


def _read_rules(table: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, re.Pattern[str]]:
    parts = {**shared, **table.pop("parts", {})}
    return {name: _compile(source, parts) for name, source in table.items()}


def _read_fields(cls: type, table: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a table as their annotations in `cls` want them."""
    kinds = {field.name: str(field.type) for field in fields(cls)}
    mappings = [name for name in table if kinds.get(name, "").startswith("Mapping")]
    keys = {name: "|".join(sorted(table[name], key=len, reverse=True)) for name in mappings}
    parts = {**shared, **keys, **table.pop("parts", {})}
    return {name: _convert(kinds[name], value, parts) for name, value in table.items()}


def _convert(kind: str, value: Any, parts: Mapping[str, Any]) -> Any:
    if kind == "Rules":
        return tuple((name, _compile(source, parts)) for name, source in value)
    if kind == "tuple[Cue, ...]":
        return tuple(Cue(category, weight, _compile(source, parts)) for category, weight, source in value)
    if kind.startswith("re.Pattern"):
        return _compile(value, parts)
    if kind.startswith("Sequence[tuple[re.Pattern"):
        return tuple((_compile(source, parts), *rest) for source, *rest in value)
    if kind.startswith("frozenset"):
        return words("".join(value))
    return tuple(value) if kind.startswith("tuple") else "".join(value) if kind == "str" else value


def _compile(source: str | list[str], parts: Mapping[str, Any]) -> re.Pattern[str]:
    text = "".join(source)
    while _PART.search(text):
        text = _PART.sub(lambda match: "".join(parts[match[1]]), text)
    return late_pattern(text)


def detect(text: str, least_share: float = LEAST_SHARE) -> Language:
    """The language of a text: by its script where that has `least_share` of the letters, else by its common words.

    A sentence whose letters are mostly an address has few of its own script, and no common word of any other.
    """
    by_script, by_words = _ways()
    seen = None
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        for language, script in by_script:
            count = len(script.findall(text))
            foreign = len(language.never.findall(text)) if count else 0
            if count and (foreign < MOST_FOREIGN * count if least_share else not foreign):
                if count >= least_share * letters:
                    return language
                seen = language
    if len(by_words) == 1 and seen is None:
        return by_words[0]
    told = set(_WORD.findall(text.casefold()))
    best = max(by_words, key=lambda language: len(told & language.common))
    return seen if seen is not None and not told & best.common else best


def lookup(code: str) -> Language:
    """The language of a code. Raises `KeyError` for one that has no module here."""
    return {language.code: language for language in languages()}[code]


@cache
def languages() -> tuple[Language, ...]:
    """Every language that has a module here: the fallback first, the others by their codes."""
    codes = sorted(each.name for each in pkgutil.iter_modules(__path__) if len(each.name) == CODE_CHARS)
    codes.sort(key=lambda code: code != FALLBACK)
    return tuple(import_module(f"{__name__}.{code}").LANGUAGE for code in codes)


@cache
def _ways() -> tuple[list[tuple[Language, re.Pattern[str]]], list[Language]]:
    """The languages that are told by their script, and those by their words."""
    by_script = [(language, language.script) for language in languages() if language.script is not None]
    return by_script, [language for language in languages() if language.script is None]
