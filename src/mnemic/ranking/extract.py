"""Selects sentences that represent a conversation: a pure extractive summary without a language model. A sentence's
weight comes from its words: repeated ones, names and numbers. The user's own statements come before others', questions
last, and repetitions are dropped. Greetings, reactions and machine output (`text.prose`) are left out.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mnemic.text.normalise import stored_pattern
from mnemic.text.prose import prose_parts
from mnemic.text.sentences import sentences

OWN, OTHERS = 1.0, 0.6  # factor by speaker: the user, others
FIRST_PERSON = 1.4  # factor: what people say about themselves is worth keeping
SPECIFIC = 1.25  # factor: names, numbers and dates are harder to find again than opinions
QUESTION = 0.35  # factor: a question is worth little unless its answer is kept
LEAST = 0.3  # minimum weight of a sentence as a share of the best one's
SAID_ALREADY = 0.7
"""A sentence with this share of its words among the chosen ones adds nothing new."""

_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|my|mine|we|our)\b|我|咱", re.IGNORECASE)
_SPECIFIC = re.compile(r"\d|(?<=\s)[A-Z][a-z]")
_QUESTION = re.compile(r"(?:^|(?<=\w))[^\w?？]*[?？]\W*$|[吗呢]\W*$")
_SMALL_TALK = stored_pattern(__name__, "small_talk")


@dataclass(frozen=True, slots=True)
class Passage:
    """One person's words at one time; `is_own`: the user's."""

    text: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Characters `start` to `end` (half-open) of the passage at `place`. `is_cut`: the sentence continues."""

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
    passages: Sequence[Passage], terms: Callable[[str], Sequence[str]], size: Callable[[str], int], limit: int
) -> list[Excerpt]:
    """The sentences that fit `limit` together (as `size` counts), in order of the conversation. `terms` returns a
    text's content words, each once. If even the best sentence is too long, it is cut. Texts of only greetings and signs
    give nothing.
    """
    ranked = sorted(
        _weigh_sentences(passages, terms), key=lambda each: (-each.weight, each.excerpt.place, each.excerpt.start)
    )
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


def _weigh_sentences(passages: Sequence[Passage], terms: Callable[[str], Sequence[str]]) -> list[_Sentence]:
    """Every sentence with content, with its weight."""
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
    """The longest start of a sentence that fits, found by halving; ends at a blank if there is one."""
    fits, too_long = 1, len(sentence.text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if size(sentence.text[:middle]) <= limit else (fits, middle)
    blank = sentence.text.rfind(" ", 0, fits + 1)
    end = blank if blank > fits // 2 else fits
    start = sentence.excerpt.start
    return Excerpt(sentence.excerpt.place, start, start + end, is_cut=True)
