"""Estimates whether a sentence is worth keeping as a memory: a logistic regression over the sentence's vector and a few
plain cues. It sees the sentence alone, told in the third person, so it judges new facts and stored memories alike.

The weights are data, in `worth.json`; `benchmarks/fit/keep.py` fits them. There are three sets: for the inner layers of
the shipped embedder, for its vectors, if only they are stored, and for its absence. Each also reads hashed words.

Another pair of heads (`wishes.json`, `benchmarks/fit/wishes.py`) tells a standing wish to the assistant, such as "when
I ask for code, just the code": users word them in too many ways for rules. A gate over hashed words lets few sentences
pass, and the other head judges what the inner layers hold of them.

Another one (`pieces.json`, `benchmarks/fit/pieces.py`) tells which pieces of a fact a note would not hold: openings,
asides, comments, and consequences of the moment.

A last pair (`lasting.json`, `benchmarks/fit/lasting.py`) estimates the lasting value of a fact: a job or an illness has
more than a hobby, and a hobby more than an errand.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Space
from mnemic.model.item import Kind
from mnemic.ports.models import Vectors
from mnemic.text.analyser import Analyser
from mnemic.text.facts.statements import ASIDE_WORDS, Span
from mnemic.text.facts.when import cut_label
from mnemic.text.languages import NEVER, detect, languages
from mnemic.text.normalise import Writing, key_words, late_pattern, writing_of

SHIPPED_MODEL = "all-MiniLM-L6-v2"
"""The model whose vectors and layers the heads read."""

WORD_BUCKETS = 1024
"""Number of columns that words are hashed to. Collisions cost less than a word list, which fits one language only."""

MOST_WORDS = 24
MOST_CHARS = 300
MOST_NAMES = 3
"""Lengths and counts are shares of these, so that one long text does not outweigh every other cue."""

PHRASE_BUCKETS = 4096  # with 1,024, 0.28 instead of 0.18 of other statements pass a gate at the same recall
PHRASE_WEIGHT = 4.0  # makes a row of phrases a third as long as one of the inner layers
_PLAIN = late_pattern(r"[a-z']+")

_KINDS = (Kind.GOAL, Kind.PREFERENCE, Kind.EVENT, Kind.CONTEXT)
_NAME = late_pattern(r"(?<=[\w,] )(?!User)[^\W\d_a-z][\w'’-]+|[A-Za-z]{2}(?=[\u4e00-\u9fff])")
_NUMBER = late_pattern(r"\d|[一二三四五六七八九十两]+(?:个|年|天|岁|次|只|名|位|月)")
_POINTING = late_pattern(
    r"\b(?:it|this|that|he|she|these|those|one|here|there|es|das|dies\w*|dort|da)\b|[它这那]", re.IGNORECASE
)
"""Words that may point at something said before, which a memory does not show; "they" is mostly the user."""

_BEGINNINGS = ("so", "and", "but", "which", "reason", "question", "pronoun", "you")
"""What a piece of a fact may begin with, as the languages name it. The order is that of the weights."""

MOST_PIECES = 5
MOST_PIECE_WORDS = 10
"""Counts of pieces and of their words are shares of these, so that the cues have about the same size."""

_ANALYSER = Analyser()
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of one set of features, the bias last; what reaches `threshold` (0..1) is worth keeping."""

    weights: Doubles
    threshold: float

    def odds(self, features: Doubles) -> Doubles:
        """Log odds, `(n,)`, shifted so that the threshold becomes 0."""
        return features @ self.weights[:-1] + self.weights[-1] - np.log(self.threshold / (1.0 - self.threshold))


def keep_probability(
    texts: Sequence[str],
    kinds: Sequence[Kind],
    vectors: Vectors | None = None,
    space: Space | None = None,
    layers: Vectors | None = None,
) -> Doubles:
    """How likely each sentence is worth keeping, `(n,)`, 0..1, scaled so that 0.5 is where extraction draws the line.

    `vectors` are those of the sentences, `(n, dims)`, in `space`. Vectors of any embedder but the shipped one are not
    used; neither is a zero vector, nor one of a script that this embedder does not know. `layers`: what the shipped
    embedder's inner layers hold of them, `(n, f)`, which judges best. No string raises.
    """
    return _judge(read_heads("worth.json"), texts, kinds, vectors, space, layers)


def lasting_probability(
    texts: Sequence[str], kinds: Sequence[Kind], vectors: Vectors | None = None, space: Space | None = None
) -> Doubles:
    """The lasting value of each fact, `(n,)`, 0..1. 1: any conversation needs it for years. 2/3: it lasts, but only
    some topics need it. 1/3: it helps for weeks, or with one matter. Arguments as for `keep_probability`.
    """
    return _judge(read_heads("lasting.json"), texts, kinds, vectors, space, None)


def _judge(
    heads: Sequence[Head],
    texts: Sequence[str],
    kinds: Sequence[Kind],
    vectors: Vectors | None,
    space: Space | None,
    layers: Vectors | None,
) -> Doubles:
    if not texts:
        return np.zeros(0)
    cues = np.array([measure_cues(text, kind) for text, kind in zip(texts, kinds, strict=True)])
    words = hash_words(texts)
    found = _scale(np.hstack([cues, words]), heads[0])
    if vectors is None or space is None or space.model != SHIPPED_MODEL:
        return found
    told = [bool(vector.any()) and is_read(text) for vector, text in zip(vectors, texts, strict=True)]
    is_layered = layers is not None and layers.shape[1] > 0
    read = np.hstack([np.asarray(layers if is_layered else vectors, dtype=np.float64), cues, words])
    return np.where(np.array(told, dtype=bool), _scale(read, heads[2 if is_layered else 1]), found)


def is_read(text: str) -> bool:
    """True for a script that the shipped embedder was trained on."""
    return writing_of(text) is not Writing.OTHER


def _scale(features: Doubles, head: Head) -> Doubles:
    """Probabilities, shifted in log odds so that the head's threshold becomes 0.5."""
    return 1.0 / (1.0 + np.exp(-head.odds(features)))


def measure_cues(text: str, kind: Kind) -> list[float]:
    """The plain cues of a sentence, each 0..1."""
    language = detect(text)
    user = language.user
    bare = cut_label(text)
    words = key_words(bare)
    return [
        float(bare != text),
        float(user in bare),
        float(bare.startswith(user)),
        float(bare.startswith((f"{user}'", f"{user}s ", f"{user}的"))),
        min(len(words), MOST_WORDS) / MOST_WORDS,
        min(len(bare), MOST_CHARS) / MOST_CHARS,
        float(_NUMBER.search(bare) is not None),
        min(len(_NAME.findall(bare)), MOST_NAMES) / MOST_NAMES,
        float(_POINTING.search(bare) is not None),
        float(language.statements.is_hanging(bare)),
        float(bare.endswith(("?", "？"))),
        float(not is_read(bare)),
        *(float(kind is each) for each in _KINDS),
        *(float(name in language.cues and language.cues[name].search(bare) is not None) for name in cue_names()),
    ]


@cache
def cue_names() -> tuple[str, ...]:
    """The cues that any language has rules for, in the order of the weights."""
    return tuple(dict.fromkeys(name for each in languages() for name in each.cues))


def hash_words(texts: Sequence[str]) -> Doubles:
    """Which words each text has, `(n, WORD_BUCKETS)`, with rows of length 1."""
    found = np.zeros((len(texts), WORD_BUCKETS))
    for row, text in enumerate(texts):
        words = _ANALYSER.terms(cut_label(text))
        for term in (*words, *map(" ".join, pairwise(words))):
            found[row, crc32(term.encode()) % WORD_BUCKETS] = 1.0
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1.0)


def hash_phrases(texts: Sequence[str]) -> Doubles:
    """Which words and pairs of words each text has, hashed, `(n, PHRASE_BUCKETS)`, with rows of length 1."""
    found = np.zeros((len(texts), PHRASE_BUCKETS))
    for row, text in enumerate(texts):
        words = ["^", *_PLAIN.findall(text.lower().replace("’", "'"))]
        for phrase in (*words, *map(" ".join, pairwise(words))):
            found[row, crc32(phrase.encode()) % PHRASE_BUCKETS] = 1.0
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def may_be_wishes(memories: Sequence[str]) -> list[bool]:
    """Whether the words of each memory may be those of a standing wish, so that `are_wishes` should judge it."""
    return (read_heads("wishes.json")[0].odds(hash_phrases(memories)) > 0).tolist() if memories else []


def are_wishes(memories: Sequence[str], layers: NDArray[np.float32]) -> list[bool]:
    """Whether each memory is a standing wish. `layers`: what the inner layers hold of them, `(n, f)`."""
    read = np.hstack([layers.astype(np.float64), PHRASE_WEIGHT * hash_phrases(memories)])
    return (read_heads("wishes.json")[1].odds(read) > 0).tolist()


def measure_piece(text: str, spans: Sequence[Span], place: int) -> list[float]:
    """The plain cues of a piece of a fact, each 0..1 or little more."""
    start, end = spans[place]
    piece, language = text[start:end], detect(text)
    count, user = len(piece.split()), language.user
    return [
        float(place == 0),
        float(place == len(spans) - 1),
        len(spans) / MOST_PIECES,
        count / MOST_PIECE_WORDS,
        float(count <= ASIDE_WORDS // 2),
        float(count <= ASIDE_WORDS),
        float(user in piece),
        float(user in text[:start]),
        float(user in text[end:]),
        float(_NUMBER.search(piece) is not None),
        float(_NAME.search(piece) is not None),
        len(piece) / len(text),
        float(";" in text[spans[place - 1][1] : start] if place else False),
        *(float(language.pieces.get(f"begins_{name}", NEVER).match(piece) is not None) for name in _BEGINNINGS),
    ]


def read_pieces(
    texts: Sequence[str], spans: Sequence[Sequence[Span]], layers: NDArray[np.float32] | Doubles
) -> Doubles:
    """The features of all pieces of these facts, `(n, 3 f + cues)`. `layers`: what the inner layers hold of them, in
    order, `(n, f)`. First and last pieces have weights of their own.
    """
    pairs = zip(texts, spans, strict=True)
    cues = np.array([measure_piece(text, each, place) for text, each in pairs for place in range(len(each))])
    read = layers.astype(np.float64)
    return np.hstack([read, read * cues[:, :1], read * cues[:, 1:2], cues])


def piece_odds(texts: Sequence[str], spans: Sequence[Sequence[Span]], layers: NDArray[np.float32]) -> list[list[float]]:
    """For each fact, the log odds of each piece that a note would not hold it; arguments as for `read_pieces`."""
    odds = iter(read_heads("pieces.json")[0].odds(read_pieces(texts, spans, layers)).tolist())
    return [[next(odds) for _ in each] for each in spans]


@cache
def read_heads(name: str) -> tuple[Head, ...]:
    """The heads of a file beside this one."""
    heads = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return tuple(Head(decode_weights(each["weights"]), each["threshold"]) for each in heads)


def decode_weights(text: str) -> Doubles:
    """Weights written as text: half precision, base64."""
    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float64)
