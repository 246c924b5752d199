"""Stored text made safe to show to a model: instructions to the model and forged markers are taken out.

Answers for which characters of a text go and which stay; the wordings are data in `injection.toml`. One of two
layers: the blocks around the text say that it is data. Neither is perfect.
"""

import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from mnemic.text import injection
from mnemic.text.normalise import visible

MIN_CUES = 3
"""So many different cues in one text make every one of them a finding."""

_SCENES = frozenset({"act-as", "pretend", "hypothetical", "you-will"})
"""Cues of rehearsals and stories. Together with no other cue they ask for no lifted limits ("act as interviewers")."""

CUE_REACH_CHARACTERS = 1200
"""Cues further apart than this keep no company."""

MAX_ROUNDS = 4
"""A text that still holds an instruction after so many rounds was nested on purpose and is redacted whole."""

GROWTH = 6
"""`sanitise` makes no text more than so many times as long: its shortest passage has two characters."""

CLEAN_KNOWN = 1 << 16
"""Of so many texts it is remembered, by a digest, that nothing had to be taken out: the same facts and messages are put
in front of the model again and again, and looking through one takes 0.1 ms.
"""

_KEY = os.urandom(16)  # 128 bits, of this process: a caller cannot make two texts with one digest
_clean = set[bytes]()
_BEGIN = 3
"""Literals are looked for by so many first letters: one pass over a text then spares most of them."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_RULES = frozenset("-=_~*#<>[]|+─━═—–‐‑‒―−﹘﹣－➖⸺⸻＝＿～＊＃")


class _Wordings:
    """The wordings, and which of them a literal makes likely."""

    def __init__(self) -> None:
        self.patterns = injection.load_wordings()
        literals = frozenset[str]().union(*(group for pattern in self.patterns for group in pattern.needs))
        self.longest = max(map(len, literals))
        self.short = tuple(literal for literal in literals if len(literal) < _BEGIN)
        self.by_begin: dict[str, list[str]] = {}
        for literal in sorted(literals.difference(self.short)):
            self.by_begin.setdefault(literal[:_BEGIN], []).append(literal)
        self.needed_first: dict[str, list[int]] = {}
        for place, pattern in enumerate(self.patterns):
            for literal in sorted(pattern.needs[0] if pattern.needs else ()):
                self.needed_first.setdefault(literal, []).append(place)
        self.needing_nothing = tuple(place for place, pattern in enumerate(self.patterns) if not pattern.needs)


_wordings = cache(_Wordings)


@dataclass(frozen=True, slots=True)
class Finding:
    """A passage that addresses the model: half-open span in characters of the text, name of its pattern, severity.

    A `high` finding counts alone; a `cue` is reported only where at least `MIN_CUES` different ones come together.
    """

    span: tuple[int, int]
    pattern: str
    severity: injection.Severity


def sanitise(text: str) -> str:
    """The text without outer white space, each passage that addresses the model replaced by `[REDACTED]`.

    All other characters are the stored ones. Forged markers are passages too (see `neutralise_markers`). Sanitising
    twice changes nothing more. No string raises; the result has at most `GROWTH` times the characters.
    """
    text = text.strip()
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16, key=_KEY).digest()
    if digest in _clean:
        return text
    if not (spans := _hostile_spans(text)):
        if len(_clean) >= CLEAN_KNOWN:
            _clean.clear()
        _clean.add(digest)
        return text
    for _ in range(MAX_ROUNDS):
        text = _redact(text, spans).strip()
        if not (spans := _hostile_spans(text)):
            return text
    return injection.REDACTED


def findings(text: str) -> list[Finding]:
    """The passages that address the model with instructions, by position; they may overlap. No string raises."""
    return _find_hostile(text, injection.fold(text))


def neutralise_markers(text: str) -> str:
    """The text with everything that reads like one of our block markers replaced by `[REDACTED]`.

    Case, inner blanks, width, look-alike letters, invisible characters and the kind and number of dashes do not matter.
    """
    return _redact(text, _marker_spans(text, injection.fold(text)))


def one_line(text: str) -> str:
    """The text on one line: line breaks (every one that Unicode knows) with the blanks around them become one blank.

    Other control characters become blanks, and outer white space goes, so that a text cannot forge a list item.
    """
    return " ".join(part for part in map(str.strip, _CONTROL.sub(" ", text).splitlines()) if part)


def _hostile_spans(text: str) -> list[tuple[int, int]]:
    view = injection.fold(text)
    return [finding.span for finding in _find_hostile(text, view)] + _marker_spans(text, view)


def _find_hostile(text: str, view: injection.View) -> list[Finding]:
    found = list(_search(text, view))
    return _judge([*found, *_find_orders(view, found)])


def _judge(candidates: Iterable[Finding]) -> list[Finding]:
    found = set(candidates)
    cues = sorted((finding for finding in found if finding.severity == "cue"), key=lambda cue: cue.span)
    lonely = set(cues).difference(_company(cues))
    return sorted(found - lonely, key=lambda finding: (finding.span, finding.pattern))


def _company(cues: list[Finding]) -> Iterator[Finding]:
    """The cues, sorted by position, that have `MIN_CUES` different ones within `CUE_REACH_CHARACTERS`."""
    first = 0
    names: Counter[str] = Counter()
    yielded = 0
    for index, cue in enumerate(cues):
        names[cue.pattern] += 1
        while cue.span[0] - cues[first].span[0] > CUE_REACH_CHARACTERS:
            names[cues[first].pattern] -= 1
            first += 1
        if len(+names) >= MIN_CUES and not _SCENES.issuperset(+names):
            yield from cues[max(first, yielded) : index + 1]
            yielded = index + 1


def _search(text: str, view: injection.View) -> Iterator[Finding]:
    present = _literals_in(view.text)
    yield from _matches(view, present)
    if (letters := injection.unleeted(view)) is not None:
        yield from _matches(letters[0], present | _literals_around(*letters))
    if (words := injection.gathered(view)) is not None:
        yield from _matches(words, _literals_in(words.text), is_loose=True)
    for turned in injection.mirrored(view):
        yield from _matches(turned, _literals_in(turned.text))
    for span, hidden in injection.decoded(text):
        folded = injection.fold(hidden)
        if any(finding.severity == "high" for finding in _matches(folded, _literals_in(folded.text))):
            yield Finding(span, "encoded-order", "high")


LEAST_LOGIT = 0.5
"""From here a sentence is an order to the model: no harmless sentence of 28,885 held out has as much."""

_LEAST_SHORT_LOGIT, _SHORT_FEATURES = 1.25, 35
"""A sentence of up to 8 words says less of itself. Real ones ("Your support means everything.") come near 1.2."""

_PIECE_WORDS = 40
"""A longer sentence is judged in equal pieces: an order in it would be diluted, and a short rest is no sentence."""

_LEAST_WORDS = 4  # fewer are no order, but a name, a heading or a piece of an address
_WORD_APART = re.compile(r"[\u2e80-\u9fff]|(?<!\S)[^\s\u2e80-\u9fff]*[^\W\d_]")
"""A word between blanks, or a Chinese character: `export API_KEY=your_api_key` has two words, not six."""

_SENTENCE = re.compile(r"(?:[^\n.!?。]|[.!?](?=\S))++[.!?。]*+")
_TOKEN = re.compile(r"[\u2e80-\u9fff]|[a-z\u00df-\u024f\u0400-\u04ff]+|\d+|[^\w\s]")
"""Words of Latin and Cyrillic, and Chinese characters: the head has learnt no others, so it judges no others."""

_EDGE, _FIRST, _SECOND, _THIRD = 1, 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
"""Odd numbers, so that words hashed with them land elsewhere in each place of a group."""


def sentence_features(view: injection.View) -> Iterator[tuple[tuple[int, int], NDArray[np.uint64]]]:
    """The pieces of a folded text, half-open spans of the view, each with numbers for its words and their groups."""
    for sentence in _SENTENCE.finditer(view.text):
        found = list(_TOKEN.finditer(view.text, *sentence.span()))
        words = math.ceil(len(found) / max(math.ceil(len(found) / _PIECE_WORDS), 1))
        for start in range(0, len(found), max(words, 1)):
            piece = found[start : start + words]
            if sum(token[0].isalpha() for token in piece) < _LEAST_WORDS:
                continue
            hashes = [_EDGE, *(_hash_word(token[0]) for token in piece), _EDGE]
            yield (piece[0].start(), piece[-1].end()), _join_words(np.array(hashes, dtype=np.uint64))


def _find_orders(view: injection.View, known: Sequence[Finding]) -> Iterator[Finding]:
    """The sentences that are orders, but those in which a wording was found."""
    weights, bias = _head()
    high = [finding.span for finding in known if finding.severity == "high"]
    for span, features in sentence_features(view):
        least = _LEAST_SHORT_LOGIT if len(features) <= _SHORT_FEATURES else LEAST_LOGIT
        if weights[features % len(weights)].sum() / math.sqrt(len(features)) + bias > least:
            start, end = view.span(*span)
            is_known = any(first < end and start < last for first, last in high)
            piece = view.text[slice(*span)]
            is_told = len(_WORD_APART.findall(piece)) >= _LEAST_WORDS and not injection.is_own_wish(piece)
            if not is_known and is_told:
                yield Finding((start, end), "learned-order", "high")


@lru_cache(maxsize=1 << 14)
def _hash_word(word: str) -> int:
    return zlib.crc32(b"0" if word.isdigit() else word.encode(errors="replace"))


def _join_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each word, two neighbours, two with one between, and three."""
    one, two = words * np.uint64(_FIRST), words * np.uint64(_SECOND)
    three = one[:-2] + two[1:-1] + words[2:] * np.uint64(_THIRD)
    mixed = np.concatenate([one, one[:-1] + two[1:], one[:-2] + two[2:] + np.uint64(_EDGE), three])
    return np.unique((mixed ^ (mixed >> np.uint64(15))) & np.uint64(0xFFFFFFFF))


@cache
def _head() -> tuple[NDArray[np.float64], float]:
    """Weights by hash, and the bias, which `benchmarks/fit/guard.py` has fitted."""
    with resources.files(__package__ or "").joinpath("guard_head.npy").open("rb") as file:
        stored = np.load(file).astype(np.float64) / HEAD_SCALE
    return stored[:-1], float(stored[-1])


HEAD_SCALE = 8.0
"""Weights are kept as whole numbers of eighths, in a byte each."""


def _matches(view: injection.View, present: set[str], *, is_loose: bool = False) -> Iterator[Finding]:
    """What the patterns find in a view in which no literals but these can be `present`."""
    known = _wordings()
    likely = {place for literal in present for place in known.needed_first.get(literal, ())}
    for place in sorted(likely.union(known.needing_nothing)):
        pattern = known.patterns[place]
        if not any(present.isdisjoint(group) for group in pattern.needs):
            for start, end in _passages(view.text, pattern, is_loose=is_loose):
                yield Finding(view.span(start, end), pattern.name, pattern.severity)


def _literals_in(text: str) -> set[str]:
    """The literals that the text holds. Only those are looked for of whose beginning it has the letters."""
    known = _wordings()
    begins = {text[start : start + _BEGIN] for start in range(len(text))}
    near = [literal for begin in known.by_begin.keys() & begins for literal in known.by_begin[begin]]
    return {literal for literal in (*near, *known.short) if literal in text}


def _literals_around(view: injection.View, words: Sequence[tuple[int, int]]) -> set[str]:
    """The literals of which any of these words can be a part, and perhaps others that the view holds."""
    longest = _wordings().longest
    if 2 * longest * len(words) > len(view.text):
        return _literals_in(view.text)
    return set[str]().union(*(_literals_in(view.text[max(start - longest, 0) : end + longest]) for start, end in words))


def _passages(text: str, pattern: injection.Pattern, *, is_loose: bool) -> Iterator[tuple[int, int]]:
    expression = pattern.loose if is_loose else pattern.expression
    group = "hit" if "hit" in expression.groupindex else 0
    match = expression.search(text)
    while match is not None:
        start, end = match.span(group)
        is_inside_word = pattern.starts_word and match.start() > 0 and text[match.start() - 1].isalnum()
        if is_loose or (not is_inside_word and injection.addresses_model(text, start, end, pattern.address)):
            yield start, end
            match = expression.search(text, match.end())
        else:
            match = expression.search(text, match.start() + 1)


def _marker_spans(text: str, view: injection.View) -> list[tuple[int, int]]:
    """Words of a marker together with the dashes (or other ruling) around them; without any they are plain words."""
    spans: list[tuple[int, int]] = []
    for each in (view, injection.gathered(view)):
        if each is None or ("begin" not in each.text and "end" not in each.text):
            continue
        for match in injection.MARKERS.finditer(each.text):
            start, end = each.span(*match.span())
            left, right = _ruling_before(text, start), _ruling_after(text, end)
            if left < start or right > end:
                spans.append((left, right))
    return spans


def _ruling_before(text: str, start: int) -> int:
    """Where the ruling that ends at `start`, blanks allowed, begins; `start` where there is none."""
    first = position = start
    while position and (
        text[position - 1] in _RULES or text[position - 1].isspace() or not visible(text[position - 1])
    ):
        position -= 1
        if text[position] in _RULES:
            first = position
    return first


def _ruling_after(text: str, end: int) -> int:
    last = position = end
    while position < len(text) and (
        text[position] in _RULES or text[position].isspace() or not visible(text[position])
    ):
        position += 1
        if text[position - 1] in _RULES:
            last = position
    return last


def _redact(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the union of the spans replaced, one `[REDACTED]` for each stretch of it."""
    pieces: list[str] = []
    done = 0
    last = -1
    for start, end in sorted(spans):
        if start > last:
            pieces += [text[done:start], injection.REDACTED]
        done = last = max(done, end)
    return "".join([*pieces, text[done:]])
