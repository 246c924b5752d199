"""A Qdrant of its own for a test: started on a free port, killed, stopped, gone with the test.

`MNEMIC_TEST_QDRANT_URL` names a real server, which is then used wherever a test does not kill it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

PROGRAM = Path(__file__).with_name("qdrant_engine.py")
REAL_URL = os.environ.get("MNEMIC_TEST_QDRANT_URL")
REAL_KEY = os.environ.get("MNEMIC_TEST_QDRANT_API_KEY")


class QdrantServer:
    """One server in a folder of its own, which keeps what it holds over restarts."""

    def __init__(self, key: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mnemic-qdrant-"))
        self._key, self._port = key, 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Where it listens; the same after a restart."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, str(PROGRAM), str(self.folder), str(self._port), self._key]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self.signal(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def close(self) -> None:
        """End it and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder)

    def ask(self, path: str, body: object = None, method: str = "POST") -> Any:
        """What it answers to a call of its REST interface."""
        headers = {"Content-Type": "application/json", **({"api-key": self._key} if self._key else {})}
        request = Request(self.url + path, json.dumps(body).encode(), headers, method=method)  # noqa: S310 -- of this test
        with urlopen(request, timeout=20) as answer:  # noqa: S310 -- of this test
            return json.load(answer)["result"]

    def optimise(self, collection: str) -> None:
        """Build its graphs, which a real server does by itself."""
        self.ask(f"/collections/{collection}/optimise", {})

    def points(self, collection: str = "true_recall") -> list[Any]:
        """Everything that a collection holds, vectors too."""
        asked = {"limit": 100_000, "with_payload": True, "with_vector": True}
        return self.ask(f"/collections/{collection}/points/scroll", asked)["points"]


def a_name() -> str:
    """A collection that nobody else uses, on a server that others may use."""
    return f"mnemic_test_{uuid.uuid4().hex}"
