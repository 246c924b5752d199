"""Reads the named statements of `.sql` files beside their adapters. All SQL is there. Also waits for SQLite's locks."""

import re
import sqlite3
import time
from functools import cache
from importlib.resources import files

_PAUSE_S = 0.001  # between two attempts: a commit and a switch to WAL take a few milliseconds
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def named_statements(package: str, path: str) -> dict[str, str]:
    """The statements of a file by name, each below a line `-- name: its_name`, without a closing semicolon."""
    parts = _NAME.split(files(package).joinpath(path).read_text("utf-8"))
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def numbered_scripts(package: str, folder: str) -> list[tuple[int, str]]:
    """(number, text) of every file `NNNN_its_name.sql` in a folder of `package`, in order."""
    entries = [entry for entry in (files(package) / folder).iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name[:4]), entry.read_text("utf-8")) for entry in entries)


def execute_when_unlocked(connection: sqlite3.Connection, statement: str, wait_s: float) -> None:
    """Execute a statement once no other process has the lock that it needs, if that takes at most `wait_s`. The switch
    to WAL does not wait by itself. Other waits of SQLite grow to 100 ms, and later callers overtake.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _LOCKED or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
