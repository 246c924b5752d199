"""How relevant what was found is, as a probability: the evidence of candidates, and which of them are relevant enough.

The arithmetic is in `ranking.relevance`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.parts import Parts
from mnemic.engine.recall.score import RERANK, Backdrop, Scored
from mnemic.ranking.relevance import Doubles, Evidence, Floats, relevances

Places = NDArray[np.intp]


def relevances_of(parts: Parts, scored: Scored, places: Places) -> Doubles:
    """How sure it is that the candidates at `places` have to do with the question, `(n,)`, 0 to 1; NaN where it cannot
    be told.
    """
    sure = np.full(places.shape, np.nan)
    for number, behind in enumerate(scored.backdrops):
        end = scored.backdrops[number + 1].start if number + 1 < len(scored.backdrops) else scored.scores.shape[0]
        inside = np.flatnonzero((places >= behind.start) & (places < end))
        if behind.space is not None and inside.shape[0]:
            model = parts.known_embedders[behind.space].space.model
            sure[inside] = relevances(evidence_of(scored, behind, places[inside]), model)
    return sure


def evidence_of(scored: Scored, behind: Backdrop, places: Places) -> Evidence:
    """What says how relevant the candidates at `places` are, which stand out from `behind`.

    A reranker's points are left out: each has a scale of its own, and most candidates have none.
    """
    scores: Floats = scored.scores[places]
    if RERANK in scored.features:
        judged: Floats = scored.features[RERANK][places] * np.float32(scored.weights[RERANK])
        scores = np.subtract(scores, judged, dtype=np.float32)
    cosines = scored.candidates.similarities[places]
    return Evidence(cosines=cosines, scores=scores, nearest=behind.nearest, items=behind.items)


def relevant_enough(parts: Parts, scored: Scored, least: float) -> Places:
    """The places of candidates, best first, that are at least so sure; what cannot be told counts as relevant.

    Nothing is read for it: most of a large store may fall away.
    """
    if least <= 0:
        return scored.order
    return scored.order[~(relevances_of(parts, scored, scored.order) < least)]
