"""The drills of the library with small numbers: killed programs and workers, two writers, a locked file, odd clocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from drills import clock_jumps, kill_jobs, kill_library, locked_file, two_writers
from drills.kit.memory import opened
from mnemic.engine.handlers import HANDLERS

SEED = 20_260_501


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.mark.requirement("P-21")
def test_what_killed_programs_were_told_is_there_whole_and_found_right_after_opening(path: Path):
    judge, problems = kill_library.run_rounds(path, rounds=6, writers=2, seed=SEED)
    assert problems == []
    assert judge.acknowledged > 20
    assert judge.cut_off_done + judge.cut_off_undone > 0
    assert judge.found > 0


@pytest.mark.requirement("P-21", "J-52")
def test_two_programs_share_a_user_without_doubles_blind_spots_or_lost_changes(path: Path):
    with opened(path) as mnemic, two_writers.both() as workers:
        facts, problems = two_writers.drill(mnemic, path, workers, (60, 10, 20))
    assert problems == []
    assert facts["rows"] == 90


@pytest.mark.requirement("P-21")
def test_while_another_process_holds_the_lock_writers_are_told_in_time_and_readers_go_on(path: Path):
    facts, problems = locked_file.drill(path, 0.02)
    assert problems == []
    assert facts["verbs that write, refused"] == 13


def test_a_clock_that_jumps_loses_nothing_repeats_no_id_and_disturbs_no_order(path: Path):
    facts, problems = clock_jumps.drill(path, 250, SEED)
    assert problems == []
    assert facts["jumps"] != 0


def test_a_worker_that_is_killed_in_any_kind_of_job_leaves_nothing_undone_or_done_twice(tmp_path: Path):
    drills, problems = kill_jobs.run_kinds(tmp_path, 1, SEED)
    assert problems == []
    assert {drill.kind for drill in drills} == set(HANDLERS)
    lost = kill_jobs.ending(tmp_path / "people.db"), kill_jobs.ending(drills[-1].before)
    assert any(problem.startswith("lost: vectors") for problem in kill_jobs.differences(*reversed(lost)))
    assert any(problem.startswith("too much: history archived") for problem in kill_jobs.differences(*lost))
