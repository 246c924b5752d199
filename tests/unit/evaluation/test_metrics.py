"""The metrics, by hand and against the definitions written out a second time."""

from __future__ import annotations

import math
import random

import pytest

from mnemic.evaluation.dataset import (
    CorpusRow,
    Dataset,
    LabelledQuestion,
    Ranking,
    percentile,
    score_ranking,
    score_run,
    score_sessions,
)


@pytest.mark.requirement("P-31")
def test_a_ranking_has_the_values_computed_by_hand():
    scores = score_ranking(["x", "b", "y", "a"], {"a": 1, "b": 2, "c": 1, "d": 0})
    gained = 3 / math.log2(3) + 1 / math.log2(5)
    best = 3 + 1 / math.log2(3) + 1 / 2
    assert scores == pytest.approx(
        {
            "R@1": 0.0,
            "R@5": 2 / 3,
            "any@5": 1.0,
            "all@5": 0.0,
            "R@10": 2 / 3,
            "any@10": 1.0,
            "all@10": 0.0,
            "R@20": 2 / 3,
            "nDCG@10": gained / best,
            "MRR@10": 0.5,
        }
    )


def test_a_perfect_ranking_scores_one_everywhere_but_at_cuts_shorter_than_its_gold():
    scores = score_ranking(["a", "b"], {"a": 3, "b": 1})
    assert scores.pop("R@1") == 0.5
    assert set(scores.values()) == {1.0}


def test_an_id_counts_at_its_first_place_only():
    repeated = score_ranking(["x", "x", "x", "x", "x", "a", "a"], {"a": 1})
    assert repeated == score_ranking(["x", "a"], {"a": 1})
    assert repeated["MRR@10"] == 0.5


def test_a_hit_behind_the_tenth_place_counts_for_recall_at_twenty_alone():
    scores = score_ranking([*(f"x{n}" for n in range(10)), "a"], {"a": 1})
    assert {name: value for name, value in scores.items() if value} == {"R@20": 1.0}


def test_sessions_are_ranked_by_their_first_hit():
    scores = score_sessions(["s2", "s2", "s2", "s2", "s2", "s2", "s1"], ["s1", "s3"])
    assert scores["s_R@5"] == 0.5
    assert scores["s_any@5"] == 1.0
    assert scores["s_all@5"] == 0.0
    assert scores["s_nDCG@10"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_percentiles_lie_on_the_line_between_the_closest_ranks():
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile([1.0, 2.0], 95) == pytest.approx(1.95)
    assert percentile([7.0], 99) == 7.0
    assert percentile([], 50) is None


@pytest.mark.requirement("P-31")
def test_generated_rankings_score_as_the_definitions_say():
    draw = random.Random(7)
    ids = [f"d{n}" for n in range(40)]
    for _ in range(200):
        gold = {i: draw.choice([0, 1, 1, 2, 3]) for i in draw.sample(ids, draw.randint(1, 12))} | {"d0": 1}
        ranked = draw.choices(ids, k=draw.randint(0, 30))
        assert score_ranking(ranked, gold) == pytest.approx(written_out(ranked, gold))


def written_out(ranked: list[str], gold: dict[str, int]) -> dict[str, float]:
    seen: list[str] = []
    for i in ranked:
        if i not in seen:
            seen.append(i)
    grades = [max(gold.get(i, 0), 0) for i in seen]
    total = sum(grade > 0 for grade in gold.values())
    scores: dict[str, float] = {}
    for cut in (1, 5, 10, 20):
        scores[f"R@{cut}"] = sum(grade > 0 for grade in grades[:cut]) / total
    for cut in (5, 10):
        scores[f"any@{cut}"] = float(scores[f"R@{cut}"] > 0)
        scores[f"all@{cut}"] = float(sum(grade > 0 for grade in grades[:cut]) == total)
    ideal = sorted((grade for grade in gold.values() if grade > 0), reverse=True)
    scores["nDCG@10"] = discounted(grades) / discounted(ideal)
    reciprocal = [1 / rank for rank, grade in enumerate(grades[:10], start=1) if grade > 0]
    scores["MRR@10"] = max(reciprocal, default=0.0)
    return scores


def discounted(grades: list[int]) -> float:
    return sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades[:10], start=1))


CORPUS = tuple(
    CorpusRow(id=i, group=group, text=i, session=session)
    for i, group, session in (("a1", "a", "s1"), ("a2", "a", "s2"), ("b1", "b", "s3"))
)


def test_a_run_is_averaged_over_the_questions_that_have_the_metric():
    questions = (
        LabelledQuestion(id="q1", group="a", text="?", gold={"a1": 1}, gold_sessions=("s1",), category="one"),
        LabelledQuestion(id="q2", group="a", text="?", gold={"a2": 1}, category="two"),
        LabelledQuestion(id="q3", group="a", text="?", gold_sessions=("s2",), category="two"),
    )
    rankings = [Ranking("q1", ["a1"], 1.0), Ranking("q2", ["a1"], 3.0), Ranking("q3", ["a1", "a2"], None)]
    report = score_run(Dataset(CORPUS, questions), rankings)
    assert (report.overall.n, report.overall.n_sessions) == (3, 2)
    assert report.overall.metrics["R@5"] == 0.5
    assert report.overall.metrics["s_nDCG@10"] == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert (report.overall.p50_ms, report.by_category["two"].p50_ms) == (2.0, 3.0)
    assert {name: means.n for name, means in report.by_category.items()} == {"one": 1, "two": 2}


def test_a_question_without_an_answer_in_the_run_scores_zero_and_is_counted():
    questions = (LabelledQuestion(id="q1", group="a", text="?", gold={"a1": 1}),)
    report = score_run(Dataset(CORPUS, questions), [])
    assert report.missing == 1
    assert set(report.overall.metrics.values()) == {0.0}
    assert report.overall.p50_ms is None


def test_questions_that_cannot_be_scored_are_left_out_and_counted():
    questions = (
        LabelledQuestion(id="q1", group="a", text="?", gold={"a1": 1}, is_unanswerable=True),
        LabelledQuestion(id="q2", group="a", text="?", gold={"a1": 0}),
        LabelledQuestion(id="q3", group="a", text="?"),
    )
    report = score_run(Dataset(CORPUS, questions), [Ranking("q1", ["a1"])])
    assert (report.overall.n, report.unanswerable, report.without_gold) == (0, 1, 2)


def test_ids_of_another_group_or_outside_the_haystack_are_counted_as_foreign():
    questions = (LabelledQuestion(id="q1", group="a", text="?", gold={"a1": 1}),)
    rankings = [Ranking("q1", ["a1", "a2", "b1", "b1", "nobody"])]
    assert score_run(Dataset(CORPUS, questions), rankings).foreign_ids == 2
    assert score_run(Dataset(CORPUS, questions, {"q1": ("s1",)}), rankings).foreign_ids == 3
