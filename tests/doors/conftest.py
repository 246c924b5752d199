"""What every test of a door shares: an environment without settings of this machine's user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.doors.browser import Console, Site


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, and no `MNEMIC_…` variables but the one that allows no resident process."""
    for name in [name for name in os.environ if name.startswith("MNEMIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MNEMIC_RESIDENT_IDLE_S", "0")
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, for one module: while it runs, its thread cannot run other event loops."""
    from tests.doors.browser import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A store, and a server with the console before it."""
    from tests.doors.browser import Site

    opened = Site(tmp_path / "memory.db")
    yield opened
    opened.close()


@pytest.fixture
def console(browser: Browser, site: Site) -> Iterator[Console]:
    """A tab on the console that complains of nothing, and whose policy refuses nothing."""
    from tests.doors.browser import Console

    opened = Console(browser, site.url)
    yield opened
    seen = (opened.complaints, opened.violations())
    opened.close()
    assert seen == ([], [])
