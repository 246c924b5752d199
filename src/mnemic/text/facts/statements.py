"""Which parts of a message state something: sentences cut into clauses, without what is no statement of the user.

Answers for spans into the text as it is. Left alone are questions, conditions and guesses, greetings and thanks, orders
and talk to the assistant, text that the user wants worked on, quoted lines, code, and lines that somebody else speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.text import sanitise
from mnemic.text.languages import Language, detect
from mnemic.text.late_pattern import late_pattern
from mnemic.text.sentences import sentences

MAX_MESSAGE_CHARS = 8000
"""More than the beginning of a message is not read: who writes so much has pasted it."""

MAX_STATEMENT_CHARS = 400
"""A longer sentence is no single fact."""

_SPEAKER = late_pattern(
    r"(?:[A-Z][\w.'’-]*(?:\s[A-Z][\w.'’-]*)?|user|assistant|system|human|ai)\s*[:：]\s"
    r"|(?:[\w\u4e00-\u9fff]{1,6})[:：]\s*[“\"「我]",
    re.IGNORECASE,
)
_CODE = late_pattern(r"^\s*(?:```|~~~|>|\||[{}<>/#$])|^\s{4,}\S.*[;{}()=]\s*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause that may hold a fact: half-open span in the message, without outer white space and closing marks."""

    start: int
    end: int
    text: str
    language: Language
    is_whole: bool = True
    """False for a part of a sentence."""


def find_statements(text: str) -> list[Statement]:
    """The statements of a message in order, without overlap. No string raises."""
    text = text[:MAX_MESSAGE_CHARS]
    hostile = [finding.span for finding in sanitise.findings(text)]
    found: list[Statement] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        if _CODE.match(sentence):
            continue
        language = detect(sentence)
        if language.statements.material.search(sentence):
            break
        is_hostile = any(left < end and start < right for left, right in hostile)
        if not is_hostile and not _is_anothers(sentence, language):
            found.extend(_find_clauses(text, start, end, language))
    return found


def _is_anothers(sentence: str, language: Language) -> bool:
    return _SPEAKER.match(sentence) is not None and language.statements.own_label.match(sentence) is None


def _find_clauses(text: str, start: int, end: int, language: Language) -> Iterator[Statement]:
    rules = language.statements
    sentence = text[start:end]
    if (greeting := rules.opening.match(sentence)) is not None and greeting.end() < len(sentence):
        start += greeting.end()
    sentence = text[start:end]
    if rules.condition.search(sentence):
        return
    edges = _find_edges(sentence, language)
    if rules.refused.search(sentence) and len(edges) == 1:
        # A question or a thanks may follow a statement in one sentence: "I moved to Rome, can you …?" keeps its start.
        if (span := rules.find_reason(sentence)) is not None:
            piece, shift = _trim(sentence[span[0] : span[1]], None)
            begin = start + span[0] + shift
            if not rules.refused.search(piece):
                yield Statement(begin, begin + len(piece), piece, language, is_whole=False)
        return
    for left, right in edges:
        piece = sentence[left:right]
        if len(edges) == 1 and (comment := rules.find_comment(piece)) is not None:
            piece = piece[:comment]
        piece, shift = _trim(piece, rules.opening if left else None)
        begin = start + left + shift
        closing = text[start + right : end] if start + right >= end - 1 else ""  # the question mark of the last clause
        if piece and len(piece) <= MAX_STATEMENT_CHARS and not rules.refused.search(piece + closing):
            yield Statement(begin, begin + len(piece), piece, language, is_whole=len(edges) == 1)


def _trim(piece: str, opening: re.Pattern[str] | None) -> tuple[str, int]:
    """The piece without its outer marks, and how much was cut from its start."""
    left = len(piece) - len(piece.lstrip(" \t\r\n,;:–—-*•，；、"))
    piece = piece[left:]
    if opening is not None and (match := opening.match(piece)) is not None and match.end() < len(piece):
        left, piece = left + match.end(), piece[match.end() :]
    return piece.rstrip(" \t\r\n.,;:!。，；！…~～–—-"), left


def _find_edges(sentence: str, language: Language) -> list[tuple[int, int]]:
    """Where the clauses of a sentence with subjects of their own begin and end."""
    edges: list[tuple[int, int]] = []
    begin = 0
    for cut in language.statements.cut.finditer(sentence):
        if not language.statements.keeps_together(sentence[begin : cut.start()], sentence, cut):
            edges.append((begin, cut.start()))
            begin = cut.end()
    return [*edges, (begin, len(sentence))]
