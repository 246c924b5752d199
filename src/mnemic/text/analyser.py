"""Turns text into the terms that are indexed and searched, in every script, without a dictionary. Handles words, stems
and counts. Does not rank and knows no stores: an index keeps the terms unchanged.
"""

import re
import threading
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Protocol, cast

from snowballstemmer import english_stemmer

from mnemic.errors import InvalidInputError
from mnemic.text import normalise as scripts
from mnemic.text.normalise import late_pattern, visible

_WORDS = """
a an the this that these those such i me my mine myself we us our ours ourselves you your yours yourself
yourselves he him his himself she her hers herself it its itself they them their theirs themselves and or but
nor so if then than as because while although though of in on at by to for from with into onto upon about
between among through during over under am is are was were be been being do does did done doing have has had
having can could will would shall should may might must what which who whom whose when where why how there
here not no yes any some each both either neither also too very just only ever more most much many other
others please im ive id youre youve hes shes theyre theyve dont doesnt didnt isnt arent wasnt werent cant
couldnt wouldnt shouldnt wont havent hasnt hadnt whats whos wheres thats theres lets
"""

STOP_WORDS: frozenset[str] = frozenset(_WORDS.split())


VERSION = "v1"  # the only rule set so far; an index built with another one must be rebuilt
TERM_CHARACTERS = 64  # longer terms are cut, so that one endless word cannot fill an index
CACHED_WORDS = 1 << 16  # words whose terms are cached, per process (about 12 MB)
HUMPED_CHARACTERS = 4  # shorter words (`PhD`, `kHz`) are not split at their capitals

_CJK = scripts.HAN + scripts.KANA
_NO_WORD = _CJK + scripts.HANGUL + scripts.SOUTH_EAST_ASIAN
_LETTERS = f"[^\\W_{_NO_WORD}]"
_RUN = f"{_LETTERS}+(?:[{scripts.MARKS}]+{_LETTERS}*)*"
_JOINT = r"(?:[.@'\u2019-]|_+|(?<=\d)[,:/](?=\d))"
_SPECIAL = r"[A-Za-z](?:\+\+|#)(?![\w+#])"
_ASCII_WORD = late_pattern(rf"{_SPECIAL}|[A-Za-z0-9]+(?:{_JOINT}[A-Za-z0-9]+)*")
_WORD = late_pattern(
    f"{_SPECIAL}|{_RUN}(?:{_JOINT}{_RUN})*|[{_CJK}]+|[{scripts.HANGUL}]+|[{scripts.SOUTH_EAST_ASIAN}]+"
)
_UNSEGMENTED = late_pattern(f"[{scripts.UNSEGMENTED}]")
_GRAMMED = late_pattern(f"[{_NO_WORD}]")
_KOREAN = late_pattern(f"[{scripts.HANGUL}]")
_CLUSTER = late_pattern(
    f"[{_NO_WORD}][{scripts.SOUTH_EAST_ASIAN_MARKS}{scripts.KANA_MARKS}]*"
    f"(?:(?<=[{scripts.STACKERS}])[{scripts.SOUTH_EAST_ASIAN}][{scripts.SOUTH_EAST_ASIAN_MARKS}]*)*"
)
_SEGMENT = late_pattern(
    f"[{scripts.UNSEGMENTED}][{scripts.SOUTH_EAST_ASIAN_MARKS}{scripts.KANA_MARKS}]*"
    f"(?:(?<=[{scripts.STACKERS}])[{scripts.SOUTH_EAST_ASIAN}][{scripts.SOUTH_EAST_ASIAN_MARKS}]*)*"
    f"|[^\\W_{scripts.UNSEGMENTED}][^{scripts.UNSEGMENTED}]*"
)
_PIECE = late_pattern(r"\S+")
_SEPARATOR = late_pattern(r"[.@'\u2019,:/-]|_+")
_KEEPS_WHOLE = late_pattern(r"[._@\d]")
_CONTRACTION = late_pattern(r"(?:n['\u2019]t|['\u2019](?:s|m|d|ll|re|ve))$", re.IGNORECASE)
_IRREGULAR = {"ca": "can", "wo": "will", "sha": "shall"}
_GROUPED_NUMBER = late_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ACRONYM = late_pattern(r"[^\W\d_](?:\.[^\W\d_])+")
_HUMP = late_pattern(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OPTIONAL_MARKS = late_pattern(f"[{scripts.OPTIONAL_MARKS}]+")
_ACCENTED = late_pattern(
    "([\u0041-\u024f\u0370-\u052f\u1e00-\u1fff\u2c60-\u2c7f\ua640-\ua69d\ua720-\ua7ff])[\u0300-\u036f]+"
)
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"})


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 -- the package's name


_stemmer = cast("_Stemmer", english_stemmer.EnglishStemmer())
_stemming = threading.Lock()


def _fold(part: str) -> str:
    """Fold case, compatibility forms, optional marks, accents of Latin, Greek and Cyrillic letters, and digits."""
    if part.isascii():
        return part.lower()
    folded = unicodedata.normalize("NFKC", part.casefold())
    folded = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", _OPTIONAL_MARKS.sub("", folded)))
    folded = unicodedata.normalize("NFC", folded).translate(_UNDECOMPOSED)
    return "".join(str(unicodedata.decimal(character, character)) for character in folded)


@lru_cache(maxsize=8_192)
def _stem(term: str) -> str:
    if not (term.isascii() and term.isalpha()):
        return term
    with _stemming:
        return _stemmer.stemWord(term)


def _humps(part: str) -> list[str]:
    """A camelCase word and its humps. A plain word, an acronym and its plural stay whole."""
    if part[1:].islower() or part.isupper() or part[:-1].isupper() or part.isdigit():
        return [part]
    humps = [hump for hump in _HUMP.split(part) if len(hump) > 1]
    return [part, *humps] if len(part) >= HUMPED_CHARACTERS and humps != [part] else [part]


def _words_of(token: str) -> list[str]:
    """The folded, unstemmed words of a token in a script with blanks; whole identifiers and numbers first."""
    if token[-1] in "+#" or token.isdigit():
        return [_fold(token)]
    if token.isalpha():
        return [_fold(word) for word in _humps(token)]
    if _GROUPED_NUMBER.fullmatch(token):
        return [_fold(token.replace(",", ""))]
    if contraction := _CONTRACTION.search(token):
        head = token[: contraction.start()]
        token = _IRREGULAR.get(head.lower(), head) if contraction.group()[0] in "nN" else head
    if _ACRONYM.fullmatch(token):
        return [_fold(token.replace(".", ""))]
    parts = [part for part in _SEPARATOR.split(token) if part]
    words = [_fold(word) for part in parts for word in _humps(part)]
    if len(parts) > 1 and _KEEPS_WHOLE.search(token):
        return [_fold(token), *words]
    return words


def _is_grammed(token: str) -> bool:
    """True for a token of a script without blanks between words, or of Korean."""
    return not token.isascii() and _GRAMMED.match(token) is not None


def _grams(run: str, *, is_query: bool) -> list[str]:
    """Overlapping bigrams of a run of characters (with their marks); for Korean also the whole word. Indexed text also
    has the single characters, so that a query of one character finds it.
    """
    units = _CLUSTER.findall(run)
    if len(units) == 1:
        return units
    pairs = [first + second for first, second in pairwise(units)]
    grams = pairs if is_query else [*chain.from_iterable(zip(units, pairs, strict=False)), units[-1]]
    return [run, *grams] if len(pairs) > 1 and _KOREAN.match(run) else grams


def _index_terms(token: str) -> tuple[str, ...]:
    if _is_grammed(token):
        return tuple(gram[:TERM_CHARACTERS] for gram in _grams(token, is_query=False))
    return tuple(_stem(word[:TERM_CHARACTERS]) for word in _words_of(token) if word)


class _TermCache(dict[str, tuple[str, ...]]):
    """Token to terms, filled on demand and emptied when full. A lost entry costs only time."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        terms = _index_terms(token)
        if len(token) <= TERM_CHARACTERS:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[token] = terms
        return terms


_cache = _TermCache()


def _tokens(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return _WORD.findall(unicodedata.normalize("NFKC", visible(text.replace("\u2122", " "))))


@dataclass(frozen=True, slots=True)
class Analyser:
    """Terms of texts and queries, the same on every machine. `name`: the rule set.

    Words are runs of letters, marks and digits. Case, width, and accents of Latin, Greek and Cyrillic letters are
    ignored; English words are stemmed (Porter 2, Snowball). An identifier, address, version, date or decimal number is
    a term as a whole and in parts; `C++` and `C#` are terms. Chinese, Japanese, Thai, Lao, Khmer and Myanmar text gives
    overlapping bigrams of characters with their marks, Korean words and bigrams. A term has 1 to 64 characters. No
    string raises.
    """

    name: str = VERSION

    def __post_init__(self) -> None:
        if self.name != VERSION:
            raise InvalidInputError(f"unknown analyser {self.name!r}; use {VERSION!r}")

    def terms(self, text: str) -> list[str]:
        """The terms to index, in order of the text and with repetitions."""
        return list(chain.from_iterable(map(_cache.__getitem__, _tokens(text))))

    def query_terms(self, text: str) -> list[str]:
        """The terms to search for, each once and in order: a subset of `terms`, without stop words if others exist."""
        found: dict[str, None] = {}
        stopped: dict[str, None] = {}
        for token in _tokens(text):
            if _is_grammed(token):
                found.update(dict.fromkeys(gram[:TERM_CHARACTERS] for gram in _grams(token, is_query=True)))
                continue
            is_acronym = _ACRONYM.fullmatch(token) is not None
            for word in _words_of(token):
                is_stopped = word in STOP_WORDS and not is_acronym
                (stopped if is_stopped else found)[_stem(word[:TERM_CHARACTERS])] = None
        return list(found or stopped)

    def token_count(self, text: str) -> int:
        """Length of a text in tokens, the unit of chunk sizes and budgets. In scripts with blanks between words exactly
        `len(text.split())`. In others every character with its marks is a token, as is every run of other words between
        them. Their punctuation is not counted.
        """
        if text.isascii() or not _UNSEGMENTED.search(text):
            return len(text.split())
        return sum(len(_SEGMENT.findall(piece)) if _UNSEGMENTED.search(piece) else 1 for piece in text.split())

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Half-open offsets of the tokens of `token_count`, in order. Together they cover all but white space:
        uncounted punctuation belongs to the token before it, or at the start of a piece to the one after it. A text cut
        where a token starts has as many tokens as its parts.
        """
        if text.isascii() or not _UNSEGMENTED.search(text):
            return [piece.span() for piece in _PIECE.finditer(text)]
        return list(chain.from_iterable(_segments(text, *piece.span()) for piece in _PIECE.finditer(text)))


def _segments(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The tokens of one piece without white space."""
    if not _UNSEGMENTED.search(text, start, end):
        return [(start, end)]
    begins = [segment.start() for segment in _SEGMENT.finditer(text, start, end)]
    return list(pairwise([start, *begins[1:], end]))


def is_unspaced(text: str) -> bool:
    """True if most letters are of scripts whose terms are character bigrams."""
    tokens = _tokens(text)
    return 2 * sum(len(token) for token in tokens if _is_grammed(token)) > sum(map(len, tokens))
