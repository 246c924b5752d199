"""The linear score: features, order, and what each added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mnemic.engine.score import by_relevance, by_similarity
from mnemic.model.candidates import Candidates
from mnemic.model.settings import Weights


def candidates(
    *cosines: float, counts: list[float] | None = None, importances: list[float] | None = None
) -> Candidates:
    """Rows a, b, c… of ten terms each with these cosines, one query term."""
    n = len(cosines)
    seen = [c for c in cosines if not np.isnan(c)]
    return Candidates(
        ids=np.array([chr(ord("a") + i) for i in range(n)], dtype=np.object_),
        counts=np.array(counts or [0.0] * n, dtype=np.float32).reshape(n, 1),
        lengths=np.full(n, 10, dtype=np.float32),
        cosines=np.array(cosines, dtype=np.float32),
        importances=np.array(importances or [0.5] * n, dtype=np.float32),
        observed=np.arange(n, dtype=np.int64),
        items=n,
        total_length=10.0 * n,
        document_frequencies=np.array([sum(c > 0 for c in counts or [])], dtype=np.int64),
        vectors=len(seen),
        cosine_mean=float(np.mean(seen)) if seen else 0.0,
        cosine_deviation=float(np.std(seen)) if seen else 0.0,
        versions=(1,),
    )


def order(found: Candidates, weights: Weights | None = None) -> str:
    scored = by_relevance(found, weights or Weights())
    return "".join(found.ids[scored.order])


def test_the_nearer_and_the_better_matching_come_first():
    assert order(candidates(0.1, 0.9, 0.5)) == "bca"
    assert order(candidates(np.nan, np.nan, np.nan, counts=[1, 3, 0])) == "bac"


def test_a_row_without_a_vector_stands_at_the_mean_of_the_others():
    scored = by_relevance(candidates(0.2, np.nan, 0.8), Weights())
    assert scored.features["dense"].tolist() == [-1.0, 0.0, 1.0]


def test_ties_go_to_the_more_important_then_the_newer_then_the_first():
    assert order(candidates(0.5, 0.5, 0.5, importances=[0.1, 0.9, 0.5]), Weights(importance=0.0)) == "bca"
    assert order(candidates(0.5, 0.5, 0.5)) == "cba"
    together = replace(candidates(0.5, 0.5, 0.5), observed=np.zeros(3, dtype=np.int64))
    assert order(together) == "abc"


def test_a_weight_of_nothing_silences_a_feature():
    assert order(candidates(0.1, 0.9, counts=[5, 0]), Weights(keyword=1.0, dense=0.0)) == "ab"
    assert order(candidates(0.1, 0.9, counts=[5, 0]), Weights(keyword=0.0, dense=1.0)) == "ba"


@pytest.mark.requirement("P-13")
def test_the_contributions_add_up_to_the_score():
    scored = by_relevance(candidates(0.1, 0.9, np.nan, counts=[1, 0, 4], importances=[0.1, 0.2, 1.0]), Weights())
    for place in range(3):
        assert sum(c.points for c in scored.contributions(place)) == pytest.approx(
            float(scored.scores[place]), abs=1e-5
        )
        assert scored.score(place) == pytest.approx(float(scored.scores[place]), abs=1e-5)


@pytest.mark.requirement("J-12", "J-13")
def test_by_similarity_leaves_out_rows_without_a_vector_or_below_the_inclusive_threshold():
    found = candidates(0.5, 0.49, np.nan, 0.9)
    assert "".join(found.ids[by_similarity(found, 0.5).order]) == "da"


@pytest.mark.requirement("J-14")
def test_by_similarity_puts_the_nearest_first_and_ties_by_importance():
    found = candidates(0.5, 0.7, 0.7, 0.7, importances=[1.0, 0.2, 0.9, 0.5])
    assert "".join(found.ids[by_similarity(found, 0.0).order]) == "cdba"


def test_no_candidates_give_no_order():
    assert order(candidates()) == ""
    assert by_similarity(candidates(), 0.5).order.size == 0
