"""Unicode ranges of scripts, normal forms of text, and lazily compiled patterns.

The ranges decide how words are split. They come from Unicode 14, not from the interpreter, so that they are the same on
every machine; decimal digits are in none. One normal form is for indexing and detection, another for duplicates.
Compiling all patterns takes tens of milliseconds, which a process that answers one question need not wait for.
"""

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, partial
from importlib import resources
from typing import cast

HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""Chinese characters, radicals and iteration marks."""

KANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"
"""Hiragana and Katakana, half width included, with the long-vowel and voicing marks."""

HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff"
"""Korean syllables and letters. Korean writes blanks, but attaches its particles to the word."""

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
"""Those that are attached to the preceding consonant."""

STACKERS = "\u1039\u17d2"
"""Signs that stack the next consonant below (Myanmar virama, Khmer coeng): the cluster continues."""

KANA_MARKS = "\u3099\u309a\uff9e\uff9f"  # voicing marks, attached to the kana before
UNSEGMENTED = HAN + KANA + SOUTH_EAST_ASIAN  # scripts without blanks between words
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
"""Combining marks of all other scripts, which continue a word; letters between two marks are included."""

OPTIONAL_MARKS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670"
"""Optional signs: Hebrew points, Arabic vowel signs and the stretching line."""

INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef"
)
"""Format characters and variation selectors: invisible, used to hyphenate, to order, or to hide words."""


_LOOKED_AT_CHARS = 2000  # show the script, in less than a millisecond
_MOST_OTHERS = 0.25  # lets an English text name a few foreign words
_LATIN_ENDS = 0x250  # the first code point after Latin Extended-B
_LATIN_FURTHER = ((0x1E00, 0x1F00), (0xFF21, 0xFF5B))
"""Latin Extended Additional (Vietnamese and others), and the full-width letters."""


class Writing(StrEnum):
    """`latin`: at most a quarter of the letters are of other scripts; else `other`."""

    LATIN = "latin"
    OTHER = "other"


def writing_of(text: str) -> Writing | None:
    """The writing of the letters at the start of a text; None without letters."""
    letters = [ord(character) for character in text[:_LOOKED_AT_CHARS] if character.isalpha()]
    if not letters:
        return None
    others = sum(not _is_latin(letter) for letter in letters)
    return Writing.OTHER if others > _MOST_OTHERS * len(letters) else Writing.LATIN


def _is_latin(letter: int) -> bool:
    return letter < _LATIN_ENDS or any(start <= letter < end for start, end in _LATIN_FURTHER)


KEY_CHARACTERS = 200  # longest duplicate key kept as text; longer ones become a digest
DIGEST_PREFIX = "sha256:"

FIRST_CHARACTERS, FIRST_LETTERS = 80, 24
"""Texts with the same first 24 letters, within 80 characters, are compared in full."""

_MARKS = str.maketrans({"\u2014": " ", "\u2026": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
"""Typographic marks as plain ones. Dashes between words and ellipses separate words."""

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
    """The text without invisible characters (zero-width, soft hyphen, direction marks, selectors)."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def normalise(text: str) -> str:
    """The form for detectors and indexes; never stored in place of the text. NFKC replaces compatibility characters
    (full and half width, ligatures, circled digits), case is folded, and invisible characters are removed. Control
    characters, lone surrogates and runs of white space become one blank; both ends are trimmed. Idempotent. No string
    raises.
    """
    folded = _UNPRINTABLE.sub(" ", visible(text)).casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded).casefold())
    return " ".join(folded.split())


def dedup_key(text: str) -> str:
    """The key of duplicate texts: a Unicode-aware lower(trim(text)) of their words.

    Ignores case (Unicode case folding), full or half width, canonical composition, white space, and punctuation around
    words: full stops, commas, colons, exclamation marks, quotes, brackets, dashes. Keeps accents, invisible characters,
    question marks, and marks inside words, numbers and names (1.5, -5, C++, .env, f(x)). At most 200 characters that
    any database can store. A key that is longer, holds a NUL or a lone surrogate, or resembles a digest becomes
    "sha256:" and 64 hexadecimal digits of the full form.
    """
    key = " ".join(key_words(text))
    if len(key) <= KEY_CHARACTERS and not key.startswith(DIGEST_PREFIX) and not _UNSTORABLE.search(key):
        return key
    return DIGEST_PREFIX + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class SameTexts:
    """A set of texts by `dedup_key`. The key is only made if the first words agree, since it reads word by word."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._keys: dict[str, set[str]] = {}

    def add(self, text: str) -> None:
        """Add a text."""
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
    """The first letters and digits, equal for texts with one key."""
    return _NO_LETTER.sub("", normalise(text[:FIRST_CHARACTERS]))[:FIRST_LETTERS]


def key_words(text: str) -> list[str]:
    """The words of a text's key, in order: folded, without punctuation around them."""
    folded = text.casefold()
    if not text.isascii():
        narrow = unicodedata.normalize("NFD", text.translate(_WIDTH))
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", narrow.casefold())).translate(_MARKS)
    words = folded.split()
    return [bare for word in words if (bare := _bare(word))] or words


def _bare(word: str) -> str:
    """A word without punctuation around it; "" for punctuation alone, except smileys such as :-)."""
    if word.isalnum():
        return word
    return word.strip(_ALONE) and (word.lstrip(_BEFORE).rstrip(_BEHIND) or word)


def late_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but compiled on first use. Supports the pattern's methods, not `re.sub(pattern, …)` or
    `isinstance`. Thread-safe: at worst two threads compile the same.
    """
    return cast("re.Pattern[str]", _LatePattern(lambda: source, flags))


any_case = partial(late_pattern, flags=re.IGNORECASE)
"""A late pattern that ignores case."""


def stored_pattern(module: str, name: str) -> re.Pattern[str]:
    """As `late_pattern`, for a text in a module's data file (see `stored_texts`)."""
    return cast("re.Pattern[str]", _LatePattern(lambda: stored_texts(module)[name]))


@cache
def stored_texts(module: str) -> Mapping[str, str]:
    """The texts in the `.toml` beside a module. Lists are joined; `@name@` inserts an earlier text."""
    package, _, name = module.rpartition(".")
    data = tomllib.loads(resources.files(package).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    texts: dict[str, str] = {}
    for key, written in data.items():
        texts[key] = _PART.sub(lambda part: texts[part[1]], "".join(written))
    return texts


_PART = re.compile(r"@(\w+)@")


class _LatePattern:
    """Looks up methods of the compiled pattern and keeps them, so later uses cost nothing extra."""

    def __init__(self, read: Callable[[], str], flags: int = 0) -> None:
        self._read, self._flags = read, flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self._read(), self._flags), name)  # `re` caches compiled patterns
        setattr(self, name, found)
        return found
