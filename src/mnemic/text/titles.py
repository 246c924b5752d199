"""Titles of documents as they are named in other texts.

Answers for one form of a title in which it can be looked up, and for what in a text could be a title. Whether there is
a document of that title, and whether so common a name says anything, is decided by others.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from mnemic.text import scripts
from mnemic.text.analyser import STOP_WORDS
from mnemic.text.late_pattern import late_pattern
from mnemic.text.normalise import normalise, visible

MOST_WORDS = 10
"""A longer title is a sentence, which nobody repeats whole."""

PLAIN_WORDS = 4
"""A name that ends in a word without a capital ("the Lease agreement") has at most so many."""

LEAST_CHARACTERS = 3
MOST_TITLE_CHARACTERS = 200
WORDS_READ = 400
"""Of a text so many words are read, from its beginning."""

_ALONE = scripts.UNSEGMENTED + scripts.HANGUL
_TOKEN = late_pattern(f"[{_ALONE}]|[^\\W_{_ALONE}]+")
_IS_ALONE = late_pattern(f"[{_ALONE}]")
_QUALIFIER = late_pattern(r"\s*[(\uff08][^()\uff08\uff09]*[)\uff09]\s*$")
_QUOTED = late_pattern(
    '[\u300a\u3008\u300c\u300e\u3010\u201c\u201e\u00ab"]([^\u300a-\u3011\u201c-\u201e\u00ab\u00bb"\n]{2,80})'
    '[\u300b\u3009\u300d\u300f\u3011\u201d\u201c\u00bb"]'
)
_ENDS_SENTENCE = late_pattern(r"[.!?:;\n\u2022*#][\s\"'(\[\u201c\u2018-]*$")


@lru_cache(maxsize=8_192)
def title_key(title: str) -> str:
    """The words of a title, folded, with one blank between them; each character of Chinese and the like is a word.

    A qualifier in brackets at the end, as in "Solaris (film)", is left out. "" for what cannot be told in a text: no
    words, more than `MOST_WORDS` or `MOST_TITLE_CHARACTERS`, nothing but stop words and numbers, fewer than
    `LEAST_CHARACTERS` characters.
    """
    if len(title) > MOST_TITLE_CHARACTERS:
        return ""
    words = _TOKEN.findall(normalise(_unqualified(title)))
    says_nothing = all(word in STOP_WORDS or word.isdecimal() for word in words)
    if says_nothing or len(words) > MOST_WORDS or sum(map(len, words)) < LEAST_CHARACTERS:
        return ""
    return " ".join(words)


def _unqualified(title: str) -> str:
    """The title without a qualifier at its end, unless that is all there is."""
    return _QUALIFIER.sub("", title) or title


def names_in(text: str) -> frozenset[str]:
    """The keys of all titles that the text could name: what stands in quotation or title marks, and runs of words that
    begin with a capital or a figure. One word is a name only inside a sentence, where its capital means something. In a
    script without blanks every run of characters could be a name, so there only the marks count.
    """
    shown = visible(text)
    found = list(islice(_TOKEN.finditer(shown), WORDS_READ))
    tokens = [match.group() for match in found]
    words = [token.lower() if token.isascii() else " ".join(_TOKEN.findall(normalise(token))) for token in tokens]
    names = {title_key(quoted[1]) for quoted in islice(_QUOTED.finditer(shown), WORDS_READ)}
    for place, token in enumerate(tokens):
        if token[0].islower() or _IS_ALONE.match(token):
            continue
        least = 2 if token.isdecimal() or _begins_sentence(shown, found[place].start()) else 1
        for end in range(place + least, min(place + MOST_WORDS, len(tokens)) + 1):
            if end - place <= PLAIN_WORDS or not tokens[end - 1][0].islower():
                names.add(" ".join(words[place:end]))
    return frozenset(names - {""})


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(start - 8, 0) : start]
    return not before.strip() or _ENDS_SENTENCE.search(before) is not None
