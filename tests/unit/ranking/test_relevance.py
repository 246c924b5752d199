"""Relevance is a probability that can be told apart from a score: it grows with what speaks for a hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.errors import BackendError
from mnemic.model.candidates import Scale
from mnemic.ports.models import Vectors
from mnemic.ranking.relevance import Evidence, calibrate, relevances, shipped_scales
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


class Narrow(MinilmEmbedder):
    """The shipped model with one more, equal component in every vector: a cosine c becomes (c + 4) / 5."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = super().embed_documents(texts)
        longer = np.hstack([rows, np.full((len(rows), 1), 2.0, dtype=np.float32)])
        return longer / np.linalg.norm(longer, axis=1, keepdims=True)


class Contrary(MinilmEmbedder):
    """The shipped model with every question turned round."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return -super().embed_queries(texts)


def test_the_shipped_model_is_its_own_measure():
    scale, share = calibrate(MinilmEmbedder())
    assert (scale.slope, scale.shift) == pytest.approx((1.0, 0.0), abs=0.02)
    assert 0.9 < share < 1.0


def test_a_model_with_narrow_cosines_is_calibrated_to_the_same_relevance():
    scale, _ = calibrate(Narrow())
    assert (scale.slope, scale.shift) == pytest.approx((5.0, -4.0), abs=0.1)
    likeness = np.array([0.88], dtype=np.float32)
    narrow = Evidence(likeness=likeness, scores=MIDDLING.scores, nearest=0.9, items=MIDDLING.items)
    assert relevance(narrow, scale) == pytest.approx(relevance(MIDDLING), abs=0.02)


def test_a_model_that_places_answers_farther_than_other_texts_is_refused():
    with pytest.raises(BackendError, match="closer"):
        calibrate(Contrary())
