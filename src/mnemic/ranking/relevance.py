"""How sure it is that a thing has to do with a question: a probability that means the same in every store.

Answers for the arithmetic and for the coefficients that come with the package (`relevance.json`, which says how they
were made); what is done with the number is decided elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, isnan, log
from pathlib import Path

FARTHEST = 60.0
"""Beyond it the logistic function is 0 or 1 in a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for one candidate: its `cosine` to the question, its `score` (in standard deviations, see
    `engine.score`), the `nearest` cosine of all candidates, and how many `items` it stands out from.
    """

    cosine: float
    score: float
    nearest: float
    items: int


@cache
def calibrated() -> Mapping[str, Mapping[str, float]]:
    """Coefficients by embedding model and piece of evidence. Cosines of two models are on different scales, so a model
    that is not here has none.
    """
    text = Path(__file__).with_name("relevance.json").read_text(encoding="utf-8")
    return json.loads(text)["coefficients"]


def relevance(evidence: Evidence, model: str) -> float | None:
    """The probability, 0 to 1, that this is an answer to the question and not the best of what has nothing to do with
    it, when one is as likely as the other beforehand. None where it cannot be told: of a model that nobody has
    calibrated, or without a vector.
    """
    weights = calibrated().get(model)
    if weights is None or isnan(evidence.cosine) or isnan(evidence.nearest):
        return None
    logit = (
        weights["constant"]
        + weights["cosine"] * evidence.cosine
        + weights["score"] * evidence.score
        + weights["nearest"] * evidence.nearest
        + weights["log_items"] * log(max(evidence.items, 1))
    )
    return 1.0 / (1.0 + exp(-max(-FARTHEST, min(FARTHEST, logit))))
