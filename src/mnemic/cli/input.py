"""Input beside options: texts and messages from standard input, files, and JSON in options; and whole files out."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

from mnemic.errors import InvalidInputError

STDIN = "-"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_text(text: str) -> str:
    """`text` itself, or, for "-", standard input without its last line end. Raises `InvalidInputError` for bytes
    that are not UTF-8.
    """
    if text != STDIN:
        return text
    content = _read_stdin()
    return content.removesuffix("\n").removesuffix("\r") if content.endswith("\n") else content


def read_file(name: str) -> str | bytes:
    """The content of a text file, or, for "-", of standard input; a byte order mark at its start is dropped. Of a
    database of SQLite, and of a zip archive, its bytes.

    Raises `InvalidInputError`, naming the file and what is wrong with it.
    """
    try:
        content = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{name} cannot be read: {error.strerror}") from error
    from mnemic.text.memoryfiles import ARCHIVE_MARK, DATABASE_MARK

    if content.startswith((DATABASE_MARK, ARCHIVE_MARK)):
        return content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = content.count(b"\n", 0, error.start) + 1
        hint = "; it looks like UTF-16" if content[:2] in _UTF16_MARKS else ""
        raise InvalidInputError(
            f"{name} is not UTF-8 text (line {place}){hint}; save it as UTF-8 and try again, or run `mnemic ingest` "
            "for a document"
        ) from error


def read_stdin_messages() -> list[object]:
    """Messages on standard input: a JSON list, an object with a list `messages`, one message, or one per line.

    Raises `InvalidInputError`, naming the line, for what is not JSON.
    """
    content = _read_stdin()
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return _read_json_lines(content)
    if isinstance(whole, dict) and isinstance(listed := cast("dict[str, object]", whole).get("messages"), list):
        return cast("list[object]", listed)
    return cast("list[object]", whole) if isinstance(whole, list) else [cast("object", whole)]


def parse_json_object(text: str | None, name: str) -> Mapping[str, object] | None:
    """The JSON object in an option; None stays None. Raises `InvalidInputError` naming the option."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f'{name} must be a JSON object such as {{"key": "value"}}')
    return cast("dict[str, object]", value)


@contextmanager
def open_replacement(path: Path, *, keeps_mode: bool = False) -> Generator[TextIO]:
    """A text file that takes the place of `path` when it is complete and on the disk. What fails or is interrupted
    leaves nothing. Only its owner may read it, or with `keeps_mode` the readers of the old file.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:50]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if keeps_mode and path.exists():
            shutil.copymode(path, name)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _read_json_lines(content: str) -> list[object]:
    messages: list[object] = []
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            try:
                messages.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(f"line {number} of standard input is not JSON: {error}") from error
    return messages


def _read_stdin() -> str:
    """Bytes, decoded here: a text stream would turn line ends around and follow the locale."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"standard input is not UTF-8: {error}") from error
