"""What `mnemic remember` says of options without effect, and what a list shows of an end."""

from __future__ import annotations

from pathlib import Path

from tests.doors.doors import run


def told(tmp_path: Path, *command: str) -> str:
    code, _, err = run(["--store", str(tmp_path / "m.db"), "--user", "ana"], ["remember", *command])
    assert code == 0
    return err


def test_options_of_a_text_that_is_stored_already_are_named(tmp_path: Path):
    assert "not changed" not in told(tmp_path, "The door is green", "--pin")
    again = told(tmp_path, "The door is green", "--pin", "--expires-at", "2040-01-01")
    assert "not changed: pinned, expires_at; use `mnemic memory edit` or `mnemic memory pin`" in again


def test_an_end_in_the_past_is_told(tmp_path: Path):
    assert "already ended" in told(tmp_path, "The guarantee is in the folder", "--expires-at", "2020-01-01")
    assert "already ended" in told(tmp_path, "Bo worked in Lund", "--valid-to", "2020-01-01")
    past = told(tmp_path, "Bo worked in Bath", "--valid-from", "2018-01-01", "--valid-to", "2020-01-01")
    assert "already ended" not in past
    assert "already ended" not in told(tmp_path, "The guarantee is on the shelf", "--expires-at", "2040-01-01")


def test_what_has_ended_is_listed_with_its_end(tmp_path: Path):
    told(tmp_path, "Bo worked in Bath", "--valid-from", "2018-01-01", "--valid-to", "2020-01-01")
    told(tmp_path, "Bo likes tea")
    tea, work = run(["--store", str(tmp_path / "m.db"), "--user", "ana"], ["memory", "list"])[1].splitlines()
    assert work.endswith("until 2020-01-01 00:00Z")
    assert "until" not in tea
