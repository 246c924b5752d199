"""What a text looks like to a reader who is not picky: the folded views that detectors search, with the way back.

Answers for folding and decoding only: width, case, accents, look-alike letters of other scripts, invisible characters,
runs of white space, spaced-out letters, digits in place of letters, and text hidden in a plain encoding. Answers for no
pattern, and never for what is stored.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
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


def decoded(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Each encoded passage that decodes to readable text: its half-open span, and that text (never longer)."""
    for sign, expression, decode in _ENCODINGS:
        for match in expression.finditer(text) if sign in text else ():
            readable = decode(match[0]) if len(match[0]) >= MIN_CHARACTERS else ""
            if readable and sum(map(str.isprintable, readable)) >= READABLE_SHARE * len(readable):
                yield match.span(), readable


def mirrored(view: View) -> Iterator[View]:
    """The view in rot13, and backwards, each only where telling words of an order show in it."""
    for turned, anchors in ((_rot13(view), _ROT13_ANCHORS), (_backwards(view), _BACKWARD_ANCHORS)):
        if any(anchor in view.text for anchor in anchors):
            yield turned


READABLE_SHARE = 0.9
"""Share of printable characters below which decoded bytes are no text."""

MIN_CHARACTERS = 20
"""Shorter passages are words, numbers and names, and hold no order."""

_ANCHORS = ("ignore", "instruct", "prompt", "forget", "disregard", "reveal", "system")
_ROT13_ANCHORS = tuple(codecs.encode(anchor, "rot13") for anchor in _ANCHORS)
_BACKWARD_ANCHORS = tuple(anchor[::-1] for anchor in _ANCHORS)


def _rot13(view: View) -> View:
    return View(codecs.encode(view.text, "rot13"), view.origins)


def _backwards(view: View) -> View:
    return View(view.text[::-1], view.origins[::-1])


def _utf8(raw: bytes) -> str:
    return raw.decode("utf-8", "replace") if raw.count(0) == 0 else ""


def _base64(encoded: str) -> str:
    body = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _utf8(base64.b64decode(body[: len(body) // 4 * 4]))
    except binascii.Error:
        return ""


def _hexadecimal(encoded: str) -> str:
    return _utf8(bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", encoded.replace("0x", ""))))


def _binary(encoded: str) -> str:
    digits = re.sub(r"\s", "", encoded)
    return _utf8(bytes(int(digits[i : i + 8], 2) for i in range(0, len(digits), 8)))


def _escapes(encoded: str) -> str:
    return "".join(chr(int(code, 16)) for code in re.findall(r"[0-9a-fA-F]{4}", encoded))


_ENCODINGS: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("", re.compile(r"[A-Za-z0-9+/_-]++={0,2}"), _base64),
    ("", re.compile(r"(?<![0-9a-fA-F])(?:(?:\\x|0x)?[0-9a-fA-F]{2}[ :,]?){10,}+"), _hexadecimal),
    ("01", re.compile(r"(?<![01])(?:[01]{8}\s?){8,}+"), _binary),
    ("\\u", re.compile(r"(?:\\u[0-9a-fA-F]{4}\s?){6,}+"), _escapes),
    ("&#", re.compile(r"(?:&#x?[0-9a-fA-F]{2,6};){6,}+"), html.unescape),
    ("%", re.compile(r"(?:[\w.~-]{0,8}%[0-9a-fA-F]{2}){3,}+[\w.~-]{0,20}"), urllib.parse.unquote),
)
"""Of each encoding a sign without which it is not there, what it looks like, and how it is read."""
