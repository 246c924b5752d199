"""The two derived forms of a text: one for indexing and detection, one that decides what is a duplicate.

Answers for nothing that is shown: stored text stays verbatim.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from mnemic.text.scripts import INVISIBLE

KEY_CHARACTERS = 200
"""Longest duplicate key that is kept as text; longer ones become a digest."""

DIGEST_PREFIX = "sha256:"

FIRST_CHARACTERS, FIRST_LETTERS = 80, 24
"""Texts that begin alike are compared in full; white space and marks before the letters may take the rest."""

_MARKS = str.maketrans({"\u2014": " ", "\u2026": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
"""Typographic marks as what they stand for; a dash of a sentence and an ellipsis part words."""

_BEFORE = "\"'([{\u201e\u00ab\u00bb\u300c\u300e\u3010"
_BEHIND = "\"')]}.,;:!\u00ab\u00bb\u3001\u3002\u300d\u300f\u3011"
_ALONE = "\"'.,;:!\u2013\u3001\u3002"

_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_NO_LETTER = re.compile(r"[\W_]+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _width_table() -> dict[int, str]:
    """Full- and half-width forms to the ordinary character, by the one-step mapping of the Unicode data."""
    table: dict[int, str] = {}
    for code in (0x3000, *range(0xFF01, 0xFFEF)):
        mapping = unicodedata.decomposition(chr(code)).split()
        if mapping and mapping[0] in ("<wide>", "<narrow>"):
            table[code] = chr(int(mapping[1], 16))
    return table


_WIDTH = _width_table()


def visible(text: str) -> str:
    """The text without characters that show nothing (zero-width, soft hyphen, direction marks, selectors)."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def normalise(text: str) -> str:
    """The form that detectors and indexes look at; never stored in place of the text.

    Compatibility characters are replaced (NFKC: full and half width, ligatures, circled digits), case is folded,
    invisible characters are removed, control characters and lone surrogates become blanks, every run of white space
    one blank, and both ends are trimmed. Normalising twice changes nothing. No string raises.
    """
    folded = _UNPRINTABLE.sub(" ", visible(text)).casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded).casefold())
    return " ".join(folded.split())


def dedup_key(text: str) -> str:
    """The key under which two texts are the same: a Unicode-aware lower(trim(text)) of their words.

    Equal for texts that differ in case (Unicode case folding), full or half width, Unicode composition (canonical
    equivalence), in runs of white space around or between words, and in the punctuation around words (full stops,
    commas, colons, exclamation marks, quotes, brackets, dashes of a sentence), and in nothing else: accents, invisible
    characters, question marks, and marks inside of words, numbers and names (1.5, -5, C++, .env, f(x)) count.
    The key itself has at most 200 characters and can be stored in any database: where it would be longer, hold a NUL or
    a lone surrogate, or look like a digest, it is "sha256:" and 64 hexadecimal digits of the full form.
    """
    key = " ".join(key_words(text))
    if len(key) <= KEY_CHARACTERS and not key.startswith(DIGEST_PREFIX) and not _UNSTORABLE.search(key):
        return key
    return DIGEST_PREFIX + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class SameTexts:
    """Texts to compare by `dedup_key`, which is only made where the first words agree: it reads a text word by word."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._keys: dict[str, set[str]] = {}

    def add(self, text: str) -> None:
        """Keep a text to compare others with."""
        self._texts.setdefault(_first_words(text), []).append(text)

    def __contains__(self, text: str) -> bool:
        first = _first_words(text)
        if first not in self._texts:
            return False
        keys = self._keys.setdefault(first, set())
        keys.update(map(dedup_key, self._texts[first]))
        self._texts[first].clear()
        return dedup_key(text) in keys


def _first_words(text: str) -> str:
    """The first letters and digits: the same for texts of one key."""
    return _NO_LETTER.sub("", normalise(text[:FIRST_CHARACTERS]))[:FIRST_LETTERS]


def key_words(text: str) -> list[str]:
    """The words that the key of a text is made of, in order: folded, and without the punctuation around them."""
    folded = text.casefold()
    if not text.isascii():
        narrow = unicodedata.normalize("NFD", text.translate(_WIDTH))
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", narrow.casefold())).translate(_MARKS)
    words = folded.split()
    return [bare for word in words if (bare := _bare(word))] or words


def _bare(word: str) -> str:
    """A word without the punctuation around it; "" for punctuation that stands alone, but :-) stays what it is."""
    if word.isalnum():
        return word
    return word.strip(_ALONE) and (word.lstrip(_BEFORE).rstrip(_BEHIND) or word)
