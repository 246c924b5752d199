"""The commands that move orgs between stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.doors import run

ACME = ["--org", "acme", "--user", "ana"]


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of these tests, set in the environment."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    return path


def told(*words: str, is_refused: bool = False) -> str:
    """The output that a person reads, from both streams."""
    ended, out, err = run([*words], [], b"")
    assert bool(ended) == is_refused, err
    return out + err


def test_an_org_moves_and_returns_when_its_new_store_is_lost(home: Path):
    there = home / "there.db"
    told("remember", "Ana likes tea", *ACME)
    assert "rows, equal in both stores" in told("org", "move", "acme", "--to", str(there))
    assert told("org", "list") == f"acme\tmoved\t{there}\n"
    for refused in (["remember", "and coffee", *ACME], ["erase", *ACME, "--yes"], ["keys", "list", "--org", "acme"]):
        assert "org acme has moved to another store" in told(*refused, is_refused=True)
    assert "pass --lost if it no longer exists" in told("org", "cancel", "acme", is_refused=True)
    assert "pass --lost if" in told("org", "cancel", "acme", "--to", str(there), is_refused=True)
    there.unlink()
    assert "nothing was erased" in told("org", "move", "acme", "--to", str(there), "--erase", "--yes", is_refused=True)
    assert told("org", "cancel", "acme", "--lost") == "acme stays in this store\n"
    assert "Ana likes tea" in told("memory", "list", *ACME)
    told("remember", "and coffee", *ACME)
    assert "acme is not moving from" in told("org", "cancel", "acme", "--lost", is_refused=True)
