"""The rules' knowledge of languages: words in a `.toml` per language code, and code in the module beside it, which
defines a `LANGUAGE`.

To add a language, add these two files; modules here are found automatically. None is imported, and no pattern compiled,
before a text is read. Algorithms take a `Language` and never name one. In a file the fields of `Language` come first,
its parts' fields in tables of their names, and the module's own in the table `own`. A long text is a list of strings to
join. In a pattern `(?i)` at the start ignores case; `@name@` inserts one of the `parts` of the file or table or of
`shared.toml`, or the keys of a mapping beside it, longest first.
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
LEAST_SHARE = 0.25  # of a text's letters in a language's script: one quoted Chinese word makes no text Chinese
MOST_FOREIGN = 0.1  # of a script that the language never uses, to its own: Japanese uses Chinese characters too
CODE_CHARS = 2  # of ISO 639-1
NEVER = late_pattern(r"(?!)")  # for a language without such wordings
_WORD = late_pattern(r"[^\W\d_]+")
_PART = re.compile(r"@(\w+)@")
Rules = Sequence[tuple[str, re.Pattern[str]]]
"""Patterns by name: the first match counts."""


def words(listed: str) -> frozenset[str]:
    """The words of a list separated by blanks."""
    return frozenset(listed.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRules:
    """How to split a sentence into clauses, and which clauses state nothing about the user.

    `opening`: greetings and fillers before a statement. `refused`: questions, guesses, quoted words. `condition` starts
    a hypothetical sentence. `material` asks for work on the following text. `own_label`: labels before the user's own
    words ("Note:"). `speech`: somebody quoted: "he texted 'i quit'". `cut`: a possible end of a clause;
    `keeps_together` (text before, sentence, cut) rejects it. `run_on`: further ends in texts without marks.
    `taken_back` corrects the last words. `linked`: where an overlong dictated clause is cut. `joints`: words that may
    join two facts of one subject. `find_reason`: span of a reason within a question. `impersonal` and `of_it` continue
    the previous clause; `is_hanging` finds pronouns without a noun. `add_subject` adds an omitted "I". `is_told`: the
    clause's third person is true, unlike that of "we're eleven". `first_person`: words that must not remain in the
    third person outside quotations. `people`: mentions, by pronoun ("she", "he", "any") and template ("she my {who}";
    "she ": a stranger). `pronouns`: the first words of a clause, by pronoun and template ("she {who} is"). `declared`:
    decisions, lessons and standing orders, as templates for their groups and patterns. `tell_order` puts an order into
    the third person, or returns "" for one that points back. `one_task`: a text whose orders are for one task. `owned`:
    whom and what the user has according to a request, as `declared`. `wish`: the memory of a wish in the user's words.
    `unreal`: jokes, suppositions and translations, in which nothing is owned.
    """

    opening: re.Pattern[str]
    refused: re.Pattern[str]
    condition: re.Pattern[str]
    material: re.Pattern[str]
    impersonal: re.Pattern[str]
    of_it: re.Pattern[str] = NEVER
    cut: re.Pattern[str]
    run_on: re.Pattern[str] = NEVER
    taken_back: re.Pattern[str] = NEVER
    linked: re.Pattern[str] = NEVER
    joints: re.Pattern[str] = NEVER
    own_label: re.Pattern[str] = NEVER
    speech: re.Pattern[str] = NEVER
    keeps_together: Callable[[str, str, re.Match[str]], bool] = lambda _left, _sentence, _cut: False
    find_reason: Callable[[str], tuple[int, int] | None] = lambda _sentence: None
    is_hanging: Callable[[str], bool] = lambda _clause: False
    add_subject: Callable[[str], str] = lambda clause: clause
    is_told: Callable[[str], bool] = lambda _clause: True
    first_person: re.Pattern[str] = NEVER
    people: Rules = ()
    pronouns: Rules = ()
    declared: Rules = ()
    tell_order: Callable[[str], str] = lambda order: order
    one_task: re.Pattern[str] = NEVER
    owned: Rules = ()
    unreal: re.Pattern[str] = NEVER
    wish: str = ""

    def goes_on(self, clause: str) -> bool:
        """True for a clause that continues the previous statement: "It was …", "I got them on Friday"."""
        return self.impersonal.match(clause) is not None or self.of_it.match(clause) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRules:
    """How users describe themselves without sentences. Rules are templates for first-person sentences, and patterns.

    `label`: the words before such a description ("About me:"); its group `me` matches if it is about nobody else.
    `cut`: where an item of a list ends. `own`: an item with its subject, which `bound` ties to what follows ("I want
    to"); `others` begins one about somebody else. `head`: "I'm" or "My name is"; if a `name` or an item follows, the
    list is about the user. `items` lack a subject and perhaps a verb ("two kids"), `acts` only the subject ("live in
    Leeds"). `lines` name what they tell ("Job: welder"). `rest`: the template for what no rule reads.
    """

    label: re.Pattern[str] = NEVER
    cut: re.Pattern[str] = NEVER
    own: re.Pattern[str] = NEVER
    bound: re.Pattern[str] = NEVER
    others: re.Pattern[str] = NEVER
    head: re.Pattern[str] = NEVER
    name: re.Pattern[str] = NEVER
    items: Rules = ()
    acts: Rules = ()
    lines: Rules = ()
    rest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedRules:
    """How users paste other people's texts. `works` asks for work on the next paragraph ("fix the grammar"),
    `announced` says whose it is ("this is from my landlord"), `mentioned` names a text, `own` is about the user.
    `letter` begins a letter, `closing` ends it. `on` begins a paragraph in which the user goes on, `back` one that is
    the user's again; `asked` makes the last one so. `behind` says whose the text before is. `made` names what is made
    up: a song, a character, test data. `supposed` begins a supposition, `for_another` a question for somebody else, and
    `joke` is one. `played` starts a role play, and `unplayed` or the group of `until` ends it.
    """

    works: re.Pattern[str] = NEVER
    announced: re.Pattern[str] = NEVER
    mentioned: re.Pattern[str] = NEVER
    own: re.Pattern[str] = NEVER
    letter: re.Pattern[str] = NEVER
    closing: re.Pattern[str] = NEVER
    on: re.Pattern[str] = NEVER
    back: re.Pattern[str] = NEVER
    asked: re.Pattern[str] = NEVER
    behind: re.Pattern[str] = NEVER
    made: re.Pattern[str] = NEVER
    supposed: re.Pattern[str] = NEVER
    for_another: re.Pattern[str] = NEVER
    joke: re.Pattern[str] = NEVER
    played: re.Pattern[str] = NEVER
    until: re.Pattern[str] = NEVER
    unplayed: re.Pattern[str] = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRules:
    """Rules for the user attribute that a sentence fills; each has a group `value`.

    `plain`: the profile's careful rules, which match whole plain sentences. Excluded are `commission` (work on a text),
    `unsure` (questions, negations, the past, reports), sentences without `first_person`, and values that match
    `no_value`. `loose` rules accept more wordings, unless `doubt` precedes their end. `told` match whole sentences in
    the third person, the form of memories; `change`: the value replaces another one. `regions`: countries and states,
    in which a home's town may be. `apart`: two facts in one sentence, with their templates. `named`: people and pets
    beside, with the groups `who` and `name`, by a template for a sentence of its own. `things` also have a group
    `thing`, which becomes part of the slot's name. `feels` has the groups `feeling` (by `feelings`) and `object`;
    `stopped` the group `rest`; `order`, a standing order to the assistant, `thing` and perhaps `value`; `order_values`
    are what that value may be, and `forbids` words of orders to never do something; `alternatives` are orders of which
    only one can hold, by a template for the slot, with the group `value`; `prefers` the groups `one` and `other`.
    `open_end`: words that make a value more than one thing; `pronouns` name no one. `stated`: the plain sentence for a
    slot's value, in the words of questions. `work_order` begins an order about the work, `condition` its condition.
    `of_project`: "we", "here", "this repository", for facts about the current project only.
    """

    plain: Rules
    commission: re.Pattern[str]
    unsure: re.Pattern[str]
    first_person: re.Pattern[str]
    no_value: re.Pattern[str] = NEVER
    loose: Rules
    doubt: re.Pattern[str]
    apart: Rules = ()
    named: Rules = ()
    things: Rules = ()
    told: Rules
    change: re.Pattern[str] = NEVER
    regions: re.Pattern[str] = NEVER
    feels: re.Pattern[str] = NEVER
    feelings: Mapping[str, str]
    stopped: re.Pattern[str] = NEVER
    order: re.Pattern[str] = NEVER
    order_values: tuple[str, ...] = ()
    forbids: re.Pattern[str] = NEVER
    alternatives: Rules = ()
    work_order: re.Pattern[str] = NEVER
    condition: re.Pattern[str] = NEVER
    prefers: re.Pattern[str] = NEVER
    open_end: re.Pattern[str] = NEVER
    pronouns: frozenset[str] = frozenset()
    of_project: re.Pattern[str] = NEVER
    begins_first_person: tuple[str, ...] = ()
    begins_lower: tuple[str, ...] = ()
    stated: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRules:
    """Rules for times.

    `rules` are tried in order. Each name is a reader in `facts.when`, which looks up its groups here: `day` in `days`,
    `n` in `numbers`, `unit` in `units`, `step` in `steps` ("last", "this", "next", "coming"), `weekday` in `weekdays`
    (0: Monday), `month` in `months`. `vague`: a word for an uncounted number. `labels` follow a fact, by the unit of
    its time. `ahead`: the sentence is about the future. `is_past`: its verbs, not only its feelings, are in the past.
    `undecided`: possibly future despite a past verb ("booked", "wanted to"). `present`: a verb in the present; `turn`:
    another clause may start here. `duration`: "in six years" behind it says how long. `yearly`: recurs every year, so
    its day has no year. `months`: names in all forms, separated by commas; a month alone counts after one of the
    `leads`. `has_ordinal_stop`: a full stop after a number makes it an ordinal. In questions, `written` dates have the
    groups year, month and day; `ago` has count and unit; `since`: wordings for a range of days back, first to last.
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
    duration: re.Pattern[str] = NEVER
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
class DueRules:
    """Rules for what is due. `asked`: a whole question for it. `task`: the group `act` is what must be done, without
    its `tail`, the time. `ends`: something with an end, which can be `dealt` with before its day. `pending`: due also
    if it is today, and `over` after it. `frame`: words that name no topic. A sentence is evidence if it is past and not
    `undone`. In a task's evidence the speaker acts (`own`), or the thing is `finished`. `others`: mentions of other
    people. `bases`: past forms with their base forms.
    """

    asked: re.Pattern[str]
    task: re.Pattern[str]
    tail: re.Pattern[str]
    ends: re.Pattern[str]
    pending: re.Pattern[str]
    frame: str
    over: re.Pattern[str]
    dealt: re.Pattern[str]
    undone: re.Pattern[str]
    own: re.Pattern[str]
    others: re.Pattern[str] = NEVER
    finished: re.Pattern[str] = NEVER
    bases: Sequence[tuple[re.Pattern[str], str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionRules:
    """How a user takes back what they said.

    `slip`: words that admit a mistake, `explicit` if they mean nothing else; `answer`: a denial at the start of a
    sentence, or an answer to a question; `negated`: the "not" before a wrong value. `kinds`: values of which one can
    replace another. `name`: a word that may be a misspelt name; `named` has the group `right`, a name. `filler`: words
    beside a value; `joint`: what stands between a wrong value and the right one behind it. `foreign`: a sentence with
    words of others. `halves`: the "and" of a memory about two things. `withdrawn`: sentences with the group `topic`, by
    what they end: a standing order ("always", "never", or "order" for both), a "name" for the user, or one of `ties`.
    `over`: words that end any other plan or habit, with the group `parted` or `act` if the user ends what is named
    behind them, and `event` if what is named before them is cancelled. `going_on` begins what is no part of them;
    `object_end` ends the first thing named. `question_behind` is cut from a statement. Sentences that are `unsure` end
    nothing. `ties`: what a memory is about that may end so, and the words before an "employer". `ongoing`: a memory in
    the perfect that still holds. `joined`: replacements in the rest of it, with "|" for the cut. `former`: partners,
    who become "ex-" ones. `revised`: a wish that changes an older one. `frame`: words that name no topic. `alike`: rows
    of words for the same topic.
    """

    slip: re.Pattern[str]
    explicit: re.Pattern[str]
    answer: re.Pattern[str]
    negated: re.Pattern[str]
    kinds: Rules
    name: re.Pattern[str] = NEVER
    named: re.Pattern[str] = NEVER
    filler: re.Pattern[str]
    joint: re.Pattern[str]
    foreign: re.Pattern[str] = NEVER
    halves: re.Pattern[str]
    withdrawn: Rules
    over: re.Pattern[str]
    going_on: re.Pattern[str] = NEVER
    object_end: re.Pattern[str] = NEVER
    question_behind: re.Pattern[str] = NEVER
    ongoing: re.Pattern[str] = NEVER
    joined: Rules = ()
    unsure: re.Pattern[str]
    ties: Rules
    former: re.Pattern[str] = NEVER
    revised: re.Pattern[str] = NEVER
    frame: str
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestatingRules:
    """How an assistant restates the user's words, and how the user answers. `assent` and `denial` open the user's
    answer; `negation` is anywhere in it. `frame` and `vocative` are cut from the assistant's sentence. A sentence
    without `user`, or with `own` or `no_report`, says nothing about the user. In the first person (`first_person`) it
    must match `about`, and no `praise`; `praised` traits are stored as `praised_as`.
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
    """A wording: its category, and its weight for keeping the sentence."""

    category: str
    weight: float
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GemRules:
    """Words by which the curator without a model selects sentences. `cues` are evidence for a sentence, `topics` name
    its subject. `asking` sentences are dropped, `opening` words cut off. `said_as`: sentence starts with their
    third-person form.
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
    """Rules for choices in third-person statements: `rules` by verb, with the groups `who` and `thing`. `tail`, then
    `article`, is cut off the thing. `refused`: rejected or only considered. `summary` has the fields who, verb, thing,
    times, first and last; `plural` (who, verb) gives the verb's form. `qualities`: reasons for choosing different
    things, by name; `compound` matches further quality names; `shared` is the sentence on one.
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
    """Words around names; those of all languages are read together. `phrases`: a relation's forms, joined by "|", by
    the names of `graph.phrases`. `kinds`: nouns by entity type. `openers`: capitalised first words that are no names.
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
    """Rules for names in scripts without capitals, by the words around a phrase within a clause. `relations`: patterns
    for a whole clause with the groups `a` and `b`, by phrase name; an empty `a` and `pronouns` stand for the last
    subject, pronouns only for a person. After a clause that matches none, the subject is unknown unless it is
    `going_on`. `owned` are patterns for a name told with its owner's. `before_name` and `typed` words are cut off a
    name, `nobody` words are none, `joined` splits several, `endings` give a name's type, and `denying` ends a relation.
    """

    relations: Rules
    owned: Rules
    pronouns: tuple[str, ...]
    going_on: re.Pattern[str]
    joined: re.Pattern[str]
    speakers: tuple[str, ...]
    before_name: re.Pattern[str]
    typed: re.Pattern[str]
    denying: re.Pattern[str]
    nobody: re.Pattern[str]
    endings: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language's rules. A text belongs to the language whose `script` dominates it (without `never`), else to the
    one with most of its `common` words. `third_person` rewrites a clause of the speaker as about `user`; `intensifier`
    words are removed before, and so are first words that only connect a clause and last ones that only comment on it.
    `joint` joins two clauses to one sentence. `is_cased`: a sentence starts with a capital, a clause after the joint
    does not. `asks_assistant`: a lower-case question about the assistant's earlier words. `courtesies`: words of texts
    without content. `lowered`: names without capitals, in the group `name`. Each word of a "name" gets one, each letter
    of an "acronym". `cues`: signals for the head that estimates worth, by names that mean the same in every language.
    `pieces`: how a fact is split and shortened, by such names (`en.toml`).
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
    pieces: Mapping[str, re.Pattern[str]]
    slots: SlotRules
    dates: DateRules
    due: DueRules
    corrections: CorrectionRules
    restating: RestatingRules
    gems: GemRules
    choices: ChoiceRules
    names: NameRules = NameRules(phrases={}, kinds={})
    notes: NoteRules = NoteRules()
    pasted: PastedRules = PastedRules()
    clauses: ClauseRules | None = None
    asks_assistant: re.Pattern[str] = NEVER
    courtesies: str = ""
    lowered: Rules = ()

    def restore_capitals(self, text: str) -> str:
        """Capitalise names typed in lower case. The length is unchanged."""
        for how, rule in self.lowered:
            for match in rule.finditer(text):
                start, end = match.span("name")
                name = (_LETTER if how == "acronym" else _INITIAL).sub(lambda each: each[0].upper(), text[start:end])
                text = text[:start] + name + text[end:] if len(name) == end - start else text
        return text

    def begin(self, text: str) -> str:
        """The text as the start of a sentence."""
        return text[:1].upper() + text[1:] if self.is_cased else text


_LETTER = late_pattern(r"[^\W\d_]")
_INITIAL = late_pattern(r"(?:^|\b(?!(?:and|of|on|upon|de|del|la|le|am|an|der|im|in|und)\b))[^\W\d_]")  # of a name


_KINDS = ((each.name, str(each.type).removesuffix(" | None")) for each in fields(Language))
_TABLES = {name: globals()[kind] for name, kind in _KINDS if kind.endswith("Rules") and kind != "Rules"}


class OwnRules:
    """The table `own` of a language's file, for its module."""

    def __init__(self, code: str) -> None:
        self._table: Mapping[str, Any] = _read_file(code)["own"]

    def pattern(self, name: str) -> re.Pattern[str]:
        """A pattern, compiled on first use."""
        return _compile(self._table[name], self._table)

    def words(self, name: str) -> frozenset[str]:
        """A list of words."""
        return words("".join(self._table[name]))

    def forms(self, name: str) -> Mapping[str, str]:
        """Replacement words, by the words that they replace."""
        return self._table[name]


@cache
def _read_file(code: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__name__).joinpath(f"{code}.toml").read_text(encoding="utf-8"))


def read_language(code: str, **given: Any) -> Language:
    """Load a language from the file of its code. `given`: fields that the file lacks; those of a table by its name."""
    data: dict[str, Any] = {"code": code, **deepcopy(_read_file(code))}
    data.pop("own", None)
    shared: dict[str, Any] = {**_read_file("shared"), **data.pop("parts", {})}
    values = given
    for name, rules in _TABLES.items():
        if name in data:
            values[name] = rules(**_read_fields(rules, data.pop(name), shared), **given.get(name, {}))
    values["kinds"] = [(Kind[name.upper()], rule) for name, rule in _read_rules(data.pop("kinds"), shared).items()]
    values |= {name: _read_rules(data.pop(name, {}), shared) for name in ("cues", "pieces")}
    return Language(**_read_fields(Language, data, shared), **values)


def _read_rules(table: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, re.Pattern[str]]:
    parts = {**shared, **table.pop("parts", {})}
    return {name: _compile(source, parts) for name, source in table.items()}


def _read_fields(cls: type, table: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a table, converted to their annotations in `cls`."""
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
    """The language of a text: by script if it has `least_share` of the letters, else by common words. A sentence that
    is mostly an address has few letters of its own script, and no common word of another language.
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
    """The language of a code. Raises `KeyError` if it has no module here."""
    return {language.code: language for language in languages()}[code]


@cache
def languages() -> tuple[Language, ...]:
    """All languages with a module here: the fallback first, the others by code."""
    codes = sorted(each.name for each in pkgutil.iter_modules(__path__) if len(each.name) == CODE_CHARS)
    codes.sort(key=lambda code: code != FALLBACK)
    return tuple(import_module(f"{__name__}.{code}").LANGUAGE for code in codes)


@cache
def _ways() -> tuple[list[tuple[Language, re.Pattern[str]]], list[Language]]:
    """Languages recognised by script, and languages recognised by words."""
    by_script = [(language, language.script) for language in languages() if language.script is not None]
    return by_script, [language for language in languages() if language.script is None]
