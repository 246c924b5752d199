"""How importance fades."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.ranking.fusion import decayed


@pytest.mark.requirement("R-21")
def test_importance_halves_every_half_life_down_to_the_floor():
    faded = decayed([0.8, 0.8, 0.8, 0.8], [0, 30, 60, 10_000])
    assert faded.tolist() == pytest.approx([0.8, 0.4, 0.2, 0.05])


@pytest.mark.requirement("R-21")
def test_half_life_and_floor_may_differ_by_kind():
    assert decayed([0.8, 0.8], [90, 9000], [90, 1], [0.0, 0.5]).tolist() == pytest.approx([0.4, 0.5])


@pytest.mark.requirement("R-21")
@given(
    importance=st.floats(0, 1),
    age=st.floats(0, 1e5),
    longer=st.floats(0, 1e5),
    half_life=st.floats(0.1, 1e4),
    floor=st.floats(0, 1),
)
def test_importance_never_rises_and_stops_at_the_floor(
    importance: float, age: float, longer: float, half_life: float, floor: float
):
    soon, late = decayed(importance, [age, age + longer], half_life, floor)
    assert late <= soon <= np.float32(importance)
    assert late >= min(np.float32(importance), np.float32(floor))


def test_the_floor_never_raises_what_was_below_it():
    assert decayed(0.01, [0, 500]).tolist() == pytest.approx([0.01, 0.01])


def test_an_age_below_zero_counts_as_zero():
    assert decayed([0.7], [-3.0]).tolist() == pytest.approx([0.7])


@pytest.mark.parametrize("age, half_life", [(1.0, 0.0), (1.0, -5.0), (float("nan"), 30.0), (1.0, float("nan"))])
def test_times_that_mean_nothing_are_refused(age: float, half_life: float):
    with pytest.raises(InvalidInputError):
        decayed(0.5, age, half_life)
