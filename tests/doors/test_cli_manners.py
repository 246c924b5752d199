"""The command line for somebody who comes from another program: what it lists, what it says to words it does not know,
and that its messages name its own options.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import typer
from rich.cells import cell_len
from starlette.testclient import TestClient

from mnemic import Scope
from mnemic.adapters.stores.sqlite.store import SqliteStore
from mnemic.cli import failures, serve
from mnemic.cli.app import application
from mnemic.cli.failures import use_option_names
from mnemic.cli.menu import FIRST_PAGE, OTHER_WORDS, SECTIONS
from mnemic.cli.output import format_count, wrap_text
from mnemic.config import load_config
from mnemic.model.scope import Level
from mnemic.testing.embedding_server import EmbeddingServer, Reply
from mnemic.testing.samples import a_memory, add_memories
from mnemic.text.normalise import stored_texts
from tests.conformance.document_files import pptx
from tests.doors.doors import run
from tests.doors.http_doors import LOCAL, Served
from tests.doors.terminal import Terminal

ANA = ["--user", "ana"]
NAMED = re.compile(r"`mnemic ([a-z ]+?)(?: [A-Z-][^`]*)?`")


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of these tests, set in the environment."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    return path


def commands() -> dict[str, list[str]]:
    """The commands of the program, and those of each group under its name."""
    root = typer.main.get_command(application())
    below = getattr(root, "commands", {})
    return {"mnemic": list(below)} | {name: list(getattr(each, "commands", {})) for name, each in below.items()}


class TestMenu:
    def test_the_first_page_fits_a_screen_and_begins_with_what_a_newcomer_needs(self):
        _, out, _ = run(["--help"], [])
        first = next(iter(FIRST_PAGE.values()))
        assert len(out.splitlines()) <= 40
        assert list(first) == ["tour", "demo", "remember", "recall", "chat", "mcp"]
        assert out.index("Get started") < out.index("Use memory")
        assert "mnemic help all" in out

    def test_help_all_lists_every_command_and_help_of_one_shows_its_own(self):
        _, out, _ = run(["help", "all"], [])
        assert [name for name in commands()["mnemic"] if f"\n  {name} " not in out] == []
        assert run(["help", "memory", "list"], [])[1] == run(["memory", "list", "--help"], [])[1]
        assert run(["help"], [])[1] == run(["--help"], [])[1]

    def test_every_command_stands_in_one_section(self):
        listed = [name for section in SECTIONS.values() for name in section]
        assert sorted(listed) == sorted(commands()["mnemic"])

    @pytest.mark.parametrize("group", [[], ["memory"], ["documents"], ["eval"]])
    def test_no_line_of_the_list_is_cut(self, group: list[str]):
        _, out, _ = run([*group, "--help"], [])
        assert "..." not in out.replace("[ARGS]...", "")
        assert all(len(line) <= 80 for line in out.splitlines())


class TestWordsOfOthers:
    def said(self) -> Iterator[tuple[str, str, str]]:
        for group, words in OTHER_WORDS.items():
            for word, told in words.items():
                yield group, word, told

    def test_what_is_named_instead_is_there_and_the_word_is_not(self):
        known = commands()
        for group, word, told in self.said():
            assert word not in known[group]
            for path in NAMED.findall(told):
                name, *below = path.split()
                assert name in known["mnemic"], told
                assert not below or below[0] in known[name], told

    def test_who_comes_from_elsewhere_is_told_the_command(self):
        code, _, err = run(["search", "ships", *ANA], [])
        assert code == 2
        assert "`mnemic recall` finds memories" in err
        assert "`mnemic memory edit ID`" in run(["memory", "update", "x"], [])[2]

    def test_a_slip_still_gets_the_nearest_command(self):
        assert "Did you mean 'remember'" in run(["remembr", "x"], [])[2]


class TestWording:
    def test_every_phrase_is_still_said_by_the_library(self, repository: Path):
        source = "".join(
            path.read_text(encoding="utf-8")
            for path in (repository / "src" / "mnemic").rglob("*.py")
            if path.name != "failures.py"
        )
        assert [phrase for phrase in stored_texts(failures.__name__) if phrase not in source] == []

    def test_an_error_names_options_instead_of_arguments(self):
        assert "pass --level org for everyone" in run(["remember", "x", "--org", "acme"], [])[2]
        assert "; pass --user and --session" in run(["extract", *ANA], [])[2]
        assert (
            "--as-of 'yesterday' is not an ISO 8601 time" in run(["recall", "x", "--as-of", "yesterday", *ANA], [])[2]
        )
        assert "or --all for no limit" in run(["recall", "x", "--limit", "0", *ANA], [])[2]

    def test_a_backup_that_is_there_is_replaced_by_an_option_that_is_named(self, tmp_path: Path):
        for expected in (0, 4):
            code, _, err = run(["backup", str(tmp_path / "b.zip")], [])
            assert code == expected, err
        assert "--force replaces it" in err

    def test_a_file_with_a_secret_is_told_the_option(self, tmp_path: Path):
        (tmp_path / "keys.txt").write_text("password=hunter2hunter2\n", encoding="utf-8")
        assert "--secrets redact" in run(["ingest", str(tmp_path), *ANA], [])[1]

    def test_what_is_no_argument_stays(self):
        assert use_option_names("x='1' and as_of is late") == "x='1' and as_of is late"


class TestPartial:
    """Of many things some failed: a script can tell by the code, a person by one line, and what could be done is."""

    @pytest.fixture
    def papers(self, tmp_path: Path) -> Path:
        folder = tmp_path / "papers"
        folder.mkdir()
        (folder / "tea.md").write_text("# Tea\n\nBoil the water once.\n", encoding="utf-8")
        (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
        return folder

    def test_what_is_skipped_on_purpose_is_no_failure(self, papers: Path):
        code, out, err = run(["ingest", str(papers), *ANA], [])
        assert code == 0, err
        assert "1 added, 1 skipped" in out

    def test_a_file_that_failed_ends_with_a_code_of_its_own_and_the_others_are_stored(self, papers: Path):
        (papers / "minutes.docx").write_bytes(b"no archive")
        for _ in range(2):
            code, out, err = run(["ingest", str(papers), *ANA], [])
            assert code == failures.PARTIAL
            assert "failed: " in out
            assert err.endswith("mnemic: 1 file failed; 1 stored, 1 skipped\n")
        assert "Boil the water" in run(["documents", "text", str(papers / "tea.md"), *ANA], [])[1]

    def test_in_json_the_answer_is_whole_and_the_failure_says_partial(self, papers: Path):
        (papers / "minutes.docx").write_bytes(b"no archive")
        code, out, err = run(["ingest", str(papers), "--json", *ANA], [])
        assert code == failures.PARTIAL
        assert json.loads(out)["counts"] == {"added": 1, "failed": 1, "skipped": 1}
        assert json.loads(err)["error"]["kind"] == "partial"

    def test_several_paths_are_summed_up_in_one_line(self, papers: Path, tmp_path: Path):
        (tmp_path / "rye.md").write_text("Rye grows.", encoding="utf-8")
        code, _, err = run(["ingest", str(papers), str(tmp_path / "rye.md"), *ANA], [])
        assert (code, "in total: 2 files stored, 1 skipped" in err) == (0, True)

    def test_vectors_and_jobs_that_an_embedder_refuses_are_told_alike(self, home: Path):
        options = ["--config", str(home / "config.toml")]

        def judge(texts: list[str]) -> Reply | None:
            return Reply(200, {"data": []}) if any("rye" in text for text in texts) else None

        with EmbeddingServer(lambda texts: [[1.0, 0.0]] * len(texts), judge=judge) as server:
            (home / "config.toml").write_text(
                f'[embedder]\nname = "openai"\noptions = {{ base_url = "{server.url}", model = "m" }}\n', "utf-8"
            )
            for text in ("Ana grows rye", "Ana sails"):
                assert run(["remember", text, *ANA, *options], [])[0] == 0
            code, out, err = run(["work", "--json", *options], [])
            assert (code, json.loads(out)["retried"], json.loads(err)["error"]["kind"]) == (14, 1, "partial")
            code, _, err = run(["reembed", *options], [])
            assert (code, "1 text rejected, found only by keyword" in err) == (14, True)


class TestConfiguredUser:
    """Who keeps a memory for himself says once whose it is; a server's callers and what erases are not meant."""

    @pytest.fixture(autouse=True)
    def config(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = home / "mine.toml"
        path.write_text('user = "ana"\n', encoding="utf-8")
        monkeypatch.setenv("MNEMIC_CONFIG", str(path))
        return path

    def test_a_command_that_names_nobody_is_of_the_configured_user(self, config: Path):
        assert run(["remember", "Ana sails"], [])[0] == 0
        assert "Ana sails" in run(["memory", "list", *ANA], [])[1]
        assert "Ana sails" in run(["memory", "list", "--config", str(config)], [])[1]

    def test_an_option_wins_over_the_environment_and_that_over_the_file(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MNEMIC_USER", "bea")
        assert run(["remember", "Bea rows"], [])[0] == 0
        assert run(["remember", "Carl swims", "--user", "carl"], [])[0] == 0
        assert "Bea rows" in run(["memory", "list", "--user", "bea"], [])[1]
        assert "Carl swims" in run(["memory", "list", "--user", "carl"], [])[1]
        assert run(["memory", "list", *ANA], [])[1] == ""

    def test_what_removes_for_good_takes_nobody_for_granted(self):
        assert run(["remember", "Ana sails"], [])[0] == 0
        for command in (["erase", "--yes"], ["memory", "clear", "--yes"]):
            code, _, err = run(command, [])
            assert (code, "no user given" in err) == (2, True)
        assert "Ana sails" in run(["memory", "list"], [])[1]

    def test_a_key_is_bound_to_whom_it_is_said_to_be_alone(self):
        made = json.loads(run(["keys", "create", "--json"], [])[1])["key"]
        assert (made["user"], made["agent"]) == (None, None)

    def test_chat_hooks_and_clients_of_this_machine_are_of_that_user(self, home: Path):
        (home / ".claude").mkdir()
        assert run(["remember", "The boat of Ana lies in Porto"], [])[0] == 0
        assert "Porto" in run(["chat", "--no-worker"], [], b"where is my boat?\n")[1]
        event = {"hook_event_name": "UserPromptSubmit", "prompt": "where is my boat?", "session_id": "s"}
        assert "Porto" in run(["hooks", "run", "claude-code", "--timeout-s", "500"], [], json.dumps(event).encode())[1]
        out = run(["mcp", "install", "--client", "cursor", "--dry-run", "--json"], [])[1]
        assert json.loads(out)[0]["entry"]["args"][:3] == ["mcp", "--user", "ana"]

    def test_a_server_gives_the_configured_user_to_no_caller(self):
        assert run(["remember", "Ana sails"], [])[0] == 0
        served = Served(load_config())
        with TestClient(served.app, base_url=LOCAL) as client:
            assert client.get("/v1/memories").json()["memories"] == []
            assert len(client.get("/v1/memories?user=ana").json()["memories"]) == 1
        served.close()


class TestForms:
    def test_one_is_one(self):
        assert format_count(1, "memories") == "1 memory"
        assert format_count(1, "passages") == "1 passage"
        assert format_count(2000, "messages") == "2,000 messages"
        assert format_count(0, "jobs") == "0 jobs"

    @pytest.mark.parametrize("room", [20, 33, 80])
    def test_wrapping_keeps_every_word_within_its_room(self, room: int):
        text = "many words of 広い文字 in one line " * 9 + "x" * 100
        lines = wrap_text(text, room)
        assert "".join("".join(lines).split()) == "".join(text.split())
        assert all(cell_len(line) <= room for line in lines)
        assert wrap_text("", room) == []

    def test_more_lines_than_asked_for_end_in_an_ellipsis(self):
        lines = wrap_text("some words " * 30, 40, 3)
        assert len(lines) == 3
        assert lines[-1].endswith("…")
        assert cell_len(lines[-1]) <= 40
        assert wrap_text("some words", 40, 1) == ["some words"]


def test_a_document_is_found_by_the_path_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "tea.md").write_text("# Tea\n\nBoil the water once.\n", encoding="utf-8")
    assert run(["ingest", "papers", *ANA], [])[0] == 0
    assert "Boil the water" in run(["documents", "text", "papers/tea.md", *ANA], [])[1]
    code, out, _ = run(["documents", "show", "papers/tea.md", "--json", *ANA], [])
    assert code == 0
    assert json.loads(out)["source"] == (tmp_path / "papers" / "tea.md").as_posix()
    assert run(["documents", "show", "papers/nothing.md", *ANA], [])[0] == 3
    assert run(["documents", "delete", "papers/tea.md", "--user", "boris"], [])[0] == 3
    assert "removed the document and 1 passage\n" in run(["documents", "delete", "papers/tea.md", *ANA], [])[2]


def test_a_passage_is_shown_with_its_page(tmp_path: Path):
    steps = ("Warm the pot.", "Boil the water once.", "Wait for four minutes.")
    (tmp_path / "tea.pptx").write_bytes(pptx([("Tea", step, "") for step in steps]))
    path = str(tmp_path / "tea.pptx")
    assert run(["ingest", path, *ANA], [])[0] == 0
    assert run(["documents", "passages", path, *ANA], [])[1].startswith("0\t1\t")
    assert "tea.pptx, page 2" in run(["recall", "boil the water", *ANA], [])[1]
    code, out, err = run(["context", "boil the water", "--explain", *ANA], [])
    assert (code, "Source: tea.pptx, page 2 [1]" in out, "tea.pptx, page 2 ·" in err) == (0, True, True)


def test_the_history_of_a_memory_says_what_was_changed_before_and_after():
    made = json.loads(run(["remember", "Ana lives in Lisbon", "--category", "home", "--json", *ANA], [])[1])["id"]
    changes = ["--text", "Ana lives in Porto", "--no-categories", "--reason", "she moved"]
    assert run(["memory", "edit", made, *changes, *ANA], [])[0] == 0
    created, updated = [line.split("\t") for line in run(["memory", "history", made, *ANA], [])[1].splitlines()]
    assert created[1] == "created"
    assert "text: Ana lives in Lisbon → Ana lives in Porto" in updated[2]
    assert "categories: home → none" in updated[2]
    assert "dedup_key" not in updated[2]
    assert updated[3:] == ["cli", "she moved"]


def test_only_a_write_creates_a_store_and_says_so(tmp_path: Path):
    path, other = str(tmp_path / "memmory.db"), tmp_path / "other.db"
    code, _, err = run(["memory", "list", *ANA, "--store", path], [])
    assert (code, err) == (3, f"mnemic: there is no store at {path}; `mnemic remember --store …` creates one\n")
    for reading in (
        ["recall", "tea"],
        ["show", "monday"],
        ["ask", "what?"],
        ["sessions"],
        ["memory", "show", "abcdef"],
    ):
        assert run([*reading, *ANA, "--store", path], [])[0] == 3
    assert list(tmp_path.glob("memmory*")) == []
    assert "created a new, empty store at" in run(["remember", "Tea", *ANA, "--store", path], [])[2]
    assert "new, empty" not in run(["remember", "Coffee", *ANA, "--store", path], [])[2]
    assert run(["remember", "Tea", *ANA, "--json", "--store", str(other)], [])[2] == ""


def test_a_slip_in_the_environment_is_told_and_what_belongs_to_others_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MNEMIC_RECALL_LIMT", "3")
    monkeypatch.setenv("MNEMIC_TEAM_COLOUR", "blue")
    monkeypatch.setenv("MNEMIC_USER", "ana")
    _, _, err = run(["config", "show"], [])
    assert "the environment variable MNEMIC_RECALL_LIMT is unknown; did you mean MNEMIC_RECALL_LIMIT?" in err
    assert "COLOUR" not in err
    assert "MNEMIC_USER" not in err


def test_a_server_that_cannot_listen_names_the_option_that_helps():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, err = run(["serve", "--port", port], [])
    assert (code, err.rstrip().endswith("choose another with --port")) == (8, True)
    assert run(["serve", "--host", "a..b", "--port", "0"], [])[2].rstrip().endswith("choose another with --host")


class TestUsersAndSessions:
    def test_users_are_listed_with_counts_the_last_active_first(self):
        run(["remember", "Ana likes tea", "--user", "ana"], [])
        run(["capture", "--user", "ben", "--session", "monday", "--user-text", "Hello", "--assistant-text", "Hi"], [])
        _, out, _ = run(["users"], [])
        assert [line.split("\t")[:4] for line in out.splitlines()] == [["ben", "0", "2", "0"], ["ana", "1", "0", "0"]]
        assert all(line.endswith("Z") for line in out.splitlines())

    def test_agents_are_listed_if_their_users_share_memories(self):
        assert "no agent has shared memories" in run(["agents"], [])[2]
        run(["remember", "Ana likes tea", "--user", "ana", "--agent", "quill"], [])
        run(["remember", "Answer in short sentences", "--agent", "quill", "--level", "agent"], [])
        _, out, _ = run(["agents"], [])
        assert [line.split("\t")[:3] for line in out.splitlines()] == [["quill", "1", "0"]]

    def test_an_erased_user_is_no_longer_listed(self):
        run(["remember", "Ana likes tea", "--user", "ana"], [])
        run(["erase", "--user", "ana", "--yes"], [])
        assert run(["users", "--json"], [])[1].strip() == "[]"
        assert "no users" in run(["users"], [])[2]

    def test_sessions_are_listed_and_shown_by_the_start_of_their_id(self):
        for session, text in (("monday", "The keel leaks"), ("tuesday", "The keel is dry"), ("tue-2", "Hello")):
            run(
                ["capture", "--user", "ana", "--session", session, "--user-text", text, "--assistant-text", "I see"], []
            )
        _, out, _ = run(["sessions", "--user", "ana"], [])
        assert [line.split("\t")[:3] for line in out.splitlines()] == [
            ["tue-2", "2", "Hello"],
            ["tuesday", "2", "The keel is dry"],
            ["monday", "2", "The keel leaks"],
        ]
        _, out, _ = run(["show", "--user", "ana", "mon"], [])
        assert re.sub(r"^\S+ \S+Z  ", "", out, flags=re.MULTILINE) == "user\n  The keel leaks\n\nassistant\n  I see\n\n"
        assert [each["text"] for each in json.loads(run(["show", "--user", "ana", "monday", "--json"], [])[1])] == [
            "The keel leaks",
            "I see",
        ]

    def test_a_session_that_is_not_there_or_not_the_only_one_is_an_error(self):
        for session in ("tuesday", "tue-2"):
            run(["capture", "--user", "ana", "--session", session, "--user-text", "Hi"], [])
        assert "2 sessions start with 'tue'" in run(["show", "--user", "ana", "tue"], [])[2]
        assert run(["show", "--user", "ben", "tuesday"], [])[0] == run(["memory", "show", "gone"], [])[0] == 3

    def test_help_names_an_operand_without_its_type(self):
        assert "\n  SESSION  The session" in run(["show", "--help"], [])[1]
        assert re.search(r"VERDICT <relevant\|outdated>", run(["memory", "feedback", "--help"], [])[1])

    def test_a_deleted_message_does_not_count_and_an_empty_session_is_gone(self):
        for session in ("monday", "tuesday"):
            run(["capture", *ANA, "--session", session, "--user-text", "Hi", "--assistant-text", session], [])
        for line in run(["messages", *ANA], [])[1].splitlines():
            if line.split("\t")[1] in ("Hi", "monday"):
                run(["memory", "delete", line.split("\t")[2], *ANA], [])
        assert [line.split("\t")[:3] for line in run(["sessions", *ANA], [])[1].splitlines()] == [
            ["tuesday", "1", "tuesday"]
        ]

    def test_the_list_says_when_there_may_be_more(self):
        for session in ("monday", "tuesday"):
            run(["capture", *ANA, "--session", session, "--user-text", "Hi"], [])
        assert "may be more sessions" in run(["sessions", *ANA, "--limit", "2"], [])[2]
        assert "more sessions" not in run(["sessions", *ANA, "--limit", "3"], [])[2]
        assert run(["sessions", *ANA, "--limit", "0"], [])[0] == 2


class TestOnATerminal:
    """What only a terminal gets: the ends of ids, times as ages, dim details, and a pager."""

    def show(self, home: Path, *arguments: str, **environment: str) -> str:
        with Terminal([*arguments, "--store", str(home / "memory.db")], environment) as terminal:
            assert terminal.end() == 0
            return terminal.screen.replace("\r", "")

    def test_a_list_shows_short_ids_and_ages_and_a_pipe_whole_ones(self, home: Path):
        made = run(["remember", "Ana likes tea", *ANA], [])[1].strip()
        shown = self.show(home, "memory", "list", *ANA)
        assert f"{made[-8:]} · fact · user ana · just now" in shown
        assert made not in shown
        assert made in run(["memory", "list", *ANA], [])[1]
        told = self.show(home, "remember", "Ana likes coffee", *ANA).splitlines()[0]
        assert run(["memory", "show", told, *ANA], [])[1].startswith("Ana likes coffee\n")

    def test_what_is_longer_than_the_screen_goes_to_the_pager(self, home: Path):
        for number in range(25):
            run(["remember", f"Memory {number}", *ANA], [])
        assert "paged: imp." in self.show(home, "memory", "list", *ANA, PAGER="sed 's/^/paged: /'")
        assert "paged" not in self.show(home, "memory", "list", "--limit", "5", *ANA, PAGER="sed 's/^/paged: /'")
        assert "paged" not in self.show(home, "memory", "list", "--json", *ANA, PAGER="sed 's/^/paged: /'")
        # A terminal without a pager gets whole lines, so that a remark after them begins its own.
        assert self.show(home, "memory", "list", *ANA, PAGER="", MANPAGER="", TERM="dumb").endswith("\n")

    def test_details_are_dim_unless_colour_is_refused(self, home: Path):
        run(["remember", "Ana likes tea", *ANA], [])
        with Terminal(["users", "--store", str(home / "memory.db")], {"NO_COLOR": "1"}) as terminal:
            terminal.end()
            assert "\x1b[" not in terminal.screen


class TestShortIds:
    def test_commands_take_the_end_of_an_id(self):
        made = run(["remember", "Ana likes tea", *ANA], [])[1].strip()
        other = run(["remember", "Ana enjoys coffee in the morning", *ANA], [])[1].strip()
        run(["capture", *ANA, "--session", "s1", "--user-text", "A message"], [])
        said = json.loads(run(["messages", *ANA, "--json"], [])[1])["messages"][0]["id"]
        assert run(["memory", "show", said[-6:], *ANA], [])[1].startswith("A message")
        assert run(["memory", "edit", made[-8:], "--text", "Ana likes green tea", *ANA], [])[0] == 0
        assert run(["memory", "merge", made[-8:], other[-8:], *ANA], [])[1].strip() == made
        assert run(["memory", "undo", made[-8:], *ANA], [])[0] == 0
        assert run(["memory", "delete", made[-8:], *ANA], [])[0] == 0
        assert run(["memory", "show", made[-8:], *ANA], [])[0] == 3

    def test_another_user_does_not_find_it_and_a_few_characters_are_none(self):
        made = run(["remember", "Ana likes tea", *ANA], [])[1].strip()
        for given, user in ((made[-8:], "ben"), (made[-5:], "ana"), (f"%{made[-7:]}", "ana"), (made[:8], "ana")):
            assert run(["memory", "show", given, "--user", user], [])[0] == 3

    def test_an_end_of_several_ids_is_an_error_that_lists_them(self, store: Path):
        ids = ["01a20000-0000-7000-8000-00000abcdef0", "01a20000-0000-7000-8000-11110abcdef0"]
        run(["memory", "list", *ANA], [])
        with closing(SqliteStore(store)) as opened:
            add_memories(opened, *(a_memory(each, Scope(user="ana").partition(Level.USER), id=each) for each in ids))
        code, _, err = run(["memory", "show", "0abcdef0", *ANA], [])
        assert code == 2
        assert all(each in err for each in ids)


class TestCompletion:
    def complete(self, line: str) -> list[str]:
        words = {"_MNEMIC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        program = str(Path(sys.executable).with_name("mnemic"))
        return subprocess.run(
            [program], env=os.environ | words, capture_output=True, text=True, check=False
        ).stdout.split()

    def test_users_sessions_and_ids_are_completed(self):
        made = run(["remember", "Ana likes tea", *ANA], [])[1].strip()
        run(["capture", *ANA, "--session", "monday", "--user-text", "Hi"], [])
        assert self.complete("mnemic recall --user a") == ["ana"]
        assert self.complete("mnemic show --user ana ") == ["monday"]
        assert self.complete("mnemic window --user ana --session mo") == ["monday"]
        assert self.complete("mnemic memory show --user ana ") == [made[-8:]]

    def test_without_a_store_nothing_is_completed_or_created(self, home: Path):
        assert self.complete("mnemic recall --user a") == []
        assert list(home.rglob("*.db")) == []


def test_serve_opens_the_console_once_it_listens(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    opened: list[str] = []

    def open_page(url: str) -> bool:
        opened.append(url)
        return False

    monkeypatch.setattr(serve, "open_page", open_page)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        serve.tell(listening, [("docs", "/docs"), ("console", "/console")])
        assert opened == []
        serve.tell(listening, [("docs", "/docs"), ("console", "/console")], is_opening=True)
    assert opened == [f"http://127.0.0.1:{port}/console"]
    assert "no browser found" in capsys.readouterr().err


def test_config_show_lists_what_differs_and_all_with_the_option(home: Path):
    (home / "mine.toml").write_text("[recall]\nlimit = 7\n", encoding="utf-8")
    _, out, err = run(["config", "show", "--config", str(home / "mine.toml")], [])
    assert [line.split("\t")[0] for line in out.splitlines()] == ["store", "recall.limit", "resident.idle-s"]
    assert re.search(r"\d+ settings have default values; use --all to show them", err)
    assert len(run(["config", "show", "--all"], [])[1].splitlines()) > 100


def test_config_set_creates_the_file_and_changes_it_again(home: Path):
    mine = ["--config", str(home / "new" / "mine.toml")]
    for key, value, shown in (
        ("recall.limit", "7", "recall.limit = 7"),
        ("user", "ana", "user = ana"),
        ("embedder.options", '{"threads": 2}', "embedder.options = { threads = 2 }"),
        ("user", "bob", "user = bob"),
    ):
        assert run(["config", "set", key, value, *mine], [])[:2] == (0, f"{shown}\n")
    assert (home / "new" / "mine.toml").read_text(encoding="utf-8") == (
        'user = "bob"\n\n[recall]\nlimit = 7\n\n[embedder]\noptions = { threads = 2 }\n'
    )
    assert "bob" in run(["config", "show", *mine], [])[1]


def test_config_set_says_what_overrides_the_file(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MNEMIC_USER", "eve")
    code, out, err = run(["config", "set", "user", "ana", "--config", str(home / "mine.toml")], [])
    assert (code, out) == (0, "user = eve\n")
    assert "environment MNEMIC_USER overrides" in err


@pytest.mark.parametrize(
    "content, key, value, refusal",
    [
        ("", "usr", "ana", "usr is not a known key; did you mean user?"),
        ("", "recall.limit", "many", "recall.limit must be"),
        ('[app]\nuser = "eve"\n', "user", "ana", "cannot be set"),
        ("recall = { limit = 7 }\n", "recall.limit", "8", "cannot be set"),
        ("[recall\n", "user", "ana", "is not TOML: Expected ']'"),
        ("[recall]\nlimt = 7\n", "user", "ana", "recall.limt is not a known key; did you mean recall.limit?"),
        ('store = """\nuser = "eve"\n"""\n', "user", "ana", "cannot be set"),
    ],
)
def test_config_set_leaves_a_file_alone_that_it_cannot_change(
    home: Path, content: str, key: str, value: str, refusal: str
):
    path = home / "mine.toml"
    path.write_text(content, encoding="utf-8")
    code, _, err = run(["config", "set", key, value, "--config", str(path)], [])
    assert code != 0
    assert refusal in err
    assert path.read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    "content, changed",
    [
        ('embedder.name = "none"\n', 'embedder.name = "minilm"\n'),
        ('\ufeff[embedder]\nname = "none"\n', '[embedder]\nname = "minilm"\n'),
    ],
)
def test_config_set_keeps_the_spelling_of_a_key(home: Path, content: str, changed: str):
    path = home / "mine.toml"
    path.write_text(content, encoding="utf-8")
    assert run(["config", "set", "embedder.name", "minilm", "--config", str(path)], [])[:1] == (0,)
    assert path.read_text(encoding="utf-8") == changed


def test_config_set_changes_a_key_in_another_place_of_the_file(home: Path):
    path = home / "mine.toml"
    path.write_text('[memory]\ndb_path = "a.db"\n', encoding="utf-8")
    assert run(["config", "set", "tools.storage.db_path", "b.db", "--config", str(path)], [])[0] == 0
    assert path.read_text(encoding="utf-8") == '[memory]\ndb_path = "b.db"\n'


def test_config_set_keeps_comments_and_other_lines(home: Path):
    path = home / "mine.toml"
    path.write_text('# mine\nuser = "ana"  # me\n\n[recall]  # hits\n# few\nlimit = 7\n', encoding="utf-8")
    for key, value in (("recall.min-relevance", "0.2"), ("user", "bob")):
        assert run(["config", "set", key, value, "--config", str(path)], [])[0] == 0
    assert path.read_text(encoding="utf-8") == (
        '# mine\nuser = "bob"\n\n[recall]  # hits\nmin-relevance = 0.2\n# few\nlimit = 7\n'
    )
