"""The port of a judge of texts: where does a text hold a secret, and of which kind?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class SecretSpan(NamedTuple):
    """A secret in a text: half-open, in characters of the text, and what it is, such as `password`."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class DetectorCapabilities:
    """What the engine must know of a detector.

    `kinds`: every kind that `find` may name, in lower case with hyphens. `is_local`: no text leaves this process.
    """

    kinds: tuple[str, ...]
    is_local: bool


class Detector(Protocol):
    """Finds secrets, so that they can be taken out before anything is stored.

    `find` promises: spans within the text, none of them empty, in the order of their start; they may overlap; the same
    text gives the same spans; the time grows about linearly with the text, whatever it holds; the text is neither kept
    nor written anywhere; it may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def capabilities(self) -> DetectorCapabilities:
        """Declared facts, constant for the life of the object."""
        ...

    def find(self, text: str) -> list[SecretSpan]:
        """The secrets of a text, none in a text without any. No string raises."""
        ...
