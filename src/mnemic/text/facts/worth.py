"""Estimates whether a sentence is worth keeping as a memory: a logistic regression over the sentence's vector and a few
plain cues. It sees the sentence alone, told in the third person, so it judges new facts and stored memories alike.

The weights are data, in `worth.json`; `benchmarks/fit/keep.py` fits them. There are three sets: for the inner layers of
the shipped embedder, for its vectors, if only they are stored, and for its absence. Each also reads hashed words.

Another pair of heads (`wishes.json`, `benchmarks/fit/wishes.py`) tells a standing wish to the assistant, such as "when
I ask for code, just the code": users word them in too many ways for rules. A gate over hashed words lets few sentences
pass, and the other head judges what the inner layers hold of them.

A last head (`pieces.json`, `benchmarks/fit/pieces.py`) tells which pieces of a fact a note would not hold: openings,
asides, comments, and consequences of the moment.
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
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mnemic.model.candidates import Space
from mnemic.model.item import Kind
from mnemic.ports.models import Vectors
from mnemic.text.analyser import Analyser
from mnemic.text.facts.when import cut_label
from mnemic.text.languages import detect, languages
from mnemic.text.normalise import Writing, key_words, late_pattern, writing_of

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

_MARK = late_pattern(r"[,;:…!?.–—-]")
_LINK = late_pattern(
    r"(?:and|but|so|because|also|plus|though|although|while|or|und|aber|also|denn|weil)\s", re.IGNORECASE
)
_DEPENDENT = late_pattern(
    r"(?:that|which|who|whom|because|cos|bc|if|unless|until|as|since|than|dass|ob)\b", re.IGNORECASE
)
_LIMITING = late_pattern(
    r"(?:and |but |or |so )?(?:if|unless|until|till|once|when|except|only|not|wenn|falls|bis|außer|nur|nicht)\b"
    r"|(?:well,? )?(?:maybe|probably|hopefully|perhaps|possibly|supposedly|allegedly|apparently|at least|never"
    r"|rarely|hardly|barely|sometimes|apart from|as long as|vielleicht|hoffentlich|wahrscheinlich|angeblich|nie|kaum)\b"
    r"|(?:or|oder) |(?:no|keine?n?)\b(?! (?:wait|worries|rush|hurry|thanks|need|problem|pressure|joke)\b)"
    r"|(?:but|though|although|aber|obwohl|sondern)(?: [^ ]+){2}",
    re.IGNORECASE,
)
"""Without such a piece, the rest may say what is not true."""

_POINTING_BACK = late_pattern(r"(?:(?:and|but|so) )?(?:it|he|she|they|him|her|them|er|sie|es)\b", re.IGNORECASE)
_BEGINNINGS = tuple(
    late_pattern(rf"(?:{words})\b", re.IGNORECASE)
    for words in (
        "so|also|deshalb",
        "and|und",
        "but|aber",
        "which|was",
        "because|since|as|cos|bc|weil|denn",
        "(?:(?:and|so|but) )?(?:can|could|should|would|will|do|does|did|is|are|any|what|how|why|where|when|which|who)",
        "it|that|this|they|he|she|you|there|es|das|er|sie|du",
        r".*\b(?:you|du|dir|dich)",
    )
)
_END = late_pattern(r"(?<![\s,])[\s,]++(?:and|but|so|or|as|und|aber|oder)$", re.IGNORECASE)
_THIRD = late_pattern(r"\b(?:they|their|them)\b", re.IGNORECASE)
_ASIDE_WORDS = 4  # a longer piece is cut at an end of the fact only
_MARKS = " ,;:-–—"

_ANALYSER = Analyser()
Doubles = NDArray[np.float64]
Span = tuple[int, int]


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
    if not texts:
        return np.zeros(0)
    cues = np.array([measure_cues(text, kind) for text, kind in zip(texts, kinds, strict=True)])
    by_words, by_vector, by_layers = load_heads()
    words = hash_words(texts)
    found = _scale(np.hstack([cues, words]), by_words)
    if vectors is None or space is None or space.model != shipped_model():
        return found
    told = [bool(vector.any()) and is_read(text) for vector, text in zip(vectors, texts, strict=True)]
    is_layered = layers is not None and layers.shape[1] > 0
    read = np.hstack([np.asarray(layers if is_layered else vectors, dtype=np.float64), cues, words])
    return np.where(np.array(told, dtype=bool), _scale(read, by_layers if is_layered else by_vector), found)


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
    return (load_wish_heads()[0].odds(hash_phrases(memories)) > 0).tolist() if memories else []


def are_wishes(memories: Sequence[str], layers: NDArray[np.float32]) -> list[bool]:
    """Whether each memory is a standing wish. `layers`: what the inner layers hold of them, `(n, f)`."""
    read = np.hstack([layers.astype(np.float64), PHRASE_WEIGHT * hash_phrases(memories)])
    return (load_wish_heads()[1].odds(read) > 0).tolist()


def split_pieces(text: str) -> list[Span]:
    """The spans of a fact's clauses and asides, in order, without the date behind it."""
    rules, end = detect(text).statements, len(cut_label(text))
    lead = rules.lead.match(text, 0, end)
    begin = lead.end() if lead is not None else 0
    cuts = [(begin, begin)] if begin else []
    cuts += [cut.span() for cut in rules.piece.finditer(text, begin, end)]
    spans: list[Span] = []
    for (_, start), (until, _) in pairwise([(0, 0), *cuts, (end, end)]):
        stop = start + len(text[start:until].rstrip())
        last = spans[-1] if spans else (0, 0)
        if spans and not _MARK.search(text[last[1] : start]) and rules.ties.search(text[last[0] : last[1]]):
            spans[-1] = (last[0], stop)
        elif stop > start:
            spans.append((start, stop))
    return spans


def measure_piece(text: str, spans: Sequence[Span], place: int) -> list[float]:
    """The plain cues of a piece of a fact, each 0..1 or little more."""
    start, end = spans[place]
    piece, user = text[start:end], detect(text).user
    count = len(piece.split())
    return [
        float(place == 0),
        float(place == len(spans) - 1),
        len(spans) / 5,
        count / 10,
        float(count <= _ASIDE_WORDS // 2),
        float(count <= _ASIDE_WORDS),
        float(user in piece),
        float(user in text[:start]),
        float(user in text[end:]),
        float(_NUMBER.search(piece) is not None),
        float(_NAME.search(piece) is not None),
        len(piece) / len(text),
        float(";" in text[spans[place - 1][1] : start] if place else False),
        *(float(rule.match(piece) is not None) for rule in _BEGINNINGS),
    ]


def cut_pieces(text: str, spans: Sequence[Span], odds: Sequence[float]) -> str:
    """The fact without the pieces of positive log odds and the date behind it, as far as the rest is sound. A piece is
    cut at an end of the fact, or if it is a short aside.
    """
    kept, told = list(range(len(spans))), cut_label(text)
    refused: set[int] = set()
    while kept:
        ends = (kept[0], kept[-1])
        loose = [
            place
            for place in kept
            if odds[place] > 0.0 and place not in refused and (place in ends or _is_aside(text, spans, place))
        ]
        if not loose:
            break
        place = max(loose, key=lambda each: odds[each])
        rest = [each for each in kept if each != place]
        if _is_free(text, spans, place) and _is_sound(text, shorter := _join_pieces(text, spans, rest)):
            kept, told = rest, shorter
        else:
            refused.add(place)
    return told


def _is_aside(text: str, spans: Sequence[Span], place: int) -> bool:
    start, end = spans[place]
    return len(text[start:end].split()) <= _ASIDE_WORDS and _MARK.search(text[end : spans[place + 1][0]]) is not None


def _is_free(text: str, spans: Sequence[Span], place: int) -> bool:
    """False for a piece that the others need, or that has half of a pair of brackets."""
    start, end = spans[place]
    is_last = place + 1 == len(spans)
    following = "" if is_last else text[slice(*spans[place + 1])]
    is_marked = is_last or _MARK.search(text[end : spans[place + 1][0]]) is not None
    if not is_marked and (_DEPENDENT.match(following) or (place > 0 and not _LINK.match(following))):
        return False
    if _LIMITING.match(text, start) or _POINTING_BACK.match(following):
        return False
    return _is_closed(text[start:end]) and not text[:start].rstrip().endswith(("..", "…"))


def _is_sound(text: str, rest: str) -> bool:
    """False if the rest is no statement, leaves something open, or says "they" before it names the user."""
    user, language = detect(text).user, detect(text)
    if len(rest.split()) <= 1 or not _is_closed(rest) or not language.statements.is_told(rest):
        return False
    third = _THIRD.search(rest)
    return user not in text or 0 <= rest.find(user) < (third.start() if third is not None else len(rest))


def _is_closed(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count('"') % 2 == 0 and text.count("“") == text.count("”")


def _join_pieces(text: str, spans: Sequence[Span], places: Sequence[int]) -> str:
    """The pieces at these places as one sentence."""
    told = ""
    for place in places:
        start, end = spans[place]
        piece, gap = text[start:end], text[spans[place - 1][1] : start] if place else ""
        if told and not gap.strip() and place - 1 not in places and not _LINK.match(piece):
            gap = ", "
        told += gap + piece if told else _LINK.sub("", piece, count=1) if place and _LINK.match(piece) else piece
    told = _END.sub("", told.strip(_MARKS)).rstrip(_MARKS + ".…")
    return told[:1].upper() + told[1:]


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
    odds = iter(load_piece_head().odds(read_pieces(texts, spans, layers)).tolist())
    return [[next(odds) for _ in each] for each in spans]


def shipped_model() -> str:
    """The model whose vectors and layers the heads read."""
    return str(_read()["model"])


@cache
def load_heads() -> tuple[Head, Head, Head]:
    """The heads for words, for vectors and for layers."""
    heads = [_read()[name] for name in ("by_words", "by_vector", "by_layers")]
    words, vector, layers = (Head(decode_weights(each["weights"]), float(each["threshold"])) for each in heads)
    return words, vector, layers


@cache
def load_wish_heads() -> tuple[Head, ...]:
    """The gate over words, and the head over inner layers."""
    return read_heads("wishes.json")


@cache
def load_piece_head() -> Head:
    """The head over inner layers and cues that finds what a note would not hold."""
    return read_heads("pieces.json")[0]


def read_heads(name: str) -> tuple[Head, ...]:
    """The heads of a file beside this one."""
    heads = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return tuple(Head(decode_weights(each["weights"]), each["threshold"]) for each in heads)


def decode_weights(text: str) -> Doubles:
    """Weights written as text: half precision, base64."""
    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float64)


@cache
def _read() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("worth.json").read_text(encoding="utf-8"))
