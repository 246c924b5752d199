"""What every embedder does with rows: blank texts get the zero row without a call, all others a checked unit row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mnemic.errors import BadReplyError
from mnemic.ports.models import Vectors


def rows_of(texts: Sequence[str], dims: int, embed: Callable[[list[str]], Vectors]) -> Vectors:
    """`(n, dims) float32`: what `embed` makes of texts, and zero rows for blank ones, which call nothing."""
    rows = np.zeros((len(texts), dims), dtype=np.float32)
    places = [place for place, text in enumerate(texts) if text and not text.isspace()]
    if places:
        rows[places] = embed([texts[place] for place in places])
    return rows


def unit_rows(values: ArrayLike, shape: tuple[int, int], source: str) -> Vectors:
    """Unit rows of exactly this shape; errors name `source`. Raises `BadReplyError` for another shape, for values that
    are no numbers, and for zero rows.
    """
    try:
        rows = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise BadReplyError(f"{source} answered vectors that are no table of numbers") from error
    if rows.shape != shape:
        raise BadReplyError(f"{source} answered vectors of shape {rows.shape}; expected {shape}")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BadReplyError(f"{source} answered a vector that holds NaN or infinity")
    if not lengths.all():
        raise BadReplyError(f"{source} answered a zero vector for a text with content")
    return (rows / lengths).astype(np.float32)
