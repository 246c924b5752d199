"""Checks what callers hand to Mnemic's own backends; whatever is refused is refused here, before anything changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from mnemic.backends.primitive import MIN_SCORE
from mnemic.engine.inputs import check_line, check_metadata, check_text
from mnemic.errors import InvalidInputError
from mnemic.model.settings import Settings

_LIMITS = Settings()


def checked_document(content: object, source: object, metadata: object) -> tuple[str, str, dict[str, Any]]:
    """Content, source and a copy of the metadata (empty for None). Raises `InvalidInputError`."""
    text = check_text(content, "content", _LIMITS)
    line = check_line(source, "source", limit=_LIMITS.max_text_chars)
    return text, line, dict(check_metadata({} if metadata is None else metadata, _LIMITS))


def checked_request(query: object, top_k: object, options: Mapping[str, object]) -> tuple[str, int, float]:
    """Query, number of results and lowest score. Raises `InvalidInputError`, never because of what a text says."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, not {type(query).__name__}")
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise InvalidInputError(f"top_k must be a whole number from 1, not {top_k!r}")
    unknown = [name for name in options if name != "min_score"]
    if unknown:
        raise InvalidInputError(f"retrieve does not know {unknown[0]!r}; there are top_k and min_score")
    score = options.get("min_score", MIN_SCORE)
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        raise InvalidInputError(f"min_score must be a number, not {score!r}")
    return query, top_k, float(cast("float", score))
