"""Maximal marginal relevance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.errors import InvalidInputError
from mnemic.ranking.fusion import mmr_order


def naive(relevance: list[float], vectors: NDArray[np.float64], weight: float) -> list[int]:
    """The definition, one pair at a time."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    order: list[int] = []
    while len(order) < len(relevance):
        left = [i for i in range(len(relevance)) if i not in order]
        value = {
            i: weight * relevance[i] - (1 - weight) * max((float(unit[i] @ unit[j]) for j in order), default=0.0)
            for i in left
        }
        order.append(max(left, key=value.__getitem__))
    return order


@given(seed=st.integers(0, 10_000), size=st.integers(1, 8), weight=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]))
def test_the_order_is_that_of_the_definition(seed: int, size: int, weight: float):
    random = np.random.default_rng(seed)
    relevance, vectors = random.random(size).tolist(), random.normal(size=(size, 5))
    order = mmr_order(relevance, vectors, weight, size)
    assert sorted(order) == list(range(size))
    if weight > 0:
        assert order == naive(relevance, vectors, weight)


def test_lambda_one_is_the_order_of_relevance_and_ties_keep_their_place():
    assert mmr_order([0.1, 0.9, 0.9], np.eye(3), 1.0, 3) == [1, 2, 0]


def test_a_copy_of_what_was_taken_comes_after_something_new():
    vectors = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]
    assert mmr_order([0.9, 0.89, 0.5], vectors, 0.5, 3) == [0, 2, 1]


def test_at_most_the_limit_is_returned():
    assert mmr_order([0.3, 0.2], np.eye(2), 0.5, 1) == [0]
    assert mmr_order([0.3, 0.2], np.eye(2), 0.5, 0) == []
    assert mmr_order([], np.zeros((0, 4)), 0.5, 5) == []


def test_a_zero_vector_is_similar_to_nothing():
    assert mmr_order([0.9, 0.5, 0.5], [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]], 0.5, 3) == [0, 2, 1]


@pytest.mark.parametrize("weight, limit, rows", [(1.5, 1, 1), (-0.1, 1, 1), (0.5, -1, 1), (0.5, 1, 2)])
def test_what_does_not_fit_is_refused(weight: float, limit: int, rows: int):
    with pytest.raises(InvalidInputError):
        mmr_order([0.5], np.ones((rows, 2)), weight, limit)
