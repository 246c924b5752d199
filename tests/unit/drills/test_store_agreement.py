"""The drill that compares stores: what it runs of a set, and what it calls a difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drills import store_agreement
from drills.kit.part import part_of
from drills.store_agreement import FILE, REFERENCE, SERVER, Run, StoreRuns, differences, slices
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion, Ranking, score_run

GROUPS = ("anna", "bert", "carl")
CORPUS = tuple(
    CorpusRow(id=f"{group}{number}", group=group, session=f"{group} s{number // 4}", text=f"{group} owns boat {number}")
    for group in GROUPS
    for number in range(8)
)
QUESTIONS = tuple(
    LabelledQuestion(id=f"{group} asks {number}", group=group, text=f"boat {number}", gold={f"{group}{number}": 1})
    for group in GROUPS
    for number in (1, 6)
)
DATASET = Dataset(CORPUS, QUESTIONS)
HAYSTACKS = {question.id: (f"{question.group} s0", f"{question.group} s1") for question in QUESTIONS}


def run_of(answers: dict[str, list[str]]) -> Run:
    return Run(score_run(DATASET, [Ranking(qid, ranked) for qid, ranked in answers.items()]), answers)


RIGHT = {question.id: [*question.gold, f"{question.group}0"] for question in QUESTIONS}


def test_a_part_keeps_what_answers_its_questions_and_not_much_more():
    part = part_of(DATASET, 2, 4)
    assert len(part.questions) == 2
    assert {row.id for row in part.corpus} >= {i for question in part.questions for i in question.gold}
    assert {row.group for row in part.corpus} == {question.group for question in part.questions}
    assert len(part.corpus) <= 4 + 2
    assert part_of(DATASET, 100, 100) == DATASET


def test_a_part_of_sessions_that_answer_keeps_these_sessions_whole():
    questions = tuple(replace(question, gold={}, gold_sessions=("bert s1",)) for question in QUESTIONS[2:4])
    part = part_of(replace(DATASET, questions=questions), 2, 1)
    assert {row.id for row in part.corpus} >= {"bert4", "bert5", "bert6", "bert7"}
    assert len(part.corpus) == 5


def test_a_part_of_haystacks_keeps_them_whole_and_asks_fewer_questions():
    part = part_of(Dataset(CORPUS, QUESTIONS, HAYSTACKS), 6, 16)
    assert [question.id for question in part.questions] == ["anna asks 1", "anna asks 6"]
    assert part.corpus == CORPUS
    assert len(part_of(Dataset(CORPUS, QUESTIONS, HAYSTACKS), 6, 1).questions) == 1


@pytest.mark.parametrize("haystacks", [None, HAYSTACKS])
def test_slices_ask_every_question_once_among_few_rows(
    haystacks: dict[str, tuple[str, ...]] | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store_agreement, "ROWS_OF_REFERENCE", 10)
    cut = list(slices(Dataset(CORPUS, QUESTIONS, haystacks)))
    assert [question.id for part in cut for question in part.questions] == [question.id for question in QUESTIONS]
    assert len(cut) == (3 if haystacks is None else 6)


def test_equal_runs_differ_in_nothing():
    assert differences("boats", {store: run_of(RIGHT) for store in (REFERENCE, FILE, SERVER)}) == []


def test_what_one_store_ranks_otherwise_leaves_out_or_takes_from_others_is_told():
    qid = QUESTIONS[0].id
    runs = {REFERENCE: run_of(RIGHT), FILE: run_of(RIGHT)}
    otherwise = {**RIGHT, qid: ["anna0", "anna1"]}
    assert any("MRR@10 differs" in told for told in differences("boats", {**runs, SERVER: run_of(otherwise)}))
    others = {**RIGHT, qid: ["anna1", "bert0"]}
    told = differences("boats", {**runs, SERVER: run_of(others)})
    assert any("postgresql left out 0 questions and told 1 foreign ids" in line for line in told)
    assert any("postgresql and sqlite share only 0.9167 of the first ten" in line for line in told)
    fewer = {qid: ranked for qid, ranked in RIGHT.items() if qid != QUESTIONS[0].id}
    assert any("postgresql left out 1" in told for told in differences("boats", {**runs, SERVER: run_of(fewer)}))


def test_a_run_that_is_kept_is_not_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    here = StoreRuns(tmp_path, lambda name: f"no server for {name}")
    made = here.run("boats", DATASET, REFERENCE)
    assert made.report.foreign_ids == made.report.missing == 0
    (file,) = tmp_path.iterdir()
    changed = file.stat().st_mtime_ns
    again = StoreRuns(tmp_path, str)
    assert again.run("boats", DATASET, REFERENCE).ranked == made.ranked
    assert (here.kept, again.kept) == (0, 1)
    assert [path.stat().st_mtime_ns for path in tmp_path.iterdir()] == [changed]
    assert capsys.readouterr().out.count("boats, memory: R@10") == 2
