"""Provides a Mnemic for drills: the library on one file, with vectors that need no model.

A text has the same vector in every run, so a query with the same text finds it by vector alone, with a similarity of 1.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings
from mnemic.ports.observer import Clock

NEARLY_ONE = 0.999
LARGE_ROWS = 500


def opened(store: Path | str, *, lock_wait_s: float = 60.0, clock: Clock | None = None) -> Mnemic:
    """A Mnemic on `store`, as `Config` takes it. Partitions count as large soon, so that their words are in a file."""
    return Mnemic(parts_of(store, lock_wait_s=lock_wait_s, clock=clock), actor="drill", has_worker=False)


def parts_of(
    store: Path | str, *, lock_wait_s: float = 60.0, clock: Clock | None = None, has_embedder: bool = True
) -> Engine:
    """The parts of such a Mnemic."""
    settings = Settings(large_partition_rows=LARGE_ROWS)
    parts = build(Config(store=str(store), embedder="none", lock_wait_s=lock_wait_s, settings=settings))
    return replace(parts, embedder=SyntheticEmbedder() if has_embedder else None, clock=clock or parts.clock)


def is_found_by_word(mnemic: Mnemic, scope: Scope, text: str) -> bool:
    """True when the last word of `text` finds it as a word, at whatever rank, since these vectors mean nothing."""
    hits = mnemic.recall(scope, text.rsplit(maxsplit=1)[-1], limit=None)
    return any(
        hit.text == text and any(c.feature == "keyword" and c.points > 0 for c in hit.contributions) for hit in hits
    )


def is_found_by_vector(mnemic: Mnemic, scope: Scope, text: str) -> bool:
    """True when the vector of `text` finds it."""
    return text in {hit.text for hit in mnemic.recall(scope, text, min_similarity=NEARLY_ONE)}


def file_problems(path: Path) -> list[str]:
    """What SQLite itself finds wrong with the file."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
    return [] if found == [("ok",)] else [f"integrity_check: {found[0][0]}"]
