"""In which kind of writing a text is: Latin letters, or others. Cheap, and no guess at the language."""

from __future__ import annotations

from enum import StrEnum

_LOOKED_AT_CHARS = 2000
_MOST_OTHERS = 0.25
_LATIN_ENDS = 0x250
_LATIN_FURTHER = ((0x1E00, 0x1F00), (0xFF21, 0xFF5B))
"""Latin Extended Additional (Vietnamese and others), and the full-width letters."""


class Writing(StrEnum):
    """`latin`: at most a quarter of the letters are of other scripts; else `other`."""

    LATIN = "latin"
    OTHER = "other"


def writing_of(text: str) -> Writing | None:
    """The writing of the letters at the start of a text; None when there is no letter."""
    letters = [ord(character) for character in text[:_LOOKED_AT_CHARS] if character.isalpha()]
    if not letters:
        return None
    others = sum(not _is_latin(letter) for letter in letters)
    return Writing.OTHER if others > _MOST_OTHERS * len(letters) else Writing.LATIN


def _is_latin(letter: int) -> bool:
    return letter < _LATIN_ENDS or any(start <= letter < end for start, end in _LATIN_FURTHER)
