"""Finds what a user pasted into a message: a letter, a review, notes, a story. Its "I" is somebody else."""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.text.languages import Language, detect
from mnemic.text.normalise import late_pattern

_LEAST_CHARS = 60
"""A shorter quotation is a phrase or a title, which the user's sentence needs."""

_MOST_CHARS = 300
"""A longer paragraph does not lead back to the user's own words."""

_TOLD_CHARS = 300  # before a pasted text, in which it is announced
_FEWEST_LINES = 3  # of a recipe, a poem or notes

_PARAGRAPH = late_pattern(r"\S(?:(?!\n[^\S\n]*\n|:[^\S\n]*\n)[^\n]|\n(?=[^\S\n]*\S))*:?")
_QUOTED = late_pattern(
    rf"(?:(?<=\s)|^)(?:\"(?=\S)[^\"]{{{_LEAST_CHARS},}}\"|[“„][^“”„]{{{_LEAST_CHARS},}}[”“]"
    rf"|[«»][^«»]{{{_LEAST_CHARS},}}[«»]|「[^」]{{{_LEAST_CHARS},}}」)"
)
_SENTENCE_END = late_pattern(r"[.!?…。！？](?![\w.])")
_NO_BLANK = late_pattern(r"[^\n]")
_HEADING = late_pattern(r"[^a-z\n]*[A-Z]{3}[^a-z\n]*\n")


def own_words(text: str) -> str:
    """The text with blanks for what is pasted, so that positions stay the same. No string raises."""
    if len(text) < _LEAST_CHARS:
        return text
    quoted = [each.span() for each in _QUOTED.finditer(text) if _SENTENCE_END.search(each[0])]
    for start, end in [*quoted, *_find_paragraphs(text)]:
        text = text[:start] + _NO_BLANK.sub(" ", text[start:end]) + text[end:]
    return text


def _find_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs that the user announces as another text, or that begin like a letter, up to the user's own words."""
    paragraphs = [each.span() for each in _PARAGRAPH.finditer(text)]
    told, is_pasted = "", False
    for start, end in paragraphs:
        said = text[start:end]
        language = detect(said)
        if is_pasted:
            is_pasted = not _returns(said, language, is_last=end == paragraphs[-1][1])
        else:
            is_pasted = language.pasted.letter.match(said) is not None or _announces(told, said, language)
        if is_pasted:
            yield start, end
        else:
            told = said


def _announces(told: str, said: str, language: Language) -> bool:
    """True if a paragraph asks for work on the next one, or says where it is from and the next one looks like it."""
    own = detect(told)
    if not told or own.pasted.own.search(told[-_TOLD_CHARS:]):
        return False
    if own.pasted.works.search(told, max(len(told) - _TOLD_CHARS, 0)):
        return True
    if not own.pasted.announced.search(told, max(len(told) - _TOLD_CHARS, 0)):
        return False
    is_listed = said.count("\n") + 1 >= _FEWEST_LINES or _HEADING.match(said) is not None
    return told.endswith(":") or is_listed or own is not language


def _returns(said: str, language: Language, *, is_last: bool) -> bool:
    """True if a paragraph after a pasted one speaks to the assistant, or announces a further text."""
    if len(said) > _MOST_CHARS or language.pasted.closing.search(said):
        return False
    if said.endswith(":"):
        return language.pasted.announced.search(said) is not None
    return language.pasted.back.match(said) is not None or (is_last and language.pasted.asked.search(said) is not None)
