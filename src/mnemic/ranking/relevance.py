"""How sure it is that a thing has to do with a question: a probability that means the same in every store.

Answers for the arithmetic and for the coefficients that come with the package (`relevance.json`, which says how they
were made); what is done with the number is decided elsewhere.
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

FARTHEST = 60.0
"""Beyond it the logistic function is 0 or 1 in a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for `n` candidates of one search: their `cosines` to the question `(n,)`, NaN without a vector, their
    `scores` `(n,)` (in standard deviations, see `recall.score`), the `nearest` cosine of all candidates, and how many
    `items` they stand out from.
    """

    cosines: Floats
    scores: Floats
    nearest: float
    items: int


@cache
def calibrated() -> Mapping[str, Mapping[str, float]]:
    """Coefficients by embedding model and piece of evidence. Cosines of two models are on different scales, so a model
    that is not here has none.
    """
    text = Path(__file__).with_name("relevance.json").read_text(encoding="utf-8")
    return json.loads(text)["coefficients"]


def relevances(evidence: Evidence, model: str) -> Doubles:
    """The probabilities `(n,)`, 0 to 1, that these are answers to the question and not the best of what has nothing to
    do with it, when one is as likely as the other beforehand. NaN where it cannot be told: of a model that nobody has
    calibrated, or without a vector.
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
