"""How a wording that addresses the model is written down, and what it is compiled to.

Answers for the notation only; which wordings there are stands in `injection_patterns` and `injection_languages`.
Sources are regular expressions over folded text (`skeleton.fold`) with four abbreviations:

- a blank: one to four characters that are neither letters, digits nor sentence ends;
- `~`: any ending of a word, up to 12 letters; `<3>`: up to three words, each with its blank;
- `{3}`: up to three characters of any kind, for scripts without blanks.

All repetition is bounded, so the time is linear in the length of the text. `needs` are folded literals of which a text
must hold at least one from every group: most texts are done after these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
