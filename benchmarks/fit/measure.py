"""Measures weights on a set from cached features, in the same order as recall but without running it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit.features import FEATURES, HITS, Asked
from benchmarks.fit.model import Judged
from mnemic.evaluation.dataset import Dataset, Ranking, Report, score_run
from mnemic.ranking.fusion import linear

NEAR_THE_TOP = 150
"""So many of the best candidates by the prior are fitted against, and `AT_RANDOM` of the others."""

AT_RANDOM = 50
MOST_QUESTIONS = 400
"""Of a larger set so many questions are drawn to fit to."""


def report(dataset: Dataset, questions: Sequence[Asked], weights: Mapping[str, float]) -> Report:
    """All metrics of a set under `weights`; questions that were not asked again count as not answered."""
    rankings = [Ranking(asked.qid, _ranked(dataset, asked, weights)) for asked in questions]
    return score_run(dataset, rankings)


def _ranked(dataset: Dataset, asked: Asked, weights: Mapping[str, float]) -> list[str]:
    best = asked.rows[order_of(asked, weights)[:HITS]]
    return [dataset.corpus[int(row)].id for row in best]


def order_of(asked: Asked, weights: Mapping[str, float]) -> NDArray[np.intp]:
    """The places of the candidates, best first; ties go to the newer, as in recall."""
    scores, _ = linear({name: asked.features[:, place] for place, name in enumerate(FEATURES)}, weights)
    return np.lexsort((-asked.observed, -scores))


def judged(dataset: Dataset, questions: Sequence[Asked], prior: Mapping[str, float], seed: int = 1) -> list[Judged]:
    """The questions to fit to: of each its gold and the candidates that are hard to tell from it."""
    place_of = {row.id: place for place, row in enumerate(dataset.corpus)}
    asked_of = {asked.qid: asked for asked in questions}
    draw = np.random.default_rng(seed)
    found: list[Judged] = []
    for question in dataset.questions:
        gold = [place_of[i] for i, grade in question.gold.items() if grade > 0]
        asked = asked_of.get(question.id)
        if asked is None or not gold:
            continue
        is_gold = np.isin(asked.rows, gold)
        order = order_of(asked, prior)
        rest = order[NEAR_THE_TOP:]
        drawn = draw.choice(rest, min(AT_RANDOM, len(rest)), replace=False)
        places = np.unique(np.concatenate([order[:NEAR_THE_TOP], drawn, np.flatnonzero(is_gold)]))
        if 0 < is_gold.sum() < len(places):
            found.append(Judged(asked.features[places].astype(np.float64), is_gold[places]))
    chosen = draw.choice(len(found), min(MOST_QUESTIONS, len(found)), replace=False)
    return [found[place] for place in sorted(chosen.tolist())]
