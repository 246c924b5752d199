"""Runs a project in a separate process, which exchanges lines of JSON with this one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.peers.installing import ROOT, Environment

OFFLINE = {
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "MCP_SEMANTIC_DEDUP_ENABLED": "false",  # else it refuses texts that resemble others, which the rest keep
    "MEM0_TELEMETRY": "False",
    "MEMPALACE_EMBEDDING_MODEL": "minilm",
}
"""Settings for all: nothing may report home or fetch a model, and everything that is added is to be kept."""


class DiedError(Exception):
    """The process ended by itself; the message is the last line it wrote about that."""


class Running:
    """A worker with an open peer; the first thing it does is to answer that it is open."""

    def __init__(self, name: str, environment: Environment, folder: Path, vectors: Path | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        home = folder.parent / f"{folder.name}.home"
        home.mkdir(exist_ok=True)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- read when the process has died
        command = [environment.python, "-m", "benchmarks.peers.worker", name, str(folder)]
        self._process = subprocess.Popen(
            [*command, "-" if vectors is None else str(vectors)],
            cwd=ROOT,
            env={**os.environ, **OFFLINE, "HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def tell(self, **request: object) -> None:
        """Send a request. Raises `DiedError`."""
        if self._process.stdin is None:
            raise DiedError("no pipe")
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise DiedError(self._why()) from error

    def hear(self) -> dict[str, Any]:
        """The next answer. Raises `DiedError`."""
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line.endswith("\n"):
            raise DiedError(self._why())
        return json.loads(line)

    def ask(self, **request: object) -> dict[str, Any]:
        """Send, and wait for the answer."""
        self.tell(**request)
        return self.hear()

    def stop(self) -> None:
        """SIGKILL, from any thread; whoever waits for an answer hears that the process has died."""
        self._process.kill()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.stop()
        self._process.communicate()
        self._errors.close()

    def _why(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace")
        lines = (
            said.partition("Exception ignored in")[0].strip().splitlines()
        )  # what follows is of the interpreter's end
        return lines[-1].strip() if lines else f"exit code {self._process.returncode}"
