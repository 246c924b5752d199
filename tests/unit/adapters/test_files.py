"""Walking folders and reading files: what is left out and why, what leads outside, what changes meanwhile."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from mnemic.adapters.files import LocalFiles, holds_secrets, rules_above
from mnemic.errors import InvalidInputError, UnavailableError
from mnemic.ports.files import FoundFile, LeftOut

MOST = 1 << 20
FILES = LocalFiles()


def put(path: Path, content: str | bytes = "text") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def walked(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The sources that were found, and the reasons by source of what was left out, both without the folder's own."""
    place = FILES.find(str(folder))
    found = list(FILES.walk(place, MOST))
    start = len(place.source) + 1
    read = [each.source[start:] for each in found if isinstance(each, FoundFile)]
    return read, {each.source[start:]: each.reason for each in found if isinstance(each, LeftOut)}


@pytest.mark.requirement("O-41")
def test_a_folder_is_walked_to_its_depths_without_what_holds_no_content(tmp_path: Path):
    for name in ("b.md", "a.txt", "deep/er/still/c.py", "README"):
        put(tmp_path / name)
    for name in (".hidden.md", ".git/config", "node_modules/x.js", "__pycache__/a.py", "deep/.venv/lib.py"):
        put(tmp_path / name)
    for name in ("i.PNG", "a.mp3", "v.mkv", "z.tar.gz", "m.pyc", "l.so"):
        put(tmp_path / name)
    read, left_out = walked(tmp_path)
    assert read == ["README", "a.txt", "b.md", "deep/er/still/c.py"]
    assert left_out == {
        ".hidden.md": "it is hidden",
        ".git": "it is hidden",
        "__pycache__": "it contains program files, not content",
        "node_modules": "it contains program files, not content",
        "deep/.venv": "it is hidden",
        "i.PNG": "its name suggests that it is a picture",
        "a.mp3": "its name suggests that it is a recording",
        "v.mkv": "its name suggests that it is a film",
        "z.tar.gz": "its name suggests that it is an archive",
        "m.pyc": "its name suggests that it is compiled",
        "l.so": "its name suggests that it is compiled",
    }


def test_folders_that_say_of_themselves_that_they_hold_no_content_are_left_out(tmp_path: Path):
    put(tmp_path / "myenv/pyvenv.cfg")
    put(tmp_path / "myenv/lib/a.py")
    put(tmp_path / "made/CACHEDIR.TAG")
    put(tmp_path / "x.egg-info/PKG-INFO")
    assert walked(tmp_path) == (
        [],
        {
            "myenv": "it is a Python environment",
            "made": "it is marked as a cache (CACHEDIR.TAG)",
            "x.egg-info": "it contains program files, not content",
        },
    )


@pytest.mark.parametrize(
    "name",
    ["prod.env", ".env", "server.pem", "ID_RSA", "aws/credentials", "db.kdbx", "secrets.yaml", "client_secret_1.json"],
)
def test_files_of_secrets_are_never_read_not_even_when_they_are_named(tmp_path: Path, name: str):
    put(tmp_path / name)
    put(tmp_path / "notes.md")
    assert walked(tmp_path)[0] == ["notes.md"]
    (named,) = FILES.walk(FILES.find(str(tmp_path / name)), MOST)
    assert isinstance(named, LeftOut)
    assert named.reason == "its name suggests that it contains secrets"


def test_code_about_secrets_is_no_file_of_secrets():
    assert not any(map(holds_secrets, ["secrets.py", "credentials.go", "password_policy.md", "keys.txt", "id_rsa.pub"]))


def test_what_is_empty_too_large_or_no_text_is_left_out(tmp_path: Path):
    put(tmp_path / "empty.md", "")
    put(tmp_path / "large.txt", b"x" * (MOST + 1))
    put(tmp_path / "program", bytes(range(256)) * 8)
    put(tmp_path / "wide", "Ein Wort in UTF-16".encode("utf-16"))
    read, left_out = walked(tmp_path)
    assert read == ["wide"]
    assert left_out == {
        "empty.md": "it is empty",
        "large.txt": "it is larger than the limit of 1 MiB",
        "program": "it contains no text",
    }


def test_pipes_and_sockets_are_left_out_and_nobody_waits_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.md")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket.md")
    listening.close()
    reason = "it is not a regular file (but a pipe, socket or device)"
    assert walked(tmp_path) == ([], {"pipe.md": reason, "socket.md": reason})
    with pytest.raises(InvalidInputError, match="neither a file nor a folder"):
        FILES.find("pipe.md")
    with pytest.raises(UnavailableError, match="no longer a regular file"):
        FILES.read(FoundFile(str(tmp_path / "pipe.md"), "pipe.md", "pipe.md", 1), MOST)


def test_links_lead_neither_out_of_a_folder_nor_round_in_it(tmp_path: Path):
    folder = tmp_path / "papers"
    put(folder / "a.md")
    put(folder / ".kept/b.md")
    put(folder / ".kept/server.pem")
    put(tmp_path / "outside.md")
    for name, target in {
        "out.md": "../outside.md",
        "again.md": "a.md",
        "hidden.md": ".kept/b.md",
        "key.md": ".kept/server.pem",
        "round": ".",
        "up": "..",
        "broken.md": "nowhere",
        "self.md": "self.md",
    }.items():
        (folder / name).symlink_to(target)
    (folder / "twin.md").hardlink_to(folder / "a.md")
    read, left_out = walked(folder)
    assert read == ["a.md", "hidden.md"]
    assert left_out.pop("self.md").startswith("it is a link whose target cannot be read")
    assert left_out.pop("broken.md").startswith("it is a link whose target cannot be read")
    assert left_out == {
        ".kept": "it is hidden",
        "out.md": "it is a link to something outside the folder",
        "again.md": "it is already read under another name",
        "twin.md": "it is already read under another name",
        "key.md": "it is a link to a file whose name suggests that it contains secrets",
        "round": "it is a link to a folder",
        "up": "it is a link to something outside the folder",
    }


def test_a_folder_and_a_file_that_are_links_may_be_named_themselves(tmp_path: Path):
    put(tmp_path / "there/a.md")
    (tmp_path / "here").symlink_to("there")
    (tmp_path / "b.md").symlink_to("there/a.md")
    assert walked(tmp_path / "here")[0] == ["a.md"]
    (found,) = FILES.walk(FILES.find(str(tmp_path / "b.md")), MOST)
    assert isinstance(found, FoundFile)
    assert found.source == (tmp_path / "b.md").as_posix()
    assert FILES.read(found, MOST) == b"text"


def test_the_patterns_of_gitignore_hold_at_every_depth_and_the_innermost_decides(tmp_path: Path):
    put(tmp_path / ".gitignore", "*.log\n/made/\n!keep.log\n# comment\n\\\n[z-a]\n")
    put(tmp_path / "sub/.gitignore", "!*.log\nprivate.md\n")
    for name in ("a.log", "keep.log", "made/x.md", "src/made/x.md", "sub/b.log", "sub/private.md", "private.md"):
        put(tmp_path / name)
    read, left_out = walked(tmp_path)
    assert read == ["keep.log", "private.md", "src/made/x.md", "sub/b.log"]
    ignored = [source for source, reason in left_out.items() if reason == "a .gitignore file excludes it"]
    assert ignored == ["a.log", "made", "sub/private.md"]


def test_inside_a_repository_the_patterns_above_hold_unless_they_leave_out_what_was_named(tmp_path: Path):
    put(tmp_path / ".gitignore", "never.md")
    repository = tmp_path / "project"
    put(repository / ".git/HEAD")
    put(repository / ".gitignore", "*.log\nbuild/\n")
    for name in ("docs/a.log", "docs/b.md", "docs/never.md", "build/c.log"):
        put(repository / name)
    assert walked(repository / "docs")[0] == ["b.md", "never.md"]
    assert walked(repository / "build")[0] == ["c.log"]
    assert rules_above(str(tmp_path)).rules == ()


def test_a_pattern_made_to_take_for_ever_is_not_obeyed(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    put(tmp_path / ".gitignore", "*a" * 40 + "*b\n*.log\n")
    put(tmp_path / ("a" * 250))
    put(tmp_path / "x.log")
    assert walked(tmp_path)[0] == ["a" * 250]
    assert "more than 3 asterisks" in caplog.text


def test_names_that_are_no_unicode_or_hold_controls_are_told_in_escapes_and_read(tmp_path: Path):
    raw = os.fsencode(tmp_path)
    for name in (b"caf\xe9.md", b"new\nline.md"):
        with open(raw + b"/" + name, "wb") as file:  # noqa: PTH123 -- a name that is no text
            file.write(name)
    place = FILES.find(str(tmp_path))
    found = [each for each in FILES.walk(place, MOST) if isinstance(each, FoundFile)]
    assert sorted(each.name for each in found) == ["caf\\xe9.md", "new\\x0aline.md"]
    assert sorted(FILES.read(each, MOST) for each in found) == [b"caf\xe9.md", b"new\nline.md"]


def test_a_tree_deeper_than_paths_may_be_long_is_read_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(tmp_path / "top.md")
    monkeypatch.chdir(tmp_path)
    for _ in range(30):
        name = "d" * 200
        os.mkdir(name)  # noqa: PTH102 -- a path of this depth has no name
        os.chdir(name)
    put(Path("deep.md"))
    read, left_out = walked(tmp_path)
    assert read == ["top.md"]
    assert ["cannot be read" in reason for reason in left_out.values()] == [True]
    monkeypatch.chdir(tmp_path)
    subprocess.run(["rm", "-rf", "d" * 200], check=True)  # pytest cannot remove a tree of this depth


def test_what_is_gone_or_grows_or_is_a_link_by_now_is_not_read(tmp_path: Path):
    put(tmp_path / "a.md")
    file = FoundFile(str(tmp_path / "a.md"), "a.md", "a.md", 4)
    with pytest.raises(UnavailableError, match="raise the limit"):
        FILES.read(file, 3)
    (tmp_path / "a.md").rename(tmp_path / "b.md")
    with pytest.raises(UnavailableError, match="No such file"):
        FILES.read(file, MOST)
    (tmp_path / "a.md").symlink_to("b.md")
    with pytest.raises(UnavailableError):
        FILES.read(file, MOST)


@pytest.mark.parametrize("path", ["", "a\0b", "nowhere/at/all", "\ud800"])
def test_a_path_where_nothing_is_is_refused(path: str):
    with pytest.raises(InvalidInputError):
        FILES.find(path)


def test_a_source_is_the_same_from_every_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put(tmp_path / "papers/a.md")
    monkeypatch.chdir(tmp_path)
    outside = FILES.find("papers")
    monkeypatch.chdir(tmp_path / "papers")
    assert FILES.find(".") == FILES.find("../papers/") == outside
    assert outside.source == (tmp_path / "papers").as_posix()


@pytest.mark.requirement("O-41")
def test_folders_of_built_files_are_left_out_unless_they_are_included(tmp_path: Path):
    for folder in ("dist", "build", "target", "vendor", "env", "node_modules", "src", "src/vendor"):
        put(tmp_path / folder / "a.md")
    read, left_out = walked(tmp_path)
    assert read == ["src/a.md"]
    assert "include 'vendor'" in left_out["vendor"]
    included = [each.source for each in LocalFiles().walk(LocalFiles().find(str(tmp_path)), 1000, ["vendor", "dist"])]
    assert {"dist/a.md", "vendor/a.md", "src/vendor/a.md"} <= {source[len(str(tmp_path)) + 1 :] for source in included}
