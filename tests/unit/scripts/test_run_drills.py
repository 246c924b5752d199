"""Drills are run one after the other: one that fails stops no other, and the end tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import run_drills

HELD = "print('| violations | 0 |')"
VIOLATED = "import sys\nprint('| violations | 3 |')\nsys.exit(1)"
BROKEN = "raise RuntimeError('no such table')"
STUCK = "import time\nprint('waiting')\ntime.sleep(600)"
LONG = "import sys\nprint('asked for', sys.argv[1:], '--long' in sys.argv)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"a_broken": BROKEN, "b_violated": VIOLATED, "c_held": HELD}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def outcomes(printed: str) -> dict[str, tuple[str, str]]:
    """(violations, outcome) by drill, of the table at the end."""
    lines = printed[printed.rindex("\n  drill ") :].splitlines()[2:]
    rows = [line.split(maxsplit=3) for line in lines if line.startswith("  ")]
    return {name: (violations, outcome) for name, _, violations, outcome in rows}


def test_a_drill_that_fails_stops_no_other_and_the_exit_code_and_a_table_tell(
    folder: Path, capfd: pytest.CaptureFixture[str]
):
    assert run_drills.main([], folder) == 1
    printed = capfd.readouterr().out
    assert outcomes(printed) == {
        "a_broken": ("–", "failed with exit code 1"),
        "b_violated": ("3", "violated"),
        "c_held": ("0", "held"),
    }
    assert "no such table" in printed
    assert "3 drills, 2 that did not hold" in printed


def test_some_drills_are_run_by_name_and_a_name_that_is_none_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str]
):
    assert run_drills.main(["c_held"], folder) == 0
    assert set(outcomes(capfd.readouterr().out)) == {"c_held"}
    assert run_drills.main(["c_hold"], folder) == 2
    assert "did you mean c_held?" in capfd.readouterr().err


def test_a_drill_that_takes_too_long_is_ended_and_the_next_one_runs(folder: Path, capfd: pytest.CaptureFixture[str]):
    (folder / "b_stuck.py").write_text(STUCK, encoding="utf-8")
    assert run_drills.main(["b_stuck", "c_held", "--most-minutes", "0.01"], folder) == 1
    printed = capfd.readouterr().out
    assert outcomes(printed)["b_stuck"] == ("–", "ended: took too long")
    assert "c_held" in outcomes(printed)


def test_the_long_form_is_asked_for_where_there_is_one(folder: Path, capfd: pytest.CaptureFixture[str]):
    (folder / "d_long.py").write_text(LONG, encoding="utf-8")
    assert run_drills.main(["c_held", "d_long", "--long"], folder) == 0
    assert "asked for ['--long'] True" in capfd.readouterr().out
    assert run_drills.main(["d_long"], folder) == 0
    assert "asked for [] False" in capfd.readouterr().out


def test_what_needs_an_environment_of_its_own_waits_until_it_is_named(folder: Path, capfd: pytest.CaptureFixture[str]):
    (folder / "backend_colbert.py").write_text(HELD, encoding="utf-8")
    run_drills.main([], folder)
    assert outcomes(capfd.readouterr().out)["backend_colbert"][1].startswith("left out")
    assert run_drills.main(["backend_colbert"], folder) == 0


def test_a_drill_of_data_that_is_not_there_is_refused_at_once(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (folder / "e_data.py").write_text("import os\nos.environ['MNEMIC_DATA']", encoding="utf-8")
    monkeypatch.setenv("MNEMIC_DATA", str(folder / "nowhere"))
    assert run_drills.main([], folder) == 2
    assert "set MNEMIC_DATA to it: e_data" in capfd.readouterr().err
    assert run_drills.main(["c_held"], folder) == 0


def test_every_drill_of_this_project_says_what_it_proves(repository: Path):
    drills = sorted((repository / "drills").glob("*.py"))
    assert len(drills) > 20
    assert [path.name for path in drills if not path.read_text(encoding="utf-8").startswith('"""')] == []
    assert {path.stem for path in drills} >= run_drills.HEAVY
