"""A memory for the frameworks: in this process, and behind a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic
from mnemic.config import Config
from mnemic.errors import UnavailableError
from mnemic.integrations.memory import AnyMnemic


@pytest.fixture
def store(tmp_path: Path) -> Config:
    """A store that needs no model: words alone find things in it."""
    return Config(store=str(tmp_path / "memory.db"), embedder="none")


@pytest.fixture(params=["here", "on a server"])
def mnemic(request: pytest.FixtureRequest, store: Config) -> Iterator[AnyMnemic]:
    """An open memory: of this process, or what `connect` gives."""
    if request.param == "here":
        with Mnemic.open(store) as opened:
            yield opened
        return
    from mnemic.remote import connect  # these modules need extras, which not every framework's environment has
    from tests.doors.http_doors import Listening, Served

    served = Served(store)
    listening = Listening(served.app)
    with connect(listening.url, served.token("default")) as opened:
        yield opened
    listening.close()
    served.close()


class Broken(Mnemic):
    """A memory whose calls fail as unavailable."""

    def context(self, *_: Any, **__: Any) -> Any:
        raise UnavailableError("away")

    def capture_many(self, *_: Any, **__: Any) -> Any:
        raise UnavailableError("away")


@pytest.fixture
def broken(store: Config) -> Iterator[Mnemic]:
    """An open memory whose recall and capture fail."""
    with Broken.open(store) as opened:
        yield opened


@pytest.fixture
def here(store: Config) -> Iterator[Mnemic]:
    """An open memory of this process."""
    with Mnemic.open(store) as opened:
        yield opened
