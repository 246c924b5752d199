"""Documents lead somewhere: every link to a file or heading of this repository has its target."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def documents(repository: Path) -> dict[Path, str]:
    """Every Markdown file that is tracked, without its code blocks."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout
    paths = [repository / name for name in listed.split("\0") if name]
    return {path: FENCE.sub("", path.read_text(encoding="utf-8")) for path in paths}


def anchors(text: str) -> set[str]:
    """The headings as a link names them: lower case, blanks as hyphens, punctuation left out."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def is_broken(link: str, document: Path, documents: dict[Path, str]) -> bool:
    name, _, anchor = link.partition("#")
    target = (document.parent / name).resolve() if name else document
    if not target.exists():
        return True
    return bool(anchor) and anchor not in anchors(documents.get(target, ""))


def test_every_link_within_the_repository_has_its_target(repository: Path, documents: dict[Path, str]):
    assert repository / "README.md" in documents
    broken = [
        f"{document.relative_to(repository)}: {link}"
        for document, text in documents.items()
        for link in LINK.findall(text)
        if "://" not in link and is_broken(link, document, documents)
    ]
    assert broken == []


def test_the_glossary_names_each_word_once_and_in_order(repository: Path):
    rows = (repository / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    words = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    second = words.index("word", 1)
    for_users, for_developers = words[1:second], words[second + 1 :]
    assert (for_users, for_developers) == (sorted(set(for_users)), sorted(set(for_developers)))
    assert len(for_users) <= 20
    assert len({*for_users, *for_developers}) == len(for_users) + len(for_developers) <= 45


def test_every_page_is_in_the_list_of_pages_and_the_readme_leads_there(repository: Path, documents: dict[Path, str]):
    index = repository / "docs" / "README.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(documents[index])}
    pages = {path for path in documents if index.parent in path.parents} - {index}
    assert sorted(str(path.relative_to(repository)) for path in pages - listed) == []
    assert "docs/README.md" in LINK.findall(documents[repository / "README.md"])


def test_every_program_that_the_readme_names_can_be_started(repository: Path, documents: dict[Path, str]):
    named = re.findall(r"`python ((?:-m )?[\w./]+)`", documents[repository / "README.md"])
    assert len(named) > 2
    for program in named:
        command = [sys.executable, *program.split(), "--help"]
        run = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{program}\n{run.stderr}"
