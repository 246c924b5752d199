"""`mnemic serve` as a process of its own on a free port of this machine, ended by its own id."""

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
_LISTENS = re.compile(r"listens on http://127\.0\.0\.1:(\d+)")
START_S, END_S, POLL_S = 60.0, 40.0, 0.05


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens on `port` of this machine; `pid` is its process."""

    pid: int
    port: int

    def resident_mib(self) -> float:
        """The memory that the process holds, in MiB; 0 where the system does not tell."""
        try:
            told = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        found = re.search(r"VmRSS:\s+(\d+) kB", told)
        return int(found[1]) / 1024 if found else 0.0

    def cpu_s(self) -> float:
        """The processor time that the process has used, in seconds; 0 where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def _told(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")
