"""The scenarios of files through the doors that read files of their own machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.document_scenarios import DOCUMENTS
from tests.doors.doors import Door
from tests.doors.scenarios import Scenario
from tests.doors.test_scenarios import DOORS, check

LOCAL = ("library-memory", "library-sqlite", "async", "command-line")


@pytest.fixture(params=LOCAL)
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    """Each door, on an empty store."""
    opened = DOORS[request.param][1](str(tmp_path / "memory.db"))
    yield opened
    opened.close()


@pytest.mark.requirement("O-41")
@pytest.mark.parametrize("scenario", DOCUMENTS, ids=lambda scenario: scenario.name)
def test_files_go_alike_through_every_local_door(door: Door, scenario: Scenario):
    saved: dict[str, Any] = {}
    for step in scenario.steps:
        check(door, step, saved)
