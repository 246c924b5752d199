"""How well the time at which something was said fits the dates that a question names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.text.ago import Span
from mnemic.text.asking import Date

Floats = NDArray[np.float32]

TOLD_WITHIN_DAYS = 10
"""What happened on a day is told on that day or not long after."""

SAME_MONTH = 0.5


def fitting(observed: NDArray[np.int64], dates: Sequence[Date], spans: Sequence[Span] = ()) -> Floats:
    """Of each time (microseconds since 1970, UTC) the best fit to one of the dates or spans, `(n,) float32`, 0 to 1.

    A month fits by 1, of any year where none is named. A day fits by 1 from the day before it (time zones) until
    `TOLD_WITHIN_DAYS` after it, and by `SAME_MONTH` for the rest of its month. A span fits by 1.
    """
    best = np.zeros(observed.shape, dtype=np.float32)
    days = observed.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]").astype(np.int64)
    for date in dates:
        fits = months % 12 == date.month - 1
        if date.year is not None:
            fits &= months // 12 == date.year - 1970
        fit = fits.astype(np.float32)
        if date.day is not None:
            fit = np.where(_told_of(days, date), np.float32(1), fit * np.float32(SAME_MONTH))
        best = np.maximum(best, fit)
    for span in spans:
        best[(days >= np.datetime64(span.first, "D")) & (days <= np.datetime64(span.last, "D"))] = 1.0
    return best


def _told_of(days: NDArray[np.datetime64], date: Date) -> NDArray[np.bool_]:
    """Which days are about the date; of any year where it names none."""
    years = (
        days.astype("datetime64[Y]") if date.year is None else np.full(days.shape, date.year - 1970, "datetime64[Y]")
    )
    start = years.astype("datetime64[M]") + (date.month - 1)
    begun = start.astype("datetime64[D]") + ((date.day or 1) - 1)
    after = (days - begun).astype(np.int64)
    return (after >= -1) & (after <= TOLD_WITHIN_DAYS)
