"""A graph is only made where faiss is not loaded; tests of backends may have loaded it into this process before."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def without_faiss(monkeypatch: pytest.MonkeyPatch):
    """Hides faiss for one test; the versions that the tests use get along in one process."""
    monkeypatch.delitem(sys.modules, "faiss", raising=False)
