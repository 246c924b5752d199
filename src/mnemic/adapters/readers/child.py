"""The process that reads files for `SandboxReader`. A message is its length (8 bytes, big-endian) and its bytes: first
the configuration as JSON, then per file a JSON header and its bytes, each answered by one JSON message. Output that
readers print is dropped, so that it cannot pass for an answer. Ends with its input, or if a file takes too long.
"""

import faulthandler
import importlib
import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

from mnemic.errors import MnemicError
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, Unreadable, UnreadableError

LENGTH_BYTES = 8  # of a 64-bit length
GRACE_S = 5.0
"""How much later than the parent's timeout the child's own fires, in case the parent is gone."""

OUT_OF_MEMORY = 3
"""The exit code after memory ran out. The process is then unreliable."""


def send(stream: BinaryIO, message: bytes) -> None:
    """Write one message."""
    stream.write(len(message).to_bytes(LENGTH_BYTES, "big"))
    stream.write(message)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Read one message, None at the end of the stream."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    message = stream.read(length)
    return message if len(message) == length else None


def serve() -> None:
    """Read files until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    setup = receive(sys.stdin.buffer)
    if setup is None:
        return
    from mnemic.adapters.readers.registry import AnyReader, all_readers

    try:
        reader = AnyReader(all_readers(json.loads(setup)["readers"]))
    except MnemicError as error:
        send(answers, _failure(error))
        return
    send(answers, b"{}")
    while (head := receive(sys.stdin.buffer)) is not None:
        data = receive(sys.stdin.buffer)
        if data is None:
            return
        facts = json.loads(head)
        limits = ReadLimits(**facts["limits"])
        faulthandler.dump_traceback_later(limits.timeout_s + GRACE_S, exit=True, file=sys.__stderr__ or sys.stderr)
        limit_memory(limits.memory_bytes)
        try:
            answer = answered(reader, data, facts["name"], limits)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        faulthandler.cancel_dump_traceback_later()
        send(answers, answer)


def answered(reader: Reader, data: bytes, name: str, limits: ReadLimits) -> bytes:
    """The document as JSON, or the reason why there is none."""
    try:
        document = reader.read(data, name, limits)
    except MnemicError as error:
        return _failure(error)
    except RecursionError:
        from mnemic.adapters.readers import refusals

        return _failure(refusals.broken(name, "a document", "nested too deeply"))
    facts = asdict(document) | {"metadata": dict(document.metadata)}
    return json.dumps({"document": facts}).encode()


def document_from(facts: dict[str, Any]) -> ReadDocument:
    """Parse an answer. Raises `MnemicError`, `KeyError`, `TypeError` or `ValueError` if it is invalid."""
    from mnemic.model.document import Heading

    return ReadDocument(
        title=str(facts["title"]),
        media_type=str(facts["media_type"]),
        text=str(facts["text"]),
        pages=tuple(int(page) for page in facts["pages"]),
        headings=tuple(
            Heading(int(each["offset"]), int(each["level"]), str(each["title"])) for each in facts["headings"]
        ),
        metadata={str(key): str(value) for key, value in facts["metadata"].items()},
    )


def limit_memory(memory_bytes: int) -> None:
    """Limit the memory of this process, if the system supports it."""
    if sys.platform == "win32":
        return
    resource = importlib.import_module("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _failure(error: MnemicError) -> bytes:
    reason = error.reason if isinstance(error, UnreadableError) else Unreadable.CRASH
    kind = "unreadable" if isinstance(error, UnreadableError) else "config"
    return json.dumps({"error": kind, "reason": reason, "message": str(error)}).encode()
