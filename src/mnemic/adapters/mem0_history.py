"""Reads the database of mem0's history as the JSON lines that `text.memoryfiles` parses. The database is untrusted: it
is opened in memory, nothing in its schema is run, and the work is bounded.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from mnemic.adapters.sql_files import named_statements
from mnemic.errors import InvalidInputError

MAX_ROWS = 1_000_000  # bounds memory: all rows are held while they become JSON
MAX_STEPS = 200
"""Limit of database work, in millions of steps. Reading this many rows takes a tenth of it."""

MAX_VALUE_BYTES = 16_000_000  # SQLite refuses a longer text, so that a forged file cannot fill the memory
MAX_GROWTH = 10
"""Maximum size as JSON, relative to the database. More is computed, not stored."""

TABLES = ("history", "messages")
_STEPS_A_CHECK = 1_000_000  # a few milliseconds; fewer slow SQLite down
_FORMAT_VERSIONS = slice(18, 20)
_NO_WAL = b"\x01\x01"
"""In memory there is no log. Data that was only in a log was not imported anyway."""


def history_lines(content: bytes) -> str:
    """One JSON line per row of the tables `history` and `messages`. Raises `InvalidInputError` for a database that is
    broken, has no table `history`, or takes too long to read.
    """
    statements = named_statements("mnemic.adapters", "mem0_history.sql")
    steps = 0

    def is_over() -> bool:
        nonlocal steps
        steps += 1
        return steps > MAX_STEPS

    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(content[: _FORMAT_VERSIONS.start] + _NO_WAL + content[_FORMAT_VERSIONS.stop :])
            connection.set_progress_handler(is_over, _STEPS_A_CHECK)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            connection.row_factory = sqlite3.Row
            for name in ("untrusted", "checked"):
                connection.execute(statements[name])
            there = [
                name for name in TABLES if connection.execute(statements["is_table"], {"name": name}).fetchone()[0]
            ]
            if "history" not in there:
                raise InvalidInputError(
                    "this database has no table `history`, so it is not a mem0 history. For other stores, "
                    "save the output of mem0's `get_all` to a file and import that file"
                )
            room = MAX_GROWTH * len(content)
            lines: list[str] = []
            for line in (line for name in there for line in _rows(connection, statements[name])):
                lines.append(line)
                room -= len(line)
                if room < 0:
                    raise InvalidInputError(
                        "this database contains computed columns or views; it was not written by mem0"
                    )
            return "\n".join(lines)
    except sqlite3.Error as error:
        raise InvalidInputError(f"this database cannot be read: {error}") from error


def _rows(connection: sqlite3.Connection, statement: str) -> Iterator[str]:
    for number, row in enumerate(connection.execute(statement)):
        if number == MAX_ROWS:
            raise InvalidInputError(f"this database contains more than {MAX_ROWS:,} rows")
        fields = {key: _plain(row[key]) for key in row.keys()}  # noqa: SIM118 -- a Row iterates over its values
        yield json.dumps(fields, ensure_ascii=False)


def _plain(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
