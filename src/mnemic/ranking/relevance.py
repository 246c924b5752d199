"""Calibrated relevance: the probability that an item answers a question, comparable between stores. Computes it from
the shipped coefficients (`relevance.json` documents their origin), and fits the scale of another model's cosines.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import BackendError
from mnemic.model.candidates import Scale
from mnemic.ports.models import Embedder

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

COSINE, WORDS = "cosine", "words"  # how a question's candidates are compared with it
LEAST_VARIANCE = 1e-6  # keeps the slope finite for a model that separates all pairs
FARTHEST = 60.0  # beyond it the logistic function is 0 or 1 in a float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence for `n` candidates of one search: `likeness` to the question `(n,)`, NaN without a vector; `scores`
    `(n,)` in standard deviations (see `engine.score`); the `nearest` likeness of all candidates; the number of `items`
    searched.
    """

    likeness: Floats
    scores: Floats
    nearest: float
    items: int


@cache
def _stored() -> Mapping[str, Any]:
    return json.loads(Path(__file__).with_name("relevance.json").read_text(encoding="utf-8"))


@cache
def shipped_scales() -> Mapping[str, Scale]:
    """The scales that come with the package, by embedding model."""
    return {model: Scale(**each) for model, each in _stored()["scales"].items()}


def relevances(evidence: Evidence, scale: Scale | None) -> Doubles:
    """Probabilities `(n,)`, 0 to 1, that these answer the question rather than being the best of unrelated ones, if
    both are equally likely beforehand. NaN without a vector. `scale`: of the cosines; None: likeness is by words.
    """
    weights = _stored()["coefficients"][WORDS if scale is None else COSINE]
    scale = scale or Scale()
    logits = (
        weights["constant"]
        + weights["likeness"] * (scale.slope * evidence.likeness.astype(np.float64) + scale.shift)
        + weights["score"] * evidence.scores.astype(np.float64)
        + weights["nearest"] * (scale.slope * evidence.nearest + scale.shift)
        + weights["log_items"] * log(max(evidence.items, 1))
    )
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -FARTHEST, FARTHEST)))


def calibrate(embedder: Embedder) -> tuple[Scale, float]:
    """The scale of an embedding model, and how often it places a related pair of sentences nearer than an unrelated
    one. Raises `BackendError` if related ones are not nearer on average.

    Compares questions and prompts with facts and with each other, as messages. If both kinds of cosines are normal with
    one deviation, the logit that a pair is related is linear in the cosine (Fisher 1936). The scale makes it that of
    the included model, so a model that separates less is less sure.
    """
    told: Any = json.loads(Path(__file__).with_name("relevance_pairs.json").read_text(encoding="utf-8"))
    facts = [fact for fact, *_ in told["facts"]]
    asked: list[tuple[str, int]] = [(text, row) for row, (_, *texts) in enumerate(told["facts"]) for text in texts]
    asked += [(text, len(facts) + row) for row, text in enumerate(told["prompts"])]
    texts, rows = [text for text, _ in asked], np.array([row for _, row in asked])
    cosines = (embedder.embed_queries(texts) @ embedder.embed_documents([*facts, *texts]).T).astype(np.float64)
    is_one = rows[:, None] == np.concatenate([np.arange(len(facts)), rows])
    near, far = cosines[:, : len(facts)][is_one[:, : len(facts)]], cosines[~is_one]
    middle = float(near.mean() + far.mean()) / 2
    slope = 2 * float(near.mean() - far.mean()) / max(float(near.var() + far.var()), LEAST_VARIANCE)
    if not slope > 0:
        raise BackendError(f"{embedder.space.model} does not place related sentences closer together than others")
    slope /= told["included"]["slope"]
    share = np.searchsorted(np.sort(far), near).mean() / far.shape[0]
    return Scale(round(slope, 4), round(told["included"]["middle"] - slope * middle, 4)), float(share)
