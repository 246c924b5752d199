"""The drill of near misses, by words alone: a thousand restatements, pairs that look alike, contradictions."""

from __future__ import annotations

import pytest

from drills import near_misses


@pytest.mark.requirement("R-14", "P-05")
def test_restatements_become_one_near_misses_stay_two_and_contradictions_are_seen():
    facts, problems, rows = near_misses.drill(seed=11, pairs=100, embedder="none")
    assert problems == []
    assert (facts["memories left"], facts["entries of history"]) == (50, 1050)
    assert [row[2:] for row in rows if row[1] == "all"] == [["100", "0", "0"], ["100", "0", "0"]]
