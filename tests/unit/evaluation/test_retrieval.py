"""A run over a small set that this project wrote: who finds what, and what the run file holds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion, Ranking, score_run
from mnemic.evaluation.embedders import CachingEmbedder, SyntheticEmbedder
from mnemic.evaluation.retrieval import RetrievalOptions, read_run, run_retrieval, write_run
from mnemic.ports.models import Vectors

CHAT = (
    ("m1", "s1", "user", "Mia", "My sister plays the cello in an orchestra."),
    ("m2", "s1", "assistant", None, "Lovely! Where do they perform?"),
    ("m3", "s2", "user", "Mia", "We painted the kitchen green last weekend."),
    ("m4", "s2", "assistant", None, "Green is a calm colour for a kitchen."),
)
MIA = tuple(
    CorpusRow(id=i, group="mia", session=session, role=role, speaker=speaker, text=text, time="2025-03-01T10:00")
    for i, session, role, speaker, text in CHAT
)
SHELF = (
    CorpusRow(id="d1", group="shelf", title="Tea", text="Green tea is steeped at eighty degrees."),
    CorpusRow(id="d2", group="shelf", title="Bread", text="Sourdough rises for a whole night."),
    CorpusRow(id="d3", group="shelf", title="Bread", text="Sourdough rises for a whole night."),
    CorpusRow(id="d4", group="shelf", text="  "),
)
QUESTIONS = (
    LabelledQuestion(id="q1", group="mia", text="Who plays the cello?", gold={"m1": 1}, gold_sessions=("s1",)),
    LabelledQuestion(id="q2", group="shelf", text="How hot is water for green tea?", gold={"d1": 1}),
    LabelledQuestion(id="q3", group="shelf", text="How long does sourdough rise?", gold={"d3": 1}),
)
DATASET = Dataset((*MIA, *SHELF), QUESTIONS)
KEYWORDS = RetrievalOptions(store="memory", embedder="none")


def by_question(dataset: Dataset, options: RetrievalOptions) -> dict[str, list[str]]:
    return {ranking.qid: list(ranking.ranked) for ranking in run_retrieval(dataset, options)}


@pytest.mark.requirement("P-31")
@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_each_question_is_answered_from_its_own_group(store: str):
    ranked = by_question(DATASET, RetrievalOptions(store=store))
    assert ranked["q1"][0] == "m1"
    assert ranked["q2"][0] == "d1"
    assert set(ranked["q1"]) <= {"m1", "m2", "m3", "m4"}
    assert set(ranked["q2"]) | set(ranked["q3"]) <= {"d1", "d2", "d3"}


def test_a_run_reports_what_its_rankings_are_worth_and_leaks_nothing():
    report = score_run(DATASET, run_retrieval(DATASET, KEYWORDS))
    assert report.overall.metrics["R@5"] == 1.0
    assert report.overall.metrics["s_R@5"] == 1.0
    assert report.foreign_ids == 0
    assert report.overall.p50_ms is not None


def test_documents_that_say_the_same_are_all_found_by_their_ids():
    assert by_question(DATASET, KEYWORDS)["q3"][:2] == ["d2", "d3"]


def test_a_question_with_a_time_is_asked_at_that_time():
    said = [("early", "2025-03-01T10:00"), ("late", "2025-03-09T10:00")]
    rows = [CorpusRow(id=i, group="mia", session=i, speaker="Mia", text="I drank tea.", time=at) for i, at in said]
    for day, first in (("2025-03-02T09:00+00:00", "early"), ("2025-03-10T09:00+00:00", "late")):
        asked = datetime.fromisoformat(day)
        question = LabelledQuestion(id="q", group="mia", text="Which tea was it yesterday?", time=asked)
        assert by_question(Dataset(rows, (question,)), KEYWORDS)["q"][0] == first


def test_who_speaks_can_be_asked_for():
    question = LabelledQuestion(id="q", group="mia", text="What did Mia say?", gold={"m1": 1})
    assert set(by_question(Dataset(MIA, (question,)), KEYWORDS)["q"][:2]) == {"m1", "m3"}


def test_a_haystack_is_all_that_its_question_sees():
    questions = tuple(LabelledQuestion(id=f"q{n}", group="mia", text="Is the kitchen green?") for n in (1, 2))
    ranked = by_question(Dataset(MIA, questions, {"q1": ("s1",), "q2": ("s1", "s2")}), RetrievalOptions(store="memory"))
    assert set(ranked["q1"]) <= {"m1", "m2"}
    assert set(ranked["q2"][:2]) == {"m3", "m4"}


def test_what_nothing_matches_is_answered_with_nothing_instead_of_background():
    question = LabelledQuestion(id="q", group="shelf", text="zebra", gold={"d1": 1})
    assert by_question(Dataset(SHELF, (question,)), KEYWORDS) == {"q": []}


def test_a_passage_is_found_by_its_file_name_as_in_the_product():
    row = replace(SHELF[0], id="recipes/focaccia.md", text="Knead, then wait two hours.")
    question = LabelledQuestion(id="q", group="shelf", text="focaccia", gold={row.id: 1})
    assert by_question(Dataset((row, *SHELF[1:]), (question,)), KEYWORDS) == {"q": [row.id]}


def test_the_limit_bounds_the_answer_and_batches_do_not_change_it():
    whole = by_question(DATASET, RetrievalOptions(store="memory"))
    cut = by_question(DATASET, RetrievalOptions(store="memory", limit=1, batch=1))
    assert cut["q1"] == whole["q1"][:1]


def test_progress_counts_up_to_everything_stored_and_asked():
    told: list[tuple[str, int, int]] = []
    list(run_retrieval(DATASET, KEYWORDS, lambda what, done, total: told.append((what, done, total))))
    assert ("store", 7, 7) in told
    assert told[-1] == ("ask", 3, 3)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(InvalidInputError, match="not one of sqlite, memory"):
        RetrievalOptions(store="paper")
    with pytest.raises(InvalidInputError, match="at least 1"):
        RetrievalOptions(limit=0)


def test_a_store_with_an_address_is_used_only_while_it_is_empty(tmp_path: Path):
    address = f"sqlite:///{tmp_path / 'empty.db'}"
    options = RetrievalOptions(store=address, embedder="none")
    assert by_question(DATASET, options)["q1"][0] == "m1"
    with pytest.raises(InvalidInputError, match="must be empty"):
        list(run_retrieval(DATASET, options))


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_a_run_file_is_read_as_it_was_written(tmp_path: Path, name: str):
    rankings = [Ranking("q1", ["a", "b"], 1.5), Ranking("q2", [], None)]
    path = tmp_path / "new" / name
    assert write_run(path, iter(rankings)) == rankings
    assert read_run(path) == rankings
    assert [file.name for file in path.parent.iterdir()] == [name]
    lines = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    assert json.loads(lines.splitlines()[0]) == {"qid": "q1", "ranked": ["a", "b"], "ms": 1.5}


def test_a_run_that_breaks_off_leaves_the_old_file_alone(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    write_run(path, [Ranking("old", [])])

    def broken() -> Iterator[Ranking]:
        yield Ranking("new", [])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(path, broken())
    assert [ranking.qid for ranking in read_run(path)] == ["old"]
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_broken_run_file_is_refused_with_its_line(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"qid": "q1", "ranked": []}\n{"qid": "q2"}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="line 2: a row must have a qid"):
        read_run(path)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_run(path / "below", [])


class CountingEmbedder(SyntheticEmbedder):
    """Counts the texts that reach the model."""

    def __init__(self) -> None:
        self.documents = 0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.documents += len(texts)
        return super().embed_documents(texts)


def test_a_text_seen_before_reaches_the_model_once():
    inner = CountingEmbedder()
    cached = CachingEmbedder(inner)
    first = cached.embed_documents(["a", "b", "a"])
    second = cached.embed_documents(["b", "c"])
    assert inner.documents == 3
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(first[1], second[0])
    assert cached.embed_documents([]).shape == (0, cached.space.dims)


def test_runs_that_share_their_vectors_embed_each_text_once():
    vectors: dict[str, MutableMapping[str, Vectors]] = {}
    reference = list(run_retrieval(DATASET, RetrievalOptions(store="memory"), vectors=vectors))
    (kept,) = vectors.values()
    before = dict(kept)
    file = list(run_retrieval(DATASET, RetrievalOptions(store="sqlite"), vectors=vectors))
    assert [ranking.ranked for ranking in file] == [ranking.ranked for ranking in reference]
    assert before
    assert all(kept[text] is vector for text, vector in before.items())
    assert set(kept) == set(before)


def test_questions_asked_together_are_answered_in_order_as_one_by_one_and_at_their_times():
    times = (None, None, None, datetime(2025, 3, 2, tzinfo=UTC), datetime(2025, 3, 2, tzinfo=UTC), None)
    questions = [
        replace(
            QUESTIONS[0], id=f"q{number}", time=time, text=("Who plays?", "What did we paint yesterday?")[number % 2]
        )
        for number, time in enumerate(times)
    ]
    dataset = Dataset(MIA, questions)
    alone = list(run_retrieval(dataset, KEYWORDS))
    at_once = list(run_retrieval(dataset, KEYWORDS, together=2))
    assert [(r.qid, r.ranked) for r in at_once] == [(r.qid, r.ranked) for r in alone]


def test_vectors_that_are_given_are_not_asked_of_the_model():
    inner = CountingEmbedder()
    given: dict[str, MutableMapping[str, Vectors]] = {inner.space.id: {"a": np.ones(inner.space.dims, np.float32)}}
    assert np.array_equal(CachingEmbedder(inner, given).embed_documents(["a", "b"])[0], np.ones(inner.space.dims))
    assert inner.documents == 1
    assert set(given[inner.space.id]) == {"a", "b"}


def test_synthetic_vectors_are_unit_vectors_decided_by_the_text_alone():
    vectors = SyntheticEmbedder().embed_documents(["a", "b", " "])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 0], abs=1e-5)
    assert np.array_equal(SyntheticEmbedder().embed_queries(["b"])[0], vectors[1])
    assert abs(float(vectors[0] @ vectors[1])) < 0.3
