"""Writers are killed at random moments: nothing that was acknowledged is lost, and nothing is half there."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills.kill_rounds import run_rounds

ROUNDS = 17
WRITERS = 3
SEED = 20_260_501


@pytest.mark.requirement("P-21")
def test_fifty_kills_lose_no_acknowledged_write_and_leave_none_half_done(tmp_path: Path):
    report = run_rounds(tmp_path / "memory.db", rounds=ROUNDS, writers=WRITERS, seed=SEED)
    assert report.problems == []
    assert report.kills > 50
    assert report.acknowledged > ROUNDS
