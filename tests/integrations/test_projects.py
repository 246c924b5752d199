"""The project of a folder: real repositories, and the hook command as Claude Code runs it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Mnemic, Scope
from mnemic.cli.app import run
from mnemic.config import Config
from mnemic.integrations.projects import find_project, normalise_remote

APOLLO = Scope(user="ana", agent="project:apollo", session="s")
BOATS = Scope(user="ana", agent="project:boats", session="t")
ELSEWHERE = Scope(user="ana")
RELEASE = "What is our release branch?"


@pytest.fixture
def mnemic(store: Config) -> Iterator[Mnemic]:
    with Mnemic.open(store) as opened:
        for scope, branch in ((APOLLO, "stable-2"), (BOATS, "main-1")):
            said = (f"Our release branch is called {branch}.", "I prefer tabs over spaces.", "My name is Ana.")
            for text in said:
                opened.capture(scope, [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}])
        opened.work()
        yield opened


def recalled(mnemic: Mnemic, scope: Scope, question: str) -> str:
    return "\n".join(hit.text for hit in mnemic.recall(scope, question, limit=None))


@pytest.mark.requirement("P-57")
def test_what_is_said_in_a_project_is_recalled_there_alone(mnemic: Mnemic):
    assert "Our release branch is called stable-2." in recalled(mnemic, APOLLO, RELEASE)
    assert "main-1" not in recalled(mnemic, APOLLO, RELEASE)
    assert "Our release branch is called main-1." in recalled(mnemic, BOATS, RELEASE)
    assert "stable-2" not in recalled(mnemic, BOATS, RELEASE)
    assert "branch" not in recalled(mnemic, ELSEWHERE, RELEASE)


@pytest.mark.requirement("P-57")
def test_facts_about_the_person_are_recalled_everywhere(mnemic: Mnemic):
    for scope in (APOLLO, BOATS, ELSEWHERE, Scope(user="ana", agent="project:new")):
        assert "User prefers tabs over spaces" in recalled(mnemic, scope, "Tabs or spaces?")
        assert mnemic.profile.get(scope)["name"] == "Ana"


def test_a_fact_of_one_project_does_not_supersede_that_of_another(mnemic: Mnemic):
    for scope, branch in ((APOLLO, "stable-2"), (BOATS, "main-1")):
        (fact,) = [each for each in mnemic.list(scope) if "branch" in each.text and each.kind == "fact"]
        assert (fact.text, fact.private_agent) == (f"User's release branch is called {branch}", scope.agent)


def test_erasing_a_project_erases_what_was_said_there(mnemic: Mnemic):
    mnemic.erase(Scope(agent="project:apollo"), level="agent")
    assert "stable-2" not in recalled(mnemic, APOLLO, RELEASE)
    assert not [each for each in mnemic.messages(ELSEWHERE).messages if each.session == "s"]
    assert "main-1" in recalled(mnemic, BOATS, RELEASE)


MNEMIC = str(Path(sys.executable).with_name("mnemic"))
HOOK = ("hooks", "run", "claude-code", "--user", "ana")
BLUE, QUESTION = "The hull of the boat is blue.", "Which colour has the hull of the boat?"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    for name in ("XDG_DATA_HOME", "CLAUDE_PROJECT_DIR", "MNEMIC_AGENT"):
        monkeypatch.delenv(name, raising=False)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "ana")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ana@example.com")
    return tmp_path


def git(*words: object) -> None:
    subprocess.run(["git", *map(str, words)], check=True, capture_output=True)


def repository(folder: Path, remote: str = "") -> Path:
    git("init", folder)
    git("-C", folder, "commit", "--allow-empty", "-m", "begin")
    if remote:
        git("-C", folder, "remote", "add", "origin", remote)
    return folder


class Assistant:
    """Claude Code, as far as its hooks can tell. The first call of each runs in a process of its own."""

    def __init__(self, store: Config, home: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
        self._command = [*HOOK, "--store", store.store, "--timeout-s", "60", *options]
        self._transcript, self._capsys = home / "transcript.jsonl", capsys
        self._sessions = 0

    def hears(self, folder: Path, text: str = BLUE) -> None:
        line = {"type": "user", "uuid": text, "message": {"role": "user", "content": text}}
        self._transcript.write_text(json.dumps(line), encoding="utf-8")
        self._run(folder, {"hook_event_name": "Stop", "transcript_path": str(self._transcript)})

    def asks(self, folder: Path) -> str:
        return self._run(folder, {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION})

    def _run(self, folder: Path, event: dict[str, str]) -> str:
        self._sessions += 1
        content = json.dumps({**event, "cwd": str(folder), "session_id": f"s{self._sessions}"}).encode()
        if self._sessions == 1:
            ran = subprocess.run([MNEMIC, *self._command], input=content, capture_output=True, check=True)
            return ran.stdout.decode()
        self._capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
            assert run(self._command) == 0
        return self._capsys.readouterr().out


@pytest.fixture
def assistant(store: Config, home: Path, capsys: pytest.CaptureFixture[str]) -> Assistant:
    return Assistant(store, home, capsys)


@pytest.mark.requirement("P-57")
def test_worktrees_and_subfolders_share_a_memory(assistant: Assistant, home: Path):
    boat = repository(home / "boat")
    git("-C", boat, "worktree", "add", home / "refit")
    (home / "refit" / "deck" / "planks").mkdir(parents=True)
    assistant.hears(boat)
    assert BLUE in assistant.asks(home / "refit" / "deck" / "planks")
    assistant.hears(home / "refit", "The hull of the boat leaks.")
    assert "leaks" in assistant.asks(boat)
    assert assistant.asks(repository(home / "car")) == ""
    assert assistant.asks(home) == ""


@pytest.mark.requirement("P-57")
def test_a_repository_without_a_remote_keeps_its_memory_when_it_moves(assistant: Assistant, home: Path):
    boat = repository(home / "boat")
    assistant.hears(boat)
    boat.rename(home / "ship")
    assert BLUE in assistant.asks(home / "ship")
    assert assistant.asks(repository(home / "boat")) == ""
    git("-C", home / "ship", "remote", "add", "origin", "https://example.com/ana/ship.git")
    assert BLUE in assistant.asks(home / "ship")
    git("clone", "--config", "remote.origin.url=git@example.com:ana/ship", home / "ship", home / "second")
    git("-C", home / "second", "remote", "set-url", "origin", "git@example.com:ana/ship")
    assert BLUE in assistant.asks(home / "second")


@pytest.mark.requirement("P-57")
def test_clones_of_one_remote_share_a_memory_and_say_so(assistant: Assistant, home: Path):
    git("clone", "--bare", repository(home / "source"), home / "server.git")
    for name, address in (("first", home / "server.git"), ("second", (home / "server.git").as_uri())):
        git("clone", address, home / name)
    assistant.hears(home / "first")
    (home / "first").rename(home / "moved")
    assert BLUE in assistant.asks(home / "moved")
    assistant.hears(home / "second", "The deck is green.")  # shows nothing
    told = json.loads(assistant.asks(home / "second"))
    assert "both are clones of file:" in told["systemMessage"]
    assert BLUE in told["hookSpecificOutput"]["additionalContext"]
    again = json.loads(assistant.asks(home / "second"))
    assert "systemMessage" not in again
    git("-C", home / "second", "remote", "set-url", "origin", "https://example.com/elsewhere")
    assert BLUE in assistant.asks(home / "second")
    assert assistant.asks(home / "source") == ""


@pytest.mark.requirement("P-57")
def test_a_folder_without_git_has_a_memory_that_its_subfolders_share(assistant: Assistant, home: Path):
    (home / "notes" / "2026").mkdir(parents=True)
    (home / "letters").mkdir()
    assistant.hears(home / "notes")
    assert BLUE in assistant.asks(home / "notes" / "2026")
    assert assistant.asks(home / "letters") == ""
    repository(home / "notes" / "site")
    assert assistant.asks(home / "notes" / "site") == ""


@pytest.mark.requirement("P-57")
def test_a_person_can_use_one_memory_everywhere_or_name_an_agent(
    store: Config, home: Path, capsys: pytest.CaptureFixture[str]
):
    for options in (("--everywhere",), ("--agent", "sailor")):
        assistant = Assistant(store, home, capsys, *options)
        assistant.hears(repository(home / "boat"), f"{BLUE} {options[0]}")
        assert f"{BLUE} {options[0]}" in assistant.asks(repository(home / "car"))
    assert not list(home.rglob("projects"))


def test_a_project_is_shown_joined_and_left(assistant: Assistant, home: Path, capsys: pytest.CaptureFixture[str]):
    boat, car = repository(home / "boat", "ssh://git@example.com/ana/boat.git"), repository(home / "car")
    assistant.hears(boat)
    assert run(["project", "--in", str(boat)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("project:example.com/ana/boat\n  clones of example.com/ana/boat share it; registered at ")
    assert run(["project", "join", str(boat), "--in", str(car)]) == 0
    assert f"also used in {boat / '.git'}" in capsys.readouterr().out
    assert BLUE in assistant.asks(car)
    assert run(["project", "leave", "--in", str(car)]) == 0
    assert assistant.asks(car) == ""
    assert run(["project", "join", "example.com/ana/boat", "--in", str(car), "--json"]) == 0
    assert run(["project", "leave", "--in", str(boat)]) == 0
    assert (assistant.asks(boat), BLUE in assistant.asks(car)) == ("", True)
    capsys.readouterr()
    assert run(["project", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert run(["project", "--in", str(home)]) == 3
    assert run(["project", "join", "x", "--in", str(home)]) == 2


def test_a_repository_cannot_claim_the_memory_of_another(home: Path):
    secret = repository(home / "secret")
    own = project_of(secret)
    forged = repository(home / "forged")
    shutil.copy(secret / ".git" / "mnemic", forged / ".git" / "mnemic")
    shutil.copytree(secret, home / "copy")
    for name, content in (("linked", f"gitdir: {secret / '.git'}"), ("broken", "gitdir: \0"), ("huge", "x" * 9000)):
        (home / name).mkdir()
        (home / name / ".git").write_text(content, encoding="utf-8")
    (home / "symbolic").mkdir()
    (home / "symbolic" / ".git").symlink_to(secret / ".git")
    git("-C", secret, "worktree", "add", home / "tree")
    (home / "tree-thief").mkdir()
    shutil.copy(home / "tree" / ".git", home / "tree-thief" / ".git")
    assert project_of(home / "tree") == own
    for name in ("forged", "copy", "linked", "broken", "huge", "symbolic", "tree-thief"):
        assert project_of(home / name) not in (own, None), name
        assert project_of(home / name) == project_of(home / name), name
    assert project_of(secret) == own


def test_a_hostile_configuration_is_only_read(home: Path):
    evil, ran = repository(home / "evil"), home / "ran"
    config = evil / ".git" / "config"
    further = home / "further"
    further.write_text('[remote "origin"]\nurl = https://example.com/ana/secret\n', encoding="utf-8")
    command = f"touch {ran}"
    with config.open("a", encoding="utf-8") as file:
        file.write(f'[core]\nfsmonitor = "{command}"\nsshCommand = "{command}"\n[include]\npath = {further}\n')
        file.write(f"[remote \"a\"]\nurl = ext::sh -c '{command}'\n[alias]\nstatus = !{command}\n")
    assert str(project_of(evil)).startswith("project:evil-")
    for file in (config, evil / ".git" / "mnemic"):
        file.unlink()
        os.mkfifo(file)
    assert str(project_of(evil)).startswith("project:evil-")
    assert not ran.exists()


def project_of(folder: Path) -> str | None:
    found = find_project(folder)
    return found and found.id


@pytest.mark.parametrize(
    "address",
    [
        "https://example.com/ana/boat",
        "https://ana:token@Example.com:443/ana/boat.git/",
        "git@example.com:ana/boat.git",
        "example.com:/ana/boat",
        "ssh://git@example.com:22/ana/boat.git",
        "git://example.com/ana/boat",
    ],
)
def test_addresses_of_one_remote_are_equal(address: str):
    assert normalise_remote(address, Path("/")) == "example.com/ana/boat"


@pytest.mark.parametrize(
    "address, name",
    [
        ("/srv/boat.git", "file:/srv/boat"),
        ("../boat", "file:/home/boat"),
        ("file:///srv/boat.git", "file:/srv/boat"),
        ("https://example.com:8443/ana/boat", "example.com:8443/ana/boat"),
        ("https://[broken/x", ""),
        ("https:///x", ""),
        ("https://example.com/?repository=boat", ""),
        ("https://example.com/git?repository=boat", ""),
        ("https://example.com/git#boat", ""),
        ("https://example.com/.git", ""),
        ("https://example.com", ""),
        ("git@example.com:", ""),
        ("file://example.com/ana/boat", "file:example.com/ana/boat"),
        ("ext::sh -c x", ""),
        ("https://example.com/\x1b[2J", ""),
    ],
)
def test_other_addresses_keep_what_tells_them_apart(address: str, name: str):
    assert normalise_remote(address, Path("/home/ana")) == name
    assert len(normalise_remote(f"https://example.com/{'x' * 999}", Path("/"))) < 200
