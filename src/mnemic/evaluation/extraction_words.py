"""Words as the scores of extraction compare them: bags of stems in which every name of the user is one token."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, cast

import snowballstemmer

USER = "\ue000"
"""The token of the user: "User", "I", "me", "my", and the name of the person that the memories are about."""

Bag = frozenset[str]
Name = tuple[str, str]


def words(listed: str) -> frozenset[str]:
    """The words of a list that is written with blanks between."""
    return frozenset(listed.split())


_STOP = words(
    "a about also an and any are as at be been being but by can could did do does done for from had has have "
    "having he her hers herself him himself his how if in into is it its itself just may might must of on or our ours "
    "shall she should so some such than that the their theirs them themselves then there these they this those to too "
    "us very was we were what when where which who whom whose why will with would you your yours s t am"
)
_LEAST_STEMMED = 3
_NAMED_SHARE = 10
_USER_WORDS = re.compile(r"\b(?:the user|user|i|me|my|mine|myself)\b")
_WORD = re.compile(USER + r"|\d+\.\d+|[^\W_]+")
_NOT = re.compile(r"n't\b")
_SHORT_FORM = re.compile(r"'(?:s|m|re|ve|ll|d)\b")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NAME = re.compile(r"(?!User |The )([A-Z][\w-]+) ([A-Z][\w-]+)")
_PORTER = cast("Any", snowballstemmer).stemmer("porter")


def main_name(texts: Sequence[str]) -> Name | None:
    """The two capitalised words that open most of the texts, when they open at least one in ten."""
    counts = Counter(match.groups() for text in texts if (match := _NAME.match(text)) is not None)
    if not counts:
        return None
    (first, last), times = counts.most_common(1)[0]
    return (str(first), str(last)) if times * _NAMED_SHARE >= len(texts) else None


def bag(text: str, name: Name | None = None) -> Bag:
    """The stems of a text without stop words."""
    text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    if name is not None:
        first, last = (re.escape(part) for part in name)
        text = re.sub(rf"\b{first}\s+{last}\b|\b{first}\b(?!\s+[A-Z])", f" {USER} ", text)
    text = _SHORT_FORM.sub("", _NOT.sub(" not", text.lower()))
    text = _GROUPED.sub("", _USER_WORDS.sub(f" {USER} ", text))
    return frozenset(stem(word) for word in _WORD.findall(text) if word not in _STOP)


@cache
def stem(word: str) -> str:
    """Porter's stem as its author's programs make it: words of two letters stay, -logi and -bli are endings."""
    if len(word) < _LEAST_STEMMED:
        return word
    for ending, instead in (("logy", "log"), ("logies", "log"), ("bly", "ble")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            word = word.removesuffix(ending) + instead
    return cast("str", _PORTER.stemWord(word))


def overlap(one: Bag, other: Bag) -> float:
    """F1 of two bags: twice what is in both, over all that is in either."""
    return 2.0 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def share(part: Bag, texts: Collection[Bag]) -> float:
    """The largest share of a bag that one of the texts holds."""
    return max((len(part & text) / len(part) for text in texts), default=0.0) if part else 0.0
