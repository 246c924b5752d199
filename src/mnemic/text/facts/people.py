"""Whom "she" and "he" at the start of a clause stand for: somebody whom the message, or one of the last, names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mnemic.text.facts import statements
from mnemic.text.facts.statements import Statement
from mnemic.text.languages import detect


@dataclass(frozen=True, slots=True)
class Mention:
    """Somebody mentioned in a message: by which pronoun ("she", "he", "any"), and as what; a stranger has no words."""

    source: str
    start: int
    end: int
    pronoun: str
    words: str
    is_subject: bool = False


class People:
    """Who is mentioned in a message, and in `earlier` ones (id and text). `mentions`: where the person of a clause is
    named, by the clause's start.
    """

    def __init__(self, id_: str, text: str, earlier: Sequence[tuple[str, str]]) -> None:
        self.mentions: dict[int, Mention] = {}
        self._id, self._text, self._told_before = id_, text, earlier

    @cached_property
    def _found(self) -> list[Mention]:
        return _mentions(self._id, self._text)

    @cached_property
    def _earlier(self) -> list[Mention]:
        return [each for source, text in self._told_before for each in _mentions(source, text)]

    def own(self, statement: Statement) -> Statement:
        """The clause with "my" before a relative: "Mum fell" as "My mum fell"."""
        if statement.language.slots.first_person.match(statement.text):
            return statement  # most clauses; looking for people takes as long as finding the clauses
        words = next((each.words for each in self._found if each.start == statement.start), "")
        bare = words.removeprefix("my ")
        if bare == words or not statement.text.lower().startswith(bare.lower()):
            return statement
        return replace(statement, text=f"My {bare}{statement.text[len(bare) :]}")

    def may_be_of(self, thought: Sequence[Statement], statement: Statement) -> bool:
        """True unless the clause is about a person who is mentioned elsewhere."""
        if (told := _pronoun(statement)) is None or _pronoun(thought[-1]) is not None:
            return True
        known = _of(told[0], self._found, statement.start)
        is_there = any(thought[0].start <= each.start < thought[-1].end for each in known)
        return is_there or not (known or _of(told[0], self._earlier))

    def name(self, statement: Statement) -> Statement | None:
        """The clause with the name of its person, whom the next "she" means, too. None if it is unclear who that is."""
        if (told := _pronoun(statement)) is None:
            return None
        pronoun, template, length = told
        known, earlier = _of(pronoun, self._found, statement.start), _of(pronoun, self._earlier)
        meant = known[-1:] if known and known[-1].is_subject else earlier
        if known and not known[-1].is_subject:
            start = known[-1].start
            begin = max(self._text.rfind(mark, 0, start) for mark in ".!?\n")
            # "My son is a worry", and then "My dad would have shouted, I don't. He's 15": either may be meant.
            is_aside = statement.language.statements.first_person.search(self._text, start + 2, statement.start)
            meant = [*(each for each in known if each.start > begin), *(earlier if is_aside else [])]
        if len({each.words for each in meant}) != 1 or not meant[0].words:
            return None
        person = meant[-1]
        self.mentions[statement.start] = person
        self._found.append(replace(person, start=statement.end - 1, pronoun=pronoun, is_subject=True))
        self._found.sort(key=lambda each: each.start)
        said = template.format(who=person.words) + statement.text[length:]
        return replace(statement, text=said[:1].upper() + said[1:])


def _of(pronoun: str, mentions: Sequence[Mention], until: float = math.inf) -> list[Mention]:
    """The mentions that a pronoun may stand for, before a place."""
    return [each for each in mentions if each.pronoun in (pronoun, "any") and each.start < until]


def _pronoun(statement: Statement) -> tuple[str, str, int] | None:
    """The pronoun that a clause starts with, the template for its person, and its length. None without one."""
    for each, rule in statement.language.statements.pronouns:
        if (match := rule.match(statement.text)) is not None:
            pronoun, _, template = each.partition(" ")
            return pronoun, template, match.end()
    return None


def _mentions(source: str, text: str) -> list[Mention]:
    """Who is mentioned in the user's own words, in order."""
    found: list[Mention] = []
    text = statements.own_words(text)
    for each, rule in detect(text).statements.people:
        pronoun, _, template = each.partition(" ")
        for match in rule.finditer(text):
            start, end = match.span()
            if not any(other.start < end and start < other.end for other in found):
                who = match.groupdict().get("who", "")
                who = f"{who[:1].lower()}{who[1:]}" if template.startswith("my ") else who
                found.append(Mention(source, start, end, pronoun, template.format(who=who)))
    return sorted(found, key=lambda each: each.start)
