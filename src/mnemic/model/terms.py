"""The analysed form of a text, as it is stored beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """Blank-separated terms, and the name of the analyser that made them."""

    analyser: str
    terms: str
