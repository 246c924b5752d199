"""The table of requirements: claims need tests, markers need rows, and the report says which is which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import requirements

ROW = {"group": "example", "behaviour": "something is promised", "numbers": "n/a"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with rows X-01, X-02 and the (env) row X-03, nothing claimed, no tests."""
    rows = [ROW | {"id": "X-01"}, ROW | {"id": "X-02"}, ROW | {"id": "X-03", "env": "somebody else's set-up"}]
    (tmp_path / "requirements").mkdir()
    (tmp_path / requirements.ROWS).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "tests").mkdir()
    claim(tmp_path)
    return tmp_path


def claim(project: Path, *ids: str) -> None:
    (project / requirements.CLOSED).write_text("# claims\n" + "\n".join(ids), encoding="utf-8")


def write_test(project: Path, source: str) -> None:
    (project / "tests" / "test_example.py").write_text(source, encoding="utf-8")


def wrong(project: Path) -> list[str]:
    return requirements.problems(requirements.read_table(project))


def test_this_project_claims_nothing_without_a_test(repository: Path):
    assert wrong(repository) == []


def test_this_project_answers_exactly_the_rows_of_other_peoples_environments_by_a_note(repository: Path):
    table = requirements.read_table(repository)
    noted = {row.id for row in table.rows if row.note}
    assert noted == {"J-60", "J-61", "N-41", "T-38", "O-28", "R-34"}
    assert len(table.rows) == 370


def test_a_claim_without_a_test_is_refused(project: Path):
    claim(project, "X-01")
    assert wrong(project) == ["X-01: claimed closed, but no test carries its id"]


def test_a_claim_with_a_test_is_accepted(project: Path):
    claim(project, "X-01")
    write_test(project, '@pytest.mark.requirement("X-01")\ndef test_it(): ...\n')
    assert wrong(project) == []


def test_a_claim_of_an_unknown_an_env_or_a_repeated_row_is_refused(project: Path):
    claim(project, "X-03", "X-09", "X-09")
    assert [line.partition(":")[0] for line in wrong(project)] == ["X-03", "X-09", "X-09"]


def test_a_marker_must_name_known_rows_in_literal_strings(project: Path):
    write_test(
        project,
        '@pytest.mark.requirement("X-09")\ndef test_unknown(): ...\n'
        "@pytest.mark.requirement(*IDS)\ndef test_computed(): ...\n"
        "@pytest.mark.requirement()\ndef test_nothing(): ...\n",
    )
    assert wrong(project) == [
        "tests/test_example.py::test_unknown: the requirement marker names X-09, but there is no such row",
        "tests/test_example.py::test_computed: ids in a requirement marker must be literal strings",
        "tests/test_example.py::test_nothing: the requirement marker names no id",
    ]


@pytest.mark.parametrize(
    "source, place",
    [
        ('@pytest.mark.requirement("X-02", "X-01")\ndef test_it(): ...', "::test_it"),
        ('@mark.requirement("X-01")\nasync def test_it(): ...', "::test_it"),
        ('class TestAll:\n    @pytest.mark.requirement("X-01")\n    def test_it(self): ...', "::TestAll::test_it"),
        ('@pytest.mark.requirement("X-01")\nclass TestAll: ...', "::TestAll"),
        ('pytestmark = [pytest.mark.requirement("X-01")]', ""),
        ('CASES = [pytest.param(1, marks=pytest.mark.requirement("X-01"))]', ""),
    ],
)
def test_a_marker_is_found_wherever_pytest_would_apply_it(project: Path, source: str, place: str):
    write_test(project, source)
    assert requirements.read_table(project).tests["X-01"] == [f"tests/test_example.py{place}"]


def test_the_listing_shows_state_tests_and_notes_of_every_row(project: Path):
    claim(project, "X-01")
    write_test(project, '@pytest.mark.requirement("X-01", "X-02")\ndef test_it(): ...\n')
    assert list(requirements.listing(requirements.read_table(project))) == [
        "\nX: example",
        "X-01 closed something is promised [n/a]",
        "            tests/test_example.py::test_it",
        "X-02 open   something is promised [n/a]",
        "            tests/test_example.py::test_it",
        "X-03 (env)  something is promised [n/a]",
        "            somebody else's set-up",
        "",
        "3 rows: 1 closed, 1 open (1 of them with tests), 1 (env)",
    ]


def test_the_check_prints_the_counts_and_returns_an_exit_code(capsys: pytest.CaptureFixture[str]):
    assert requirements.main(["--check"]) == 0
    assert capsys.readouterr().out.startswith("370 rows: ")
