"""What every test shares: where the repository is, and that Ctrl-C works."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import cast

import pytest
from hypothesis import settings

from mnemic.api.background import OwnWorker

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whatever a shell starts in the background ignores it, and so would every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Commands that a test starts neither use a developer's resident process nor leave one behind.
os.environ["MNEMIC_RESIDENT_IDLE_S"] = "0"

# The first example of a property may compile patterns or load a model, and a timing is never asserted.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the working tree."""
    return Path(__file__).resolve().parent.parent


def _sleep_on(self: OwnWorker) -> None:
    """Starts nothing."""


_wake = OwnWorker.wake
OwnWorker.wake = _sleep_on  # fixtures of a module or a session are made before those of a test


@pytest.fixture(autouse=True)
def runs_jobs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happens behind the back of a test, but in those marked `own_worker`."""
    if any(mark.name == "own_worker" for mark in cast("pytest.Item", request.node).iter_markers()):
        monkeypatch.setattr(OwnWorker, "wake", _wake)
