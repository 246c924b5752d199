"""BM25 and the statistics it stands on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.ranking.bm25 import Bm25, CollectionStatistics

QUERY = ("a", "b", "c")
documents = st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), min_size=1, max_size=12)


def statistics(items: Sequence[Sequence[str]]) -> CollectionStatistics:
    frequencies = [sum(term in item for item in items) for term in QUERY]
    return CollectionStatistics.of(len(items), sum(map(len, items)), frequencies)


def scores(items: Sequence[Sequence[str]], collection: CollectionStatistics, bm25: Bm25 | None = None) -> list[float]:
    counts = [[item.count(term) for term in QUERY] for item in items]
    return (bm25 or Bm25()).scores(counts, [len(item) for item in items], collection).tolist()


def naive(item: Sequence[str], items: Sequence[Sequence[str]], k1: float, b: float) -> float:
    """The formula, one term and one item at a time."""
    average = sum(map(len, items)) / len(items)
    total = 0.0
    for term in QUERY:
        df = sum(term in other for other in items)
        tf = item.count(term)
        if tf:
            idf = math.log(1 + (len(items) - df + 0.5) / (df + 0.5))
            total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(item) / average))
    return total


@given(items=documents, k1=st.floats(0, 3), b=st.floats(0, 1))
def test_scores_are_those_of_the_formula(items: list[list[str]], k1: float, b: float):
    expected = [naive(item, items, k1, b) for item in items]
    assert scores(items, statistics(items), Bm25(k1, b)) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(items=documents)
def test_contributions_add_up_are_never_negative_and_are_zero_for_absent_terms(items: list[list[str]]):
    counts = np.array([[item.count(term) for term in QUERY] for item in items])
    lengths = [len(item) for item in items]
    parts = Bm25().contributions(counts, lengths, statistics(items))
    assert parts.dtype == np.float32
    assert ((parts > 0) == (counts > 0)).all()
    assert parts.sum(axis=1) == pytest.approx(Bm25().scores(counts, lengths, statistics(items)))


@given(items=documents, more=st.integers(1, 50))
def test_unrelated_documents_of_average_length_change_the_scores_only_through_the_idf(
    items: list[list[str]], more: int
):
    before = statistics(items)
    after = CollectionStatistics(before.items + more, before.average_length, before.document_frequencies)
    counts, lengths = [[item.count(term) for term in QUERY] for item in items], [len(item) for item in items]
    growth = Bm25().idf(after) / Bm25().idf(before)
    assert (growth >= 1).all()
    expected = Bm25().contributions(counts, lengths, before) * growth
    assert Bm25().contributions(counts, lengths, after) == pytest.approx(expected, rel=1e-5)


@given(items=documents, more=st.integers(1, 50))
def test_unrelated_documents_keep_the_order_for_one_term(items: list[list[str]], more: int):
    counts, lengths = [[item.count("a")] for item in items], [len(item) for item in items]
    df = sum("a" in item for item in items)
    before = Bm25().scores(counts, lengths, CollectionStatistics(len(items), 5.0, np.array([df])))
    after = Bm25().scores(counts, lengths, CollectionStatistics(len(items) + more, 5.0, np.array([df])))
    assert np.argsort(-before, kind="stable").tolist() == np.argsort(-after, kind="stable").tolist()


@given(parts=st.lists(documents, min_size=1, max_size=4))
def test_merged_statistics_are_those_of_the_union(parts: list[list[list[str]]]):
    merged = CollectionStatistics.merged(map(statistics, parts))
    union = statistics([item for part in parts for item in part])
    assert merged.items == union.items
    assert merged.average_length == pytest.approx(union.average_length)
    assert merged.document_frequencies.tolist() == union.document_frequencies.tolist()


def test_a_term_of_every_document_still_counts():
    assert Bm25().scores([[1]], [3], CollectionStatistics.of(9, 27, [9]))[0] > 0


def test_a_rarer_term_weighs_more():
    idf = Bm25().idf(CollectionStatistics.of(100, 100, [1, 10, 100]))
    assert idf[0] > idf[1] > idf[2] > 0


def test_merging_nothing_gives_empty_statistics():
    empty = CollectionStatistics.merged([])
    assert (empty.items, empty.average_length, empty.document_frequencies.shape) == (0, 0.0, (0,))


def test_no_candidates_and_no_terms_give_empty_answers():
    assert Bm25().scores(np.zeros((0, 1)), [], CollectionStatistics.of(3, 9, [1])).shape == (0,)
    assert Bm25().scores(np.zeros((2, 0)), [1, 2], CollectionStatistics.of(3, 9, [])).tolist() == [0, 0]


def test_lengths_do_not_count_where_the_average_is_zero():
    one, other = Bm25().scores([[1], [1]], [1, 9], CollectionStatistics(2, 0.0, np.array([2])))
    assert one == other > 0


def test_what_does_not_fit_is_refused():
    collection = CollectionStatistics.of(3, 9, [1])
    with pytest.raises(InvalidInputError):
        Bm25().scores([[1, 2]], [3], collection)
    with pytest.raises(InvalidInputError):
        CollectionStatistics.merged([collection, CollectionStatistics.of(3, 9, [1, 2])])
    with pytest.raises(InvalidInputError):
        CollectionStatistics.of(1, 1, [2])
    with pytest.raises(InvalidInputError):
        Bm25(k1=-1)
    with pytest.raises(InvalidInputError):
        Bm25(b=1.5)
