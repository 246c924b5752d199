"""Finds names in a text, with their comparison key and type. A name starts with a capital. Words around it are in
`words.toml` and the languages, loaded on first use. Languages without blanks have rules of their own (`ClauseRules`).
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
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
    starting: frozenset[str]
    doubtful: frozenset[str]
    no_names: frozenset[str]
    given: frozenset[str]
    greeting: frozenset[str]
    reading: frozenset[str]
    compounds: tuple[str, ...]
    before: Mapping[str, EntityType]
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


_ENGLISH = ["alone", "starting", "doubtful", "no_names", "given", "greeting", "reading"]


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
        openers=listed("openers"),
        **{field: frozenset(data["words"][field].split()) for field in _ENGLISH},
        compounds=tuple(f"-{ending}" for ending in data["words"]["compounds"].split()),
        before=_read_types([data["before"]]),
        speaker=re.compile(rf"(?<![\w'\u2019])(?:(?:I|[Uu]ser)(?=['\u2019\s])|(?:{alone})(?=\s))"),
        kind=re.compile(
            rf"(?:,\s+|['\u2019]s\s+|\s+(?:{copulas})\s+)(?:{determiners})\s+(?P<words>[\w-]{{2,20}}(?:\s[\w-]{{2,20}}){{0,3}})"
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
    f"[^\\W_{_ALONE}](?:[^\\W_{_ALONE}]|[.&+#/_-](?=[^\\W_{_ALONE}])|(?<=[A-Z]):(?=[A-Z])|['\u2019](?=[^\\W_{_ALONE}]{{2}}))*+[+#]{{0,2}}"
)
_TOKEN = late_pattern(f"[{_ALONE}]|[^\\W{_ALONE}](?:[^\\s{_ALONE}]*[^\\W{_ALONE}])?[+#]{{0,2}}")
_IS_ALONE = late_pattern(f"[{_ALONE}]")
_EDGES = (
    " \t\"'.,;:!?()[]{}<>*_`~|/\\-\u2018\u2019\u201c\u201d\u00ab\u00bb"
    "\u300a\u300b\u300c\u300d\u3001\u3002\uff0c\u2013\u2014"
)
_ARTICLE = "the "
_LEAD = r"[\s\d.)*_#>\u2013\u2014\"\u201c\u2022(\[+-]"  # marks, digits and white space
_BEGIN = late_pattern(rf"(?:^|[!?\u2026:;|]){_LEAD}*+\Z|(?<!{_LEAD})(?={_LEAD}*+\Z){_LEAD}*?[.\n\"\u201c\u2022]")
"""What stands before a word with a capital by its place: the start of a sentence, a list item or a quotation."""

_QUOTED = late_pattern(
    r"(?<!\w)[\"\u201c'\u2018](?P<title>[A-Z0-9](?:[^\"\u201c\u201d\u2018\u2019'\n]|['\u2019](?=\w)){2,60}?)[.,!?]?[\"\u201d'\u2019](?!\w)"
)
"""A title in quotation marks, as far as its words have capitals: "The Name of the Wind"."""

_GREETED_END = frozenset("!,.?")  # behind the name of someone greeted
_LABEL_END = late_pattern(r"[*_\"\u201d]*\s*(?:[:\u2013\u2014-]|\Z)")
_TITLE = late_pattern(r"\s*(?:#.*|(?:(?:[-*+\u2022]|\d{1,3}[.)])\s+)?(?:\*\*|__).*?(?:\*\*|__))")
"""A heading, or the bold words at the start of a list item: every word may have a capital there."""

_SHORT_FORM = late_pattern("['\u2019](?:ll|ve|re)$")
_BLANK = late_pattern(r"\[[^\[\]\n]{1,40}\](?!\()")  # to be filled in: "[Company Name]", unlike a link
_INITIALS = late_pattern(r"(?:\w\.){1,3}")
_MOST_OF_PERSON = 3  # words of a person's name; a longer one is a title
_LEAST_FORM = 5  # letters; a longer word on -ing or -ed may be a form of a verb
_LOOK_BACK = 12  # characters before a word that show whether it begins a sentence
_INSIDE = frozenset(("of", "de", "da", "do", "dos", "del", "di", "von", "van", "der", "den", "la", "le", "al", "bin"))
_SPEAKERS = ("i", "user", "assistant")
_FEW_WORDS = 6  # a sentence of fewer may consist of names ("Anna met Bob.")
_MOSTLY_NAMES = 0.34
"""If a larger share of the parts inside a sentence is capitalised, capitals mark no names: German, titles, shouting."""


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
        if type_ is not None:
            return type_
    is_person = words[0] in load_words().given or (len(words) > 1 and _INITIALS.fullmatch(words[0]))
    return EntityType.PERSON if is_person and len(words) <= _MOST_OF_PERSON else EntityType.THING


def names_in(text: str, start: int, end: int) -> list[Name]:
    """The names in one sentence, in order."""
    words = [_Word(match.group(), match.start(), match.end()) for match in _WORD.finditer(text, start, end)]
    inside = [word.is_capital for word in words[1:] if word.text.lower().split("'")[0] not in _SPEAKERS]
    runs = sum(is_capital and not before for before, is_capital in pairwise((False, *inside)))
    parts = runs + inside.count(False)  # a name counts once, however many words it has
    tells = runs <= _MOSTLY_NAMES * parts or len(inside) < _FEW_WORDS
    title = _TITLE.match(text, start, end)
    titled = start if title is None else title.end()
    quoted = {match.start("title"): match for match in _QUOTED.finditer(text, start, end) if _is_title(match["title"])}
    found: list[Name] = []
    place = 0
    while place < len(words):
        length = _run(text, words, place)
        if match := quoted.get(words[place].start):
            length = sum(match.start() < word.start < match.end() for word in words)
            found.append(_title(match, words[place - 1].text.lower() if place else ""))
        elif length:
            run = words[place : place + length]
            is_telling = tells and run[0].start >= titled
            found += _name(text, (start, end), words[place - 1].text if place else "", run, is_telling=is_telling)
        place += max(length, 1)
    return found


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def is_capital(self) -> bool:
        """True for a capital at the start, or inside as in iPhone; not for an adjective as in Spanish-style."""
        return any(character.isupper() for character in self.text) and not self.text.endswith(load_words().compounds)

    @property
    def is_opener(self) -> bool:
        return _SHORT_FORM.sub("", self.text.lower()) in load_words().openers

    @property
    def is_stop(self) -> bool:
        return _SHORT_FORM.sub("", self.text.lower()) in STOP_WORDS


def _run(text: str, words: Sequence[_Word], place: int) -> int:
    """How many words from here form one name; 0 for none."""
    first = words[place].text.lower()
    is_negation = text[words[place].end : words[place].end + 2] in ("'t", "\u2019t")
    if not words[place].is_capital or first in _SPEAKERS or is_negation:
        return 0
    if load_words().kinds.get(first) is EntityType.PERSON:
        return 0
    end = place + 1
    while end < len(words) and end - place < MOST_NAME_WORDS and _goes_on(text, words[end - 1], words[end]):
        word, behind = words[end], words[end + 1] if end + 1 < len(words) else None
        if (word.is_capital and word.text != "I") or word.text.isdecimal():
            end += 1
        elif word.text in _INSIDE and behind is not None and behind.is_capital and _goes_on(text, word, behind):
            end += 2
        elif text[word.start : word.start + 7] == "of the " and end + 2 < len(words) and words[end + 2].is_capital:
            end += 3
        else:
            break
    return end - place


def _goes_on(text: str, word: _Word, following: _Word) -> bool:
    between = text[word.end : following.start]
    is_initial = word.text[-1].isupper() and word.text[-2:-1] in ("", ".")
    return between in (" ", "\u00a0") or (
        between == ". " and (is_initial or word.text.lower() in load_words().honorifics)
    )


def _name(text: str, span: tuple[int, int], before: str, run: Sequence[_Word], *, is_telling: bool) -> list[Name]:
    """The name of a run behind the word `before`, without the opener of a sentence; empty if nothing is left."""
    table, begin = load_words(), max(span[0], run[0].start - _LOOK_BACK)
    is_first = _BEGIN.search("\0" * (begin > span[0]) + text[begin : run[0].start]) is not None
    whole, is_start = len(run), is_first
    while run:
        is_verb = is_first and len(run) == whole and _is_verb(run)
        is_opener = run[0].is_opener or ((is_start or len(run) == 1) and run[0].is_stop)
        is_dropped = is_verb or is_opener or run[0].text.lower() in table.dropped_first
        is_known = text[run[0].start : run[-1].end].lower() in table.known
        if not is_dropped or (is_known and (len(run) > 1 or run[0].text.isupper())):
            break
        before, run = run[0].text, run[1:]
    is_first = is_first and len(run) == whole
    shown = clean_name(text[run[0].start : run[-1].end]) if run else ""
    if not name_key(shown) or _is_no_name(run) or _BLANK.match(text, max(run[0].start - 1, 0)):
        return []
    is_label = (len(run) < whole or is_first) and _LABEL_END.match(text, run[-1].end, span[1]) is not None
    is_sure = is_telling and not is_label and (not is_first or len(run) > 1)
    type_ = type_of(shown)
    if type_ is THING:
        end = text[run[-1].end : run[-1].end + 1]
        is_greeted = (before.lower() in table.greeting and end in _GREETED_END) or (
            len(run) == 1 and end in ("!", "?") and text[max(run[0].start - 2, 0) : run[0].start] == ", "
        )
        told = EntityType.PERSON if is_greeted else THING
        type_ = table.kinds.get(before.lower(), table.before.get(before.lower(), told))
    return [Name(shown, run[0].start, run[-1].end, type_, is_sure)]


def _is_title(quoted: str) -> bool:
    """True for two words and more, all with capitals, except small ones inside."""
    words = quoted.split()
    return 1 < len(words) <= MOST_NAME_WORDS and all(w[0].isupper() or w[0].isdigit() or w in STOP_WORDS for w in words)


def _title(quoted: re.Match[str], before: str) -> Name:
    """A title behind the word `before` as a name. Its type is open, as it may be speech, unless somebody read it or the
    word is its kind.
    """
    table, shown = load_words(), clean_name(quoted["title"])
    told = EntityType.PRODUCT if before in table.reading else table.kinds.get(before, EntityType.THING)
    return Name(shown, *quoted.span("title"), table.known.get(name_key(shown), told), is_sure=True)


def _is_verb(run: Sequence[_Word]) -> bool:
    """True if a sentence's first word, which has its capital by its place, is no part of the name behind it. Words that
    may be nouns are none before a name that is known by itself: "Learning German", but "Billing Service".
    """
    table, word, rest = load_words(), run[0].text.lower(), [each.text.lower() for each in run[1:]]
    if word in table.starting or not rest:
        return word in table.starting
    is_doubtful = word in table.doubtful or (len(word) > _LEAST_FORM and word.endswith(("ing", "ed")))
    is_known = rest[0] in table.given or rest[0] in table.no_names or " ".join(rest) in table.known
    return is_doubtful and is_known and word not in table.given


def _is_no_name(run: Sequence[_Word]) -> bool:
    """True for numbers, letters, a mere kind, common words, and roles such as "Product Manager"."""
    table, word, last = load_words(), run[0].text.lower(), run[-1].text.lower()
    if len(run) > 1:
        is_counted = last.isdecimal() and (word in table.alone or word in table.no_names or run[0].is_stop)
        # "Step 3", "May 12"
        return word.isdecimal() or is_counted or table.kinds.get(last) is EntityType.PERSON
    is_common = any(
        word in words for words in (table.kinds, table.suffixes, table.alone, table.starting, table.doubtful)
    )
    is_common = is_common and word not in table.known and word not in table.given
    is_plural = run[0].text[-1] == "s" and run[0].text[:-1].isupper()  # RPGs, a kind
    return is_common or is_plural or word in table.no_names or len(word) == 1 or word.isdecimal()


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
