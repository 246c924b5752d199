"""How projects are found again: copies, moves, links, missing folders, changed remotes and races."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.cli.app import run
from mnemic.errors import NotFoundError
from mnemic.integrations import projects
from mnemic.integrations.projects import (
    Project,
    choose_project,
    clear_note,
    find_project,
    list_projects,
    normalise_remote,
)

MNEMIC = str(Path(sys.executable).with_name("mnemic"))
NOBODY = 65534
Make = Callable[[Path], Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path


def git(*words: object) -> None:
    subprocess.run(["git", *map(str, words)], check=True, capture_output=True)


def repository(folder: Path, remote: str = "") -> Path:
    git("init", folder)
    if remote:
        git("-C", folder, "remote", "add", "origin", remote)
    return folder


def folder(place: Path) -> Path:
    place.mkdir(parents=True)
    return place


def project_of(place: Path) -> Project:
    found = find_project(place)
    assert found is not None
    return found


@pytest.mark.parametrize("make", [repository, folder])
def test_a_link_left_at_the_old_place_is_no_copy(make: Make, home: Path):
    boat = make(home / "boat")
    own = project_of(boat).id
    boat.rename(home / "ship")
    boat.symlink_to(home / "ship")
    assert project_of(home / "ship").id == project_of(boat).id == own


@pytest.mark.parametrize("make", [repository, folder])
def test_a_copy_has_its_own_project_even_if_one_was_chosen(make: Make, home: Path):
    boat = make(home / "boat")
    chosen = choose_project(boat, "project:shared")
    subprocess.run(["cp", "-a", boat, home / "copy"], check=True)
    copy = project_of(home / "copy")
    assert copy.id not in (chosen.id, "project:shared")
    assert project_of(home / "copy").id == copy.id
    assert project_of(boat).id == "project:shared"


def test_a_copy_of_a_clone_that_left_does_not_rejoin_the_remote(home: Path):
    boat, other = (repository(home / name, "https://example.com/ana/boat") for name in ("boat", "other"))
    choose_project(boat, None)
    shared = project_of(other).id
    shutil.copytree(boat, home / "copy")
    assert project_of(home / "copy").id not in (shared, project_of(boat).id)


@pytest.mark.parametrize("make", [repository, folder])
def test_a_copy_that_cannot_be_marked_does_not_take_the_project(make: Make):
    with without_root_rights() as place:
        boat = make(place / "boat")
        own = project_of(boat).id
        subprocess.run(["cp", "-a", boat, place / "copy"], check=True)
        locked = place / "copy" / (".git" if (boat / ".git").exists() else "")
        locked.chmod(0o500)
        copy = project_of(place / "copy")
        assert copy.id != own
        assert project_of(place / "copy").id == copy.id
        assert project_of(boat).id == own
        locked.chmod(0o700)


@contextmanager
def without_root_rights() -> Generator[Path]:
    """A folder of a user who cannot write to read-only folders."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", name)
        if os.getuid() == 0:
            os.chown(name, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield Path(name)
        finally:
            if os.getuid() == NOBODY:
                os.setresuid(0, 0, 0)


def test_a_missing_folder_has_its_registered_project_or_none(home: Path):
    boat, notes = repository(home / "boat"), folder(home / "work" / "notes")
    own, of_notes = project_of(boat).id, project_of(notes).id
    assert project_of(boat / "gone" / "deep").id == own
    shutil.rmtree(boat)
    shutil.rmtree(notes)
    assert project_of(boat).id == own
    assert project_of(notes / "gone").id == of_notes
    for place in (home / "never", home / "work" / "other"):
        with pytest.raises(NotFoundError, match="does not exist"):
            find_project(place)
    assert find_project(home) is None


def test_hooks_capture_nothing_in_a_missing_folder(home: Path):
    event = {"hook_event_name": "Stop", "cwd": str(home / "gone"), "session_id": "s", "transcript_path": "x"}
    command = [MNEMIC, "hooks", "run", "claude-code", "--store", str(home / "a.db")]
    ran = subprocess.run(command, input=json.dumps(event).encode(), capture_output=True, check=True)
    assert (ran.stdout, b"does not exist" in ran.stderr) == (b"", True)
    assert not (home / "a.db").exists()


@pytest.mark.parametrize("make", [repository, folder])
def test_first_hooks_at_one_time_agree_on_the_project(make: Make, home: Path):
    for number in range(20):
        place = make(home / f"boat{number}")
        with ThreadPoolExecutor(8) as threads:
            found = {project.id for project in threads.map(project_of, [place] * 8)}
        assert found == {project_of(place).id}


@pytest.mark.parametrize("make", [repository, folder])
def test_first_hooks_in_a_copy_agree_on_the_project(make: Make, home: Path):
    project_of(make(home / "boat"))
    for number in range(20):
        subprocess.run(["cp", "-a", home / "boat", home / f"copy{number}"], check=True)
        with ThreadPoolExecutor(8) as threads:
            found = {project.id for project in threads.map(project_of, [home / f"copy{number}"] * 8)}
        assert found == {project_of(home / f"copy{number}").id}


def test_git_init_keeps_the_memory_of_a_folder(home: Path):
    notes = folder(home / "notes")
    own = project_of(notes).id
    git("init", notes)
    assert project_of(notes).id == own
    notes.rename(home / "letters")
    assert project_of(home / "letters").id == own
    subprocess.run(["cp", "-a", home / "letters", home / "copy"], check=True)
    assert project_of(home / "copy").id != own
    git("-C", home / "letters", "remote", "add", "origin", "https://example.com/ana/notes")
    assert project_of(home / "letters").id == own
    git("init", home / "letters" / "site")
    assert project_of(home / "letters" / "site").id != own


def test_a_changed_remote_keeps_the_project_and_the_former_one_is_not_taken(home: Path):
    first, second = (repository(home / name, "https://example.com/start/kit") for name in ("first", "second"))
    own = project_of(first).id
    assert project_of(second).id == own == "project:example.com/start/kit"
    git("-C", second, "remote", "set-url", "origin", "https://example.com/ana/app")
    changed = project_of(second)
    assert (changed.id, changed.remote) == (own, "example.com/ana/app")
    assert "its remote is now example.com/ana/app" in changed.note
    assert f"memory with {first / '.git'}" in changed.note
    git("-C", first, "remote", "set-url", "origin", "https://example.com/ana/other")
    assert project_of(first).id == own
    third = repository(home / "third", "https://example.com/start/kit")
    assert project_of(third).id not in (own, "project:example.com/ana/app")
    assert project_of(repository(home / "fourth", "https://example.com/start/kit")).id == project_of(third).id
    assert project_of(repository(home / "clone", "https://example.com/ana/app")).id == own


def test_a_new_clone_in_the_same_place_has_the_memory_and_no_note(home: Path):
    boat = repository(home / "boat", "https://example.com/ana/boat")
    own = project_of(boat).id
    shutil.rmtree(boat)
    again = project_of(repository(boat, "https://example.com/ana/boat"))
    assert (again.id, again.note) == (own, "")


def test_a_subfolder_without_git_can_leave_alone(home: Path, capsys: pytest.CaptureFixture[str]):
    notes = folder(home / "notes")
    diary = folder(notes / "diary")
    own = project_of(notes).id
    assert project_of(diary).id == own
    assert run(["project", "leave", "--in", str(diary)]) == 0
    assert project_of(diary).id != own
    assert project_of(notes).id == own
    boat = repository(home / "boat")
    deck = folder(boat / "deck")
    assert run(["project", "join", str(notes), "--in", str(deck)]) == 0
    assert f"changed {boat / '.git'}, including all its worktrees and subfolders" in capsys.readouterr().err
    assert project_of(boat).id == own


def test_a_relative_remote_is_the_same_from_each_worktree(home: Path):
    boat = repository(home / "boat", "../server.git")
    git("-C", boat, "-c", "user.name=ana", "-c", "user.email=a@example.com", "commit", "--allow-empty", "-m", "begin")
    git("-C", boat, "worktree", "add", home / "far" / "refit")
    assert project_of(home / "far" / "refit").remote == f"file:{home / 'server'}" == project_of(boat).remote


@pytest.mark.parametrize(
    "one, other",
    [
        ("ana@example.com:boat", "bob@example.com:boat"),
        ("ana@example.com:boat", "https://example.com/boat"),
        ("example.com:boat", "example.com:/boat"),
        ("ssh://ana@example.com/~/boat", "ssh://bob@example.com/~/boat"),
        ("ssh://ana@example.com/~/boat", "ssh://ana@example.com/boat"),
    ],
)
def test_addresses_below_a_home_folder_differ_by_its_owner(one: str, other: str):
    assert normalise_remote(one, Path("/")) != normalise_remote(other, Path("/"))
    assert normalise_remote("ana@example.com:boat.git", Path("/")) == "ana@example.com/~/boat"
    assert normalise_remote("ssh://ana@example.com/~/boat", Path("/")) == "ana@example.com/~/boat"


def test_a_hook_that_clears_its_note_keeps_what_the_user_chose_in_the_meantime(home: Path):
    first, second = (repository(home / name, "https://example.com/start/kit") for name in ("first", "second"))
    project_of(first)
    seen = project_of(second)
    assert "shares memory with" in seen.note
    left = choose_project(second, None)
    clear_note(seen)
    assert project_of(second).id == left.id != seen.id
    third = project_of(repository(home / "third", "https://example.com/start/kit"))
    assert "shares memory with" in third.note
    clear_note(third)
    assert project_of(home / "third") == replace(third, note="")


def test_a_choice_during_a_change_of_the_remote_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch):
    boat = repository(home / "boat", "https://example.com/start/kit")
    project_of(boat)
    git("-C", boat, "remote", "set-url", "origin", "https://example.com/ana/app")

    def choose_first() -> list[Project]:
        monkeypatch.setattr(projects, "list_projects", list_projects)
        choose_project(boat, "project:chosen")
        return list_projects()

    monkeypatch.setattr(projects, "list_projects", choose_first)
    assert project_of(boat).id == "project:chosen"
    assert project_of(boat).id == "project:chosen"
    assert project_of(boat).remote == "example.com/ana/app"


def test_a_missing_folder_changes_no_other_project(home: Path, capsys: pytest.CaptureFixture[str]):
    boat, notes = repository(home / "boat"), folder(home / "notes")
    own, of_notes = project_of(boat).id, project_of(notes).id
    for place in (boat / "typo", notes / "typo" / "deep"):
        assert run(["project", "leave", "--in", str(place)]) == 3
        assert run(["project", "join", "project:other", "--in", str(place)]) == 3
        assert "does not exist" in capsys.readouterr().err
    assert (project_of(boat).id, project_of(notes).id) == (own, of_notes)
    shutil.rmtree(notes)
    assert run(["project", "join", "project:other", "--in", str(notes)]) == 0
    assert project_of(notes).id == "project:other"
    assert f"former project is {of_notes};" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["~", "~nobody-here/boat", "../typo", "./typo", "/nowhere/boat", ".."])
def test_a_wrong_folder_is_not_joined(name: str, home: Path, capsys: pytest.CaptureFixture[str]):
    boat = repository(home / "boat")
    own = project_of(boat).id
    with contextlib.chdir(boat):
        assert run(["project", "join", name]) == 3
        assert "is no folder with a project" in capsys.readouterr().err
        assert run(["project", "join", "."]) == 0
    assert project_of(boat).id == own
    assert "former" not in capsys.readouterr().err


def test_a_former_project_can_be_used_again(home: Path, capsys: pytest.CaptureFixture[str]):
    boat = repository(home / "boat")
    own = project_of(boat).id
    assert run(["project", "leave", "--in", str(boat)]) == 0
    assert f"the former project is {own};" in capsys.readouterr().err
    assert run(["project", "join", own, "--in", str(boat)]) == 0
    assert project_of(boat).id == own


def test_folders_that_cannot_be_reached_are_missing(capsys: pytest.CaptureFixture[str]):
    with without_root_rights() as home:
        boat, locked = folder(home / "boat"), folder(home / "locked" / "notes").parent
        own, of_notes = project_of(boat).id, project_of(locked / "notes").id
        (home / "loop").symlink_to(home / "loop")
        (boat / ".git").write_text("gitdir: ../loop/git\n", encoding="utf-8")
        assert project_of(boat).id == own
        locked.chmod(0)
        for place in (home / "loop", home / "loop" / "deep", locked / "other", home / ("x" * 300)):
            with pytest.raises(NotFoundError):
                find_project(place)
            assert run(["project", "join", str(place), "--in", str(boat)]) == 3
        assert run(["project", "list"]) == 0
        assert f"{of_notes} {locked / 'notes'} (gone)" in capsys.readouterr().out
        locked.chmod(0o700)
