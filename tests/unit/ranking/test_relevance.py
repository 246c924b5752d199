"""Relevance is a probability that can be told apart from a score: it grows with what speaks for a hit."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from mnemic.model.candidates import Scale
from mnemic.ranking.relevance import Evidence, relevances, shipped_scales
from mnemic_minilm import MODEL

MIDDLING = Evidence(
    likeness=np.array([0.4], dtype=np.float32), scores=np.array([5.0], dtype=np.float32), nearest=0.5, items=100
)


SHIPPED = shipped_scales()[MODEL]


def relevance(evidence: Evidence, scale: Scale | None = SHIPPED) -> float:
    return relevances(evidence, scale).item()


def test_a_scale_puts_another_models_cosines_beside_those_of_the_shipped_one():
    narrow = replace(MIDDLING, likeness=np.array([0.8], dtype=np.float32), nearest=0.85)
    assert relevance(narrow, Scale(slope=2.0, shift=-1.2)) == pytest.approx(relevance(MIDDLING))


def test_by_words_alone_a_larger_share_of_the_question_makes_a_hit_more_relevant():
    few, most = (replace(MIDDLING, likeness=np.array([share], dtype=np.float32)) for share in (0.2, 0.9))
    assert relevance(few, None) < relevance(most, None)


@pytest.mark.parametrize(
    "more",
    [
        replace(MIDDLING, likeness=np.array([0.45], dtype=np.float32)),
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
    "unknown", [replace(MIDDLING, likeness=np.array([nan], dtype=np.float32)), replace(MIDDLING, nearest=nan)]
)
def test_without_a_vector_it_cannot_be_told(unknown: Evidence):
    assert isnan(relevance(unknown))
