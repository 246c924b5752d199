"""WordPiece tokenisation for uncased BERT models (Devlin et al. 2018; Wu et al. 2016).

Returns the ids of the `tokenizers` package without depending on it, with two known differences. Names of special tokens
("[SEP]") inside a text are ordinary text, so no text can forge the structure of the input. Characters newer than that
package's Unicode tables follow this Python's tables.
"""

import string
import unicodedata
from collections.abc import Sequence

MAX_WORD_CHARACTERS = 100  # a longer word becomes one unknown token
MAX_CACHED_WORDS = 50_000  # words whose pieces are cached, about 10 MB; a full cache is emptied
_CJK_RANGES = (  # of BERT's own tokenizer
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)
_WHITESPACE_CONTROLS = "\t\n\r"
_REPLACEMENT_CHARACTER = "\ufffd"


class WordPiece:
    """The tokeniser of one vocabulary. Thread-safe."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """`vocabulary`: the pieces in order of their ids; `KeyError` without "[UNK]", "[CLS]" and "[SEP]"."""
        ids = {piece: index for index, piece in enumerate(vocabulary)}
        self._unknown, self._start, self._end = ids["[UNK]"], ids["[CLS]"], ids["[SEP]"]
        self._first = ids
        self._following = {piece[2:]: index for piece, index in ids.items() if piece.startswith("##")}
        self._longest = max(map(len, ids))
        self._cache: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """The ids of [CLS], the text's pieces and [SEP], at most `max_tokens` (2 or more); the end is cut. A text
        without words (blank, or only control characters) has no ids.
        """
        limit = max_tokens - 1
        ids = [self._start]
        for word in split_words(text):
            ids += self._cache.get(word) or self._pieces(word)
            if len(ids) >= limit:
                break
        if len(ids) == 1:
            return []
        del ids[limit:]
        ids.append(self._end)
        return ids

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The greedy longest matches from the left; one unknown token if a part of the word matches nothing."""
        if len(word) > MAX_WORD_CHARACTERS:
            return (self._unknown,)
        pieces: list[int] = []
        table, start = self._first, 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = table.get(word[start:end])
                if piece is not None:
                    break
            else:
                pieces = [self._unknown]
                break
            pieces.append(piece)
            table, start = self._following, end
        if len(self._cache) >= MAX_CACHED_WORDS:
            self._cache.clear()
        self._cache[word] = found = tuple(pieces)
        return found


def split_words(text: str) -> list[str]:
    """A text's words and punctuation marks, lower case, without accents; CJK characters are single words."""
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
    return text.translate(_replacements).split()


class _Replacements(dict[int, str]):
    """Each character's replacement before the text is split at spaces; filled on demand."""

    def __missing__(self, code: int) -> str:
        replacement = self[code] = _replace(chr(code))
        return replacement


def _replace(character: str) -> str:
    if character in _WHITESPACE_CONTROLS:
        return " "
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Co", "Cs", "Mn") or character == _REPLACEMENT_CHARACTER:
        return ""
    if category.startswith("Z"):
        return " "
    is_cjk = any(ord(character) in block for block in _CJK_RANGES)
    if category.startswith("P") or character in string.punctuation or is_cjk:
        return f" {character} "
    return character.lower()


_replacements = _Replacements()
