"""The best rows of a large partition by keyword, when some words are in very many of its rows."""

from __future__ import annotations

import random

import pytest

from mnemic.adapters.indexes import words as words_module
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.engine.score import by_relevance
from mnemic.model.candidates import Change
from mnemic.model.settings import Weights
from mnemic.testing.index_contract import Fed
from mnemic.testing.index_samples import HERS, a_change, a_query, gone, statistics

VOCABULARY = [f"w{number}" for number in range(400)]
ODDS = [1 / (number + 1) for number in range(400)]


def _texts(chance: random.Random, rows: int) -> list[str]:
    return [" ".join(chance.choices(VOCABULARY, ODDS, k=chance.randint(4, 30))) for _ in range(rows)]


def _index(rows: list[Change], *, keyword_rows: int = 1000, common_rows: int = 1 << 30) -> ScanIndex:
    index = ScanIndex(exact_rows=100, keyword_rows=keyword_rows, common_rows=common_rows)
    index.apply(HERS, rows, 1)
    return index


@pytest.fixture
def few_champions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(words_module, "CHAMPIONS", 150)
    monkeypatch.setattr(words_module, "SCORED_ROWS", 300)


@pytest.mark.usefixtures("few_champions")
def test_the_best_rows_are_found_without_scoring_every_row_of_a_common_word():
    chance = random.Random(3)
    rows = [a_change(f"{n}", text) for n, text in enumerate(_texts(chance, 3000))]
    every, some = _index(rows, keyword_rows=5000), _index(rows, keyword_rows=100, common_rows=200)
    found = wanted = 0
    for _ in range(60):
        query = a_query(*dict.fromkeys(chance.choices(VOCABULARY, ODDS, k=5)), dense_limit=0)
        exact, quick = (by_relevance(index.search(query), Weights()) for index in (every, some))
        best = {str(i) for i in exact.candidates.ids[exact.order[:10]]}
        found += len(best & {str(i) for i in quick.candidates.ids[quick.order[:10]]})
        wanted += len(best)
        assert quick.candidates.ids.shape[0] <= 100
        assert exact.candidates.document_frequencies.tolist() == quick.candidates.document_frequencies.tolist()
    assert found / wanted > 0.9


@pytest.mark.usefixtures("few_champions")
def test_the_sums_of_all_scores_are_near_those_of_scoring_every_row():
    chance = random.Random(4)
    rows = [a_change(f"{n}", text) for n, text in enumerate(_texts(chance, 3000))]
    every, some = _index(rows, keyword_rows=50), _index(rows, keyword_rows=50, common_rows=200)
    for _ in range(20):
        query = a_query(*dict.fromkeys(chance.choices(VOCABULARY, ODDS, k=5)), dense_limit=0)
        exact, quick = (index.search(query).keyword_sums for index in (every, some))
        assert exact is not None
        assert quick is not None
        assert quick[0] == pytest.approx(exact[0], rel=0.01)
        assert quick[1] == pytest.approx(exact[1], rel=0.25)


def test_rows_that_hold_two_common_words_are_found_however_long_they_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(words_module, "CHAMPIONS", 5)
    rows = [a_change(f"{n}", f"{'tea' if n % 2 else 'cup'} and seven more words for each") for n in range(1000)]
    index = _index([*rows, a_change("both", "a long text with a cup in it and some tea beside")], common_rows=100)
    scored = by_relevance(index.search(a_query("tea", "cup", dense_limit=0)), Weights())
    assert scored.candidates.ids[scored.order[0]] == "both"


@pytest.mark.usefixtures("few_champions")
def test_a_row_that_was_just_written_is_found_by_a_common_word():
    index = _index([a_change(f"{n}", f"tea cup number {n} and more words") for n in range(500)], common_rows=100)
    query = a_query("tea", dense_limit=0)
    index.search(query)
    index.apply(HERS, [a_change("new", "tea")], 2)
    scored = by_relevance(index.search(query), Weights())
    assert scored.candidates.ids[scored.order[0]] == "new"


def test_counts_of_a_common_word_stay_exact_while_rows_come_and_go():
    chance, fed = random.Random(5), Fed(ScanIndex())
    fed.write(*(a_change(f"{n}", "green tea") for n in range(1500)))
    for number in range(30):
        fed.write(
            *(gone(f"{n}") for n in chance.sample(range(1500), 7)),
            *(a_change(f"{n}", chance.choice(["tea", "milk"])) for n in chance.sample(range(1600), 9)),
            a_change(f"more {number}", "tea", private_agent=chance.choice([None, "jarvis"])),
        )
        for agent in (None, "jarvis"):
            query = a_query("tea", "green", agent=agent, dense_limit=0)
            assert statistics(fed.search(query)) == fed.truth.statistics(query)


def test_rows_are_counted_alike_whether_they_came_at_once_or_one_by_one(monkeypatch: pytest.MonkeyPatch):
    chance = random.Random(8)
    texts = ["", *_texts(chance, 700), ""]
    rows = [a_change(f"{n}", text) for n, text in enumerate(texts)]
    query = a_query(*VOCABULARY[:40], "nowhere", dense_limit=0)
    one_by_one = _index([])
    for version, row in enumerate(rows, start=2):
        one_by_one.apply(HERS, [row], version)
    wanted = one_by_one.search(query)
    monkeypatch.setattr(words_module, "_RUN_ROWS", 20)
    monkeypatch.setattr(words_module, "_MOST_RUNS", 2)
    joined = _index([])
    for version, start in enumerate(range(0, len(rows), 40), start=2):
        joined.apply(HERS, rows[start : start + 40], version)
        joined.search(a_query("w0", "w5", dense_limit=0))  # so that some terms have postings of their own already
    for index in (_index(rows), joined):
        found = index.search(query)
        assert found.ids.tolist() == wanted.ids.tolist()
        assert found.counts.tolist() == wanted.counts.tolist()
        assert found.lengths.tolist() == wanted.lengths.tolist()
        assert found.document_frequencies.tolist() == wanted.document_frequencies.tolist()
