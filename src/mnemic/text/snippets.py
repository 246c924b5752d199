"""The dialogue behind a gem, word for word: what was quoted is found in the turns again, or chosen from them anew."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mnemic.model.item import Message, Role
from mnemic.text.analyser import Analyser
from mnemic.text.late_pattern import late_pattern
from mnemic.text.narrative import ToldTurn
from mnemic.text.prompts import counted
from mnemic.text.sentences import sentences

MAX_SNIPPET_CHARS = 800
MAX_LINE_CHARS = 300
MAX_LINES = 6
_MARK = "\u2026"
_GAP = late_pattern(r"\s*(?:\[?(?:\u2026|\.\.\.)\]?)\s*")
_QUOTES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb"
_EDGE = _QUOTES + ".,;:!?\u3002\uff0c\uff01\uff1f -\u2013\u2014*_"
_TURN_MARK = late_pattern(r"^\s*(?:[-*>]\s+)?(?:\[[^\]\n]{1,40}\]\s*)?")
_LABEL = late_pattern(r"\**([^\s:\uff1a*][^:\uff1a\n*]{0,40}?)\**\s*[:\uff1a]\**\s*")
_ROLES = frozenset({"user", "assistant", "tool", "human", "ai", "bot", "me", "you", "\u7528\u6237", "\u52a9\u624b"})

_analyser = Analyser()


def snippet_of(given: str, about: str, turns: Sequence[ToldTurn]) -> str:
    """What was said in `turns`, a line "name: words" for each message; as it was given, where that is really there.

    White space and case may differ; the answer holds the words as they are stored. Where the given text is not there,
    the sentences of the turns that share most with `about` are taken. "" when they share nothing with it.
    """
    messages = [message for turn in turns for message in turn.messages if counted(message).strip()]
    return _found(given[:MAX_SNIPPET_CHARS], messages) or _chosen(about, messages)


def _found(given: str, messages: Sequence[Message]) -> str:
    """The lines of the given text as they are stored; "" when one of them is not there."""
    lines: list[str] = []
    for line in given.splitlines():
        pieces = [piece for piece in _GAP.split(_unlabelled(line, messages)) if _bare(piece)]
        if not pieces:
            continue
        quoted = _quoted(pieces, messages)
        if not quoted:
            return ""
        lines.append(quoted)
    return "\n".join(dict.fromkeys(lines))


def _quoted(pieces: Sequence[str], messages: Sequence[Message]) -> str:
    """All pieces of one line, in the words of the one message that holds them."""
    for message in messages:
        spans = [_span(piece, message.text) for piece in pieces]
        if all(spans):
            return f"{message.author}: {f' {_MARK} '.join(spans)}"
    return ""


def _span(piece: str, text: str) -> str:
    """The words of a piece as a text has them; "" where it has not."""
    for words in (piece.strip().strip(_QUOTES).split(), _bare(piece).split()):
        match = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
        if words and match is not None:
            return " ".join(match.group().split())
    return ""


def _bare(piece: str) -> str:
    return piece.strip().strip(_EDGE)


def _unlabelled(line: str, messages: Sequence[Message]) -> str:
    """A line without the number of its turn and without the name before its words."""
    line = line[_TURN_MARK.match(line).end() :]  # pyright: ignore[reportOptionalMemberAccess] -- it matches nothing, too
    label = _LABEL.match(line)
    names = {name.casefold() for message in messages for name in (message.author, message.role.value)}
    if label is not None and label.group(1).strip().casefold() in names | _ROLES:
        return line[label.end() :]
    return line


def _chosen(about: str, messages: Sequence[Message]) -> str:
    """Of each message that has to do with it the sentence that has most; the user's first when there are too many."""
    wanted = frozenset(_analyser.query_terms(about))
    best = [(_best(wanted, message), place, message) for place, message in enumerate(messages)]
    ranked = sorted(best, key=lambda each: (-(each[0][0] > 0), each[2].role is not Role.USER, -each[0][0], each[1]))
    taken = sorted((each for each in ranked[:MAX_LINES] if each[0][0] > 0), key=lambda each: each[1])
    return "\n".join(f"{message.author}: {line}" for (_, line), _, message in taken)


def _best(wanted: frozenset[str], message: Message) -> tuple[int, str]:
    """How many of the words the best sentence has, and that sentence."""
    text = counted(message)
    found = [(len(wanted.intersection(_analyser.terms(text[a:b]))), text[a:b]) for a, b in sentences(text)]
    shared, line = max(found, key=lambda each: each[0], default=(0, ""))
    line = " ".join(line.split())
    return shared, line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1].rstrip() + _MARK
