"""What a text looks like to a reader who is not picky: the folded views that detectors search, with the way back.

Answers for folding only: width, case, accents, look-alike letters of other scripts, invisible characters, runs of
white space, spaced-out letters, digits in place of letters. Answers for no pattern, and never for what is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mnemic.text.normalise import visible

REDACTED = "[REDACTED]"
"""What stands in place of a redacted passage; folded away, so that it cannot keep the parts of an order apart."""

MAX_FOLD_CHARACTERS = 4
"""A character whose folded form is longer stays as it is: no text grows beyond this factor."""

# Capitals and small letters of Cyrillic, Greek and other alphabets that are drawn like a Latin letter.
_LOOK_ALIKES = str.maketrans(
    "аеорсухкмтвіїјѕԁһԛԝαοινρκτυεχɑɡɩıօսոցհɪʀʏАЕОРСУХКМТВНнІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxkmtbiijsdhqwaoivpktuexagiiounghiryaeopcyxkmtbhhijsabezhikmnoptyx",
)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－─━⸺⸻➖╌╍┄┅"), "-")
_QUOTES = dict.fromkeys(map(ord, "’‘‛ʼ´`"), "'")
_LEET = str.maketrans("013457@$", "oieastas")
_BLANKS = re.compile(r"\s\s|[\t\v\f\r\x1c-\x1f\x00-\x08\x0e-\x1b\x7f]")
_SPACED_OUT = re.compile(r"(?<![^\W_])[^\W_](?:[ \-_.*|/+,~]{1,3}[^\W_](?![^\W_])){4,}")
_RUN = re.compile(r"[\x00-\x20\x7f]+")
_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e")
_SIGNED = re.compile(r"(?<![\w@$])(?=[\w@$]*[013457@$])[\w@$]+")


@dataclass(frozen=True, slots=True)
class View:
    """A folded text; `origins[i]` is the index, in the text it was made from, of what its character `i` stands for."""

    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span of the original text behind the half-open, not empty span of this view."""
        first, last = sorted((self.origins[start], self.origins[end - 1]))
        return first, last + 1


def fold(text: str) -> View:
    """The text in small unaccented letters, look-alikes as Latin letters, without invisible characters.

    A run of white space or control characters is one line feed if it holds a line break, else one blank. `[REDACTED]`
    counts as blanks. No string raises; at most `MAX_FOLD_CHARACTERS` times as long as the text.
    """
    text = text.replace(REDACTED, " " * len(REDACTED))
    if text.isascii() and not _BLANKS.search(text):
        return View(text.lower().replace("`", "'"), range(len(text)))
    return _fold_ascii(text) if text.isascii() else _fold_each(text)


def _fold_ascii(text: str) -> View:
    """As `_fold_each`, for a text without other characters: only runs of blanks take work."""
    pieces: list[str] = []
    origins: list[int] = []
    last = 0
    for run in _RUN.finditer(text):
        pieces += [text[last : run.start()], " " if _BREAKS.isdisjoint(run[0]) else "\n"]
        origins.extend(range(last, run.start() + 1))
        last = run.end()
    pieces.append(text[last:])
    origins.extend(range(last, len(text)))
    return View("".join(pieces).lower().replace("`", "'"), origins)


def _fold_each(text: str) -> View:
    folded: list[str] = []
    origins: list[int] = []
    for index, character in enumerate(text):
        for piece in _fold_character(character):
            if piece in " \n" and folded and folded[-1] in " \n":
                if piece == "\n":
                    folded[-1] = piece
                continue
            folded.append(piece)
            origins.append(index)
    return View("".join(folded), origins)


def fold_pattern(source: str) -> str:
    """The source of a regular expression with its literal characters folded as `fold` folds a text.

    Inside character classes only characters whose folded form is one character may stand.
    """
    return "".join(c if c.isascii() else _fold_character(c) for c in source)


def gathered(view: View) -> View | None:
    """The view with spaced-out letters ("i g n o r e") put together; None where there are none.

    At least five single letters in a row count; blanks between spaced-out words are lost with them.
    """
    pieces: list[str] = []
    origins: list[int] = []
    last = 0
    for match in _SPACED_OUT.finditer(view.text):
        pieces.append(view.text[last : match.start()])
        origins.extend(view.origins[last : match.start()])
        for index in range(match.start(), match.end()):
            if view.text[index].isalnum():
                pieces.append(view.text[index])
                origins.append(view.origins[index])
        last = match.end()
    if not last:
        return None
    pieces.append(view.text[last:])
    origins.extend(view.origins[last:])
    return View("".join(pieces), origins)


def unleeted(view: View) -> tuple[View, list[tuple[int, int]]] | None:
    """The view with digits and signs inside words read as letters ("1gn0r3"), and the spans of these words, which stay
    as long; None where no word holds any.
    """
    pieces: list[str] = []
    words: list[tuple[int, int]] = []
    last = 0
    for match in _SIGNED.finditer(view.text):
        if any(map(str.isalpha, match[0])):
            pieces += [view.text[last : match.start()], match[0].translate(_LEET)]
            words.append(match.span())
            last = match.end()
    if not words:
        return None
    return View("".join([*pieces, view.text[last:]]), view.origins), words


@lru_cache(maxsize=1 << 16)
def _fold_character(character: str) -> str:
    if character in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029":
        return "\n"
    if character.isspace() or unicodedata.category(character) in ("Cc", "Cs"):
        return " "
    if not visible(character):
        return ""
    plain = character.translate(_DASHES).translate(_QUOTES).translate(_LOOK_ALIKES)
    decomposed = unicodedata.normalize("NFKD", plain)
    # Marks of scripts that cannot be read without them (Indic vowels, Hangul, kana) go too: patterns lose the same.
    bare = "".join(c for c in decomposed if not unicodedata.combining(c)).translate(_DASHES).translate(_LOOK_ALIKES)
    folded = bare.casefold()
    if len(folded) > MAX_FOLD_CHARACTERS:
        return character
    return " " if folded.isspace() else folded
