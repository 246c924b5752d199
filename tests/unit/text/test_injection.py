"""Every wording of injection finds its example and leaves alone what only looks like it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mnemic.text.injection import addresses_model, fold, load_wordings

CASES = tomllib.loads((Path(__file__).parent / "injection_cases.toml").read_text(encoding="utf-8"))["cases"]
WORDINGS = {wording.name: wording for wording in load_wordings()}


def test_every_wording_has_one_row():
    assert [case["name"] for case in CASES] == list(WORDINGS)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_wording_finds_its_example_and_nothing_that_looks_like_it(case: dict[str, str]):
    assert is_found(case["name"], case["finds"])
    assert not is_found(case["name"], case["leaves"])


def is_found(name: str, text: str) -> bool:
    wording, folded = WORDINGS[name], fold(text).text
    holds_needs = all(any(literal in folded for literal in group) for group in wording.needs)
    group = "hit" if "hit" in wording.expression.groupindex else 0
    return holds_needs and any(
        addresses_model(folded, *match.span(group), wording.address)
        and not (wording.starts_word and match.start() and folded[match.start() - 1].isalnum())
        for match in wording.expression.finditer(folded)
    )
