"""Chooses the sentences that stand for a conversation: a summary without a language model, word for word.

Pure. A sentence weighs what its words weigh: words that come up again in the conversation, names and numbers. What the
user says of themselves goes before what others say; questions come last, and what was said already is not said again.
Greetings, reactions, and what machines wrote (`text.prose`) are left out.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mnemic.text.normalise import stored_pattern
from mnemic.text.prose import prose_parts
from mnemic.text.sentences import sentences

OWN, OTHERS = 1.0, 0.6
"""How much of its weight a sentence keeps by who said it."""

FIRST_PERSON = 1.4  # factor: what people say about themselves is worth keeping
SPECIFIC = 1.25  # factor: names, numbers and dates are harder to find again than opinions
QUESTION = 0.35  # factor: a question tells little unless its answer is kept
LEAST = 0.3
"""A sentence of less than this share of the best one's weight is not worth its room."""

SAID_ALREADY = 0.7
"""With so great a share of its words among those of the chosen ones, a sentence says nothing new."""

_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|my|mine|we|our)\b|我|咱", re.IGNORECASE)
_SPECIFIC = re.compile(r"\d|(?<=\s)[A-Z][a-z]")
_QUESTION = re.compile(r"[?？]\W*$|[吗呢]\W*$")
_SMALL_TALK = stored_pattern(__name__, "small_talk")


@dataclass(frozen=True, slots=True)
class Passage:
    """What one person said at once; `is_own`: the user did."""

    text: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Characters `start` to `end` (half-open) of the passage at `place`; `is_cut`: the sentence goes on."""

    place: int
    start: int
    end: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Sentence:
    excerpt: Excerpt
    text: str
    terms: tuple[str, ...]
    weight: float


def extract(
    passages: Sequence[Passage],
    terms: Callable[[str], Sequence[str]],
    size: Callable[[str], int],
    limit: int,
) -> list[Excerpt]:
    """The sentences that together stay within `limit` (as `size` counts), in the order of the conversation.

    `terms` gives the words of a text that carry meaning, each once. When even the best sentence is too long, it is cut.
    Nothing but greetings and signs gives nothing.
    """
    ranked = sorted(_weighed(passages, terms), key=lambda each: (-each.weight, each.excerpt.place, each.excerpt.start))
    chosen: list[Excerpt] = []
    said: set[str] = set()
    left = limit
    for each in ranked:
        length = size(each.text)
        if each.weight < LEAST * ranked[0].weight:
            break
        if length > left or len(said.intersection(each.terms)) >= SAID_ALREADY * len(each.terms):
            continue
        chosen.append(each.excerpt)
        said.update(each.terms)
        left -= length
    if not chosen and ranked:
        chosen.append(_cut(ranked[0], size, limit))
    return sorted(chosen, key=lambda excerpt: (excerpt.place, excerpt.start))


def is_small_talk(text: str) -> bool:
    """True for greetings, thanks and the like, which say nothing."""
    return _SMALL_TALK.fullmatch(text) is not None


def _weighed(passages: Sequence[Passage], terms: Callable[[str], Sequence[str]]) -> list[_Sentence]:
    """Every sentence that says anything, with its weight."""
    found: list[tuple[Excerpt, str, tuple[str, ...]]] = []
    for place, passage in enumerate(passages):
        for shift, limit in prose_parts(passage.text):
            for start, end in sentences(passage.text[shift:limit]):
                text = passage.text[shift + start : shift + end]
                if words := tuple(terms(text)):
                    found.append((Excerpt(place, shift + start, shift + end), text, words))
    times = Counter(word for _, _, words in found for word in words)
    weighed: list[_Sentence] = []
    for excerpt, text, words in found:
        if is_small_talk(text):
            continue
        meaning = sum(1.0 + math.log(times[word]) for word in words) / math.sqrt(len(words) + 2.0)
        weighed.append(_Sentence(excerpt, text, words, meaning * _form(text, is_own=passages[excerpt.place].is_own)))
    return weighed


def _form(text: str, *, is_own: bool) -> float:
    weight = OWN if is_own else OTHERS
    if is_own and _FIRST_PERSON.search(text):
        weight *= FIRST_PERSON
    if _SPECIFIC.search(text):
        weight *= SPECIFIC
    if _QUESTION.search(text):
        weight *= QUESTION
    return weight


def _cut(sentence: _Sentence, size: Callable[[str], int], limit: int) -> Excerpt:
    """The longest beginning of a sentence that fits, by halving; at a blank where there is one."""
    fits, too_long = 1, len(sentence.text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if size(sentence.text[:middle]) <= limit else (fits, middle)
    blank = sentence.text.rfind(" ", 0, fits + 1)
    end = blank if blank > fits // 2 else fits
    start = sentence.excerpt.start
    return Excerpt(sentence.excerpt.place, start, start + end, is_cut=True)
