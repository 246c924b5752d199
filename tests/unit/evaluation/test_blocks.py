"""What contexts hold of a test set, and how often they are rightly empty."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mnemic.errors import InvalidInputError
from mnemic.evaluation.blocks import Block, Prompt, load_prompts, run_blocks, score_blocks, words, write_blocks
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion
from mnemic.evaluation.retrieval import RetrievalOptions

CORPUS = (
    CorpusRow(id="m1", group="mia", session="s1", role="user", speaker="Mia", text="My sister plays the cello."),
    CorpusRow(id="m2", group="mia", session="s2", role="user", speaker="Mia", text="We painted the kitchen green."),
)
QUESTION = LabelledQuestion(
    id="q1", group="mia", text="Who plays the cello?", gold={"m1": 1}, gold_sessions=("s1",), answers=("the sister",)
)
SET = Dataset(CORPUS, (QUESTION,))


@pytest.mark.requirement("P-38")
def test_a_run_holds_a_block_for_each_question_and_each_prompt_in_each_group():
    said: list[tuple[str, int, int]] = []
    options = RetrievalOptions(embedder="none")
    prompts = [Prompt("p1", "hi", "smalltalk")]
    shown, silent = run_blocks(SET, 200, prompts, options, lambda step, done, of: said.append((step, done, of)))
    assert (shown.qid, shown.kind) == ("q1", None)
    assert "m1" in shown.ids
    assert "sister plays the cello" in shown.text
    assert (silent.qid.partition("/")[2], silent.kind, [*silent.ids]) == ("p1", "smalltalk", [])
    assert said[-1] == ("ask", 2, 2)
    report = score_blocks(SET, [shown, silent])
    assert report.overall["evidence"] == report.overall["all_sessions"] == report.overall["answer_words"] == 1.0
    assert report.silence == {"all": 1.0, "smalltalk": 1.0}
    assert (report.not_shown, report.missing) == (0, 0)


def test_a_row_that_is_named_and_not_shown_is_no_evidence():
    report = score_blocks(SET, [Block("q1", ["m1"], 9, "[1] Mia: My ...")])
    assert report.overall["evidence"] == report.overall["all"] == 0.0
    assert report.not_shown == 1


def test_a_question_without_a_block_is_missing_and_one_without_an_answer_is_not_scored():
    unanswerable = LabelledQuestion(id="q2", group="mia", text="Why?", gold={"m1": 1}, is_unanswerable=True)
    report = score_blocks(Dataset(CORPUS, (QUESTION, unanswerable)), [Block("q2", [], 0, "")])
    assert report.overall == {}
    assert report.missing == 1


def test_a_prompt_that_is_shown_a_row_is_not_silent():
    report = score_blocks(SET, [Block("mia/p1", ["m2"], 9, "green", "code"), Block("mia/p2", [], 3, "a date", "code")])
    assert report.silence == {"all": 0.5, "code": 0.5}


def test_prompts_and_blocks_are_read_and_written_as_lines(tmp_path: Path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"id": "p", "text": "hi", "kind": "smalltalk"}\n{"text": "2 + 2"}\n', encoding="utf-8")
    assert load_prompts(path) == [Prompt("p", "hi", "smalltalk"), Prompt("2", "2 + 2")]
    path.write_text('{"id": "p"}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="line 1"):
        load_prompts(path)
    run = tmp_path / "deep" / "run.jsonl.gz"
    write_blocks(run, [Block("q", ["m1"], 2, "é"), Block("p", [], 0, "", "code")])
    rows = [json.loads(line) for line in gzip.decompress(run.read_bytes()).splitlines()]
    assert rows == [
        {"qid": "q", "ids": ["m1"], "tokens": 2, "text": "é"},
        {"qid": "p", "ids": [], "tokens": 0, "text": "", "unrelated": True, "kind": "code"},
    ]
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_blocks(tmp_path, [])


def test_each_chinese_character_is_a_word():
    assert words("Die Katze 我的猫") == ["die", "katze", "我", "的", "猫"]
