"""What an assistant said of the user and the user took up: "It sounds like you are training for a race." – "Yes, …".

Answers for which sentences of a reply count, and for their words in the first person, so that they are read on like the
user's own. A sentence counts when it states something of the user and the user's next message goes on with its words,
or agrees and does; what the assistant asks, advises, imagines, remembers or mentions by the way does not, nor what the
user denies. Who spoke stays known: such a fact has the trust of the assistant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from mnemic.text import sanitise
from mnemic.text.facts.statements import Statement, find_statements
from mnemic.text.languages import RestatingRules, detect
from mnemic.text.sentences import sentences

MAX_REPLY_CHARS = 8000
"""More than the beginning of a reply is not read."""

TAKEN_UP = 0.15
"""So much of a sentence's words must come back in the user's answer."""

AGREED = 0.1
"""That much is enough where the answer opens with assent."""

NEW = 0.2
"""So much of its words the user must not have said before: else the assistant only repeats what was found already."""

_MOST_WORDS = 45
_FEWEST_TERMS = 3


@dataclass(frozen=True, slots=True)
class Restated:
    """Half-open span of a sentence in the reply; what it says of the user, in the first person; how much of it the
    user took up, 0..1.
    """

    start: int
    end: int
    statement: Statement
    taken_up: float


def find_restated(
    reply: str, answer: str, terms_of: Callable[[str], Iterable[str]], before: Collection[str] = ()
) -> list[Restated]:
    """The sentences of a reply that speak of the user and that the answer to it takes up, in order. No string raises.

    `terms_of` gives the words of a text that carry meaning, in one form each; `before` those that the user had said
    earlier. Names and numbers that the user never said count only where the answer opens with assent.
    """
    answer = answer.lstrip()
    rules = detect(answer).restating
    if rules.denial.match(answer):
        return []
    has_assent = rules.assent.match(answer) is not None
    heard, denied = set(terms_of(answer)), _denied_terms(answer, terms_of)
    hostile = [finding.span for finding in sanitise.findings(reply[:MAX_REPLY_CHARS])]
    found: list[Restated] = []
    for start, end in sentences(reply[:MAX_REPLY_CHARS]):
        if any(left < end and start < right for left, right in hostile):
            continue
        for statement in _read_sentence(reply[start:end]):
            said = set(terms_of(statement.text)) - {"user"}
            taken_up = len(said & heard) / max(len(said), 1)
            is_new = len(said.difference(before)) >= NEW * len(said)
            if len(said) < _FEWEST_TERMS or not is_new or said & denied:
                continue
            names = set(terms_of(" ".join(statement.language.restating.named.findall(statement.text))))
            if taken_up >= (AGREED if has_assent else TAKEN_UP) and (has_assent or names <= heard.union(before)):
                found.append(Restated(start, end, statement, taken_up))
    return found


def _denied_terms(answer: str, terms_of: Callable[[str], Iterable[str]]) -> set[str]:
    """The words of the sentences of an answer that negate."""
    told = (answer[start:end] for start, end in sentences(answer))
    return {term for text in told if detect(text).restating.negation.search(text) for term in terms_of(text)}


def _read_sentence(sentence: str) -> Iterator[Statement]:
    """What a sentence states of the user, in the first person; nothing where it does not."""
    rules: RestatingRules = detect(sentence).restating
    sentence = rules.vocative.sub("", rules.frame.sub("", sentence))
    if not rules.user.search(sentence) or rules.own.search(sentence) or rules.no_report.search(sentence):
        return
    if len(sentence.split()) > _MOST_WORDS:
        return
    said = rules.first_person(sentence)
    said = rules.praised.sub(rules.praised_as, said[:1].upper() + said[1:])
    for statement in find_statements(said):
        if rules.about.match(statement.text) and not rules.praise.search(statement.text):
            yield statement
