"""The command line: exit codes, forms of output, and good manners among other programs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Scope, errors
from mnemic.cli import failures, main, recall
from mnemic.cli.failures import EXIT_CODES
from mnemic.model.candidates import MESSAGE
from mnemic.model.item import kind_of
from mnemic.model.recall import Recall
from mnemic.testing.samples import a_message
from tests.doors.doors import replaced_streams, run

PROGRAM = str(Path(sys.executable).with_name("mnemic"))
ANA = ["--user", "ana"]


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of these tests, set in the environment."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    return path


def answer(*words: str, stdin: bytes = b"") -> Any:
    """The JSON that a command answers."""
    code, out, err = run([*words, "--json"], [], stdin)
    assert code == 0, err
    return json.loads(out)


def remember(*texts: str) -> None:
    with Mnemic.open(os.environ["MNEMIC_STORE"]) as mnemic:
        mnemic.remember_many(Scope(user="ana"), texts)


class TestFailures:
    def test_every_error_has_an_exit_code_of_its_own(self):
        declared = {e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.MnemicError)}
        assert set(EXIT_CODES) == declared
        assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
        assert all(0 < code < 126 for code in EXIT_CODES.values())

    def test_an_error_of_a_third_party_has_the_code_of_its_parent(self):
        class FullError(errors.UnavailableError):
            pass

        assert failures.exit_code(FullError("no room")) == EXIT_CODES[errors.UnavailableError]

    def test_a_failure_is_one_line_on_the_standard_error(self):
        code, out, err = run(["memory", "show", "nobody", *ANA], [])
        assert (code, out) == (3, "")
        assert err == "mnemic: there is no memory, message or passage 'nobody' in this scope\n"

    def test_a_failure_is_json_where_json_is_asked_for(self):
        code, out, err = run(["memory", "show", "nobody", "--json", *ANA], [])
        assert (code, out) == (3, "")
        assert json.loads(err) == {
            "error": {"kind": "not_found", "message": "there is no memory, message or passage 'nobody' in this scope"}
        }

    @pytest.mark.parametrize("words", [["recal"], ["recall"], ["recall", "x", "--limit", "many"], ["recall", "--nope"]])
    def test_a_line_that_cannot_be_understood_is_invalid_input(self, words: list[str]):
        code, out, err = run([*words, "--json"], [])
        assert (code, out) == (2, "")
        assert json.loads(err)["error"]["kind"] == "invalid_input"

    def test_a_text_that_looks_like_an_option_is_none(self):
        assert not failures.wants_json(["remember", "--", "--json"])

    def test_without_a_user_a_memory_belongs_to_the_login_name(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("LOGNAME", "lena")
        code, _, err = run(["remember", "Lena likes tea"], [])
        assert (code, err) == (0, "stored as fact of user lena\n")
        assert "Lena likes tea" in run(["recall", "tea", "--user", "lena"], [])[1]
        assert "Lena likes tea" not in run(["recall", "tea", *ANA], [])[1]

    def test_a_session_without_a_user_is_one_of_the_login_name(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("LOGNAME", "lena")
        assert run(["capture", "--session", "s1", "--user-text", "I adopted a beagle called Biscuit"], [])[0] == 0
        assert "Biscuit" in run(["recall", "What is my beagle called?"], [])[1]

    def test_in_an_org_or_for_an_agent_no_user_is_assumed(self):
        assert run(["remember", "x", "--org", "acme"], [])[0] == 2
        assert run(["remember", "x", "--agent", "coder"], [])[0] == 0
        assert run(["memory", "list", "--agent", "coder"], [])[1].endswith("\n")

    def test_a_store_that_nobody_knows_is_a_matter_of_configuration(self):
        assert run(["memory", "list", "--store", "oracle://x"], [])[0] == 6

    def test_a_file_that_is_no_store_is_a_matter_of_the_backend(self, home: Path):
        (home / "letter.txt").write_text("Dear Ana, " * 100, encoding="utf-8")
        code, _, err = run(["memory", "list", *ANA, "--store", str(home / "letter.txt")], [])
        assert code == EXIT_CODES[errors.DamagedError]
        assert "not a Mnemic store" in err
        assert "Traceback" not in err

    def test_a_traceback_is_shown_only_when_asked_for(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MNEMIC_DEBUG", "1")
        assert "Traceback" in run(["memory", "show", "nobody", *ANA], [])[2]

    def test_what_nobody_foresaw_is_one_line_too(self, capsys: pytest.CaptureFixture[str]):
        failures.last_resort(ZeroDivisionError, ZeroDivisionError("division\nby zero"), None)
        told = capsys.readouterr().err
        assert told.startswith("mnemic: unexpected ZeroDivisionError: division by zero")
        assert told.count("\n") == 1


class TestForms:
    @pytest.mark.requirement("J-10")
    def test_a_hit_shows_id_kind_text_importance_accesses_and_similarity(self):
        remember("Ana sails a small blue boat")
        (hit,) = answer("recall", "ship", *ANA)["hits"]
        item = hit["item"]
        assert uuid.UUID(item["id"]).version == 7
        assert (item["kind"], item["text"]) == ("fact", "Ana sails a small blue boat")
        assert len(item["kind"]) <= 20
        assert (item["importance"], item["access_count"]) == (0.8, 0)
        assert isinstance(hit["similarity"], float)
        assert sum(part["points"] for part in hit["contributions"]) == pytest.approx(hit["score"])

    def test_a_pipe_gets_one_uncut_line_per_row(self):
        remember("short", "a long text\nof two lines " + "with many words " * 40)
        _, out, _ = run(["memory", "list", *ANA], [])
        rows = sorted((line.split("\t") for line in out.splitlines()), key=lambda row: row[1])
        assert [row[1][:11] for row in rows] == ["a long text", "short"]
        assert len(rows[0][1]) > 600
        assert {len(row) for row in rows} == {6}

    def test_a_terminal_gets_lines_that_fit(self, store: Path):
        remember("a long text " + "with many words " * 40, "広い文字" * 40)
        ours, theirs = pty.openpty()
        command = [PROGRAM, "recall", "words", "--explain", *ANA]
        environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "MNEMIC_STORE": str(store)}
        run = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, env=environment, check=True)
        os.close(theirs)
        lines = os.read(ours, 65_536).decode().splitlines()
        os.close(ours)
        assert run.stderr == b""
        assert [line.endswith("…") for line in lines[1:6]] == [False, False, False, True, False]
        assert all(len(line) + sum(character > "\u2e80" for character in line) <= 100 for line in lines)
        assert any("keyword" in line and "dense" in line for line in lines)

    def test_stored_text_cannot_steer_the_terminal(self):
        remember("red \x1b[31m and \u202ebackwards")
        _, out, _ = run(["memory", "list", *ANA], [])
        assert "red \\u001b[31m and \\u202ebackwards" in out

    def test_show_tells_everything_about_a_memory(self):
        made = answer("memory", "add", "Ana sails", "--category", "sport", *ANA)
        _, out, _ = run(["memory", "show", made["id"], *ANA], [])
        assert out.startswith("Ana sails\n\nid: ")
        assert "categories: ['sport']" in out

    def test_background_is_called_so(self):
        remember("Ana sails")
        _, out, err = run(["recall", "", *ANA], [])
        assert out.endswith("general background\n")
        assert "general background" in err

    def test_a_missing_source_is_named(self, capsys: pytest.CaptureFixture[str]):
        recall.show_recall(Recall("x", (), ("dense: the embedder failed",), {}))
        assert "degraded: dense: the embedder failed" in capsys.readouterr().err

    def test_explaining_shows_parts_that_add_up(self):
        remember("Ana sails", "Ana bakes rye bread")
        _, out, _ = run(["recall", "bread", "--explain", *ANA], [])
        total, parts = out.splitlines()[0].split("\t")[-1].removeprefix("score ").split("; ")[0].split(" = ")
        assert sum(float(part.split()[1]) for part in parts.split(" + ")) == pytest.approx(float(total), abs=0.02)

    def test_the_kind_of_a_message_has_one_name(self):
        assert kind_of(a_message(1)) == MESSAGE


class TestOrigin:
    @pytest.mark.requirement("R-08")
    def test_what_a_person_enters_matters_most_and_names_the_door(self):
        made = answer("remember", "Ana sails", *ANA)
        assert made["importance"] == 1.0
        assert answer("memory", "history", made["id"], *ANA)[0]["actor"] == "cli"
        assert answer("remember", "Ana bakes", "--importance", "low", *ANA)["importance"] == 0.3

    @pytest.mark.requirement("R-08")
    def test_what_a_program_remembers_matters_a_little_less(self):
        with Mnemic.open("memory://") as mnemic:
            made = mnemic.remember(Scope(user="ana"), "Ana sails")
            assert made.importance == 0.8
            assert mnemic.history(Scope(user="ana"), made.id)[0].actor == "library"

    def test_the_opener_of_a_library_can_name_itself(self):
        with Mnemic.open("memory://", actor="importer") as mnemic:
            made = mnemic.remember(Scope(user="ana"), "Ana sails")
            assert mnemic.history(Scope(user="ana"), made.id)[0].actor == "importer"

    @pytest.mark.requirement("J-57")
    def test_memories_are_added_and_listed(self):
        made = answer("memory", "add", "Ana sails", *ANA)
        assert [memory["id"] for memory in answer("memory", "list", *ANA)["memories"]] == [made["id"]]

    @pytest.mark.requirement("D-05")
    def test_a_conversation_without_a_name_gets_a_random_uuid(self):
        sessions = {answer("capture", "--user-text", "hello", *ANA)["session"] for _ in range(3)}
        assert len(sessions) == 3
        assert {uuid.UUID(session).version for session in sessions} == {4}

    def test_the_scope_may_come_from_the_environment(self, monkeypatch: pytest.MonkeyPatch):
        for part in ("USER", "AGENT", "SESSION", "ORG"):
            monkeypatch.setenv(f"MNEMIC_{part}", part.lower())
        made = answer("remember", "Ana sails", "--level", "session")
        assert (made["org"], made["level"], made["owner"], made["agent"]) == ("org", "session", "session", "agent")
        assert answer("memory", "list", "--user", "other")["memories"] == []


class TestInput:
    HELLO = '{"role": "user", "content": "hello"}'

    @pytest.mark.parametrize(
        "content",
        [
            HELLO,
            f"[{HELLO}]",
            f'{{"messages": [{HELLO}]}}',
            f"\n{HELLO}\r\n\n",
            '{"content": "hello"}',
            '{"role": "user", "content": "hello", "metadata": {"line": "\u2028"}}\n',
        ],
    )
    def test_messages_come_as_a_list_an_object_or_lines(self, content: str):
        turn = answer("capture", "-", *ANA, stdin=content.encode())
        assert [(m["role"], m["text"]) for m in turn["messages"]] == [("user", "hello")]

    def test_lines_are_messages_in_order(self):
        lines = '{"role": "user", "content": "hello"}\n{"role": "assistant", "content": "good day"}\n'
        turn = answer("capture", "-", *ANA, stdin=lines.encode())
        assert [m["text"] for m in turn["messages"]] == ["hello", "good day"]

    @pytest.mark.parametrize(
        "content, told",
        [
            (b'{"role": "user", "content": "x"}\n{oops}\n', "line 2"),
            (b"", "no message"),
            (b"\xff\xfe", "not UTF-8"),
            (b"[" * 100_000, "line 1"),
            (b"3", "must be an object"),
            (b'{"role": "user", "content": "x", "colour": "red"}', "colour"),
        ],
    )
    def test_what_is_no_message_is_refused_with_its_place(self, content: bytes, told: str):
        code, _, err = run(["capture", "-", *ANA], [], content)
        assert code == 2
        assert told in err

    def test_a_text_from_the_standard_input_loses_only_its_last_line_end(self):
        assert answer("remember", "-", *ANA, stdin=b"one\r\ntwo\n\n")["text"] == "one\r\ntwo\n"

    @pytest.mark.parametrize("words", [["--filter", "{"], ["--filter", "[]"], ["--level-limit", "user"]])
    def test_an_option_that_cannot_be_read_is_invalid_input(self, words: list[str]):
        assert run(["recall", "x", *words, *ANA], [])[0] == 2

    @pytest.mark.parametrize(
        "words",
        [
            ["remember", "\udcff"],
            ["recall", "\udcff"],
            ["memory", "show", "\udcff"],
            ["memory", "delete", "\udcff"],
            ["memory", "delete", "x", "--reason", "\udcff"],
            ["memory", "history", "\udcff"],
            ["memory", "list", "--after", "\udcff"],
            ["memory", "list", "--user", "\udcff"],
            ["complete", "\udcff", "--assistant-text", "x"],
            ["complete", "x", "--assistant-text", "\udcff"],
            ["capture", "--user-text", "\udcff"],
        ],
    )
    def test_bytes_that_are_no_text_are_invalid_input(self, words: list[str]):
        code, _, err = run([*words, *([] if "--user" in words else ANA)], [])
        assert code == 2, err


class TestManners:
    def test_a_reader_that_goes_away_ends_the_command_quietly(self, store: Path):
        remember(*(f"fact number {number}" for number in range(50)))
        read_end, write_end = os.pipe()
        os.close(read_end)
        command = [PROGRAM, "memory", "list", *ANA, "--store", str(store)]
        run = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
        os.close(write_end)
        assert run.returncode == failures.READER_GONE
        assert b"Traceback" not in run.stderr
        assert b"BrokenPipe" not in run.stderr

    def test_an_interruption_has_its_own_code(self):
        class Interrupted:
            def read(self) -> bytes:
                raise KeyboardInterrupt

        with replaced_streams(b"") as (out, err):
            stream: Any = sys.stdin
            sys.stdin = type("Stdin", (), {"buffer": Interrupted()})()
            assert main(["remember", "-", *ANA]) == failures.INTERRUPTED
            sys.stdin = stream
            assert out.getvalue() == err.getvalue() == b""

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
    def test_any_encoding_of_the_output_will_do(self, store: Path, encoding: str):
        text = "Žluťoučký kůň 日本 👩🏽‍🚀"
        remember(text)
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        for form in ([], ["--json"]):
            command = [PROGRAM, "memory", "list", *ANA, "--store", str(store), *form]
            run = subprocess.run(command, capture_output=True, env=environment, check=True)
            written = run.stdout.decode(encoding)
            assert json.loads(written)["memories"][0]["text"] == text if form else written

    def test_help_has_examples_for_every_command(self):
        for command in (["remember"], ["recall"], ["capture"], ["complete"], ["tour"], ["memory", "list"]):
            code, out, _ = run([*command, "--help"], [])
            assert code == 0
            assert f"Examples:\n  mnemic {' '.join(command)}" in out

    def test_the_version_is_told(self):
        assert run(["--version"], [])[1].startswith("mnemic 0.")

    def test_the_shell_completes_commands_and_options(self):
        environment = os.environ | {"_MNEMIC_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
        for words, expected in (("mnemic mem", "memory"), ("mnemic reca", "recall")):
            completed = subprocess.run(
                [PROGRAM], env=environment | {"COMP_WORDS": words}, capture_output=True, text=True, check=False
            )
            assert completed.stdout.split() == [expected]

    def test_help_loads_neither_the_engine_nor_heavy_packages(self):
        heavy = {"numpy", "onnxruntime", "rich", "sqlite3", "asyncio", "mnemic.api", "mnemic.engine"}
        program = (
            "import sys; from mnemic.cli import main; "
            "main(['recall', '--help']); print(sorted(set(sys.argv[1:]) & set(sys.modules)))"
        )
        command = [sys.executable, "-c", program, *heavy]
        loaded = subprocess.run(command, capture_output=True, text=True, check=True)
        assert loaded.stdout.splitlines()[-1] == "[]"
