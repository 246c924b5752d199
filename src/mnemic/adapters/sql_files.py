"""Reads the named statements of `.sql` files beside their adapters. All SQL is there. And SQLite's switch to WAL, which
every file of ours needs.
"""

import re
import sqlite3
import time
from functools import cache
from importlib.resources import files

_SWITCH_PAUSE_S = 0.01  # between two attempts: the other process switches within milliseconds
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


def switch_to_write_ahead(connection: sqlite3.Connection, statement: str, wait_s: float) -> None:
    """Switch to WAL. That needs exclusive access for a moment and, unlike a transaction, does not wait for it."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _LOCKED or time.monotonic() > deadline:
                raise
            time.sleep(_SWITCH_PAUSE_S)
        else:
            return
