"""A terminal to run commands in: a pseudo-terminal, its screen as text, and keys to press."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

WAIT_S = 60.0
_STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """`mnemic` with these arguments in a terminal of 100 columns; `screen` is all that was shown until now."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str]) -> None:
        self._own, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        program = str(Path(sys.executable).with_name("mnemic"))
        self._process = subprocess.Popen(
            [program, *arguments],
            stdin=other,
            stdout=other,
            stderr=other,
            env=os.environ | {"TERM": "xterm"} | environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 -- so that Ctrl-C is a signal
        )
        os.close(other)
        self.screen = ""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._own)

    def until(self, text: str) -> str:
        """Wait until `text` is shown after what was waited for before; what was shown until then."""
        end = time.monotonic() + WAIT_S
        while text not in self.screen[self._seen :]:
            assert time.monotonic() < end, f"{text!r} did not come; the screen:\n{self.screen}"
            if not self._read():
                raise AssertionError(f"the program ended before {text!r}; the screen:\n{self.screen}")
        place = self.screen.index(text, self._seen) + len(text)
        shown, self._seen = self.screen[self._seen : place], place
        return shown

    def press(self, keys: str) -> None:
        """Type something; "\\x03" is Ctrl-C, "\\x04" Ctrl-D."""
        os.write(self._own, keys.encode())

    def say(self, line: str) -> None:
        """Type a line at the prompt."""
        self.until("you> ")
        self.press(f"{line}\n")

    def end(self) -> int:
        """Wait until the program has ended; its exit code."""
        while self._read():
            pass
        return self._process.wait(WAIT_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._own], [], [], 1.0)
        if not ready:
            return self._process.poll() is None
        try:
            data = os.read(self._own, 65536)
        except OSError:  # how Linux tells that the other side is closed
            return False
        self.screen += _STYLES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(data)
