"""`mnemic eval` from the command line: tables for people, JSON for programs, and bars where somebody watches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mnemic.cli import main
from mnemic.cli.failures import EXIT_CODES
from mnemic.cli.output import progress_bars
from mnemic.errors import InvalidInputError
from mnemic.evaluation.retrieval import read_run

CORPUS = [
    {"id": "d1", "group": "shelf", "text": "Green tea is steeped at eighty degrees."},
    {"id": "d2", "group": "shelf", "text": "Sourdough rises for a whole night."},
]
QUERIES = [
    {"id": "q1", "group": "shelf", "text": "How hot is green tea?", "gold": {"d1": 1}, "kind": "tea"},
    {"id": "q2", "group": "shelf", "text": "When does sourdough rise?", "gold": {"d2": 1}, "kind": "bread"},
]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return ["--corpus", str(tmp_path / "corpus"), "--queries", str(tmp_path / "queries"), "--embedder", "none"]


@pytest.mark.requirement("P-31")
def test_retrieval_prints_a_line_for_all_and_one_for_each_category(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = tmp_path / "run.jsonl.gz"
    assert main(["eval", "retrieval", *files, "--by", "kind", "--run", str(run)]) == 0
    out, err = capsys.readouterr()
    head, *lines = [line.split() for line in out.splitlines()]
    assert head[:4] == ["questions", "n", "R@1", "R@5"]
    assert [line[:3] for line in lines] == [["all", "2", "1.000"], ["bread", "1", "1.000"], ["tea", "1", "1.000"]]
    assert "ids from outside the group or haystack: 0" in err
    assert [ranking.ranked for ranking in read_run(run)] == [["d1"], ["d2"]]


def test_retrieval_answers_programs_in_json(files: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["eval", "retrieval", *files, "--store", "memory", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["overall"]["metrics"]["R@5"] == 1.0
    assert report["foreign_ids"] == 0


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_context_tells_what_blocks_hold_and_when_they_are_empty(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]
):
    prompts, run = tmp_path / "prompts", tmp_path / "run.jsonl"
    prompts.write_text('{"id": "p1", "text": "hi", "kind": "smalltalk"}\n', encoding="utf-8")
    command = ["eval", "context", *files, "--unrelated", str(prompts), "--run", str(run), "--budget", "500"]
    assert main([*command, *form]) == 0
    out, err = capsys.readouterr()
    assert len(run.read_text(encoding="utf-8").splitlines()) == 3
    if form:
        assert json.loads(out)["silence"] == {"all": 1.0, "smalltalk": 1.0}
        return
    assert out.split()[:3] == ["questions", "evidence", "all"]
    assert "silence: all 1.000, smalltalk 1.000" in out
    assert "questions without a block: 0" in err


def test_a_file_that_is_missing_is_named(files: list[str], capsys: pytest.CaptureFixture[str]):
    wrong = ["eval", "retrieval", *files, "--haystacks", "nowhere.json"]
    assert main(wrong) == EXIT_CODES[InvalidInputError]
    assert "nowhere.json" in capsys.readouterr().err


@pytest.mark.requirement("P-31")
def test_speed_prints_a_column_for_each_size_and_json_for_programs(capsys: pytest.CaptureFixture[str]):
    command = ["eval", "speed", "--sizes", "20,30", "--recalls", "3", "--synthetic"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["memories", "20", "synthetic", "30", "synthetic"]
    assert any(line.startswith("recall p50 / p95 / p99, ms") for line in lines)
    assert main([*command, "--json"]) == 0
    assert [result["memories"] for result in json.loads(capsys.readouterr().out)] == [20, 30]


@pytest.mark.parametrize("sizes", ["many", "10,", "-5"])
def test_sizes_that_are_no_numbers_are_refused(sizes: str, capsys: pytest.CaptureFixture[str]):
    assert main(["eval", "speed", f"--sizes={sizes}"]) == EXIT_CODES[InvalidInputError]
    assert "must be whole numbers" in capsys.readouterr().err


def test_bars_are_drawn_on_a_terminal_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for is_watched, drawn in ((False, False), (True, True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda watched=is_watched: watched)
        with progress_bars() as told:
            told("store", 1, 2)
            told("store", 2, 2)
        out, err = capsys.readouterr()
        assert out == ""
        assert ("store" in err) is drawn
