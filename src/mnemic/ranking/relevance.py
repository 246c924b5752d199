"""Calibrated relevance: the probability that an item answers a question, comparable between stores. Computes it from
the shipped coefficients (`relevance.json`, which documents their origin). Thresholds are decided elsewhere.
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

from mnemic.model.candidates import Scale

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

COSINE, WORDS = "cosine", "words"
"""How a question's candidates are compared with it: by vectors, or by its words alone."""

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
