"""Reads files in a separate process, so that a parser that hangs, crashes or uses too much memory fails one file only.
The process is reused, and replaced if a file takes too long.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import IO, Any, cast

from mnemic.adapters.readers import child, refusals
from mnemic.adapters.readers.registry import all_readers, joined
from mnemic.errors import BadReplyError, ConfigError, MnemicError
from mnemic.model.document import MEBIBYTE, ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities, Unreadable, UnreadableError

MAX_FILES = 500
"""Files per process before it is replaced, because parsers leak memory."""

START_TIMEOUT_S = 60.0  # a cold disk needs seconds to load the parsers
LEAST_S, S_PER_MEGABYTE = 15.0, 10.0
"""Seconds for a file, by its size, up to the limit: readers are linear, and small files must not block others."""

EXIT_TIMEOUT_S = 10.0  # how long a killed process may take to exit
_CODE = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from mnemic.adapters.readers.child import serve; serve()"
)
_MEMORY_SIGNS = (child.OUT_OF_MEMORY, -6)
"""Exit codes after memory ran out: our own, and that of `abort` in native code."""


class SandboxReader:
    """The installed readers, one file at a time. Other threads wait in `read`."""

    name = "sandbox"

    def __init__(self, readers: Sequence[str] = ()) -> None:
        """`readers`: "module:callable" names, tried before installed ones. Starts nothing. May raise `ConfigError`."""
        self._readers = list(readers)
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_closing = False
        self.capabilities: ReaderCapabilities = joined([each.capabilities for each in all_readers(readers)])

    @property
    def process_id(self) -> int | None:
        """The id of the reading process, if one is running."""
        return None if self._process is None else self._process.id

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if len(data) > limits.max_bytes:
            raise refusals.too_large(name, limits)
        due_s = LEAST_S + S_PER_MEGABYTE * len(data) / MEBIBYTE
        limits = replace(limits, timeout_s=min(limits.timeout_s, due_s))
        with self._lock:
            if self._process is not None and self._process.files >= MAX_FILES:
                self._end()
            is_fresh = self._process is None
            try:
                return self._read(data, name, limits)
            except UnreadableError as error:
                is_final = error.reason not in {Unreadable.CRASH, Unreadable.MEMORY}
                if is_fresh or is_final or self._is_closing:
                    raise
            return self._read(data, name, limits)

    def close(self) -> None:
        """End the process, even while another thread reads. Idempotent; the next `read` starts a new process."""
        self._is_closing = True
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()
            self._is_closing = False

    def _read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if self._process is None:
            self._process = _Process(self._readers)
        if self._is_closing:
            raise refusals.crashed(name, None)
        is_answered = False
        try:
            reply = self._process.ask(data, name, limits)
            is_answered = True
        except _EndedError as ended:
            if ended.is_late:
                raise refusals.timed_out(name, limits) from ended
            if ended.code in _MEMORY_SIGNS:
                raise refusals.out_of_memory(name, limits) from ended
            raise refusals.crashed(name, ended.code) from ended
        finally:
            if not is_answered:  # also after Ctrl-C between question and answer: they would never match again
                self._end()
        return _document(reply)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


class _EndedError(Exception):
    """The process is gone: stopped after a timeout, or with its own exit code."""

    def __init__(self, *, is_late: bool, code: int | None) -> None:
        super().__init__(f"ended with {code}")
        self.is_late, self.code = is_late, code


class _Process:
    """A process and its pipes."""

    def __init__(self, readers: list[str]) -> None:
        self.files = 0
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        self._popen = subprocess.Popen(  # noqa: S603 - this interpreter, with code of this module
            [sys.executable, "-c", _CODE, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._input = cast("IO[bytes]", self._popen.stdin)
        self._output = cast("IO[bytes]", self._popen.stdout)
        try:
            reply = self._exchange([json.dumps({"readers": readers}).encode()], START_TIMEOUT_S)
        except _EndedError as ended:
            self.close()
            raise ConfigError(f"the file reader failed to start (exit code {ended.code})") from ended
        if "message" in reply:
            self.close()
            raise ConfigError(str(reply["message"]))

    @property
    def id(self) -> int:
        return self._popen.pid

    def ask(self, data: bytes, name: str, limits: ReadLimits) -> dict[str, Any]:
        """The answer for one file. Raises `_EndedError` if the process ends."""
        self.files += 1
        return self._exchange([json.dumps({"name": name, "limits": asdict(limits)}).encode(), data], limits.timeout_s)

    def kill(self) -> None:
        self._popen.kill()

    def close(self) -> None:
        self._popen.kill()
        self._popen.wait(EXIT_TIMEOUT_S)
        for pipe in (self._input, self._output):
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def _exchange(self, messages: list[bytes], timeout_s: float) -> dict[str, Any]:
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._popen.kill()

        alarm = threading.Timer(timeout_s, give_up)
        alarm.daemon = True
        alarm.start()
        try:
            for message in messages:
                child.send(cast("Any", self._input), message)
            answer = child.receive(cast("Any", self._output))
        except OSError:
            answer = None
        finally:
            alarm.cancel()
        if answer is None:
            raise _EndedError(is_late=late.is_set(), code=self._popen.wait(EXIT_TIMEOUT_S))
        try:
            return cast("dict[str, Any]", json.loads(answer))
        except ValueError as error:
            raise BadReplyError("the file reader returned an invalid reply") from error


def _document(reply: dict[str, Any]) -> ReadDocument:
    """The document in an answer. Raises the error in it."""
    if reply.get("error") == "unreadable":
        raise UnreadableError(str(reply["message"]), reason=Unreadable(reply["reason"]))
    if "error" in reply:
        raise ConfigError(str(reply["message"]))
    try:
        return child.document_from(reply["document"])
    except (KeyError, TypeError, ValueError, AttributeError, MnemicError) as error:
        raise BadReplyError("the file reader returned an invalid reply") from error


_fits: type[Reader] = SandboxReader
