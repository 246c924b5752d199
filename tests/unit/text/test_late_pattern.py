from __future__ import annotations

import re

import pytest

from mnemic.text.normalise import late_pattern

TEXT = "one 1 two 22 THREE 333"


def test_it_finds_what_a_pattern_of_the_same_source_finds():
    late, known = late_pattern(r"[a-z]+ (\d+)", re.IGNORECASE), re.compile(r"[a-z]+ (\d+)", re.IGNORECASE)
    assert (late.pattern, late.flags) == (known.pattern, known.flags)
    assert late.findall(TEXT) == known.findall(TEXT) == ["1", "22", "333"]
    assert [match.span() for match in late.finditer(TEXT, 3)] == [match.span() for match in known.finditer(TEXT, 3)]
    assert late.sub(r"<\1>", TEXT, 1) == known.sub(r"<\1>", TEXT, 1) == "<1> two 22 THREE 333"
    assert late.sub(lambda match: match[1], TEXT) == "1 22 333"
    assert late.split(TEXT) == known.split(TEXT)
    assert late.match(TEXT, 1) is not None
    assert late.fullmatch(TEXT) is None
    assert late.search(TEXT, 0, 4) is None


def test_a_wrong_expression_is_found_by_its_first_use():
    wrong = late_pattern("(")
    with pytest.raises(re.error):
        wrong.search("")
