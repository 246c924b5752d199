"""Shortens a message to the sentences that matter for a question, word for word, with a mark where it was cut.

Answers for which sentences stay. How much room there is, is the caller's business.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache

from mnemic.ranking.extract import is_small_talk
from mnemic.text.normalise import stored_texts
from mnemic.text.sentences import sentences

CUT = "[...]"
"""Stands for sentences that were left out. In ASCII: looking through such a text for orders is far cheaper."""

LEAST_TOKENS = 30
"""Texts up to this length are shown whole: cutting them saves little and costs sense."""

SHARE = 0.6
"""This much of a longer text is kept, so that what it is about stays clear."""

MOST_TOKENS = 90
"""No more than this is kept of a very long text, such as an assistant's essay."""

STEM_CHARS, LEAST_CHARS = 5, 4
"""Words shorter than `LEAST_CHARS` are mostly function words."""

LEAST_CONTENT, FULL_CONTENT = 1.0, 6.0
"""Words of content: with fewer than the first a message says nothing by itself; more than the second add nothing."""

SHORTEST_CONTENT = 3
"""Letters: "Tea, please." tells something."""

QUESTION_SHARE = 1 / 3  # a question says little without its answer

_CAPTION = re.compile(r"\[\w+: ")
_OWN_WORDS = re.compile(r"\b(?:I|I'm|I've|I'd|my|mine|our)\b")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_SPECIFIC = re.compile(r"\d|(?<=\s)[A-Z][a-z]")


def is_question(text: str) -> bool:
    """True for a text that ends in a question mark, whatever quotes and marks stand behind it."""
    last = next((character for character in reversed(text) if character in "?？" or character.isalnum()), "")
    return last in ("?", "？")


def stems(text: str) -> frozenset[str]:
    """The words of a text by their first letters: a cheap stem, enough to compare sentences of one message."""
    return frozenset(
        word[:STEM_CHARS] for word in _WORD.findall(text.lower()) if len(word) >= LEAST_CHARS or _HAN.match(word)
    )


def needles(question: str) -> tuple[str, ...]:
    """What to look for in a sentence in lower case: the `stems` of the question, where a word begins."""
    return tuple(stem if _HAN.match(stem) else f" {stem}" for stem in sorted(stems(question)))


def shortened_tokens(length: int) -> int:
    """The most that `digest` keeps of a text of so many tokens, but for the marks."""
    return min(length, int(min(max(LEAST_TOKENS, SHARE * length), MOST_TOKENS)))


def content(text: str, names: frozenset[str] = frozenset()) -> float:
    """How many words of a text tell something: not praise, thanks, agreement or joining words, nor the `names` (stems)
    of those who speak. A caption, a number or a text in Chinese always tells enough.

    Words of a question count a third, unless it tells of its speaker ("Is this good for my knee?").
    """
    found = 0.0
    for start, end in sentences(text):
        sentence = text[start:end]
        if _CAPTION.match(sentence) or _HAN.search(sentence) or any(map(str.isdigit, sentence)):
            found += FULL_CONTENT
        else:
            asks = is_question(sentence) and not _OWN_WORDS.search(sentence)
            words = {word[:STEM_CHARS] for word in _WORD.findall(sentence.lower()) if len(word) >= SHORTEST_CONTENT}
            found += len(words - _reactions() - names) * (QUESTION_SHARE if asks else 1.0)
        if found >= FULL_CONTENT:
            return FULL_CONTENT
    return found


@cache
def _reactions() -> frozenset[str]:
    """Beginnings of words that praise, thank, agree or only join; the other words of a text are its content."""
    return frozenset(stored_texts(__name__)["reactions"].split())


def digest(text: str, matters: Sequence[str], tokens: Callable[[str], int]) -> str:
    """The text, or its sentences that hold most of what matters (see `needles`), in their order, joined by `CUT`.

    `tokens` counts the length of a text. A text of one sentence is cut at a word.
    """
    length = tokens(text)
    room = shortened_tokens(length)
    if room == length:
        return text
    spans = sentences(text)
    ranked = sorted(range(len(spans)), key=lambda place: (-_weight(text[slice(*spans[place])], matters), place))
    kept: set[int] = set()
    for place in ranked:
        size = tokens(text[slice(*spans[place])])
        if size <= room:
            kept.add(place)
            room -= size
    if not kept:
        return _beginning(text[slice(*spans[ranked[0]])], room, tokens)
    return _joined(text, spans, sorted(kept))


def _weight(sentence: str, matters: Sequence[str]) -> float:
    """Words of the question count most; numbers, names and captions are what answers are made of; chatter is left out
    first.
    """
    if is_small_talk(sentence):
        return -1.0
    lowered = f" {sentence.lower()}"
    shared = sum(needle in lowered for needle in matters)
    is_specific = _SPECIFIC.search(sentence) or _CAPTION.match(sentence)
    # 2 for a word of the question, 1 for a number or name however many, half a point less for a question
    return 2.0 * shared + (is_specific is not None) - 0.5 * is_question(sentence)


def _joined(text: str, spans: Sequence[tuple[int, int]], kept: Sequence[int]) -> str:
    parts: list[str] = []
    last = -1
    for place in kept:
        if place != last + 1:
            parts.append(CUT)
        parts.append(text[slice(*spans[place])])
        last = place
    return " ".join(parts if last == len(spans) - 1 else [*parts, CUT])


def _beginning(sentence: str, room: int, tokens: Callable[[str], int]) -> str:
    """The first words of a sentence that fit."""
    if tokens(sentence) <= room:
        return sentence
    low, high = 1, len(sentence)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tokens(sentence[:middle]) <= room else (low, middle)
    blank = sentence.rfind(" ", 0, low + 1)
    return f"{sentence[: blank if blank > low // 2 else low]} {CUT}"
