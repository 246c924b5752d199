"""Which produced memories are nothing: courtesies, questions, and words that nobody said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mnemic.evaluation.dataset import CorpusRow
from mnemic.evaluation.extraction import Produced
from mnemic.evaluation.extraction_words import USER, Bag, Name, bag, overlap, share, stem, words

SAID = 0.5
"""From this F1 on, a sentence of the sources is what the row was made of."""

GROUNDED = 0.25
THANKS_WORDS = 6

_COURTESY = frozenset(
    stem(word)
    for word in words(
        "hi hello hey greetings good morning afternoon evening night day bye goodbye welcome nice meet glad ok okay "
        "sure alright great perfect yes yeah no course absolutely exactly indeed got sounds please"
    )
)
_THANKS = re.compile(
    r"\W*(?:thanks?|thank you|many thanks|i (?:really |truly )?appreciate (?:it|that|this|your|the)|goodbye|bye|see you"
    r"|take care)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?\uff1f][\"'\u201d\u2019)\]]*\s*$")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])[\"'\u201d\u2019)\]]*\s+|\n+")


class Sources:
    """The messages that produced rows came from."""

    def __init__(self, corpus: Sequence[CorpusRow], names: Mapping[str, Name | None]) -> None:
        self._rows = {row.id: row for row in corpus}
        self._names = names
        self._of_session: dict[tuple[str, str | None], list[str]] = {}
        self._of_group: dict[str, list[str]] = {}
        self._read: dict[str, tuple[Bag, list[tuple[str, Bag]]]] = {}
        for row in corpus:
            self._of_session.setdefault((row.group, row.session), []).append(row.id)
            self._of_group.setdefault(row.group, []).append(row.id)

    def placed(self, row: Produced) -> Produced:
        """The row with the session of its sources, where it names none and they agree."""
        sessions = {self._rows[i].session for i in row.source_ids if i in self._rows}
        return replace(row, session=sessions.pop()) if not row.session and len(sessions) == 1 else row

    def junk(self, row: Produced, content: Bag, golds: Sequence[Bag]) -> str:
        """Why a row that matches no gold is junk: empty, thanks, question or ungrounded; "" when it is none."""
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
        """The sentence that a row was made of, if one is near enough."""
        best, text = 0.0, ""
        for _, parts in messages:
            for part, content_of_part in parts:
                if (similarity := overlap(content, content_of_part)) > best:
                    best, text = similarity, part
        return [text] if best >= SAID else []
