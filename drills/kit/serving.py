"""Runs `mnemic serve` as a separate process on a free port, and stops it by its process id."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SERVE = "import sys; from mnemic.cli import main; sys.argv[0] = 'mnemic'; main()"
_LISTENS = re.compile(r"(?:listens|is listening) on http://127\.0\.0\.1:(\d+)")
START_S, END_S, POLL_S = 60.0, 40.0, 0.05


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens on `port` of this machine; `pid` is its process, which may have others answer for it."""

    pid: int
    port: int

    def resident_mib(self) -> float:
        """The memory that its processes hold, in MiB. What they share counts once. 0 where the system does not tell."""
        found = [re.search(r"Pss:\s+(\d+) kB", _of_system(pid, "smaps_rollup")) for pid in self.pids()]
        return sum(int(each[1]) / 1024 for each in found if each)

    def cpu_s(self) -> float:
        """The processor time that its processes have used, in seconds; 0 where the system does not tell."""
        told = [_of_system(pid, "stat").rpartition(")")[2].split() for pid in self.pids()]
        return sum((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") for fields in told if fields)

    def pids(self) -> list[int]:
        """The process and those that it started."""
        return [self.pid, *map(int, _of_system(self.pid, f"task/{self.pid}/children").split())]


@contextmanager
def serving(store: Path, options: Sequence[str] = (), config: str = "") -> Generator[Served]:
    """A server on a store while the block runs. `config`: the content of its configuration file.

    Raises RuntimeError when it does not start, or does not end as told.
    """
    settings = store.with_name("serve.toml")
    settings.write_text(config, encoding="utf-8")
    log = store.with_name("serve.log")
    command = [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--store", str(store), "--config", str(settings)]
    with log.open("wb") as kept, subprocess.Popen([*command, *options], stderr=kept) as process:
        try:
            yield Served(process.pid, _port(process, log))
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise RuntimeError("the server did not end within its grace") from None
    if process.returncode:
        raise RuntimeError(f"the server ended with {process.returncode}: {_told(log)[-500:]}")


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port, when the server tells it."""
    for _ in range(int(START_S / POLL_S)):
        if found := _LISTENS.search(_told(log)):
            return int(found[1])
        if process.poll() is not None:
            break
        time.sleep(POLL_S)
    raise RuntimeError(f"the server does not listen: {_told(log)[-500:]}")


def _of_system(pid: int, name: str) -> str:
    """What the system tells of a process, nothing where it does not."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8")
    except OSError:
        return ""


def _told(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")
