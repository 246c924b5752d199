"""Reading test sets: what fits is kept as it stands, what does not is refused with its file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import Fields, load_dataset, read_json_lines

ROW = {"id": "r1", "group": "g", "text": "Tea is ready."}
QUESTION = {"id": "q1", "group": "g", "text": "What is ready?", "gold": {"r1": 2}}


def written(path: Path, *rows: object) -> Path:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_set_is_read_plain_or_packed(tmp_path: Path, suffix: str):
    full = ROW | {"speaker": "Mia", "role": "user", "time": "2025-03-01T10:00", "session": "s1", "title": "Notes"}
    corpus = written(tmp_path / f"corpus.jsonl{suffix}", full, "", ROW | {"id": "r2", "session": None})
    questions = written(
        tmp_path / f"queries.jsonl{suffix}",
        QUESTION | {"gold_sessions": ["s1"], "category": 4},
        {"id": "q2", "group": "g", "text": "?", "gold": {}, "gold_sessions": None, "abstain": True},
    )
    dataset = load_dataset(corpus, questions)
    assert [(row.id, row.speaker, row.session, row.title) for row in dataset.corpus] == [
        ("r1", "Mia", "s1", "Notes"),
        ("r2", None, None, None),
    ]
    first, second = dataset.questions
    assert (first.gold, first.gold_sessions, first.category) == ({"r1": 2.0}, ("s1",), "4")
    assert second.is_unanswerable
    assert dataset.haystacks is None


def test_other_fields_may_hold_the_gold_and_the_category(tmp_path: Path):
    corpus = written(tmp_path / "c.jsonl", ROW, ROW | {"id": "r2"})
    questions = written(
        tmp_path / "q.jsonl", QUESTION | {"better": {"r2": 1}, "hop": "two"}, QUESTION | {"id": "q2", "better": None}
    )
    dataset = load_dataset(corpus, questions, fields=Fields(gold="better", category="hop"))
    assert [question.gold for question in dataset.questions] == [{"r2": 1.0}, {"r1": 2.0}]
    assert [question.category for question in dataset.questions] == ["two", "None"]


@pytest.mark.parametrize(
    "row, complaint",
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2 must be a JSON object"),
        ({"group": "g", "text": "x"}, "line 2: id must be text"),
        ({"id": "x" * 256, "group": "g", "text": "x"}, "line 2: the id has 256 characters"),
        ({"id": "x", "group": "g"}, "line 2: text must be text"),
        ({"id": "x", "group": "", "text": "x"}, "line 2: group must be text"),
        ({"id": "x", "group": "a\nb", "text": "x"}, "line 2: .*user"),
        (ROW, "line 2: the id 'r1' appears twice"),
        (ROW | {"id": "x", "role": "pope"}, "line 2: role 'pope' is not one of"),
        (ROW | {"id": "x", "time": "noon"}, "line 2: time='noon' is not an ISO 8601 time"),
        (ROW | {"id": "x", "speaker": 7}, "line 2: speaker must be text"),
    ],
)
def test_a_broken_corpus_row_is_refused_with_its_line(tmp_path: Path, row: object, complaint: str):
    corpus = written(tmp_path / "c.jsonl", ROW, row)
    with pytest.raises(InvalidInputError, match=complaint) as refused:
        load_dataset(corpus, written(tmp_path / "q.jsonl", QUESTION))
    assert str(corpus) in str(refused.value)


@pytest.mark.parametrize(
    "row, complaint",
    [
        (QUESTION | {"text": " "}, "line 1: text must be text and not blank"),
        (QUESTION | {"gold": ["r1"]}, "line 1: gold must be a JSON object"),
        (QUESTION | {"gold": {"r1": "high"}}, "line 1: gold must map each corpus id to its grade"),
        (QUESTION | {"gold_sessions": "s1"}, "line 1: gold_sessions must be a list"),
        (QUESTION | {"gold": {"r9": 1}}, "gold 'r9' of question 'q1' is not in the corpus"),
        (QUESTION | {"group": "h"}, "question 'q1' has group 'h', which is not in the corpus"),
    ],
)
def test_a_broken_question_is_refused(tmp_path: Path, row: object, complaint: str):
    with pytest.raises(InvalidInputError, match=complaint):
        load_dataset(written(tmp_path / "c.jsonl", ROW), written(tmp_path / "q.jsonl", row))


@pytest.mark.parametrize(
    "table, complaint",
    [
        ("{", "line 2: not JSON"),
        ({}, "no haystack for question 'q1'"),
        ({"q1": "s1"}, "must be a list"),
        ({"q1": ["s1", "s2"]}, "session 's2' of question 'q1' is not in the corpus"),
    ],
)
def test_a_broken_haystack_is_refused(tmp_path: Path, table: object, complaint: str):
    corpus = written(tmp_path / "c.jsonl", ROW | {"session": "s1"})
    haystacks = written(tmp_path / "h.json", table)
    with pytest.raises(InvalidInputError, match=complaint):
        load_dataset(corpus, written(tmp_path / "q.jsonl", QUESTION), haystacks)


def test_files_that_are_missing_empty_damaged_or_not_text_are_refused_by_name(tmp_path: Path):
    good = written(tmp_path / "q.jsonl", QUESTION)
    damaged = tmp_path / "cut.jsonl.gz"
    damaged.write_bytes(gzip.compress(json.dumps(ROW).encode() * 100)[:-20])
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"id": "caf\xe9"}\n')
    for path in (tmp_path / "none.jsonl", written(tmp_path / "empty.jsonl"), damaged, latin):
        with pytest.raises(InvalidInputError, match=path.name):
            load_dataset(path, good)
    with pytest.raises(InvalidInputError, match=r"none\.json"):
        load_dataset(written(tmp_path / "c.jsonl", ROW), good, tmp_path / "none.json")


def test_blank_lines_are_counted_but_are_no_rows(tmp_path: Path):
    assert [number for number, _ in read_json_lines(written(tmp_path / "c.jsonl", "", ROW, " ", ROW))] == [2, 4]
