"""Relevance is a probability that can be told apart from a score: it grows with what speaks for a hit."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from mnemic.ranking.relevance import Evidence, calibrated, relevance
from mnemic_minilm import MODEL

MIDDLING = Evidence(cosine=0.4, score=5.0, nearest=0.5, items=100)


def test_the_shipped_embedder_is_calibrated():
    assert set(calibrated()[MODEL]) == {"cosine", "score", "nearest", "log_items", "constant"}


@pytest.mark.parametrize(
    "more",
    [
        replace(MIDDLING, cosine=0.45),
        replace(MIDDLING, score=6.0),
        replace(MIDDLING, nearest=0.6),
        replace(MIDDLING, items=50),
    ],
)
def test_more_evidence_and_fewer_rivals_make_a_hit_more_relevant(more: Evidence):
    found, better = relevance(MIDDLING, MODEL), relevance(more, MODEL)
    assert found is not None
    assert better is not None
    assert 0.0 < found < better < 1.0


@pytest.mark.parametrize("score", [-1e9, 1e9])
def test_no_evidence_is_so_strong_that_it_leaves_0_to_1(score: float):
    found = relevance(replace(MIDDLING, score=score), MODEL)
    assert found == pytest.approx(0.0 if score < 0 else 1.0)


def test_an_empty_store_divides_by_nothing():
    assert relevance(replace(MIDDLING, items=0), MODEL) == relevance(replace(MIDDLING, items=1), MODEL)


@pytest.mark.parametrize("unknown", [replace(MIDDLING, cosine=nan), replace(MIDDLING, nearest=nan)])
def test_without_a_vector_it_cannot_be_told(unknown: Evidence):
    assert relevance(unknown, MODEL) is None


def test_with_a_model_that_nobody_has_calibrated_it_cannot_be_told():
    assert relevance(MIDDLING, "some-other-model") is None
