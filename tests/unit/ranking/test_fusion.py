"""Standard scores, reciprocal rank fusion and the linear sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.ranking.fusion import Population, linear, reciprocal_rank_fusion, zscores

numbers = st.floats(-1000, 1000, width=32)


@given(values=st.lists(numbers, min_size=1, max_size=30))
def test_standard_scores_have_mean_zero_and_deviation_one_or_are_all_zero(values: list[float]):
    scores = zscores(values, Population.of(values))
    assert scores.dtype == np.float32
    if scores.any():
        assert float(scores.mean()) == pytest.approx(0, abs=1e-3)
        assert float(scores.std()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("values", [[], [3.0], [0.1] * 7])
def test_values_without_spread_give_zeros(values: list[float]):
    population = Population.of(values)
    assert population.deviation == 0
    assert zscores(values, population).tolist() == [0.0] * len(values)


def test_a_score_may_be_compared_with_another_population():
    assert zscores([5.0, 1.0], Population(10, 3.0, 2.0)).tolist() == [1.0, -1.0]


def test_a_population_knows_its_size_mean_and_deviation():
    assert Population.of([1, 3]) == Population(2, 2.0, 1.0)


def test_reciprocal_rank_fusion_adds_weight_over_k_plus_rank():
    fused = dict(reciprocal_rank_fusion([["a", "b"], ["b", "c"]], k=60, weights=[1.0, 1.5]))
    assert fused == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1.5 / 61, "c": 1.5 / 62})


def test_fused_items_come_best_first_and_ties_in_the_order_first_met():
    assert [item for item, _ in reciprocal_rank_fusion([["a", "x"], ["b", "x"]])] == ["x", "a", "b"]


def test_a_repeated_item_counts_at_its_first_place():
    assert reciprocal_rank_fusion([["a", "a", "b"]]) == reciprocal_rank_fusion([["a", "b"]])


def test_fusing_nothing_gives_nothing():
    assert reciprocal_rank_fusion([]) == []


@pytest.mark.parametrize("weights, k", [([1.0, 2.0], 60.0), ([-1.0], 60.0), ([1.0], -1.0)])
def test_fusion_refuses_weights_that_do_not_fit(weights: list[float], k: float):
    with pytest.raises(InvalidInputError):
        reciprocal_rank_fusion([["a"]], k=k, weights=weights)


@given(rows=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20), weight=st.floats(-5, 5))
def test_contributions_add_up_to_the_score(rows: list[tuple[float, float]], weight: float):
    features = {"dense": [row[0] for row in rows], "keyword": [row[1] for row in rows]}
    scores, parts = linear(features, {"dense": weight, "keyword": 2.0})
    assert scores.tolist() == pytest.approx((parts["dense"] + parts["keyword"]).tolist(), abs=1e-2)
    assert parts["keyword"].tolist() == pytest.approx([2.0 * row[1] for row in rows], abs=1e-2)


def test_a_feature_without_a_weight_adds_nothing_and_a_weight_without_a_feature_is_ignored():
    scores, parts = linear({"dense": [1.0, 2.0]}, {"keyword": 3.0})
    assert scores.tolist() == [0.0, 0.0]
    assert parts["dense"].tolist() == [0.0, 0.0]
    assert set(parts) == {"dense"}


def test_no_features_give_no_scores():
    scores, parts = linear({}, {"dense": 1.0})
    assert (scores.shape, parts) == ((0,), {})


def test_features_of_different_length_are_refused():
    with pytest.raises(InvalidInputError):
        linear({"dense": [1.0], "keyword": [1.0, 2.0]}, {})
