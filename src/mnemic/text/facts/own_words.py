"""Removes what users paste, invent or act from their messages. Facts about the user must not come from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.text.languages import detect
from mnemic.text.normalise import late_pattern

_LEAST_QUOTED_CHARS = 60
"""A shorter quotation is a phrase or a title, which the user's sentence needs."""

_MOST_OWN_CHARS = 300
"""A longer paragraph neither announces a pasted text nor leads back from it."""

_REACH = 600  # no sentence, and no supposition, is longer
_MOST_HEAD_CHARS = 120  # before a colon
_FEWEST_LINES = 3  # of a recipe, a poem or notes

_PARAGRAPH = late_pattern(r"\S(?:(?!\n[^\S\n]*\n|:[^\S\n]*\n)[^\n]|\n(?=[^\S\n]*\S))*:?")
_LONG_QUOTE = late_pattern(
    rf"(?:(?<=\s)|^)(?:\"(?=\S)[^\"]{{{_LEAST_QUOTED_CHARS},}}\"|[“„][^“”„]{{{_LEAST_QUOTED_CHARS},}}[”“]"
    rf"|[«»][^«»]{{{_LEAST_QUOTED_CHARS},}}[«»]|「[^」]{{{_LEAST_QUOTED_CHARS},}}」)"
)
_SPOKEN = late_pattern(
    r"(?:(?<=\s)|^)(?:\"(?=\S)[^\"\n]{8,}[.!?]\"|[“„][^“”„\n]{8,}[.!?][”“]|[«»][^«»\n]{8,}[.!?][«»])"
)
"""A short quotation in the first person is somebody's sentence if it ends with a mark. Others may be titles."""

_SENTENCE_END = late_pattern(r"[.!?…。！？](?![\w.])")
_NO_BLANK = late_pattern(r"[^\n]")
_QUOTED_LINE = late_pattern(r"[^\n\"“„«]{0,40}[\"“„«]")
_ITEM = late_pattern(r"(?:[-*•]|\w{1,2}[.)])[ ]")
_WORD = late_pattern(r"[^\W\d_]+")
_BREAKS = ("\n", ". ", "! ", "? ")
_COLON = late_pattern(r":[ ](?=[^\s\"“„«])")
_WHOLE_LINE = late_pattern(r"\S[^\n]*")


class Scene:
    """Tracks the role plays of a conversation. Their lines are not about the user."""

    def __init__(self) -> None:
        self.is_on = False
        self._until = ""

    def follow(self, text: str) -> str:
        """The next message of the user, with blanks for what is played. No string raises."""
        rules, end = detect(text).pasted, 0
        if self.is_on:
            ends = [found.start()] if (found := rules.unplayed.search(text)) is not None else []
            if self._until and (word := re.search(re.escape(self._until), text, re.IGNORECASE)) is not None:
                ends.append(word.end())
            if not ends:
                return _blank(text, 0, len(text))
            self.is_on, end = False, min(ends)
        text = _blank(text, 0, end)
        if (start := rules.played.search(text, end)) is not None:
            self.is_on = True
            self._until = until["until"] if (until := rules.until.search(text, end)) is not None else ""
            text = _blank(text, max(end, _begin_of(text, start.start())), len(text))
        return text


def own_words(text: str) -> str:
    """Replace what is pasted or made up with blanks, so that positions stay the same. No string raises."""
    found = [*_find_made_up(text)]
    if len(text) >= _LEAST_QUOTED_CHARS:
        found += [each.span() for each in _LONG_QUOTE.finditer(text) if _SENTENCE_END.search(each[0])]
        found += _find_paragraphs(text)
    is_spoken = detect(text).statements.first_person
    found += [each.span() for each in _SPOKEN.finditer(text) if is_spoken.search(each[0])]
    for start, end in found:
        text = _blank(text, start, end)
    return text


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + _NO_BLANK.sub(" ", text[start:end]) + text[end:]


def _begin_of(text: str, place: int) -> int:
    """Where the sentence at a place begins."""
    start = max(0, place - _REACH)
    ends = ((text.rfind(mark, start, place), len(mark)) for mark in _BREAKS)
    return max((end + size for end, size in ends if end >= 0), default=start)


def _find_made_up(text: str) -> Iterator[tuple[int, int]]:
    """Spans of suppositions up to their question, of questions for somebody else, of jokes, and of what follows a colon
    after words such as "translate" or "my character".
    """
    rules = detect(text).pasted
    for match in rules.supposed.finditer(text):
        end = _line_end(text, match.end())
        if (back := rules.unplayed.search(text, match.end(), end)) is not None:
            end = back.start()
        question = text.find("?", match.end(), end if back is not None else match.end() + _REACH)
        yield match.start(), question if question >= 0 else end
    for match in rules.for_another.finditer(text):
        yield _begin_of(text, match.start()), _line_end(text, match.end())
    for match in rules.joke.finditer(text):
        yield match.span()
    for colon in _COLON.finditer(text):
        said = text[max(_begin_of(text, colon.start()), colon.start() - _MOST_HEAD_CHARS) : colon.start()]
        if (rules.made.search(said) or rules.works.search(said)) and not rules.own.search(said):
            yield colon.end(), _line_end(text, colon.end())


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place, place + _REACH)
    return end if end >= 0 else min(place + _REACH, len(text))


def _find_paragraphs(text: str) -> list[tuple[int, int]]:
    """Spans of the paragraphs of another text, which the user's own paragraph before or behind announces. In a message
    without blank lines, each line is a paragraph.
    """
    spans = [each.span() for each in _PARAGRAPH.finditer(text)] if "\n" in text else []
    if len(spans) == 1:
        spans = [each.span() for each in _WHOLE_LINE.finditer(text)]
    if len(spans) < 2:  # noqa: PLR2004 -- one is the user's
        return []
    last = text[slice(*spans[-1])]
    if len(last) <= _MOST_OWN_CHARS and detect(last).pasted.behind.search(last):
        return spans[:-1]
    found: list[tuple[int, int]] = []
    told = before = ""
    for span in spans:
        said = text[slice(*span)]
        is_pasted = not _returns(said, before, is_last=span == spans[-1]) if before else _announces(told, said)
        if is_pasted:
            found.append(span)
        told, before = ("", said) if is_pasted else (said, "")
    return found


def _announces(told: str, said: str) -> bool:
    """True if a paragraph asks for work on the next one, says where it is from, or names a text and the next one looks
    like it. The beginning of a letter needs no announcement.
    """
    rules = detect(told).pasted
    goes_on = detect(said).pasted.on.match(said) is not None
    if goes_on or (len(told) > _MOST_OWN_CHARS and not told.endswith(":")) or rules.own.search(told):
        return False
    is_asking = told.endswith(":") or "?" in told or rules.asked.search(told) is not None
    is_text = is_asking or said.count("\n") + 1 >= _FEWEST_LINES or detect(said) is not detect(told)
    is_named = rules.mentioned.search(told) if is_text else None
    is_made = rules.made.search(told) if is_asking or detect(told).slots.first_person.search(told) is None else None
    if is_named or is_made or rules.works.search(told) or rules.announced.search(told) or _rhymes(said):
        return True
    return detect(said).pasted.letter.match(said) is not None


def _is_example(said: str) -> bool:
    """True for a line in quotation marks, or an item of a list."""
    is_quoted = _QUOTED_LINE.match(said) is not None and said.rstrip(" .,;:!?").endswith(('"', "”", "“", "»"))
    return "\n" not in said and (is_quoted or _ITEM.match(said) is not None)


def _rhymes(said: str) -> bool:
    """True for lines of which most end like another one."""
    ends = [words[-1][-2:].casefold() for line in said.splitlines() if (words := _WORD.findall(line))]
    return len(ends) > _FEWEST_LINES and sum(ends.count(end) > 1 for end in ends) > len(ends) / 2


def _returns(said: str, before: str, *, is_last: bool) -> bool:
    """True if a paragraph after a pasted one speaks to the assistant, announces a further text, or ends the message in
    another form.
    """
    rules = detect(said).pasted
    if len(said) > _MOST_OWN_CHARS or rules.closing.search(said):
        return False
    if said.endswith(":"):
        return rules.announced.search(said) is not None or rules.mentioned.search(said) is not None
    is_apart = before.count("\n") + 1 >= _FEWEST_LINES or _is_example(before)
    is_prose = is_last and "\n" not in said and is_apart and not _is_example(said)
    return is_prose or rules.back.match(said) is not None or (is_last and rules.asked.search(said) is not None)
