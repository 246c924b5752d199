"""Other processes that use a store, started when a test asks and ended with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("child.py")


class StoreProcess:
    """One other process; see `child.py` for what it can be told."""

    def __init__(self) -> None:
        command = [sys.executable, str(PROGRAM)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.hear() == "ready"

    def tell(self, *words: object) -> None:
        """Send a command."""
        assert self._process.stdin is not None
        print(*words, file=self._process.stdin, flush=True)

    def hear(self) -> str:
        """Its next answer."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def ask(self, *words: object) -> str:
        """Send a command and return the answer."""
        self.tell(*words)
        return self.hear()

    def texts(self) -> list[str]:
        """What Anna sees there."""
        return json.loads(self.ask("texts"))

    def end(self) -> None:
        """Close its input, upon which it ends."""
        self._process.communicate()


@pytest.fixture
def start() -> Iterator[Callable[[], StoreProcess]]:
    """Starts another process."""
    processes: list[StoreProcess] = []

    def start_one() -> StoreProcess:
        processes.append(StoreProcess())
        return processes[-1]

    yield start_one
    for process in processes:
        process.end()
