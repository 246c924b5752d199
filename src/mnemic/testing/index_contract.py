"""What every index promises: one test per sentence of `mnemic.ports.index`, and one of random use.

A subclass gives `new_index`; the rest follows from the capabilities that the index declares.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from mnemic.model.candidates import Candidates, Change, IndexQuery
from mnemic.model.scope import Partition
from mnemic.ports.index import Index
from mnemic.testing.index_samples import (
    ELSEWHERE,
    HERS,
    HIS,
    NOW,
    NaiveIndex,
    a_change,
    a_query,
    gone,
    ids,
    rows,
    statistics,
)
from mnemic.testing.index_strategies import Use, uses
from mnemic.testing.samples import unit

EAST, NORTH = unit(1.0, 0.0), unit(0.0, 1.0)
NORTH_EAST = unit(1.0, 1.0)


class Fed:
    """An index and the rows it must know: brings it up to date the way the engine does."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.truth = NaiveIndex()
        self._log: dict[Partition, list[Change]] = {}

    def write(self, *changes: Change, partition: Partition = HERS) -> None:
        """Change rows; each is a version of the partition."""
        self._log.setdefault(partition, []).extend(changes)
        self.truth.apply(partition, changes)

    def search(self, query: IndexQuery) -> Candidates:
        """Catch up, then search; once more when the index has forgotten a partition meanwhile."""
        wanted = tuple(len(self._log.get(partition, ())) for partition in query.partitions)
        for _ in range(3):
            for partition in query.partitions:
                self.catch_up(partition)
            found = self.index.search(query)
            if found.versions == wanted:
                return found
        raise AssertionError(f"the index does not come to the versions {wanted}")

    def catch_up(self, partition: Partition) -> None:
        """Apply what the index does not know yet."""
        log, since = self._log.get(partition, []), self.index.version(partition)
        if since < len(log):
            self.index.apply(partition, log[since:], len(log))


class IndexContract:
    """Tests of the `Index` port; a subclass says how a new, empty index is made."""

    def new_index(self) -> Index:
        """A new and empty index that shares nothing with earlier ones."""
        raise NotImplementedError

    @pytest.fixture
    def fed(self) -> Generator[Fed]:
        """A new index with nothing in it."""
        with closing(self.new_index()) as index:
            yield Fed(index)

    def test_a_partition_that_was_never_applied_is_empty(self, fed: Fed):
        fed.write(a_change(), partition=HIS)
        fed.catch_up(HIS)
        found = fed.search(a_query("tea", "milk"))
        assert (rows(found), found.items, found.versions) == ([], 0, (0,))
        assert fed.index.version(HERS) == 0
        assert found.counts.shape == (0, 2)

    def test_an_applied_partition_is_at_its_version_and_the_search_says_so(self, fed: Fed):
        fed.index.apply(HERS, [a_change()], 7)
        assert fed.index.version(HERS) == 7
        assert fed.index.search(a_query("tea", partitions=(HIS, HERS))).versions == (0, 7)

    def test_a_call_whose_version_is_not_beyond_the_own_changes_nothing(self, fed: Fed):
        fed.index.apply(HERS, [a_change("a", "tea")], 7)
        fed.index.apply(HERS, [a_change("b", "tea")], 7)
        fed.index.apply(HERS, [gone("a")], 6)
        assert ids(fed.index.search(a_query("tea"))) == ["a"]
        assert fed.index.version(HERS) == 7

    def test_a_changed_item_replaces_its_older_form_and_leaves_no_trace(self, fed: Fed):
        fed.write(a_change("a", "green tea"), a_change("b", "green tea"))
        fed.search(a_query("tea"))
        fed.write(a_change("a", "black coffee with milk", importance=0.9))
        found = fed.search(a_query("tea", "coffee"))
        assert rows(found) == fed.truth.rows(a_query("tea", "coffee"))
        assert statistics(found) == fed.truth.statistics(a_query("tea", "coffee"))

    def test_flagged_rows_are_told_and_without_any_nothing_is(self, fed: Fed):
        fed.write(a_change("a", "tea"), a_change("b", "tea", vector=EAST), a_change("c", "tea"))
        query = a_query("tea", vector=EAST)
        assert fed.search(query).flagged is None
        fed.write(a_change("b", "tea", vector=EAST, is_flagged=True))
        assert {row.item_id: row.is_flagged for row in rows(fed.search(query))} == {"a": False, "b": True, "c": False}
        fed.write(a_change("b", "tea", vector=EAST))
        assert fed.search(query).flagged is None

    def test_of_several_forms_of_an_item_in_one_call_the_last_counts(self, fed: Fed):
        fed.write(a_change("a", "tea"), a_change("a", "coffee"), a_change("b", "tea"), gone("b"))
        found = fed.search(a_query("tea", "coffee"))
        assert (ids(found), found.items, found.document_frequencies.tolist()) == (["a"], 1, [0, 1])

    def test_a_gone_item_leaves_no_trace(self, fed: Fed):
        fed.write(a_change("a", "tea", vector=EAST), a_change("b", "tea tea"))
        fed.search(a_query("tea"))
        fed.write(gone("a"), gone("never there"))
        found = fed.search(a_query("tea", vector=EAST))
        assert (ids(found), found.items, found.total_length, found.vectors) == (["b"], 1, 2.0, 0)

    def test_an_item_may_come_back(self, fed: Fed):
        fed.write(a_change("a", "tea"))
        fed.search(a_query("tea"))
        fed.write(gone("a"))
        fed.search(a_query("tea"))
        fed.write(a_change("a", "tea"))
        assert ids(fed.search(a_query("tea"))) == ["a"]

    def test_candidates_come_from_the_partitions_of_the_query_alone(self, fed: Fed):
        fed.write(a_change("hers", "tea"))
        for partition in (HIS, ELSEWHERE):
            fed.write(a_change("his", "tea"), partition=partition)
            fed.catch_up(partition)
        assert ids(fed.search(a_query("tea"))) == ["hers"]

    def test_other_partitions_do_not_count_in_the_statistics(self, fed: Fed):
        fed.write(a_change("hers", "tea"))
        fed.write(*(a_change(f"his {n}", "tea tea") for n in range(5)), partition=HIS)
        fed.catch_up(HIS)
        assert statistics(fed.search(a_query("tea"))) == fed.truth.statistics(a_query("tea"))

    def test_several_partitions_answer_as_if_their_rows_lay_in_one(self, fed: Fed):
        fed.write(a_change("a", "green tea", vector=EAST), a_change("b", "milk"))
        fed.write(a_change("c", "tea tea", vector=NORTH), partition=HIS)
        query = a_query("tea", partitions=(HIS, HERS), vector=EAST if fed.index.capabilities.has_vectors else None)
        found = fed.search(query)
        assert statistics(found) == fed.truth.statistics(query)
        assert {"a", "c"} <= set(ids(found))

    @pytest.mark.parametrize("agent", [None, "jarvis", "friday"])
    def test_rows_private_to_another_agent_are_not_seen_also_by_the_statistics(self, fed: Fed, agent: str | None):
        fed.write(a_change("a", "tea"), a_change("b", "tea cup", private_agent="jarvis"))
        query = a_query("tea", agent=agent)
        found = fed.search(query)
        assert ids(found) == (["a", "b"] if agent == "jarvis" else ["a"])
        assert statistics(found) == fed.truth.statistics(query)

    @pytest.mark.requirement("N-07")
    @pytest.mark.parametrize("now, seen", [(NOW - 1, ["a", "b"]), (NOW, ["a"]), (NOW + 1, ["a"])])
    def test_rows_that_have_expired_are_not_seen_also_by_the_statistics(self, fed: Fed, now: int, seen: list[str]):
        fed.write(a_change("a", "tea"), a_change("b", "tea cup", expires_at=NOW))
        query = a_query("tea", now=now)
        found = fed.search(query)
        assert ids(found) == seen
        assert statistics(found) == fed.truth.statistics(query)

    @pytest.mark.parametrize("include_inactive", [False, True])
    def test_inactive_rows_are_seen_only_when_asked_for(self, fed: Fed, include_inactive: bool):  # noqa: FBT001 -- pytest passes it by name
        fed.write(a_change("a", "tea"), a_change("b", "tea cup", is_active=False))
        query = a_query("tea", include_inactive=include_inactive)
        found = fed.search(query)
        assert ids(found) == (["a", "b"] if include_inactive else ["a"])
        assert statistics(found) == fed.truth.statistics(query)

    def test_kinds_and_allowed_narrow_the_candidates_and_not_the_statistics(self, fed: Fed):
        fed.write(a_change("a", "tea"), a_change("b", "tea", kind="goal"), a_change("c", "tea", kind="goal"))
        for narrowing in ({"kinds": frozenset({"goal"})}, {"allowed": frozenset({"b", "c", "unknown"})}):
            found = fed.search(a_query("tea", **narrowing))
            assert (ids(found), found.items, found.document_frequencies.tolist()) == (["b", "c"], 3, [3])
        both = a_query("tea", kinds=frozenset({"fact"}), allowed=frozenset({"b"}))
        assert ids(fed.search(both)) == []
        assert ids(fed.search(a_query("tea", allowed=frozenset()))) == []
        assert ids(fed.search(a_query("tea", kinds=frozenset({"unknown"})))) == []

    def test_messages_until_lets_in_messages_that_are_not_allowed_by_name_if_they_are_old_enough(self, fed: Fed):
        fed.write(
            a_change("fact", "tea"),
            a_change("old", "tea", kind="message", observed_at=5),
            a_change("new", "tea", kind="message", observed_at=6),
            a_change("named", "tea", kind="message", observed_at=7),
        )
        query = a_query("tea", allowed=frozenset({"named"}), messages_until=5)
        assert ids(fed.search(query)) == ["named", "old"]
        assert ids(fed.search(replace(query, kinds=frozenset({"fact"})))) == []
        assert ids(fed.search(a_query("tea", messages_until=5))) == ["fact", "named", "new", "old"]

    def test_counts_and_lengths_are_exact(self, fed: Fed):
        fed.write(a_change("a", "tea tea tea green"), a_change("b", "tea"), a_change("c", "milk"))
        found = fed.search(a_query("tea", "green", "nowhere"))
        assert [(r.item_id, r.counts, r.length) for r in rows(found)] == [("a", (3, 1, 0), 4), ("b", (1, 0, 0), 1)]

    @pytest.mark.requirement("R-25")
    @pytest.mark.parametrize("term", ["c++", "茶", "ชา", "don't", 'a"b', "and", "near", "*", "x636b", "a_b", "é"])
    def test_any_term_of_the_analyser_is_found_as_itself(self, fed: Fed, term: str):
        fed.write(a_change("a", f"one {term} two"), a_change("b", "one two"), a_change("c", "w" + term))
        assert ids(fed.search(a_query(term))) == ["a"]

    def test_a_question_of_thousands_of_terms_is_answered(self, fed: Fed):
        fed.write(a_change("a", "tea"))
        terms = tuple(f"word{n}" for n in range(3000))
        found = fed.search(a_query(*terms, "tea"))
        assert ids(found) == ["a"]
        assert found.counts.shape == (1, 3001)

    def test_without_terms_and_vector_nothing_is_found_but_the_statistics_are_there(self, fed: Fed):
        fed.write(a_change("a", "green tea"))
        found = fed.search(a_query())
        assert (ids(found), found.items, found.total_length) == ([], 1, 2.0)

    def test_a_row_without_terms_is_a_row(self, fed: Fed):
        fed.write(a_change("a", ""), a_change("b", "tea"))
        found = fed.search(a_query("tea"))
        assert (ids(found), found.items) == (["b"], 2)

    def test_without_a_vector_in_the_query_there_are_no_cosines(self, fed: Fed):
        fed.write(a_change("a", "tea", vector=EAST))
        found = fed.search(a_query("tea"))
        assert np.isnan(found.cosines).all()
        assert (found.vectors, found.cosine_mean, found.cosine_deviation) == (0, 0.0, 0.0)

    def test_rows_come_in_by_vector_alone_with_exact_counts_and_cosines(self, fed: Fed):
        fed.write(a_change("a", "tea", vector=EAST), a_change("b", "milk", vector=NORTH_EAST), a_change("c", "tea cup"))
        query = a_query("tea", vector=EAST)
        found = fed.search(query)
        if fed.index.capabilities.has_vectors:
            assert rows(found) == fed.truth.rows(query)
            assert statistics(found) == fed.truth.statistics(query)
        else:
            assert (ids(found), found.vectors) == (["a", "c"], 0)

    def test_dense_limit_bounds_the_rows_that_come_in_by_vector_alone(self, fed: Fed):
        fed.write(
            a_change("near", "x", vector=EAST),
            a_change("far", "x", vector=NORTH),
            a_change("word", "tea", vector=NORTH),
        )
        has_vectors = fed.index.capabilities.has_vectors
        assert ids(fed.search(a_query(vector=EAST, dense_limit=1))) == (["near"] if has_vectors else [])
        assert ids(fed.search(a_query(vector=EAST, dense_limit=0))) == []
        both = fed.search(a_query("tea", vector=EAST, dense_limit=1))
        assert ids(both) == (["near", "word"] if has_vectors else ["word"])
        assert np.isnan(both.cosines).any() != has_vectors

    def test_a_vector_that_comes_later_is_found(self, fed: Fed):
        fed.write(a_change("a", "tea"))
        fed.search(a_query("tea"))
        fed.write(a_change("a", "tea", vector=EAST))
        found = fed.search(a_query(vector=EAST))
        assert ids(found) == (["a"] if fed.index.capabilities.has_vectors else [])

    def test_a_dropped_partition_is_at_version_0_and_empty_until_it_is_applied_again(self, fed: Fed):
        fed.write(a_change("a", "tea"))
        fed.write(a_change("b", "tea"), partition=HIS)
        fed.search(a_query("tea", partitions=(HERS, HIS)))
        fed.index.drop(HERS)
        fed.index.drop(ELSEWHERE)
        found = fed.index.search(a_query("tea", partitions=(HERS, HIS)))
        assert (ids(found), found.versions) == (["b"], (0, 1))
        assert ids(fed.search(a_query("tea"))) == ["a"]

    def test_closing_twice_is_harmless(self, fed: Fed):
        fed.write(a_change())
        fed.search(a_query("tea"))
        fed.index.close()
        fed.index.close()

    def test_a_search_beside_applying_threads_knows_all_that_its_versions_say_and_no_half_of_a_call(self, fed: Fed):
        batches: Sequence[list[Change]] = [[a_change(f"{n}-{i}", "tea") for i in range(3)] for n in range(1, 20)]
        wrong: list[str] = []

        def read() -> None:
            for _ in range(40):
                found = fed.index.search(a_query("tea"))
                if found.items < 3 * found.versions[0] or found.items % 3 or len(found.ids) != found.items:
                    wrong.append(f"{found.items} items, {len(found.ids)} found at version {found.versions[0]}")

        def write() -> None:
            for version, _ in enumerate(batches, start=1):
                fed.index.apply(HERS, [change for batch in batches[:version] for change in batch], version)

        threads = [threading.Thread(target=target) for target in (read, write, read, write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []

    @settings(
        max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors]
    )
    @given(use=uses())
    def test_random_use_gives_the_counts_lengths_and_statistics_of_the_rows(self, use: Use):
        with closing(self.new_index()) as index:
            replay(index, use)


def replay(index: Index, use: Use) -> None:
    """Do to a new index what `use` says, and compare each answer with that of the naive index."""
    fed = Fed(index)
    for step in use:
        if isinstance(step, IndexQuery):
            _compare(fed, step)
        else:
            fed.write(*step[1], partition=step[0])


def _compare(fed: Fed, query: IndexQuery) -> None:
    """The answer to a query is that of the naive index."""
    able = fed.index.capabilities
    query = query if able.has_vectors else replace(query, vector=None)
    found, admitted = fed.search(query), fed.truth.rows(query)
    assert statistics(found) == fed.truth.statistics(query)
    assert Counter(rows(found)) <= Counter(admitted)
    expected = [row for row in admitted if any(row.counts) or row.cosine is not None]
    if able.is_exact:
        assert rows(found) == expected
    else:
        assert bool(rows(found)) == bool(expected)
