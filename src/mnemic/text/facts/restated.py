"""What an assistant said of the user and the user took up: "It sounds like you are training for a race." – "Yes, …".

Answers for which sentences of a reply count, and for their words in the first person, so that they are read on like the
user's own. A sentence counts when it states something of the user and the user's next message goes on with its words,
or agrees and does; what the assistant asks, advises, imagines, remembers or mentions by the way does not, nor what the
user denies. Who spoke stays known: such a fact has the trust of the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from mnemic.text import sanitise
from mnemic.text.facts.statements import Statement, is_chinese, statements
from mnemic.text.late_pattern import late_pattern
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


def restated(
    reply: str, answer: str, terms_of: Callable[[str], Iterable[str]], before: Collection[str] = ()
) -> list[Restated]:
    """The sentences of a reply that speak of the user and that the answer to it takes up, in order. No string raises.

    `terms_of` gives the words of a text that carry meaning, in one form each; `before` those that the user had said
    earlier. Names and numbers that the user never said count only where the answer opens with assent.
    """
    answer = answer.lstrip()
    if _DENIAL.match(answer):
        return []
    has_assent = _ASSENT.match(answer) is not None
    heard, denied = set(terms_of(answer)), _denied(answer, terms_of)
    hostile = [finding.span for finding in sanitise.findings(reply[:MAX_REPLY_CHARS])]
    found: list[Restated] = []
    for start, end in sentences(reply[:MAX_REPLY_CHARS]):
        if any(left < end and start < right for left, right in hostile):
            continue
        for statement in _stated(reply[start:end]):
            said = set(terms_of(statement.text)) - {"user"}
            taken_up = len(said & heard) / max(len(said), 1)
            is_new = len(said.difference(before)) >= NEW * len(said)
            if len(said) < _FEWEST_TERMS or not is_new or said & denied:
                continue
            names = set(terms_of(" ".join(_NAMED.findall(statement.text))))
            if taken_up >= (AGREED if has_assent else TAKEN_UP) and (has_assent or names <= heard.union(before)):
                found.append(Restated(start, end, statement, taken_up))
    return found


def _denied(answer: str, terms_of: Callable[[str], Iterable[str]]) -> set[str]:
    """The words of the sentences of an answer that negate."""
    return {
        term
        for start, end in sentences(answer)
        if _NEGATION.search(answer[start:end])
        for term in terms_of(answer[start:end])
    }


def _stated(sentence: str) -> Iterator[Statement]:
    """What a sentence states of the user, in the first person; nothing where it does not."""
    chinese = is_chinese(sentence)
    sentence = _FRAME.sub("", sentence)
    sentence = _VOCATIVE.sub("", sentence)
    if not _USER.search(sentence) or _OWN.search(sentence) or _NO_REPORT.search(sentence):
        return
    if len(sentence.split()) > _MOST_WORDS:
        return
    said = _ZH_USER.sub("我", sentence) if chinese else _first_person(sentence)
    said = _PRAISED.sub(r"I show \1", said[:1].upper() + said[1:])
    for statement in statements(said):
        if _ABOUT.match(statement.text) and not _PRAISE.search(statement.text):
            yield statement


def _first_person(sentence: str) -> str:
    """For "You are training for your race" this is "I am training for my race"."""
    out = _BEING.sub(lambda match: f"I {_AUXILIARIES[match[1].lower()]}", sentence)
    out = _CONTRACTED.sub(lambda match: f"I {_AUXILIARIES[match[1].lower()]}", out)
    out = _ADDRESSED.sub("me", _OBJECT.sub(lambda match: f"{match[1]} me", out))
    return _PERSON.sub(lambda match: _PERSONS[match[0].lower()], out)


_AUXILIARIES = {"are": "am", "were": "was", "re": "am", "ve": "have", "d": "had", "ll": "will"}
_PERSONS = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself"}


_ASSENT = late_pattern(
    r"(?:yes|yeah|yep|yup|exactly|absolutely|definitely|indeed|right|true|correct|certainly|totally|of course"
    r"|that['’]?s (?:\w+ )?(?:right|true|correct|it)|that is (?:\w+ )?(?:right|true|correct)|i (?:\w+ )?agree"
    r"|you['’]?re right|you are right)\b|(?:是的|对(?!不|于|方)|没错|确实|嗯|当然|正是)",
    re.IGNORECASE,
)
_DENIAL = late_pattern(
    r"(?:(?:well|oh|hmm|sorry|um|yes and|yes,? but)[,.]? )?"
    r"(?:no|nope|nah|not (?:really|quite|exactly|at all|true|necessarily)|never|wrong|actually|i disagree"
    r"|i (?:do not|don['’]t) (?:agree|think so)|that['’]?s (?:not|wrong|incorrect)|that is(?: not|n['’]t| wrong)"
    r"|you['’]?re (?:wrong|mistaken)|i (?:never|didn['’]t) sa(?:id|y))\b"
    r"|(?:不是|不对|没有|并不|不[，,]|才不|错了)",
    re.IGNORECASE,
)
_FRAME = late_pattern(
    r"^(?:(?:and|but|so|well|yes|absolutely|indeed|exactly|great|ah|oh)\b[,!]?\s+)*"
    r"(?:(?:it|that)(?:['’]s| is) (?:\w+ly |so |very |quite )?\w+ (?:to (?:hear|see|know|learn|note|notice|read)"
    r" )?(?:that |how |about )?(?=you)"
    r"|(?:it |that )?(?:sounds|seems|looks|appears) (?:like |as (?:if|though) |that )?(?=you)"
    r"|i(?:['’]m| am) (?:\w+ )?(?:glad|happy|pleased|delighted|sorry|thrilled) (?:to (?:hear|see|know|learn) )?"
    r"(?:that |how )?(?=you)"
    r"|i (?:can |also |really |truly |completely |totally )*(?:see|hear|understand|notice|gather|admire|love"
    r"|appreciate|sense) (?:that |how |why |from )?(?=(?:the |your|you))"
    r"|(?:given|knowing|considering) (?:that )?(?=you)|(?:听起来|看来|看起来|感觉|原来)[，,]?(?=[你您]))",
    re.IGNORECASE,
)
"""What an assistant puts before what it says of the user: "It's great to hear that you …"."""

_PRAISED = late_pattern(
    r"^My ([\w-]+(?:ness|ment|ion|asm|ism|ity|ance|ence|age|hip)s?\b[^,;]*?) (?:is|are) (?:\w+ly |so |very |quite )?"
    r"(?:commendable|admirable|inspiring|impressive|evident|clear|contagious|wonderful|remarkable|noble|valid|great|key"
    r"|understandable|palpable|noteworthy|praiseworthy|heartening|refreshing|amazing|fantastic|apparent)(?:[.!]*$"
    r"|(?=,))"
)
"""Praise of a trait says that the user has it."""

_PRAISE = late_pattern(
    r"\boff to an? \w+ start\b|\blike a pro\b|\b(?:sounds?|looks?|seems?) (?:like )?(?:\w+ly |so |an? )*(?:amazing"
    r"|great|good|wonderful|lovely"
    r"|fantastic|delicious|perfect|interesting|fun|nice|awesome|excellent|promising|solid|impressive|beautiful)\b",
    re.IGNORECASE,
)
"""Says what the assistant thinks of it, and nothing of the user."""

_NEGATION = late_pattern(
    r"n['’]t\b|\b(?:not|never|no longer|none|nor|neither|without|wrong)\b|不|没|并非", re.IGNORECASE
)
_NAMED = late_pattern(r"(?<=[a-z,] )(?!I\b)[A-Z][\w'’-]+|\d[\d.,]*")
_VOCATIVE = late_pattern(r"^[A-Z][\w'’-]+, (?=you)|, [A-Z][a-z'’-]+(?=[.!]*$|[!,] )")
_USER = late_pattern(r"\byou(?:r|rs|rself)?\b|[你您]", re.IGNORECASE)
_OWN = late_pattern(r"\b(?:i|me|my|mine|we|us|our|let['’]s)\b|我|咱", re.IGNORECASE)
_NO_REPORT = late_pattern(
    r"[?？]\W*$|\b(?:interestingly|by the way|incidentally|similarly|likewise|alternatively|in contrast"
    r"|on (?:another|a related|a different|a side|the other) (?:note|hand|topic)|speaking of|remind(?:s|ed|er)?"
    r"|(?:re)?call(?:ed)?|remember(?:ed|ing)?|mention(?:ed|ing)?|previous(?:ly)?|discussed|similar to|much like"
    r"|just (?:as|like)|unlike|also|whether|here you are"
    r"|you(?:['’]ve| have)? (?:expressed|said|told|shared|asked|noted))\b"
    r"|\bif\b|\bhad you\b|\bunless\b|\b(?:would|might|could|may|should|ought|must)\b|\bcan\b"
    r"|\byou(?:['’]ll| will)\b|^(?:consider|try|keep|make sure|remember|think|imagine|don['’]t|let|perhaps|maybe"
    r"|as (?:you|we|i)|when you|whenever|how|what|why|which|where|while)\b"
    r"|如果|假如|要是|可以|应该|建议|可能|也许|顺便|另外|记得|之前|提到|不妨|[吗呢吧][。！!]*$",
    re.IGNORECASE,
)
"""Questions, asides, advice, what is imagined, and what the assistant itself remembers."""

_BEING = late_pattern(r"\byou (are|were)\b", re.IGNORECASE)
_CONTRACTED = late_pattern(r"\byou['’](re|ve|d|ll)\b", re.IGNORECASE)
_OBJECT = late_pattern(
    r"\b(to|for|with|of|in|on|about|from|by|at|around|behind|upon|towards?|through|among|between|like|than"
    r"|(?:help|make|let|give|allow|enable|keep|bring|lead|drive|offer|provide|show|inspire|motivate|encourage"
    r"|support|suit|serve|guide|push|teach|prepare|challenge|interest|excite|fascinate|attract|inform"
    r"|equip|connect|engage|surround|energi[sz]e|empower)(?:s|d|ed|ing)?"
    r"|gave|brought|led|drove|made|kept|taught|caught|making|giving|enabling|driving|guiding) you\b"
    r"(?!['’])(?! (?:are|were|have|had|do|did|feel|find|need|want|love|enjoy)\b)",
    re.IGNORECASE,
)
"""Behind these, "you" is no subject; what follows it is not its verb."""

_ADDRESSED = late_pattern(
    r"\byou\b(?=\s+(?:to|towards?|into|for|with|from|in|at|on|through|as|by)\b|\s*(?:[.,;!]|$))", re.IGNORECASE
)
_ABOUT = late_pattern(r"(?:\w+(?:ly)?, )?(?:I|My)\b|.{0,8}我", re.IGNORECASE)
"""What speaks of the user has the user, or something of theirs, as its subject."""

_PERSON = late_pattern(r"\b(?:yourself|yours|your|you)\b", re.IGNORECASE)
_ZH_USER = late_pattern(r"[你您]们?")
