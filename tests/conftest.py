"""What every test shares: where the repository is, and that Ctrl-C works."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whatever a shell starts in the background ignores it, and so would every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a property may compile patterns or load a model, and a timing is never asserted.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the working tree."""
    return Path(__file__).resolve().parent.parent
