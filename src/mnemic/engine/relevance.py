"""How relevant what was found is, as a probability: the evidence of a candidate, and whether it is enough.

The arithmetic is in `ranking.relevance`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.engine.parts import Parts
from mnemic.engine.question import Question
from mnemic.engine.score import RERANK, Backdrop, Scored
from mnemic.model.recall import Contribution, Hit
from mnemic.ranking.relevance import Evidence, relevance


def relevance_of(parts: Parts, scored: Scored, place: int, contributions: Sequence[Contribution]) -> float | None:
    """How sure it is that the candidate has to do with the question, 0 to 1; None where it cannot be told."""
    behind = scored.behind(place)
    if behind is None or behind.space is None:
        return None
    model = parts.known_embedders[behind.space].space.model
    return relevance(evidence_of(scored, place, behind, contributions), model)


def evidence_of(scored: Scored, place: int, behind: Backdrop, contributions: Sequence[Contribution]) -> Evidence:
    """What says how relevant the candidate at `place` is.

    A reranker's points are left out: each has a scale of its own, and most candidates have none.
    """
    return Evidence(
        cosine=scored.candidates.similarities.item(place),
        score=sum(each.points for each in contributions if each.feature != RERANK),
        nearest=behind.nearest,
        items=behind.items,
    )


def is_relevant(hit: Hit, question: Question) -> bool:
    """False for a hit that is less sure than the question asks for; what cannot be told counts as relevant."""
    return hit.relevance is None or hit.relevance >= question.min_relevance
