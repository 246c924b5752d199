"""The statements of this store, and its migrations. SQL is written in `.sql` files and nowhere else."""

from __future__ import annotations

from mnemic.adapters.sql_files import named_statements, numbered_scripts
from mnemic.adapters.stores.sql import dialect

_OWN = {"connection", "copying", "filters"}


def statements(topic: str) -> dict[str, str]:
    """The statements of a topic by name, without a closing semicolon: this store's own, or those of both."""
    if topic in _OWN:
        return named_statements(__package__ or __name__, f"queries/{topic}.sql")
    return dialect.statements("postgres", topic)


def migrations() -> list[tuple[int, str]]:
    """(version, script) of every migration, in order."""
    return numbered_scripts(__package__ or __name__, "migrations")
