"""A Mnemic for drills: the library on one file, with vectors that need no model, so that the store is what is drilled.

A text has the same vector on every run, so that asking for it by vector alone finds it with similarity 1.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.settings import Settings
from mnemic.ports.clock import Clock

NEARLY_ONE = 0.999
LARGE_ROWS = 500


def opened(store: Path | str, *, lock_wait_s: float = 60.0, clock: Clock | None = None) -> Mnemic:
    """A Mnemic on `store`, as `Config` takes it. Partitions count as large soon, so that their words are in a file."""
    settings = Settings(large_partition_rows=LARGE_ROWS)
    parts = build(Config(store=str(store), embedder="none", lock_wait_s=lock_wait_s, settings=settings))
    return Mnemic(replace(parts, embedder=SyntheticEmbedder(), clock=clock or parts.clock), actor="drill")


def file_problems(path: Path) -> list[str]:
    """What SQLite itself finds wrong with the file."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
    return [] if found == [("ok",)] else [f"integrity_check: {found[0][0]}"]
