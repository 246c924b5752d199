"""Every example of a document runs in the document's own folder, and prints what the document shows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from scripts.doc_outputs import list_documents, read_examples, run_examples, show_outputs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.requirement("P-51")
@pytest.mark.timeout(600)  # a page may have twenty commands, and each is a process
@pytest.mark.parametrize("document", list_documents(), ids=lambda path: path.name)
def test_every_example_of_a_document_runs_and_prints_what_is_shown(document: Path):
    with tempfile.TemporaryDirectory() as folder:  # its path is short, as in the documents: lines wrap alike
        examples = run_examples(document.read_text(encoding="utf-8"), Path(folder).resolve())
    assert [(each.code, each.printed) for each in examples if each.code_of_exit] == []
    wrong = [(each.code, each.shown, each.printed) for each in examples if not each.is_as_shown]
    assert wrong == [], f"run: python scripts/doc_outputs.py --write {document.relative_to(ROOT)}"


def test_outputs_are_shown_below_their_commands_and_ids_and_times_may_differ(tmp_path: Path):
    text = "```console\n$ mnemic remember tea\n$ make\nbuilt\n```\n\n```python\nprint(1 + 1)\n```\n\nThe end.\n"
    shown = show_outputs(text, run_examples(text, tmp_path))
    assert "$ mnemic remember tea\n" in shown
    assert "stored as fact of user ana\n$ make\nbuilt\n" in shown
    assert "```text\n2\n```\n\nThe end." in shown
    (tmp_path / "other").mkdir()
    assert [each.is_as_shown for each in run_examples(shown, tmp_path / "other")] == [True, True]
    assert [each.is_as_shown for each in run_examples(shown.replace("as fact", "as goal"), tmp_path)] == [False, True]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_readme_has_an_example_of_library_and_command_line():
    examples = read_examples((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {each.language for each in examples if each.shown} == {"python", "console"}
