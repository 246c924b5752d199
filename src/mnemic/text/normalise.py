"""Scripts, the derived forms of a text, and expressions that are compiled when first used.

The ranges of scripts say how words are told apart. They are taken from Unicode 14, not from the interpreter, so that
they are the same on every machine; decimal digits are in none. One derived form is for indexing and detection, one
decides what is a duplicate. Compiling all expressions takes tens of milliseconds, which a process that answers one
question need not wait for.
"""

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import cast

HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""Chinese characters, radicals and the iteration marks."""

KANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"
"""Hiragana and Katakana, half width included, with the long-vowel and voicing marks."""

HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff"
"""Korean syllables and letters. Korean writes blanks, but hangs its particles on the word."""

SOUTH_EAST_ASIAN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd"  # Khmer
)
"""Thai, Lao, Myanmar and Khmer: no blanks between words, vowels and tones attached to a consonant."""

SOUTH_EAST_ASIAN_MARKS = (
    "\u0e31\u0e33-\u0e3a\u0e47-\u0e4e"  # Thai; SARA AM (0e33) counts as attached
    "\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ecd"  # Lao
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\ua9e5\uaa7b-\uaa7d"
    "\u17b4-\u17d3\u17dd"  # Khmer
)
"""Those of them that are attached to the consonant before."""

STACKERS = "\u1039\u17d2"
"""Signs that put the next consonant under the one before (Myanmar virama, Khmer coeng): the cluster goes on."""

KANA_MARKS = "\u3099\u309a\uff9e\uff9f"
"""Voicing marks, attached to the kana before."""

UNSEGMENTED = HAN + KANA + SOUTH_EAST_ASIAN
"""Scripts that put no blanks between words."""

MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u08e1\u08e3-\u0963"
    "\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d"
    "\u0d57-\u0d63\u0d81-\u0df3\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6\u135d-\u135f\u1712-\u1734"
    "\u1752-\u1773\u180b-\u180d\u180f-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3"
    "\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1dff\u2cef-\u2cf1\u2d7f-\u2dff\u302a-\u302f\ua66f-\ua672\ua674-\ua67d"
    "\ua69e-\ua6f1\ua802-\ua827\ua82c\ua880-\ua8c5\ua8e0-\ua8f1\ua8ff-\ua92d\ua947-\ua953\ua980-\ua9c0\uaa29-\uaa4d"
    "\uaaeb-\uaaef\uaaf5-\uaaf6\uabe3-\uabea\uabec-\uabed\ufb1e\ufe20-\ufe2f"
    "\U00011000-\U00011046\U00011070-\U000110ba\U000110c2\U00011100-\U00011134\U00011145-\U00011173"
    "\U00011180-\U000111c0\U0001122c-\U00011237\U000112df-\U00011446\U0001145e-\U000114c3\U000115af-\U000115c0"
    "\U000115dc-\U00011640\U000116ab-\U000116b7\U0001e8d0-\U0001e94a"
)
"""Combining marks of all other scripts, which continue a word; letters that lie between two marks are included."""

OPTIONAL_MARKS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670"
"""Hebrew points, Arabic vowel signs and the stretching line: written or left out at will."""

INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef"
)
"""Format characters and variation selectors: nothing to see, used to hyphenate, to order, or to hide words."""


_LOOKED_AT_CHARS = 2000  # show the script, in less than a millisecond
_MOST_OTHERS = 0.25  # lets an English text name a few foreign words
_LATIN_ENDS = 0x250  # the first code point behind Latin Extended-B
_LATIN_FURTHER = ((0x1E00, 0x1F00), (0xFF21, 0xFF5B))
"""Latin Extended Additional (Vietnamese and others), and the full-width letters."""


class Writing(StrEnum):
    """`latin`: at most a quarter of the letters are of other scripts; else `other`."""

    LATIN = "latin"
    OTHER = "other"


def writing_of(text: str) -> Writing | None:
    """The writing of the letters at the start of a text; None when there is no letter."""
    letters = [ord(character) for character in text[:_LOOKED_AT_CHARS] if character.isalpha()]
    if not letters:
        return None
    others = sum(not _is_latin(letter) for letter in letters)
    return Writing.OTHER if others > _MOST_OTHERS * len(letters) else Writing.LATIN


def _is_latin(letter: int) -> bool:
    return letter < _LATIN_ENDS or any(start <= letter < end for start, end in _LATIN_FURTHER)


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


def late_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, which is called with the first use. Only what is called on the pattern works, not
    `re.sub(pattern, …)` or `isinstance`. May be used by several threads: the worst is that two compile the same.
    """
    return cast("re.Pattern[str]", _LatePattern(lambda: source, flags))


def stored_pattern(module: str, name: str) -> re.Pattern[str]:
    """As `late_pattern`, of a text in the data file of a module (see `stored_texts`)."""
    return cast("re.Pattern[str]", _LatePattern(lambda: stored_texts(module)[name]))


@cache
def stored_texts(module: str) -> Mapping[str, str]:
    """The texts in the `.toml` beside a module. Lists are joined; `@name@` stands for a text further up."""
    package, _, name = module.rpartition(".")
    data = tomllib.loads(resources.files(package).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    texts: dict[str, str] = {}
    for key, written in data.items():
        texts[key] = _PART.sub(lambda part: texts[part[1]], "".join(written))
    return texts


_PART = re.compile(r"@(\w+)@")


class _LatePattern:
    """Finds methods of the compiled expression, and keeps them: a second use costs no more than without."""

    def __init__(self, read: Callable[[], str], flags: int = 0) -> None:
        self._read, self._flags = read, flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self._read(), self._flags), name)  # `re` keeps what it has compiled
        setattr(self, name, found)
        return found
