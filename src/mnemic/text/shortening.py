"""A passage that is too long for its place, shortened and marked.

Answers for where a text is cut. What fits is the caller's question, and so is whether to cut at all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from mnemic.text.analyser import Analyser
from mnemic.text.sentences import sentences

CUT_MARK = " […]"
"""Ends what was shortened."""

Fits = Callable[[str], bool]
"""Whether a text has room; a text that begins like a longer one that fits must fit too."""

_analyser = Analyser()


def cut_at_sentence(text: str, fits: Fits) -> str:
    """The longest beginning of whole sentences that fits together with `CUT_MARK`, marked; "" when there is none."""
    return _longest(text, [end for _, end in sentences(text)], fits)


def cut_at_word(text: str, fits: Fits) -> str:
    """The longest beginning of whole words that fits together with `CUT_MARK`, marked; of characters where the first
    word alone is too long; "" when there is none.
    """
    ends = [end for _, end in _analyser.token_spans(text)]
    return _longest(text, ends, fits) or _longest(text, range(1, len(text) + 1), fits)


def _longest(text: str, ends: Sequence[int], fits: Fits) -> str:
    count = bisect_left(ends, True, key=lambda end: not fits(text[:end] + CUT_MARK))
    return text[: ends[count - 1]] + CUT_MARK if count else ""
