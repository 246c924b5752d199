"""The baseline: only SQLite FTS5. A search matches any of the question's words and orders results by BM25."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Peer

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an the and or but if of in on at to for with by from as is are was were be been am do does did has have had
        i me my you your he him his she her it its we us our they them their this that these those what which who whom
        whose when where why how not no so than then there can could will would should""",
    )
)


class Fts5Peer:
    """One table of user and text."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=30)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5(user UNINDEXED, text, tokenize = 'porter unicode61')"
        )

    def add(self, user: str, text: str) -> None:
        """One row, one transaction."""
        self.add_many(user, [text])

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """Many rows, one transaction."""
        with self._db:
            self._db.executemany("INSERT INTO memory VALUES (?, ?)", [(user, text) for text in texts])

    def search(self, user: str, query: str, k: int) -> list[str]:
        """Rows of the user with at least one of the words."""
        words = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS]
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        found = "SELECT text FROM memory WHERE memory MATCH ? AND user = ? ORDER BY rank LIMIT ?"
        return [text for (text,) in self._db.execute(found, (match, user, k))] if match else []

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """The embedder is not used."""
    del embedder
    return Fts5Peer(folder / "memory.db")
