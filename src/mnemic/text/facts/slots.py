"""Which attribute of the user a statement in the first person fills.

`read_attributes` reads what goes into a profile: name, home, job, employer, language, birthday. It is careful, as a
wrong line is in every prompt from then on and a missing one is no harm: only plain statements count, and questions,
negations, conditions, the past, quotes, reports, and texts that the user wants worked on are passed over as a whole.
`slot_of` reads what holds a single value at a time. A wrong slot does less: the memory that it retires can be brought
back; so a few more wordings count.
"""

from __future__ import annotations

import re

from mnemic.text.languages import Language, detect
from mnemic.text.sentences import sentences

MAX_MESSAGE_CHARS = 1500
"""A longer message is more likely to be pasted than told."""

MAX_SENTENCE_CHARS = 300
"""A longer sentence says more than one thing."""

HOW_LONG = "how long "
"""Slots of this beginning say for how long the user has been doing something: the next count replaces the last."""


def read_attributes(text: str) -> dict[str, str]:
    """What a message of a user says of themselves, by key, in the words of the text; a later statement wins."""
    found: dict[str, str] = {}
    for statement, language in _plain_sentences(text):
        for key, rule in language.slots.plain:
            for match in rule.finditer(statement):
                value = match["value"].strip(" .,-–—")
                if value and not language.slots.no_value.match(value):
                    found[key] = value
    return found


def plain_statements(text: str) -> list[str]:
    """The sentences in which a user plainly says something of themselves, as things are now; none of a text that is to
    be worked on.
    """
    return [sentence for sentence, _ in _plain_sentences(text)]


def _plain_sentences(text: str) -> list[tuple[str, Language]]:
    if len(text) > MAX_MESSAGE_CHARS:
        return []
    found = [(sentence, detect(sentence)) for sentence in (text[start:end] for start, end in sentences(text))]
    if any(language.slots.commission.search(text) for language in {id(each): each for _, each in found}.values()):
        return []
    return [
        (sentence, language)
        for sentence, language in found
        if len(sentence) <= MAX_SENTENCE_CHARS
        and language.slots.first_person.search(sentence)
        and not language.slots.unsure.search(sentence)
    ]


def slot_of(statement: str, language: Language) -> tuple[str, str]:
    """The slot that a statement in the first person fills, and its value; both "" where it fills none."""
    for slot, value in read_attributes(statement).items():
        return slot, value
    rules = language.slots
    for slot, rule in rules.loose:
        if (match := rule.search(statement)) is not None and not _is_doubtful(statement, match, language):
            return slot, match["value"].strip(" .,-")
    if (match := rules.favourite.search(statement)) is not None:
        return f"favourite {match['thing']}", match["value"].strip()
    if (match := rules.how_long.search(statement)) is not None:
        return f"{HOW_LONG}{match['thing'].casefold()}", match["value"]
    return "", ""


def _is_doubtful(statement: str, match: re.Match[str], language: Language) -> bool:
    return language.slots.doubt.search(statement, 0, match.end()) is not None
