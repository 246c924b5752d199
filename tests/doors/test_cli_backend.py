"""`mnemic backend …`: the four verbs of the configured memory backend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemic.cli.failures import EXIT_CODES
from mnemic.errors import InvalidInputError, NotFoundError, UnsupportedError
from tests.doors.doors import run


@pytest.fixture(autouse=True)
def config(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration whose backend keeps its data in a file."""
    path = home / "backend.toml"
    path.write_text(f'[tools.storage]\ndefault_backend = "sqlite"\ndb_path = "{home / "texts.db"}"\n', encoding="utf-8")
    monkeypatch.setenv("MNEMIC_CONFIG", str(path))
    return path


@pytest.mark.requirement("O-44")
def test_a_text_is_stored_found_and_deleted_by_three_commands(home: Path):
    code, out, err = run(
        ["backend", "store", "Ana rents a flat in Lisbon", "--source", "n.md", "--metadata", '{"page": 1}'], []
    )
    assert (code, err) == (0, "")
    own = out.strip()
    assert (home / "texts.db").exists()
    code, out, _ = run(["backend", "retrieve", "the flat in Lisbon", "--json"], [])
    (found,) = json.loads(out)
    assert (found["content"], found["source"], found["metadata"]) == ("Ana rents a flat in Lisbon", "n.md", {"page": 1})
    assert "Ana rents a flat in Lisbon" in run(["backend", "retrieve", "flat"], [])[1]
    assert run(["backend", "delete", own], [])[0] == 0
    assert run(["backend", "delete", own], [])[0] == EXIT_CODES[NotFoundError]
    assert "nothing found" in run(["backend", "retrieve", "flat"], [])[2]


@pytest.mark.requirement("O-44")
def test_clearing_needs_a_confirmation():
    run(["backend", "store", "Ana rents a flat in Lisbon"], [])
    assert run(["backend", "clear"], [])[0] == EXIT_CODES[InvalidInputError]
    assert json.loads(run(["backend", "retrieve", "flat", "--json"], [])[1]) != []
    assert run(["backend", "clear", "--yes"], [])[0] == 0
    assert json.loads(run(["backend", "retrieve", "flat", "--json"], [])[1]) == []


def test_a_backend_in_memory_is_refused_instead_of_losing_the_text(config: Path):
    config.write_text('[tools.storage]\ndefault_backend = "bm25"\n', encoding="utf-8")
    code, _, err = run(["backend", "store", "Ana rents a flat"], [])
    assert code == EXIT_CODES[UnsupportedError]
    assert "set tools.storage.default_backend to sqlite" in err
