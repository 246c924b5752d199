"""What is committed is known to the next search, whatever the index has forgotten and whoever writes meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import catch_up, search
from mnemic.errors import UnavailableError
from mnemic.model.candidates import Change, IndexQuery
from mnemic.model.scope import Level, Partition, Scope
from tests.unit.engine.kit import ANNA, WordEmbedder

PartsOf = Callable[..., Engine]
HERS = ANNA.partition(Level.USER)


def a_query(*terms: str) -> IndexQuery:
    return IndexQuery(
        partitions=ANNA.visibility.partitions, agent="jarvis", now=0, terms=terms, vector=None, dense_limit=10
    )


def test_a_search_knows_everything_committed_before_it(mnemic: Mnemic, parts: Engine):
    for n in range(3):
        mnemic.remember(ANNA, f"tea {n}")
        assert search(parts, a_query("tea")).items == n + 1


def test_catching_up_answers_the_versions_of_the_store_and_brings_the_index_there(mnemic: Mnemic, parts: Engine):
    mnemic.remember(ANNA, "tea")
    versions = catch_up(parts, [HERS])
    assert versions[HERS] == parts.index.version(HERS) == 1


def test_versions_of_other_partitions_do_not_widen_a_search(mnemic: Mnemic, parts: Engine):
    mnemic.remember(ANNA, "tea")
    mnemic.remember(ANNA, "tea of all", level="org")
    versions = catch_up(parts, ANNA.visibility.partitions)
    assert search(parts, replace(a_query("tea"), partitions=(HERS,)), versions=versions).items == 1
    assert search(parts, a_query("tea"), versions=versions).items == 2


def test_rows_of_an_older_analyser_are_analysed_anew(parts: Engine, make_parts: PartsOf):
    class Older:
        """The analyser of another time: it knew only one word."""

        name = "v0"

        def terms(self, text: str) -> list[str]:
            return ["tea"] if text else []

    older = replace(parts, analyser=Older())
    Mnemic(older).remember(ANNA, "The library opens at nine")
    found = Mnemic(make_parts(None)).recall(ANNA, "library")
    assert [hit.is_fallback for hit in found] == [False]


def test_a_budget_of_one_byte_is_slow_and_right(make_parts: PartsOf):
    mnemic = Mnemic(make_parts(WordEmbedder(), budget_bytes=1))
    for level in ("session", "user", "agent", "org"):
        mnemic.remember(ANNA, f"tea of the {level}", level=level)
    for _ in range(3):
        assert len(mnemic.recall(ANNA, "tea")) == 4


def test_an_index_that_holds_nothing_is_an_error_that_names_the_remedy(parts: Engine, mnemic: Mnemic):
    class Forgetful(ScanIndex):
        def apply(
            self, partition: Partition, changes: Sequence[Change], version: int, *, holds_terms: bool = True
        ) -> None:
            pass

    mnemic.remember(ANNA, "tea")
    with pytest.raises(UnavailableError, match="budget"):
        search(replace(parts, index=Forgetful()), a_query("tea"))


@pytest.mark.parametrize("budget_bytes", [1, 1 << 30])
def test_recall_beside_writing_and_deleting_threads_never_misses_what_was_acknowledged(
    make_parts: PartsOf, budget_bytes: int
):
    mnemic = Mnemic(make_parts(WordEmbedder(), budget_bytes=budget_bytes))

    def use(number: int) -> list[str]:
        scope = Scope(org="acme", user=f"user{number % 2}", agent="jarvis", session=f"s{number}")
        wrong: list[str] = []
        for n in range(12):
            query = f"word{number}x{n}"
            memory = mnemic.remember(scope, f"{query} tea", level="agent" if n % 3 == 0 else "user")
            if memory.id not in [hit.id for hit in mnemic.recall(scope, query, limit=None)]:
                wrong.append(f"{query} was not found")
            if n % 2:
                mnemic.delete(scope, memory.id)
                if memory.id in [hit.id for hit in mnemic.recall(scope, query, limit=None)]:
                    wrong.append(f"{query} was found after its deletion")
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(use, range(4))) == [[], [], [], []]
