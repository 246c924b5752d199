"""Calibrated relevance: the probability that an item answers a question, comparable between stores. Computes it from
the shipped coefficients (`relevance.json`, which documents their origin). Thresholds are decided elsewhere.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

FARTHEST = 60.0  # beyond it the logistic function is 0 or 1 in a float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence for `n` candidates of one search: `cosines` to the question `(n,)`, NaN without a vector; `scores`
    `(n,)` in standard deviations (see `engine.score`); the `nearest` cosine of all candidates; the number of `items`
    searched.
    """

    cosines: Floats
    scores: Floats
    nearest: float
    items: int


@cache
def calibrated() -> Mapping[str, Mapping[str, float]]:
    """Coefficients by embedding model and evidence. Models have cosines on different scales, so others have none."""
    text = Path(__file__).with_name("relevance.json").read_text(encoding="utf-8")
    return json.loads(text)["coefficients"]


def relevances(evidence: Evidence, model: str) -> Doubles:
    """Probabilities `(n,)`, 0 to 1, that these answer the question rather than being the best of unrelated ones, if
    both are equally likely beforehand. NaN for an uncalibrated model or without a vector.
    """
    weights = calibrated().get(model)
    if weights is None:
        return np.full(evidence.cosines.shape, np.nan)
    logits = (
        weights["constant"]
        + weights["cosine"] * evidence.cosines.astype(np.float64)
        + weights["score"] * evidence.scores.astype(np.float64)
        + weights["nearest"] * evidence.nearest
        + weights["log_items"] * log(max(evidence.items, 1))
    )
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -FARTHEST, FARTHEST)))
