"""Recognises texts without value as memories: courtesies, empty words, assistants' phrases. Careful: a short fact is a
fact. Gives the reason for people to read.
"""

import unicodedata
from functools import cache

from mnemic.text.languages import languages, words
from mnemic.text.normalise import key_words, late_pattern, stored_pattern, stored_texts

MIN_CHARS = 3  # letters and digits; one less in scripts that write words without gaps
MAX_COURTESY_WORDS = 8
MIN_REPEATED_WORDS = 8
MAX_NEW_SHARE = 0.25
"""In texts of at least this many words: below this share of different words, the text repeats itself."""

MIN_SIGNS_CHARS = 12
MIN_LETTER_SHARE = 0.25

_BESIDE_OTHERS = words("a of the your so very de it k right fine bom va")
"""Words that may accompany a courtesy but are none alone."""

_PLACEHOLDERS = words("n/a na none null undefined nan todo tbd tba test testing asdf foo bar xxx")
_ENDS = ".!?\u2026 "
_EMPTY_PHRASES = stored_pattern(__name__, "empty_phrases")
_PLACEHOLDER_ONLY = late_pattern(r"(?:(?:(?!\[REDACTED: )\W)*+\[REDACTED: [a-z0-9-]{1,40}\])+\W*+")


def junk_reason(text: str) -> str:
    """Why a text is worthless as a memory, or ""."""
    letters = sum(character.isalnum() for character in text)
    if not letters:
        return "it contains no words"
    if _PLACEHOLDER_ONLY.fullmatch(text):
        return "it contains only redacted secrets"
    words = key_words(text.strip("\u00a1\u00bf "))
    if len(words) == 1 and words[0] in _PLACEHOLDERS:
        return "it is a placeholder"
    if len(words) <= MAX_COURTESY_WORDS and set(words) <= _courtesies() and not set(words) <= _BESIDE_OTHERS:
        return "it is a courtesy"
    is_dense = any(unicodedata.category(character) == "Lo" for character in text)  # a letter may be a word, in Chinese
    if max(letters, len(text.strip().rstrip(_ENDS))) < MIN_CHARS - is_dense:
        return "it is too short to be meaningful"
    return _form_reason(text, words, letters)


@cache
def _courtesies() -> frozenset[str]:
    return frozenset(
        " ".join([stored_texts(__name__)["courtesies"], *(language.courtesies for language in languages())]).split()
    )


def _form_reason(text: str, words: list[str], letters: int) -> str:
    visible = sum(not character.isspace() for character in text)
    if visible >= MIN_SIGNS_CHARS and letters < MIN_LETTER_SHARE * visible:
        return "it consists almost entirely of symbols"
    if len(words) >= MIN_REPEATED_WORDS and len(set(words)) <= MAX_NEW_SHARE * len(words):
        return "it repeats itself"
    if _EMPTY_PHRASES.fullmatch(text.strip().rstrip(_ENDS)):
        return "it is an empty phrase of an assistant"
    return ""
