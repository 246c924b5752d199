"""`mnemic eval answers`: a model over a real wire, asked with memory, with everything, and with nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.cli import main
from mnemic.cli.failures import EXIT_CODES
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.evaluation.answers import Way, declines, is_exact, means_by_way, newest_within, read_answers, token_f1
from mnemic.testing.chat_server import ChatReply, ChatServer

CORPUS = [
    {
        "id": "m1",
        "group": "ada",
        "session": "s1",
        "role": "user",
        "text": "My cat is called Biscuit.",
        "time": "2025-03-01",
    },
    {"id": "m2", "group": "ada", "session": "s1", "role": "assistant", "text": "A lovely name!", "time": "2025-03-01"},
    {
        "id": "m3",
        "group": "bo",
        "session": "s2",
        "role": "user",
        "text": "My cat is called Pepper.",
        "time": "2025-03-02",
    },
]
QUERIES = [
    {"id": "q1", "group": "ada", "text": "What is my cat called?", "gold": {"m1": 1}, "answer": "Biscuit"},
    {"id": "q2", "group": "bo", "text": "What is my cat called?", "gold": {"m3": 1}, "answers": ["Pepper", "Pep"]},
    {"id": "q3", "group": "bo", "text": "What is my dog called?", "answer": "unknown", "abstain": True},
    {"id": "q4", "group": "bo", "text": "Nobody knows the right answer to this?", "gold": {"m3": 1}},
]


def reads_its_prompt(request: dict[str, Any]) -> str | ChatReply:
    """Names a cat when its prompt does, judges by equality, and does not know any dog."""
    said = " ".join(message["content"] for message in request["messages"])
    question = request["messages"][-1]["content"]
    if "Answer to judge:" in question:
        right = question.split("Right answer: ")[1].split("\n")[0].split(" / ")
        return json.dumps({"is_right": question.split("Answer to judge: ")[1] in right})
    if "dog" not in question:
        for name in ("Biscuit", "Pepper"):
            if name in said:
                return name
    return "I don't know."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(reads_its_prompt) as running:
        yield running


@pytest.fixture
def command(tmp_path: Path, server: ChatServer) -> list[str]:
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    files = ["--corpus", str(tmp_path / "corpus"), "--queries", str(tmp_path / "queries")]
    return ["eval", "answers", *files, "--embedder", "none", "--llm", "openai:tiny", "--llm-url", server.url]


@pytest.mark.requirement("P-36")
def test_the_model_is_asked_with_memory_with_everything_and_with_nothing(
    command: list[str], capsys: pytest.CaptureFixture[str]
):
    assert main([*command, "--judge", "same", "--json"]) == 0
    ways = json.loads(capsys.readouterr().out)["ways"]
    assert [ways[way]["f1"] for way in ("memory", "everything", "nothing")] == [1.0, 1.0, 0.0]
    assert [ways[way]["judged_right"] for way in ("memory", "everything", "nothing")] == [1.0, 1.0, 0.0]
    assert {ways[way]["declined"] for way in ways} == {1.0}
    assert {ways[way]["n"] for way in ways} == {3}  # the one without a right answer is not asked
    assert all(ways[way]["tokens"] > 0 for way in ways)


@pytest.mark.requirement("P-36")
def test_the_table_has_a_line_for_each_way(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--ways", "nothing,memory"]) == 0
    head, *lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head[:4] == ["given", "n", "F1", "exact"]
    assert [line[:4] for line in lines] == [["memory", "3", "1.000", "1.000"], ["nothing", "3", "0.000", "0.000"]]


@pytest.mark.requirement("P-33")
def test_a_run_goes_on_where_it_was_interrupted(
    command: list[str], tmp_path: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
):
    run = tmp_path / "run.jsonl"
    assert main([*command, "--ways", "memory", "-n", "1", "--run", str(run)]) == 0
    asked = len(server.requests)
    assert main([*command, "--ways", "memory", "--run", str(run)]) == 0
    assert len(server.requests) - asked == len(QUERIES) - 2
    answers = read_answers(run)
    assert sorted(answer.qid for answer in answers) == ["q1", "q2", "q3"]
    assert means_by_way(answers)[Way.MEMORY].f1 == 1.0
    capsys.readouterr()


def test_a_question_that_is_answered_with_something_broken_is_counted_and_asked_again(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
):
    with ChatServer(lambda _: ChatReply(body="not JSON")) as broken:
        wrong = [*command[:-1], broken.url]
        assert main([*wrong, "--ways", "nothing", "--run", str(tmp_path / "run"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"ways": {}, "failures": {"BadReplyError": 3}}
    assert read_answers(tmp_path / "run") == []


def test_a_model_that_is_away_ends_the_run_with_its_reason(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command[:-1], "http://127.0.0.1:9/v1"]) == EXIT_CODES[UnavailableError]
    assert "127.0.0.1:9" in capsys.readouterr().err


def test_what_cannot_be_asked_is_refused(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for wrong, told in ((["--ways", "luck"], "--ways must be"), (["--budget", "0"], "at least 1")):
        assert main([*command, *wrong]) == EXIT_CODES[InvalidInputError]
        assert told in capsys.readouterr().err
    (tmp_path / "queries").write_text(json.dumps(QUERIES[3]) + "\n", encoding="utf-8")
    assert main(command) == EXIT_CODES[InvalidInputError]
    assert "no question in this set has an `answer` field" in capsys.readouterr().err


def test_a_broken_run_file_is_named_with_its_line(tmp_path: Path):
    (tmp_path / "run").write_text('{"qid": "q1"}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="line 1"):
        read_answers(tmp_path / "run")


def test_of_a_transcript_that_is_too_long_the_newest_lines_are_kept():
    assert newest_within(["one two", "three", "four five"], 3) == (["three", "four five"], 1)
    assert newest_within([], 10) == ([], 0)


@pytest.mark.parametrize(
    "answer, right, f1",
    [
        ("the Biscuit!", ["Biscuit"], 1.0),
        ("Biscuit and Pepper", ["Biscuit"], 0.5),
        ("7 May 2023", ["May 7, 2023"], 1.0),
        ("上海市", ["上海"], 0.8),
        ("", ["Biscuit"], 0.0),
        ("nothing alike", ["Biscuit", "Pepper"], 0.0),
        ("Pepper", ["Biscuit", "Pepper"], 1.0),
    ],
)
def test_token_f1_is_that_of_reading_comprehension(answer: str, right: list[str], f1: float):
    assert token_f1(answer, right) == pytest.approx(f1)


def test_an_exact_answer_has_the_same_tokens_in_order():
    assert is_exact("The 7 May, 2023.", ["7 may 2023"])
    assert not is_exact("May 7 2023", ["7 May 2023"])


@pytest.mark.parametrize("answer", ["I don’t know.", "There is no information about a dog.", "我不知道。", "Unknown"])
def test_an_answer_that_declines_is_known(answer: str):
    assert declines(answer)


@pytest.mark.parametrize("answer", ["Biscuit", "She knows it: Pepper", "上海"])
def test_an_answer_is_not_taken_for_declining(answer: str):
    assert not declines(answer)
