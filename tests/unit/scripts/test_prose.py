"""The lint of prose finds what it names, in each kind of text, and finds nothing in this repository."""

from __future__ import annotations

import ast

import pytest

from scripts import prose
from scripts.prose import ROOT, Text, find_matches, read_texts


def found(text: str, *, is_short: bool = False) -> list[str]:
    return list(find_matches(Text(ROOT / "README.md", 1, text, is_short=is_short)))


@pytest.mark.parametrize(
    "sentence",
    [
        "The index is made anew.",
        "5 unless said.",
        "Whoever asks sees it.",
        "Nobody can be asked here.",
        "Days are read by night.",
        "Answer within so many milliseconds.",
        "The report tells which files failed.",
        "Encrypted where wanted.",
        "The time is said by the query.",
    ],
)
def test_a_sentence_to_rewrite_is_found(sentence: str):
    assert len(found(sentence)) == 1


@pytest.mark.parametrize("sentence", ["Re-embed the store.", "`anew` is code.", 'He said "nobody".', "Renewed."])
def test_plain_sentences_code_and_quotations_are_not_found(sentence: str):
    assert found(sentence) == []


def test_a_long_sentence_is_found_where_sentences_have_a_limit():
    long = "word " * 31 + "end."
    assert len(found(long, is_short=True)) == 1
    assert found(long) == []
    assert found("word " * 20 + "end. " + "word " * 20 + "end.", is_short=True) == []


def test_the_line_of_a_match_is_named():
    assert found("One.\n\nTwo, anew.")[0].startswith("README.md:3: 'anew'")


def test_errors_help_and_public_docstrings_are_read():
    tree = ast.parse(
        'def shown(x=Option(help="help anew")):\n    """Doc anew."""\n    raise ValueError(f"error {x} anew")\n'
        'def _hidden():\n    """Not read anew."""\n'
    )
    texts = prose.texts_of_code(ROOT / "x.py", tree, has_readers=True, is_short=True)
    assert sorted(" ".join(text.text.split()) for text in texts) == ["Doc anew.", "error anew", "help anew"]


def test_every_kind_of_text_is_read():
    paths = {text.path for text in read_texts()}
    assert {path.suffix for path in paths} == {".md", ".py", ".js", ".html"}
    assert {ROOT / "README.md", ROOT / "CHANGELOG.md"} <= paths


def test_every_text_of_the_repository_is_plain(capsys: pytest.CaptureFixture[str]):
    assert prose.main([]) == 0, capsys.readouterr().out
