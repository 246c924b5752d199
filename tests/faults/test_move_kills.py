"""Moves of an org that are killed at random moments while it is written: every acknowledged memory arrives once."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills.move_kills import Rounds

SEED = 20_261_124


@pytest.mark.requirement("P-55")
def test_killed_moves_lose_and_double_nothing(tmp_path: Path):
    report = Rounds(tmp_path, SEED).run(1)
    assert report.problems == []
    assert report.completed == 1
    assert report.acknowledged > 0
