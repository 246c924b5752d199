"""What `eval speed` measures is there, in its unit, and its texts are the same for the same seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from mnemic.errors import InvalidInputError
from mnemic.evaluation.embedders import SyntheticEmbedder, TimedEmbedder
from mnemic.evaluation.speed import (
    LONGEST_WORDS,
    QUESTION_WORDS,
    SHORTEST_WORDS,
    GeneratedTexts,
    SpeedOptions,
    Spread,
    opened,
    run_speed,
)

SMALL = SpeedOptions(sizes=(40, 20), embedder="synthetic", batch=16, singles=3, recalls=5)


@pytest.mark.requirement("J-53", "P-31")
def test_every_size_gets_a_result_smallest_first():
    told: list[tuple[str, int, int]] = []
    first, second = run_speed(SMALL, lambda what, done, total: told.append((what, done, total)))
    assert (first.memories, second.memories) == (20, 40)
    assert 0 < second.ingest_rows_per_s < second.embedding_rows_per_s
    assert second.ingest_share == pytest.approx(second.ingest_rows_per_s / second.embedding_rows_per_s, abs=1e-3)
    spreads = (second.remember, second.recall, second.search, second.embedding, second.scan, second.window)
    assert all(0 < spread.p50_ms <= spread.p95_ms <= spread.p99_ms for spread in spreads)
    assert 0 < second.context.p50_ms <= second.context.p99_ms
    assert second.index_build_s > 0
    assert min(second.cold_import_ms, second.cold_open_ms, second.cold_recall_ms, second.disk_bytes) > 0
    assert {("ingest 20", 20, 20), ("ingest 40", 40, 40)} <= set(told)


@pytest.mark.parametrize("wrong", [{"sizes": ()}, {"sizes": (0,)}, {"recalls": 0}, {"singles": 0}, {"batch": 0}])
def test_sizes_and_counts_start_at_one(wrong: dict[str, object]):
    with pytest.raises(InvalidInputError, match="at least 1"):
        replace(SMALL, **wrong)


def test_without_an_embedder_there_is_nothing_to_compare_with():
    with pytest.raises(InvalidInputError, match="requires an embedder"):
        opened("memory://", "none")


def test_a_spread_is_rounded_and_in_order():
    assert Spread.of([1.0, 2.0, 3.0]) == Spread(p50_ms=2.0, p95_ms=2.9, p99_ms=2.98)


def test_texts_are_distinct_and_the_same_for_the_same_seed():
    texts = list(GeneratedTexts(3).texts(500))
    assert texts == list(GeneratedTexts(3).texts(500))
    assert texts != list(GeneratedTexts(4).texts(500))
    assert len(set(texts)) == 500
    assert {len(text.split()) for text in texts} == set(range(SHORTEST_WORDS, LONGEST_WORDS + 1))


def test_few_words_make_up_much_of_the_texts():
    words = Counter(word for text in GeneratedTexts().texts(500) for word in text.split())
    common = sum(count for _, count in words.most_common(10))
    assert 0.2 < common / words.total() < 0.4
    assert len(words) > 1000


def test_questions_are_made_of_less_common_words():
    texts = GeneratedTexts()
    common = {word for word, _ in Counter(" ".join(texts.texts(500)).split()).most_common(10)}
    questions = texts.questions(50)
    assert all(len(question.split()) == QUESTION_WORDS for question in questions)
    assert common.isdisjoint(" ".join(questions).replace("?", "").split())


def test_a_watch_adds_up_documents_and_lists_queries():
    timed = TimedEmbedder(SyntheticEmbedder())
    timed.embed_documents(["a"])
    timed.embed_queries(["b"])
    timed.embed_queries(["c"])
    assert timed.document_s > 0
    assert len(timed.query_ms) == 2
    assert timed.space == SyntheticEmbedder.space
