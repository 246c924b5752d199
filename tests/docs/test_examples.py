"""Every example runs: Python blocks as programs, `$ mnemic …` lines as commands, each document in its own folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(document: Path) -> list[list[str]]:
    """The commands of a document in order; a Python block is one command."""
    commands: list[list[str]] = []
    for language, body in BLOCK.findall(document.read_text(encoding="utf-8")):
        if language == "python":
            commands.append([sys.executable, "-c", body])
        else:
            lines = (line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ mnemic "))
            program = str(Path(sys.executable).with_name("mnemic"))
            commands += [[program, *shlex.split(line, comments=True)[1:]] for line in lines]
    return commands


DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if examples(path)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_example_of_a_document_runs(document: Path, tmp_path: Path):
    folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(tmp_path))
    for command in examples(document):
        run = subprocess.run(
            command, cwd=tmp_path, env=os.environ | folders, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"


SHOWN = re.compile(r"^```python\n(.*?)^```\n+```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_readme_shows_what_its_program_prints(tmp_path: Path):
    [(program, printed)] = SHOWN.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    environment = os.environ | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout == printed, run.stderr


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_readme_has_an_example_of_library_and_command_line():
    programs = {Path(command[0]).name for command in examples(ROOT / "README.md")}
    assert {"mnemic", Path(sys.executable).name} == programs
