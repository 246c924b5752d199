"""How well a time fits the dates of a question."""

from __future__ import annotations

from datetime import date

import numpy as np
from numpy.typing import NDArray

from mnemic.ranking.fusion import SAME_MONTH, TOLD_WITHIN_DAYS, fitting
from mnemic.text.asking import Date, Span


def times(*days: str) -> NDArray[np.int64]:
    return np.array(days, dtype="datetime64[us]").astype(np.int64)


def test_a_month_fits_in_its_year_or_in_any():
    observed = times("2023-05-01", "2023-05-31T23:59", "2022-05-10", "2023-06-01")
    assert fitting(observed, [Date(2023, 5, None)]).tolist() == [1, 1, 0, 0]
    assert fitting(observed, [Date(None, 5, None)]).tolist() == [1, 1, 1, 0]


def test_a_day_fits_from_the_day_before_until_some_days_after_and_less_in_its_month():
    observed = times("2023-05-06", "2023-05-07", "2023-05-17", "2023-05-18", "2023-05-05", "2022-05-07")
    assert TOLD_WITHIN_DAYS == 10
    assert fitting(observed, [Date(2023, 5, 7)]).tolist() == [1, 1, 1, SAME_MONTH, SAME_MONTH, 0]
    assert fitting(observed, [Date(None, 5, 7)]).tolist() == [1, 1, 1, SAME_MONTH, SAME_MONTH, 1]


def test_what_happened_on_the_last_day_of_a_month_or_year_is_told_in_the_next():
    observed = times("2023-06-03", "2024-01-02", "1969-12-31")
    assert fitting(observed, [Date(2023, 5, 31)]).tolist() == [1, 0, 0]
    assert fitting(observed, [Date(2023, 12, 31)]).tolist() == [0, 1, 0]
    assert fitting(observed, [Date(1969, 12, 31)]).tolist() == [0, 0, 1]


def test_the_best_of_several_dates_counts_and_none_is_nothing():
    observed = times("2023-05-20", "2023-07-01")
    assert fitting(observed, [Date(2023, 5, 1), Date(2023, 5, 19)]).tolist() == [1, 0]
    assert fitting(observed, []).tolist() == [0, 0]
    assert fitting(times(), [Date(2023, 5, 1)]).shape == (0,)


def test_a_span_fits_from_its_first_day_to_its_last():
    observed = times("2023-05-04T23:59", "2023-05-05", "2023-05-07T23:59", "2023-05-08")
    assert fitting(observed, [], [Span(date(2023, 5, 5), date(2023, 5, 7))]).tolist() == [0, 1, 1, 0]
