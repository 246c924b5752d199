"""What the index in memory keeps from one search to the next, and what it leaves out of a large partition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.engine.score import by_relevance
from mnemic.model.settings import Weights
from mnemic.testing.index_contract import Fed
from mnemic.testing.index_samples import HERS, HIS, NOW, a_change, a_query, gone, ids, rows, statistics
from mnemic.testing.samples import unit

TEA = [a_change(f"{n}", "tea " * (n + 1), vector=unit(1.0, n)) for n in range(6)]


def test_what_a_reader_sees_stays_right_while_rows_come_go_and_expire():
    fed = Fed(ScanIndex())
    for n in range(0, 300, 10):
        agent = "jarvis" if n % 20 else None
        fed.write(
            *(a_change(f"{n}-{i}", "green tea", private_agent=agent, expires_at=NOW + n + i) for i in range(5)),
            *(a_change(f"{n}-{i}", "tea", is_active=i % 2 == 0, vector=unit(1.0, i)) for i in range(5, 10)),
            gone(f"{n - 10}-7"),
        )
        for reader in (None, "jarvis"):
            query = a_query("tea", agent=reader, now=NOW + 2 * n % 300, vector=unit(0.0, 1.0))
            assert statistics(fed.search(query)) == fed.truth.statistics(query)
            assert rows(fed.search(query)) == fed.truth.rows(query)


def test_readers_of_more_agents_than_are_remembered_see_their_own():
    fed = Fed(ScanIndex())
    fed.write(*(a_change(f"{n}", "tea", private_agent=f"agent {n}") for n in range(20)))
    for n in [*range(20), *range(20)]:
        assert ids(fed.search(a_query("tea", agent=f"agent {n}"))) == [f"{n}"]


def test_of_a_large_partition_the_best_rows_by_keyword_come_in():
    index = ScanIndex(exact_rows=5, keyword_rows=2)
    index.apply(HERS, TEA, 1)
    assert ids(index.search(a_query("tea", dense_limit=0))) == ["4", "5"]
    assert index.capabilities.is_exact is False


def test_of_a_partition_within_the_limit_all_rows_that_share_a_word_come_in():
    index = ScanIndex(exact_rows=6, keyword_rows=2)
    index.apply(HERS, TEA, 1)
    assert len(ids(index.search(a_query("tea", dense_limit=0)))) == 6


@pytest.mark.parametrize("narrowing", [{}, {"allowed": frozenset("012345")}, {"vector": unit(1.0, 1.0)}])
def test_rows_left_out_change_no_score_of_those_that_come_in(narrowing: dict[str, object]):
    query = replace(a_query("tea", "milk", partitions=(HERS, HIS), dense_limit=1), **narrowing)
    scores: list[dict[str, float]] = []
    for index in (ScanIndex(), ScanIndex(exact_rows=5, keyword_rows=2)):
        index.apply(HERS, TEA, 1)
        index.apply(HIS, [a_change("his", "tea milk"), a_change("his too", "milk milk")], 1)
        found = by_relevance(index.search(query), Weights())
        scores.append(dict(zip(found.candidates.ids, found.scores, strict=True)))
    every, best = scores
    assert {"5"} <= set(best) < set(every)
    assert {i: round(float(best[i]), 4) for i in best} == {i: round(float(every[i]), 4) for i in best}


def test_rows_of_equal_score_are_in_order_of_importance_then_of_time():
    index = ScanIndex()
    index.apply(HERS, [a_change(str(n), "tea", observed_at=n % 3) for n in range(6)], 1)
    found = by_relevance(index.search(a_query("tea")), Weights())
    assert np.array(found.candidates.ids)[found.order].tolist() == ["2", "5", "1", "4", "0", "3"]
