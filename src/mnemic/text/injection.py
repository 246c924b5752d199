"""Which wordings address the model: how one is written, what it is compiled to, what its sentence must be like.

The wordings themselves are data, in `injection.toml`: those of English one by one, and for every language the words
from which orders to the model are put together. `sanitise` answers for finding and replacing them.

Sources are regular expressions over folded text (`skeleton.fold`) with four abbreviations:

- a blank: one to four characters that are neither letters, digits nor sentence ends;
- `~`: any ending of a word, up to 12 letters; `<3>`: up to three words, each with its blank;
- `{3}`: up to three characters of any kind, for scripts without blanks.

All repetition is bounded, so the time is linear in the length of the text. `needs` are folded literals of which a text
must hold at least one from every group: most texts are done after these.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal, cast

from mnemic.text.late_pattern import late_pattern
from mnemic.text.skeleton import fold_pattern

Severity = Literal["cue", "high"]
Address = Literal["any", "unreported", "order", "role"]
"""What the rest of the sentence must be: anything, no report about others, an order, an order to be somebody else."""

GAP = r"(?:(?:(?![.!?])[\W_]){1,4})"
_GROUP = re.compile(r"\([^()]*\)\??|\[[^\]]*\]\??")
_OPTIONAL = re.compile(r".\?")
_WORD = re.compile(r"[^\W_]+")
_ABBREVIATION = re.compile(r" |~|<(\d)>|\{(\d+)\}")


@dataclass(frozen=True)
class Pattern:
    """One family of wordings. A `cue` counts only in company; `address` says what its sentence must be like.

    The group `hit` of the expression, where it has one, is the passage; else the whole match is. `loose` is the same
    expression for text whose blanks are lost. `starts_word`: a match of `expression` counts only at the beginning of a
    word; kept apart because an expression that begins with letters is found far faster than one with a border.
    Expressions are compiled when they are first needed, which for most of them is never.
    """

    name: str
    severity: Severity
    source: str
    starts_word: bool
    needs: tuple[frozenset[str], ...]
    address: Address

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The source over folded text."""
        source = self.source.removeprefix(r"\b") if self.starts_word else self.source
        return re.compile(fold_pattern(_expand(source, GAP, r"(?:[^\W_]{1,24}" + GAP + "){0,%s}?")))

    @cached_property
    def loose(self) -> re.Pattern[str]:
        """The source over folded text without blanks."""
        source = self.source.replace(r"\b", "")
        return re.compile(fold_pattern(_expand(source, GAP.replace("{1,", "{0,"), r"[^\W_]{0,%s0}?")))


def wording(name: str, source: str, *needs: str, severity: Severity = "high", address: Address = "any") -> Pattern:
    """A pattern from a source in the notation of this module; `needs` are groups of literals, joined by "|"."""
    return Pattern(
        name=name,
        severity=severity,
        source=source,
        starts_word=source.startswith(r"\b") and len(_split(source)) == 1,
        needs=tuple(frozenset(fold_pattern(literal) for literal in group.split("|")) for group in needs),
        address=address,
    )


def _expand(source: str, gap: str, words: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        if match[0] == " ":
            return gap
        if match[0] == "~":
            return r"[^\W_]{0,12}"
        return words % match[1] if match[1] else rf"[^\n]{{0,{match[2]}}}?"

    return _ABBREVIATION.sub(replacement, source)


def literals(alternatives: str) -> str:
    """A group of `needs`: for each alternative of a source a literal that it cannot do without, joined by "|"."""
    return "|".join(sorted(set(_required(alternatives))))


def _required(alternatives: str) -> Iterator[str]:
    for alternative in _split(alternatives):
        outside = alternative
        while (without := _GROUP.sub("\0", outside)) != outside:
            outside = without
        words = _WORD.findall(_OPTIONAL.sub("\0", outside))
        group = re.match(r"\(\?:((?:[^()]|\([^()]*\))*)\)(?!\?)", alternative)
        if words:
            yield max(words, key=len)
        elif group:
            yield from _required(group[1])
        else:
            yield ""


def _split(alternatives: str) -> list[str]:
    depth, parts = 0, [""]
    for character in alternatives:
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


@cache
def load_wordings() -> tuple[Pattern, ...]:
    """Every wording that counts, in the order in which they are looked for. Read when a text is first looked at."""
    text = resources.files(__package__ or "").joinpath("injection.toml").read_text(encoding="utf-8")
    data: dict[str, Any] = tomllib.loads(text)
    parts = {name: _join(source) for name, source in data["parts"].items()}
    orders = [order for each in data["languages"] for order in _put_together({k: _join(v) for k, v in each.items()})]
    return (*orders, *(_read_wording(each, parts) for each in data["wordings"]))


def _join(lines: Any) -> Any:
    """A source, which may stand on several lines."""
    return "".join(cast("list[str]", lines)) if isinstance(lines, list) else lines


def _read_wording(fields: Mapping[str, Any], parts: Mapping[str, str]) -> Pattern:
    source = _PART.sub(lambda match: parts[match[1]], _join(fields["source"]))
    return wording(
        fields["name"],
        source,
        *fields.get("needs", ()),
        severity=fields.get("severity", "high"),
        address=fields.get("address", "any"),
    )


def _put_together(words: Mapping[str, Any]) -> Iterator[Pattern]:
    """Every order of a language that it has words for: to drop instructions, to reveal the prompt, to be another."""
    code, fill, edge = words["code"], words.get("fill", "<4>"), words.get("edge", r"\b")
    blank = " " if fill.startswith("<") else ""
    drop, prior, noun = (f"{edge}(?:{words[name]}){edge}" for name in ("drop", "prior", "noun"))
    named = f"(?:{prior}{blank}{fill}{noun}(?:{blank}{prior})?|{noun}{blank}{fill}{prior})"
    source = f"{drop}{blank}{fill}{named}"
    verb_last = f"{named}{'~' if blank else '{6}'}{blank}{fill}(?:{words['drop']})"
    if words.get("has_both_orders"):
        source = f"{source}|{verb_last}"
    elif words.get("is_verb_last"):
        source = verb_last
    needs = literals(words["drop"]), literals(words["noun"])
    yield wording(f"drop-instructions-{code}", source, *needs, address="unreported")
    if words.get("reveal"):  # verb and secret, in the order in which the fields hold them
        reveal, hidden = (f"{edge}(?:{words[name]})" for name in ("reveal", "hidden"))
        source = f"{reveal}{edge}{blank}{fill}{hidden}"
        yield wording(f"reveal-prompt-{code}", source, literals(words["reveal"]), literals(words["hidden"]))
    if words.get("now"):
        now, freed = (f"{edge}(?:{words[name]}){edge}" for name in ("now", "freed"))
        source = f"{now}{blank}{fill}{fill}{freed}"
        yield wording(f"new-role-{code}", source, literals(words["now"]), literals(words["freed"]))


_PART = re.compile(r"@(\w+)@")

MARKERS = late_pattern(
    r"(?:begin|end)[\W_]{0,6}(?:of[\W_]{0,6})?(?:the[\W_]{0,6})?"
    r"(?:(?:user|stored|retrieved|recalled|session|agent|organi[sz]ation)[\W_]{0,6})?"
    r"(?:facts?|documents?|messages?|conversations?|memor(?:y|ies)|profile|history|context|working[\W_]{0,6}memory)(?![^\W_])"
)
"""The words inside the markers of our blocks, over folded text; whether ruling surrounds them is checked in code."""

REACH_CHARACTERS = 100
"""How far before and after a passage its sentence is looked at."""

_SENTENCE_END = re.compile(r"[.!?;:\n\"()\[\]{}<>|•]")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_ORDER_OPENERS = _words(
    "please now then and or so just also first but you must should shall may can will have to need kindly simply "
    "always ok okay hey hi hello assistant ai chatgpt gpt claude gemini llama model bot dear stop important "
    "attention note system from on want would like your task is immediately before anything else next for this "
    "request conversation user admin urgent override new instruction instructions remember warning therefore "
    "instead completely totally d ll re are "
)
_OTHERS = _words(
    "i he she we they who people everyone nobody somebody someone it kids children users employees students players "
    "my his her our their"
)
_QUESTIONS = _words("do did does don didn doesn if when why how have has had whenever because since while")
_REPORTS = _words("that me us him her them said says means since because so if when told hear heard think believe")
_LIFE = re.compile(
    r" (?:(?:an?|the|my|our|officially|proud|happy) ){0,3}"
    r"(?:father|mother|dad|mum|mom|parent|grand\w*|uncle|aunt|godfather|godmother|brother|sister|husband|wife"
    r"|widow\w*|couple|member|citizen|resident|home ?owner|owner|subscriber|customer|graduate|teenager|adult|certified"
    r"|licensed|registered|qualified|part of|vegetarian|vegan|senior citizen|student|pensioner|retiree|guest|friend"
    r"|team|family|\w+(?:ed|ing)\b|\d+|able|ready|free to|in (?:the|your|my|a)\b|at\b|on\b|off\b|out\b|aware|welcome"
    r"|safe|eligible|good|too|so|very|much|more|less|all set|set\b|online|offline|old|done|here|there|back|home|live"
    r"|pregnant|well)"
)
_ROLE_WORDS = re.compile(
    r"\b(?:ai|assistant|chatbot|bot|llm|gpt\w*|chatgpt|language model|dan|jailbr\w+|unrestricted|uncensored|unfiltered"
    r"|unlimited|liberated|(?:developer|god|admin|debug|sudo|root|maintenance|dan|unrestricted|evil|test) mode"
    r"|no restrictions|no rules|no limits|free from|without restrictions|persona|role ?play\w*|admin\w*|root|hacker)\b"
)


def addresses_model(text: str, start: int, end: int, address: Address) -> bool:
    """Whether the folded text around the passage [start, end) is what `address` asks for."""
    if address == "any":
        return True
    before = _words_before(text, start)
    if address == "order":
        return _is_order(before)
    if address == "role":
        return _is_role(before, _SENTENCE_END.split(text[end : end + REACH_CHARACTERS], maxsplit=1)[0])
    return "you" in before or "your" in before or not _OTHERS.intersection(before)


def _words_before(text: str, start: int) -> list[str]:
    return _WORD.findall(_SENTENCE_END.split(text[max(0, start - REACH_CHARACTERS) : start])[-1])


def _is_order(before: list[str]) -> bool:
    if not before:
        return True
    if before[0] in _QUESTIONS:
        return False
    if "you" in before[-5:]:
        return True
    return not _OTHERS.intersection(before) and _ORDER_OPENERS.issuperset(before)


def _is_role(before: list[str], after: str) -> bool:
    if _ROLE_WORDS.search(after):
        return True
    if before and before[-1] in _REPORTS:
        return False
    return not _LIFE.match(after)
