"""The Makefile is the entrance: every target explains itself, and every target that a document names exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def targets(repository: Path) -> set[str]:
    """What bare `make` prints."""
    printed = subprocess.run(["make"], cwd=repository, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  make ([a-z-]+) +\S", printed, re.MULTILINE))


def test_bare_make_prints_the_targets_with_a_line_of_help_each(targets: set[str]):
    assert {"setup", "run", "test", "check", "fix", "requirements", "bench", "drill", "docs"} <= targets


def test_every_target_that_a_document_names_exists(repository: Path, targets: set[str]):
    documents = [*repository.glob("*.md"), *(repository / "docs").rglob("*.md")]
    texts = {path: path.read_text(encoding="utf-8") for path in documents}
    named = {(str(path.name), name) for path, text in texts.items() for name in re.findall(r"`make ([a-z-]+)", text)}
    assert {(path, name) for path, name in named if name not in targets} == set()
