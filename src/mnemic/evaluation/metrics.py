"""Retrieval metrics: what a ranking is worth against its gold.

Answers for the formulas and their means; per question first, then averaged over the questions that have the metric.
With G = the ids of positive grade, each id counted at its first place:

    R@k      share of G among the first k
    any@k    1 if one of G is there, all@k: 1 if all of G are
    nDCG@10  sum of (2^grade - 1) / log2(rank + 1), over that of the best order (Järvelin and Kekäläinen 2002, with the
             exponential gain of Burges et al. 2005)
    MRR@10   1 / rank of the first of G within 10, else 0
    s_…      the same over sessions: each id is replaced by its session, and gold are the sessions, of grade 1
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemic.evaluation.dataset import Dataset, LabelledQuestion

RECALL_CUTS = (1, 5, 10, 20)
ANY_ALL_CUTS = (5, 10)
DEPTH = 10
SESSION_METRICS = ("R@5", "any@5", "all@5", "nDCG@10")
Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to one question: corpus ids, best first, and the milliseconds it took (None: not measured)."""

    qid: str
    ranked: Sequence[str]
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class Means:
    """Means over `n` questions, of which `n_sessions` have gold sessions; latencies in milliseconds."""

    n: int
    n_sessions: int
    metrics: Scores
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """The means over all scored questions and per category.

    `missing` questions have gold but no ranking, and score 0. `foreign_ids` were answered although they lie outside the
    question's group or haystack: any of them is a leak.
    """

    overall: Means
    by_category: Mapping[str, Means]
    unanswerable: int
    without_gold: int
    missing: int
    foreign_ids: int


def score_ranking(ranked: Iterable[str], gold: Mapping[str, float]) -> dict[str, float]:
    """All metrics of one ranking; `gold` must hold a positive grade."""
    relevant = {i: grade for i, grade in gold.items() if grade > 0}
    places = {i: place for place, i in enumerate(dict.fromkeys(ranked))}
    hits = sorted(places[i] for i in relevant if i in places)
    scores: dict[str, float] = {}
    for cut in RECALL_CUTS:
        within = sum(place < cut for place in hits)
        scores[f"R@{cut}"] = within / len(relevant)
        if cut in ANY_ALL_CUTS:
            scores[f"any@{cut}"] = float(within > 0)
            scores[f"all@{cut}"] = float(within == len(relevant))
    gained = sum(_gain(relevant[i], places[i]) for i in relevant if places.get(i, DEPTH) < DEPTH)
    best = sum(_gain(grade, place) for place, grade in enumerate(sorted(relevant.values(), reverse=True)[:DEPTH]))
    scores["nDCG@10"] = gained / best
    scores["MRR@10"] = 1.0 / (hits[0] + 1) if hits and hits[0] < DEPTH else 0.0
    return scores


def score_sessions(sessions: Iterable[str], gold: Iterable[str]) -> dict[str, float]:
    """The session metrics of a ranking given as the session of each hit, repetitions allowed."""
    scores = score_ranking(sessions, dict.fromkeys(gold, 1.0))
    return {f"s_{name}": scores[name] for name in SESSION_METRICS}


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The percentile by linear interpolation between the closest ranks; None of no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = (len(ordered) - 1) * percent / 100.0
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def score_run(dataset: Dataset, rankings: Iterable[Ranking]) -> Report:
    """The report of a run. Of several rankings of one question the first counts."""
    answers: dict[str, Ranking] = {}
    for ranking in rankings:
        answers.setdefault(ranking.qid, ranking)
    scored: list[tuple[str, dict[str, float], float | None]] = []
    unanswerable = without_gold = missing = 0
    sessions = {row.id: row.session for row in dataset.corpus}
    for question in dataset.questions:
        if question.is_unanswerable:
            unanswerable += 1
        elif not question.gold_sessions and not any(grade > 0 for grade in question.gold.values()):
            without_gold += 1
        else:
            answer = answers.get(question.id)
            missing += answer is None
            ranking = answer or Ranking(question.id, ())
            scored.append((question.category, _scores(sessions, question, ranking), ranking.ms))
    categories = sorted({category for category, _, _ in scored})
    return Report(
        overall=_means([(scores, ms) for _, scores, ms in scored]),
        by_category={name: _means([(s, ms) for category, s, ms in scored if category == name]) for name in categories},
        unanswerable=unanswerable,
        without_gold=without_gold,
        missing=missing,
        foreign_ids=_foreign(dataset, answers),
    )


def _gain(grade: float, place: int) -> float:
    return (2.0**grade - 1.0) / math.log2(place + 2)


def _scores(sessions: Mapping[str, str | None], question: LabelledQuestion, ranking: Ranking) -> dict[str, float]:
    scores: dict[str, float] = {}
    if any(grade > 0 for grade in question.gold.values()):
        scores |= score_ranking(ranking.ranked, question.gold)
    if question.gold_sessions:
        found = [session for i in ranking.ranked if (session := sessions.get(i)) is not None]
        scores |= score_sessions(found, question.gold_sessions)
    return scores


def _means(scored: Sequence[tuple[Scores, float | None]]) -> Means:
    names = dict.fromkeys(name for scores, _ in scored for name in scores)
    values = {name: [scores[name] for scores, _ in scored if name in scores] for name in names}
    times = [ms for _, ms in scored if ms is not None]
    return Means(
        n=len(scored),
        n_sessions=sum("s_R@5" in scores for scores, _ in scored),
        metrics={name: sum(found) / len(found) for name, found in values.items()},
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
    )


def _foreign(dataset: Dataset, answers: Mapping[str, Ranking]) -> int:
    rows = {row.id: row for row in dataset.corpus}
    foreign = 0
    for question in dataset.questions:
        answer = answers.get(question.id)
        haystack = None if dataset.haystacks is None else set(dataset.haystacks[question.id])
        for i in dict.fromkeys(answer.ranked if answer else ()):
            row = rows.get(i)
            is_inside = row is not None and row.group == question.group
            foreign += not is_inside or (haystack is not None and row is not None and row.session not in haystack)
    return foreign
