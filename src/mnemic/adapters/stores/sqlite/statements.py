"""Reads the named statements of the `.sql` files beside this module. SQL is written there and nowhere else."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements(topic: str) -> dict[str, str]:
    """The statements of `queries/<topic>.sql` by name, without a closing semicolon."""
    text = (files(__package__ or __name__) / "queries" / f"{topic}.sql").read_text("utf-8")
    parts = _NAME.split(text)
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def migrations() -> list[tuple[int, str]]:
    """(version, script) of every migration, in order."""
    folder = files(__package__ or __name__) / "migrations"
    found = [
        (int(entry.name[:4]), entry.read_text("utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql")
    ]
    return sorted(found)
