"""Relevance is a probability that can be told apart from a score: it grows with what speaks for a hit."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from mnemic.ranking.relevance import Evidence, calibrated, relevances
from mnemic_minilm import MODEL

MIDDLING = Evidence(
    cosines=np.array([0.4], dtype=np.float32), scores=np.array([5.0], dtype=np.float32), nearest=0.5, items=100
)


def relevance(evidence: Evidence, model: str = MODEL) -> float:
    return relevances(evidence, model).item()


def test_the_shipped_embedder_is_calibrated():
    assert set(calibrated()[MODEL]) == {"cosine", "score", "nearest", "log_items", "constant"}


@pytest.mark.parametrize(
    "more",
    [
        replace(MIDDLING, cosines=np.array([0.45], dtype=np.float32)),
        replace(MIDDLING, scores=np.array([6.0], dtype=np.float32)),
        replace(MIDDLING, nearest=0.6),
        replace(MIDDLING, items=50),
    ],
)
def test_more_evidence_and_fewer_rivals_make_a_hit_more_relevant(more: Evidence):
    assert 0.0 < relevance(MIDDLING) < relevance(more) < 1.0


@pytest.mark.parametrize("score", [-1e9, 1e9])
def test_no_evidence_is_so_strong_that_it_leaves_0_to_1(score: float):
    found = relevance(replace(MIDDLING, scores=np.array([score], dtype=np.float32)))
    assert found == pytest.approx(0.0 if score < 0 else 1.0)


def test_an_empty_store_divides_by_nothing():
    assert relevance(replace(MIDDLING, items=0)) == relevance(replace(MIDDLING, items=1))


@pytest.mark.parametrize(
    "unknown", [replace(MIDDLING, cosines=np.array([nan], dtype=np.float32)), replace(MIDDLING, nearest=nan)]
)
def test_without_a_vector_it_cannot_be_told(unknown: Evidence):
    assert isnan(relevance(unknown))


def test_with_a_model_that_nobody_has_calibrated_it_cannot_be_told():
    assert isnan(relevance(MIDDLING, "some-other-model"))
