"""The graph through every door, and its pictures on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.doors import run
from tests.doors.graph_scenarios import GRAPH
from tests.doors.scenarios import Scenario
from tests.doors.test_scenarios import DOORS, go, ways


@pytest.mark.requirement("N-25", "N-27", "P-26")
@pytest.mark.parametrize("name, scenario", ways(GRAPH))
def test_the_graph_goes_alike_through_every_door(name: str, scenario: Scenario, tmp_path: Path):
    door = DOORS[name][1](str(tmp_path / "memory.db"))
    try:
        go(door, scenario)
    finally:
        door.close()


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with a small graph."""
    path = str(tmp_path / "memory.db")
    for text in ("Project X depends on the Billing Service.", "The Billing Service is governed by Policy Y."):
        assert mnemic(path, "remember", text)[0] == 0
    assert mnemic(path, "graph", "extract")[0] == 0
    return path


def mnemic(store: str, *words: str) -> tuple[int, str, str]:
    """A command of ana's."""
    cut = 2 if words[0] == "graph" else 1
    return run(["--store", store, "--user", "ana", *words[cut:]], list(words[:cut]), b"")


@pytest.mark.requirement("P-26")
class TestTheCommandLine:
    def test_a_tree_is_drawn_in_the_terminal(self, store: str):
        code, out, _ = mnemic(store, "graph", "show", "Project X")
        assert code == 0
        assert out.splitlines() == [
            "Project X (project)",
            "└─ depends on → Billing Service (technology)",
            "   └─ governed by → Policy Y (policy)",
        ]

    def test_all_of_the_graph_is_drawn_without_a_name(self, store: str):
        mnemic(store, "remember", "Anna lives in Oslo.")
        mnemic(store, "graph", "extract")
        code, out, _ = mnemic(store, "graph", "show")
        assert code == 0
        assert sum(not line.startswith(("└", "├", " ", "│")) for line in out.splitlines()) == 2

    @pytest.mark.parametrize("form", [".html", ".svg", ".dot", ".mermaid"])
    def test_a_picture_is_a_file_that_names_everything(self, store: str, form: str, tmp_path: Path):
        out = tmp_path / f"graph{form}"
        code, _, told = mnemic(store, "graph", "show", "Project X", "--out", str(out))
        assert (code, told) == (0, f"drew 3 entities and 2 relations in {out}\n")
        drawn = out.read_text("utf-8")
        assert all(name in drawn for name in ("Project X", "Billing Service", "Policy Y"))
        assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")

    def test_another_form_is_refused(self, store: str, tmp_path: Path):
        code, _, told = mnemic(store, "graph", "show", "--out", str(tmp_path / "graph.exe"))
        assert code != 0
        assert "must end in .html" in told

    def test_a_way_is_told_step_by_step_with_its_words(self, store: str):
        code, out, _ = mnemic(store, "graph", "path", "Project X", "policy y")
        rows = [line.split("\t") for line in out.splitlines()]
        assert code == 0
        assert [row[:4] for row in rows] == [
            ["Project X", "DEPENDS_ON", "Billing Service", "Project X depends on the Billing Service"],
            ["Billing Service", "GOVERNED_BY", "Policy Y", "Billing Service is governed by Policy Y"],
        ]

    @pytest.mark.requirement("N-27")
    def test_recall_shows_the_way_between_what_the_question_joins(self, store: str):
        code, out, told = mnemic(store, "recall", "How does Project X relate to Policy Y?", "--hops", "2")
        rows = [line.split("\t") for line in out.splitlines()]
        assert code == 0
        assert "Project X – Billing Service – Policy Y" in told
        assert [row[:3] for row in rows[-2:]] == [
            ["Project X", "DEPENDS_ON", "Billing Service"],
            ["Billing Service", "GOVERNED_BY", "Policy Y"],
        ]
        assert len(rows) == 4
        assert len(mnemic(store, "recall", "How does Project X relate to Policy Y?", "--all")[1].splitlines()) == 2

    @pytest.mark.requirement("N-27")
    def test_messages_of_two_talks_answer_together_and_others_stay_out(self, tmp_path: Path):
        path, question = str(tmp_path / "talks.db"), "How does Project X relate to Policy Y?"
        for session, said in (
            ("a", "We decided last week that Project X depends on the Billing Service."),
            ("b", "The Billing Service is governed by Policy Y, says legal."),
            ("c", "I had pasta for lunch."),
        ):
            assert mnemic(path, "capture", "--session", session, "--user-text", said)[0] == 0
        assert mnemic(path, "graph", "extract")[0] == 0
        found = mnemic(path, "recall", question, "--hops", "2")[1]
        assert "depends on the Billing Service" in found
        assert "governed by Policy Y" in found
        assert "pasta" not in found
        block = mnemic(path, "context", question, "--hops", "2")[1]
        assert "[1] We decided last week that Project X depends on the Billing Service." in block
        assert "[2] The Billing Service is governed by Policy Y, says legal." in block

    def test_what_is_not_there_is_said_and_how_to_read_it(self, tmp_path: Path):
        path = str(tmp_path / "empty.db")
        mnemic(path, "remember", "Tea")
        assert "graph extract" in mnemic(path, "graph", "entities")[2]
        assert "graph extract" in mnemic(path, "graph", "show")[2]
        code, _, told = mnemic(path, "graph", "neighbours", "Nobody")
        assert code != 0
        assert "graph extract" in told
