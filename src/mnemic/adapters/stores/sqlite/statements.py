"""The `.sql` files beside this module: named statements and migrations. SQL is written there and nowhere else."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from mnemic.adapters.sql_files import named_statements

APPLICATION_ID = 0x4D4E454D  # "MNEM", so that `file` and we can tell a Mnemic store from another SQLite file


def statements(topic: str) -> dict[str, str]:
    """The statements of `queries/<topic>.sql` by name, without a closing semicolon."""
    return named_statements(__package__ or __name__, f"queries/{topic}.sql")


@cache
def migrations() -> list[tuple[int, str]]:
    """(version, script) of every migration, in order."""
    folder = files(__package__ or __name__) / "migrations"
    found = [
        (int(entry.name[:4]), entry.read_text("utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql")
    ]
    return sorted(found)
