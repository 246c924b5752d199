"""Predicts the types of names with the shipped embedder, from the vectors of a name and of the words next to it, and
from the inner layers' features of the name in this context.
`benchmarks/fit/graph_types.py` fits the weights, `types_head.npy`, to names and sentences of our own.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from mnemic.model.graph import EntityType, Named
from mnemic.ports.models import LayeredEmbedder, Vectors
from mnemic.text.analyser import STOP_WORDS
from mnemic.text.graph.find import Found
from mnemic.text.normalise import key_words
from mnemic.text.sentences import sentences

NO_NAME = "none"
USER = "user"  # the key of the user, whose name the rules know
LABELS = (*(each.value for each in EntityType), NO_NAME)
_TELLING = frozenset(LABELS) - {NO_NAME, EntityType.THING.value}
LEAST_ENGLISH = 0.15
"""English sentences have 0.3 to 0.6 function words. French and German share a few short ones with it."""

SURE = 0.8  # needed to overrule the type that a table of names gives, if the table's is also unlikely
UNLIKELY = 0.1
GUESSED = 0.35  # the least share of a type; below it, a name stays a thing
AROUND = 80  # characters on each side of a name among which the words beside it are looked for
_BEFORE, _BEHIND = re.compile(r"(?:\S+\s+){0,4}\S*\Z"), re.compile(r"\S*(?:\s+\S+){0,3}")


@dataclass(frozen=True, slots=True)
class Near:
    """A name with the words next to it, and its character span in this text."""

    text: str
    span: tuple[int, int]


Votes = Mapping[str, Counter[EntityType]]
"""How often each key has each type."""


def assign_types(texts: Sequence[str], found: Sequence[Found], embedder: LayeredEmbedder, known: Votes) -> list[Found]:
    """The findings of some texts with the types of their names: guessed for mere things, and corrected if surely wrong.
    A name gets one guess for all texts, which `known` types of its key join. What is probably no name is left out,
    unless it has relations. The user stays a person. Texts in other languages than English stay as they are.
    """
    english = [is_english(text) for text in texts]
    asked = [
        (text, named)
        for text, each, is_read in zip(texts, found, english, strict=True)
        for named in each.names
        if is_read and named.key != USER
    ]
    if not asked:
        return [*found]
    names = [named.name for _, named in asked]
    beside = [near(text, named.start, named.end) for text, named in asked]
    measured = measure(embedder, names, beside)
    if measured.shape[1] != _head().shape[0]:  # a custom ONNX graph exposes no inner layers
        return [*found]
    rows: dict[str, list[NDArray[np.float32]]] = {}
    for (_, named), each in zip(asked, _rate(names, measured), strict=True):
        rows.setdefault(named.key, []).append(each)
    shares = {key: np.sum([*each, _count(known.get(key, Counter()))], axis=0) for key, each in rows.items()}
    wrong = {key: _unlikely_types(each) for key, each in shares.items()}
    for named in (named for _, named in asked):
        if named.type not in wrong[named.key]:
            shares[named.key] += _count(Counter((named.type,)))
    guesses = {key: _guess(each) for key, each in shares.items()}
    return [_retype(each, wrong, guesses) if is_read else each for each, is_read in zip(found, english, strict=True)]


def is_english(text: str) -> bool:
    """True for a text in the language of the embedder, of which a fair share are English function words."""
    words = key_words(text)
    return sum(word in STOP_WORDS for word in words) >= LEAST_ENGLISH * len(words)


def _rate(names: Sequence[str], measured: Vectors) -> NDArray[np.float32]:
    """The share of each type for names. The embedder ignores case, but an abbreviation is no person."""
    shares = probabilities(measured @ _head())
    shares[[name.isupper() for name in names], LABELS.index(EntityType.PERSON)] = 0
    return shares


def _count(types: Counter[EntityType]) -> NDArray[np.float32]:
    """Known types as shares. A thing may be anything, so it is no vote."""
    return np.array([types[EntityType(each)] if each in _TELLING else 0 for each in LABELS], dtype=np.float32)


def _unlikely_types(shares: NDArray[np.float32]) -> list[EntityType]:
    """The types that a name surely has not, and things, since they may be anything."""
    each = shares / shares.sum()
    is_sure = each.max() >= SURE
    return [
        type_ for type_ in EntityType if type_ is EntityType.THING or (is_sure and each[LABELS.index(type_)] < UNLIKELY)
    ]


def _guess(shares: NDArray[np.float32]) -> EntityType | None:
    """The type with the largest share; None for no name."""
    best = LABELS[int(shares.argmax())]
    if best == NO_NAME:
        return None
    return EntityType(best) if shares.max() >= GUESSED * shares.sum() else EntityType.THING


def measure(embedder: LayeredEmbedder, names: Sequence[str], beside: Sequence[Near]) -> Vectors:
    """Features of names in their context, `(n, features)`. Each distinct text is embedded once."""
    said = {name: place for place, name in enumerate(dict.fromkeys(names))}
    around = {each: place for place, each in enumerate(dict.fromkeys(beside))}
    vectors = embedder.embed_documents([*said])
    near_rows = np.hstack(embedder.embed_layers([each.text for each in around], [each.span for each in around]))
    rows = [vectors[[said[name] for name in names]], near_rows[[around[each] for each in beside]]]
    return np.hstack([*rows, np.ones((len(names), 1))]).astype(np.float32)


def probabilities(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The softmax of each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@cache
def _head() -> NDArray[np.float32]:
    with resources.files(__package__ or "").joinpath("types_head.npy").open("rb") as file:
        return np.load(file).astype(np.float32)


def near(text: str, start: int, end: int) -> Near:
    """A name with the few words right beside it in its sentence."""
    first, last = next((each for each in sentences(text) if each[0] <= start < each[1]), (0, len(text)))
    before, behind = _BEFORE.search(text[first:start][-AROUND:]), _BEHIND.match(text[end:last][:AROUND])
    left, name = (before.group() if before else "").lstrip(), text[start:end]
    said = "".join((left, name, behind.group() if behind else "")).rstrip()
    return Near(said, (len(left), len(left) + len(name)))


def _retype(found: Found, wrong: Mapping[str, Sequence[EntityType]], guesses: Mapping[str, EntityType | None]) -> Found:
    related = {end for each in found.relations for end in (each.source, each.target)}
    names: dict[int, Named] = {}
    for place, named in enumerate(found.names):
        type_ = guesses[named.key] if named.type in wrong.get(named.key, ()) else named.type
        if type_ is not None or place in related:
            names[place] = replace(named, type=type_ or named.type)
    places = {old: new for new, old in enumerate(names)}
    relations = (replace(each, source=places[each.source], target=places[each.target]) for each in found.relations)
    return Found(tuple(names.values()), tuple(relations))
