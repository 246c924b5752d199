"""A corpus made by a seed: texts and questions whose words are as unevenly common as those of a language."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import mnemic_minilm

SHORTEST_WORDS = 6
LONGEST_WORDS = 30
QUESTION_WORDS = 7
_UNCOMMON_RANK = 50  # a question is made of words behind this rank, as people ask about something


class GeneratedTexts:
    """Distinct texts of 6 to 30 words and questions of 7, the same for the same seed.

    The words are those of the default embedder's vocabulary, so that each costs it about one token; their frequencies
    follow Zipf's law (1 / rank).
    """

    def __init__(self, seed: int = 1) -> None:
        pieces = mnemic_minilm.vocab_path().read_text(encoding="utf-8").splitlines()
        self._words = [piece for piece in pieces if len(piece) > 1 and piece.isascii() and piece.isalpha()]
        weights = 1.0 / np.arange(1, len(self._words) + 1)
        self._cumulative = np.cumsum(weights / weights.sum())
        self._random = np.random.default_rng(seed)
        self._given: set[str] = set()

    def texts(self, count: int) -> Iterator[str]:
        """So many texts that this object never gave before."""
        for _ in range(count):
            text = self._text(int(self._random.integers(SHORTEST_WORDS, LONGEST_WORDS + 1)), 0)
            while text in self._given:
                text = self._text(LONGEST_WORDS, 0)
            self._given.add(text)
            yield text

    def questions(self, count: int) -> list[str]:
        """So many questions; two of them may be alike only by chance."""
        return [self._text(QUESTION_WORDS, _UNCOMMON_RANK) + "?" for _ in range(count)]

    def _text(self, words: int, skipped: int) -> str:
        floor = float(self._cumulative[skipped - 1]) if skipped else 0.0
        draws = floor + self._random.random(words) * (1.0 - floor)
        places: NDArray[np.intp] = np.searchsorted(self._cumulative, draws)
        return " ".join(self._words[min(int(place), len(self._words) - 1)] for place in places)
