"""Backups and restores that are killed, or run out of room, at random moments: whole, or as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills.backup_kills import Rounds

ROUNDS = 3
SEED = 20_261_122


@pytest.mark.requirement("P-30", "P-21")
def test_backups_and_restores_that_are_killed_or_without_room_leave_old_or_new_and_nothing_else(tmp_path: Path):
    report = Rounds(tmp_path, SEED).run(ROUNDS)
    assert report.problems == []
    assert report.kills == 2 * ROUNDS
