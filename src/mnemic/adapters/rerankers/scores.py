"""Checks of reranker scores: a finite number per text, and no call for blank ones."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mnemic.errors import BadReplyError, InvalidInputError
from mnemic.ports.models import Scores


def scores_of(
    query: str, texts: Sequence[str], max_texts: int, judge: Callable[[str, list[str]], ArrayLike], source: str
) -> Scores:
    """`(n,) float32`: scores by `judge`; blank texts get the lowest. Errors name `source`. Raises `InvalidInputError`
    for too many texts, `BadReplyError` unless there is one finite number per text.
    """
    if len(texts) > max_texts:
        raise InvalidInputError(f"{source} can score at most {max_texts} texts at once, not {len(texts)}")
    places = [place for place, text in enumerate(texts) if text.strip()]
    if not query.strip() or not places:
        return np.zeros(len(texts), dtype=np.float32)
    try:
        judged = np.asarray(judge(query, [texts[place] for place in places]), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise BadReplyError(f"{source} returned scores that are not numbers") from error
    if judged.shape != (len(places),) or not np.isfinite(judged).all():
        raise BadReplyError(f"{source} returned scores of shape {judged.shape}; expected {len(places)} finite numbers")
    scores = np.full(len(texts), judged.min(), dtype=np.float32)
    scores[places] = judged
    return scores
