"""How much of the answers is in the passages found, in characters."""

from __future__ import annotations

import pytest

from benchmarks.spans import DocumentSpan, score_spans

REFERENCES = [DocumentSpan("a", 10, 20), DocumentSpan("b", 0, 30)]


def test_recall_is_covered_reference_and_precision_is_reference_in_what_was_found():
    scores = score_spans([DocumentSpan("a", 0, 20), DocumentSpan("b", 20, 40)], REFERENCES)
    assert scores["span_R@1"] == pytest.approx(10 / 40)
    assert scores["span_P@1"] == pytest.approx(10 / 20)
    assert scores["span_R@5"] == pytest.approx(20 / 40)
    assert scores["span_P@5"] == pytest.approx(20 / 40)
    assert scores["span_IoU@5"] == pytest.approx(20 / 60)


def test_characters_found_or_asked_for_twice_count_once():
    once = score_spans([DocumentSpan("a", 5, 20)], [DocumentSpan("a", 10, 20)])
    twice = score_spans(
        [DocumentSpan("a", 5, 15), DocumentSpan("a", 5, 20), DocumentSpan("a", 10, 20)],
        [DocumentSpan("a", 10, 18), DocumentSpan("a", 12, 20)],
    )
    assert (twice["span_R@5"], twice["span_P@5"]) == (once["span_R@5"], once["span_P@5"]) == (1.0, 10 / 15)


def test_the_same_place_in_another_document_is_no_hit_and_nothing_found_scores_0():
    assert score_spans([DocumentSpan("c", 10, 20)], REFERENCES)["span_R@5"] == 0
    assert set(score_spans([], REFERENCES).values()) == {0.0}


def test_what_comes_after_the_cut_does_not_count():
    found = [*(DocumentSpan("c", place, place + 1) for place in range(5)), DocumentSpan("a", 10, 20)]
    scores = score_spans(found, REFERENCES)
    assert (scores["span_R@5"], scores["span_R@10"]) == (0.0, 0.25)
