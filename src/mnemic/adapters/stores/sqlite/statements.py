"""The statements of this store, and its migrations. SQL is written in `.sql` files and nowhere else."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from mnemic.adapters.sql_files import named_statements
from mnemic.adapters.stores.sql import dialect

_OWN = {"connection", "copying", "filters"}

APPLICATION_ID = 0x4D4E454D  # "MNEM", so that `file` and we can tell a Mnemic store from another SQLite file


def statements(topic: str) -> dict[str, str]:
    """The statements of a topic by name, without a closing semicolon: this store's own, or those of both."""
    if topic in _OWN:
        return named_statements(__package__ or __name__, f"queries/{topic}.sql")
    return dialect.statements("sqlite", topic)


@cache
def migrations() -> list[tuple[int, str]]:
    """(version, script) of every migration, in order."""
    folder = files(__package__ or __name__) / "migrations"
    found = [
        (int(entry.name[:4]), entry.read_text("utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql")
    ]
    return sorted(found)
