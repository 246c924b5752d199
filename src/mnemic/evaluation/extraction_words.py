"""Bags of stems, in which every name of the user is one token, and the detection of junk, for extraction scores. Junk
is a memory without content: courtesies, questions, and words without a source.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

import snowballstemmer

from mnemic.evaluation.dataset import CorpusRow
from mnemic.evaluation.extraction import Produced
from mnemic.model.listing import group_pairs
from mnemic.text.languages import words
from mnemic.text.normalise import stored_texts

USER = "\ue000"
"""The token of the user: "User", "I", "me", "my", and the user's name."""

Bag = frozenset[str]
Name = tuple[str, str]


_STOP = words(stored_texts(__name__)["stop"])
_LEAST_STEMMED = 3  # letters; shorter words have no ending to remove
_NAMED_SHARE = 10  # a name must open one text in ten
_USER_WORDS = re.compile(r"\b(?:the user|user|i|me|my|mine|myself)\b")
_WORD = re.compile(USER + r"|\d+\.\d+|[^\W_]+")
_NOT = re.compile(r"n't\b")
_SHORT_FORM = re.compile(r"'(?:s|m|re|ve|ll|d)\b")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NAME = re.compile(r"(?!User |The )([A-Z][\w-]+) ([A-Z][\w-]+)")
_PORTER = cast("Any", snowballstemmer).stemmer("porter")


def main_name(texts: Sequence[str]) -> Name | None:
    """The two capitalised words that start most texts, if they start at least one in ten."""
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
    """Porter's stem as in its author's programs: words of two letters stay, -logi and -bli are endings."""
    if len(word) < _LEAST_STEMMED:
        return word
    for ending, instead in (("logy", "log"), ("logies", "log"), ("bly", "ble")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            word = word.removesuffix(ending) + instead
    return cast("str", _PORTER.stemWord(word))


def overlap(one: Bag, other: Bag) -> float:
    """F1 of two bags: twice the shared stems over the sum of both sizes."""
    return 2.0 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def share(part: Bag, texts: Collection[Bag]) -> float:
    """The largest share of a bag that one text contains."""
    return max((len(part & text) / len(part) for text in texts), default=0.0) if part else 0.0


SAID = 0.5
"""Minimum F1 for a sentence to be a row's source."""

GROUNDED = 0.25  # below a quarter of its words, a row was not made from this text
THANKS_WORDS = 6  # more words say something besides the thanks

_COURTESY = frozenset(stem(word) for word in words(stored_texts(__name__)["courtesies"]))
_THANKS = re.compile(
    r"\W*(?:thanks?|thank you|many thanks|i (?:really |truly )?appreciate (?:it|that|this|your|the)|goodbye|bye|see you"
    r"|take care)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?\uff1f][\"'\u201d\u2019)\]]*\s*$")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])[\"'\u201d\u2019)\]]*\s+|\n+")


class Sources:
    """The source messages of produced rows."""

    def __init__(self, corpus: Sequence[CorpusRow], names: Mapping[str, Name | None]) -> None:
        self._rows = {row.id: row for row in corpus}
        self._names = names
        self._of_session = group_pairs(((row.group, row.session), row.id) for row in corpus)
        self._of_group = group_pairs((row.group, row.id) for row in corpus)
        self._read: dict[str, tuple[Bag, list[tuple[str, Bag]]]] = {}

    def placed(self, row: Produced) -> Produced:
        """The row with its sources' session, if it names none and they agree."""
        sessions = {self._rows[i].session for i in row.source_ids if i in self._rows}
        return replace(row, session=sessions.pop()) if not row.session and len(sessions) == 1 else row

    def junk(self, row: Produced, content: Bag, golds: Sequence[Bag]) -> str:
        """Why an unmatched row is junk (empty, thanks, question or ungrounded), "" if it is not."""
        if not content - _COURTESY - {USER}:
            return "empty"
        messages = self._messages(row) if self._rows else []
        texts = [row.text.strip(), *self._sentence(messages, content)]
        if any(_THANKS.match(text) and len(bag(text)) <= THANKS_WORDS for text in texts):
            return "thanks"
        if any(_QUESTION.search(text) for text in texts):
            return "question"
        own = content - {USER}
        is_grounded = share(own, [whole for whole, _ in messages]) >= GROUNDED
        is_like = any(overlap(own, gold - {USER}) >= GROUNDED for gold in golds)
        return "" if is_grounded or is_like or not self._rows else "ungrounded"

    def _messages(self, row: Produced) -> list[tuple[Bag, list[tuple[str, Bag]]]]:
        own = [i for i in row.source_ids if i in self._rows]
        ids = own or self._of_session.get((row.group, row.session)) or self._of_group.get(row.group) or []
        return [self._bags(i) for i in ids]

    def _bags(self, row_id: str) -> tuple[Bag, list[tuple[str, Bag]]]:
        """The words of a message, and its sentences with theirs."""
        if row_id not in self._read:
            row = self._rows[row_id]
            name = self._names.get(row.group)
            parts = [part.strip() for part in _SENTENCE.split(row.text) if part and part.strip()]
            self._read[row_id] = (bag(row.text, name), [(part, bag(part, name)) for part in parts])
        return self._read[row_id]

    def _sentence(self, messages: Sequence[tuple[Bag, list[tuple[str, Bag]]]], content: Bag) -> list[str]:
        """The sentence that a row was made from, if one is similar enough."""
        best, text = 0.0, ""
        for _, parts in messages:
            for part, content_of_part in parts:
                if (similarity := overlap(content, content_of_part)) > best:
                    best, text = similarity, part
        return [text] if best >= SAID else []
