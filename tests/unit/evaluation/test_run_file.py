"""An evaluation of retrieval that is broken off goes on where it stopped, and only where it belongs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.cli import failures
from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import Ranking, run_key
from mnemic.evaluation.retrieval import UnfinishedRun, read_run, run_retrieval
from tests.unit.evaluation.test_retrieval import DATASET, KEYWORDS

PROGRAM = str(Path(sys.executable).with_name("mnemic"))
RANKINGS = [Ranking("q1", ["a"], 1.0), Ranking("q2", [], None), Ranking("q3", ["b", "a"], 2.5)]
ROWS, QUESTIONS = 300, 400


def breaking_off() -> Iterator[Ranking]:
    yield from RANKINGS[:2]
    raise KeyboardInterrupt


@pytest.mark.requirement("P-33")
@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_what_was_ranked_is_kept_until_the_run_is_complete(tmp_path: Path, name: str):
    path = tmp_path / "below" / name
    with pytest.raises(KeyboardInterrupt):
        UnfinishedRun(path, "k").write(breaking_off())
    assert not path.exists()
    unfinished = path.with_name(f".{name}.unfinished")
    with unfinished.open("a") as file:
        file.write('{"qid": "q3", "ran')  # cut off, as by a kill
    again = UnfinishedRun(path, "k")
    assert again.known == RANKINGS[:2]
    assert again.write(RANKINGS[2:]) == RANKINGS
    assert read_run(path) == RANKINGS
    assert [file.name for file in path.parent.iterdir()] == [name]
    assert UnfinishedRun(path, "k").known == []


@pytest.mark.requirement("P-33")
def test_a_run_of_other_options_or_texts_begins_anew(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        UnfinishedRun(tmp_path / "run", run_key(DATASET, KEYWORDS)).write(breaking_off())
    others = [
        run_key(DATASET, replace(KEYWORDS, limit=7)),
        run_key(replace(DATASET, corpus=DATASET.corpus[1:]), KEYWORDS),
    ]
    assert [UnfinishedRun(tmp_path / "run", key).known for key in others] == [[], []]
    assert len(UnfinishedRun(tmp_path / "run", run_key(DATASET, KEYWORDS)).known) == 2


@pytest.mark.parametrize("content", ["", "nothing\n", '"k"\n', '{"key": "k"}\n{"qid": 1}\n', '{"key": "k"}\n[]\n'])
def test_a_file_that_is_no_unfinished_run_is_refused(tmp_path: Path, content: str):
    (tmp_path / ".run.unfinished").write_text(content)
    with pytest.raises(InvalidInputError, match="remove it to start over"):
        UnfinishedRun(tmp_path / "run", "k")


@pytest.mark.requirement("P-33")
def test_questions_that_were_answered_are_not_asked_and_their_texts_not_stored():
    stored: list[tuple[int, int]] = []

    def told(what: str, done: int, total: int) -> None:
        if what == "store":
            stored.append((done, total))

    left = list(run_retrieval(DATASET, KEYWORDS, told, {"q2", "q3"}))
    assert [ranking.qid for ranking in left] == ["q1"]
    assert stored == [(2, 4), (4, 4)]


@pytest.mark.requirement("P-33")
def test_ctrl_c_in_the_middle_of_an_evaluation_and_the_same_command_again(tmp_path: Path):
    corpus = [{"id": f"d{n}", "group": "g", "text": f"the {n}th thing on the shelf is number {n}"} for n in range(ROWS)]
    asked = [
        {"id": f"q{n}", "group": "g", "text": f"which is number {n}?", "gold": {f"d{n % ROWS}": 1}}
        for n in range(QUESTIONS)
    ]
    for name, rows in (("corpus", corpus), ("queries", asked)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [PROGRAM, "eval", "retrieval", "--embedder", "none", "--store", "memory", "--json"]
    for name in ("corpus", "queries"):
        command += [f"--{name}", str(tmp_path / f"{name}.jsonl")]
    command += ["--run", str(tmp_path / "run.jsonl")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    unfinished = tmp_path / ".run.jsonl.unfinished"
    while process.poll() is None and (not unfinished.exists() or unfinished.read_bytes().count(b"\n") < 5):
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1]
    assert process.returncode == failures.INTERRUPTED, err
    assert "run the same command again to resume" in err
    kept = unfinished.read_bytes().count(b"\n") - 1
    assert 0 < kept < QUESTIONS
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{kept} questions have already been asked" in again.stderr
    assert sorted(ranking.qid for ranking in read_run(tmp_path / "run.jsonl")) == sorted(
        f"q{n}" for n in range(QUESTIONS)
    )
    assert json.loads(again.stdout)["overall"]["n"] == QUESTIONS
