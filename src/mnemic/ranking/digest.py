"""Shortens a message to the sentences that matter for a question, word for word, with a mark at each cut."""

import re
from collections.abc import Callable, Sequence
from functools import cache

from mnemic.ranking.extract import is_small_talk
from mnemic.text.normalise import stored_pattern, stored_texts
from mnemic.text.sentences import sentences

CUT = "[...]"  # replaces omitted sentences; ASCII, so that scanning the text for orders is far cheaper
LEAST_TOKENS = 30  # up to this length texts stay whole: cutting saves little and costs sense
SHARE = 0.6  # share of a longer text to keep, so that its topic stays clear
MOST_TOKENS = 90  # maximum kept of a very long text, such as an assistant's essay
STEM_CHARS, LEAST_CHARS = 5, 4  # shorter words are mostly function words
LEAST_CONTENT, FULL_CONTENT = 1.0, 6.0
"""Content words: with fewer than the first a message says nothing alone; more than the second add nothing."""

SHORTEST_CONTENT = 3  # letters: "Tea, please." says something
QUESTION_SHARE = 1 / 3  # a question says little without its answer

_CAPTION = re.compile(r"\[\w+: ")
_OWN_WORDS = re.compile(r"\b(?:I|I'm|I've|I'd|my|mine|our)\b")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_SPECIFIC = re.compile(r"\d|(?<=\s)[A-Z][a-z]")
_OPEN = stored_pattern(__name__, "open")


def is_question(text: str) -> bool:
    """True for a text that ends in a question mark, before any quotes and marks."""
    last = next((character for character in reversed(text) if character in "?？" or character.isalnum()), "")
    return last in ("?", "？")


def leaves_open(text: str) -> bool:
    """True for a message that asks, weighs or plans something, which its author's next message may settle."""
    return _OPEN.search(text) is not None


def stems(text: str) -> frozenset[str]:
    """The first letters of a text's words: a cheap stem, enough to compare sentences of one message."""
    return frozenset(
        word[:STEM_CHARS] for word in _WORD.findall(text.lower()) if len(word) >= LEAST_CHARS or _HAN.match(word)
    )


def needles(question: str) -> tuple[str, ...]:
    """The lower-case `stems` of the question, to look for at the start of words."""
    return tuple(stem if _HAN.match(stem) else f" {stem}" for stem in sorted(stems(question)))


def shortened_tokens(length: int) -> int:
    """The most that `digest` keeps of a text of `length` tokens, without the marks."""
    return min(length, int(min(max(LEAST_TOKENS, SHARE * length), MOST_TOKENS)))


def content(text: str, names: frozenset[str] = frozenset()) -> float:
    """Number of content words in a text: without praise, thanks, agreement, joining words and the speakers' `names`
    (stems). A caption, a number or Chinese text always has enough. Words of a question count a third, unless it states
    something about its speaker ("Is this good for my knee?").
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
    """Starts of words that praise, thank, agree or only join. All other words are content."""
    return frozenset(stored_texts(__name__)["reactions"].split())


def digest(text: str, matters: Sequence[str], tokens: Callable[[str], int]) -> str:
    """The text, or its sentences with most `matters` (see `needles`), in order, joined by `CUT`. `tokens` counts a
    text's length. A text of one sentence is cut at a word.
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
    """A sentence's weight: the question's words first, then numbers, names and captions, as in answers."""
    if is_small_talk(sentence):
        return -1.0
    lowered = f" {sentence.lower()}"
    shared = sum(needle in lowered for needle in matters)
    is_specific = _SPECIFIC.search(sentence) or _CAPTION.match(sentence)
    # 2 per word of the question, 1 for any numbers or names, half a point less for a question
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
