"""Near pairs among many vectors: all of few, nearly all of many, and the same each time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.ranking import near_pairs as module
from mnemic.ranking.near_pairs import near_pairs

pytestmark = pytest.mark.requirement("P-28")
COSINE = 0.93


def vectors(count: int, pairs: int, seed: int = 1, dims: int = 64) -> NDArray[np.float32]:
    """Vectors that all point somewhat the same way; the last `pairs` of them are each near one of the first."""
    random = np.random.default_rng(seed)
    found = random.standard_normal((count, dims)).astype(np.float32) + random.standard_normal(dims).astype(np.float32)
    near = found[:pairs] + 0.15 * np.linalg.norm(found[:pairs], axis=1, keepdims=True) * random.standard_normal(
        (pairs, dims)
    ).astype(np.float32) / np.sqrt(dims, dtype=np.float32)
    found[count - pairs :] = near
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def by_force(rows: NDArray[np.float32]) -> set[tuple[int, int]]:
    cosines = np.triu(rows @ rows.T, k=1)
    return {(int(i), int(j)) for i, j in np.argwhere(cosines >= COSINE)}


@given(st.integers(2, 60), st.integers(0, 1000))
def test_of_few_all_are_found(count: int, seed: int):
    rows = vectors(count, count // 3, seed, dims=8)
    assert {(i, j) for i, j, _ in near_pairs(rows, COSINE)} == by_force(rows)


def test_of_many_nearly_all_are_found_and_nothing_else(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "EXACT_TO", 100)
    monkeypatch.setattr(module, "BUCKET_AIM", 64)
    rows = vectors(3000, 300)
    found, wanted = {(i, j) for i, j, _ in near_pairs(rows, COSINE)}, by_force(rows)
    assert len(wanted) >= 300
    assert found <= wanted
    assert len(found) >= 0.95 * len(wanted)
    assert near_pairs(rows, COSINE) == near_pairs(rows, COSINE)


def test_a_bucket_that_is_too_full_does_not_stop_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "EXACT_TO", 10)
    monkeypatch.setattr(module, "BUCKET_MOST", 16)
    monkeypatch.setattr(module, "_BLOCK_ROWS", 8)
    one = np.zeros((200, 4), dtype=np.float32)
    one[:, 0] = 1.0
    found = near_pairs(one, COSINE)
    assert {(i, j) for i, j, _ in found} >= {(i, i + 1) for i in range(199)}


def test_a_zero_vector_is_near_nothing():
    assert near_pairs(np.zeros((3, 4), dtype=np.float32), COSINE) == []
    assert near_pairs(np.zeros((0, 4), dtype=np.float32), COSINE) == []


def test_the_share_that_is_done_rises_to_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "EXACT_TO", 10)
    told: list[float] = []
    near_pairs(vectors(400, 10), COSINE, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
