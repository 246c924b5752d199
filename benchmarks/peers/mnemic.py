"""Mnemic: `remember` and `recall` at user level, in the embedded store with default settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Peer
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.model.scope import Scope


class MnemicPeer:
    """One store, a scope per user."""

    def __init__(self, mnemic: Mnemic) -> None:
        self._mnemic = mnemic

    def add(self, user: str, text: str) -> None:
        """`remember`."""
        self._mnemic.remember(Scope(user=user), text)

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """`remember_many`: one transaction."""
        self._mnemic.remember_many(Scope(user=user), texts)

    def search(self, user: str, query: str, k: int) -> list[str]:
        """`recall`; what is only general background does not count as found."""
        recall = self._mnemic.recall(Scope(user=user), query, limit=k)
        return [] if recall.is_fallback else [hit.text for hit in recall.hits]

    def close(self) -> None:
        """`close`."""
        self._mnemic.close()


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """As `Mnemic.open(path)`, with the shared embedder in the place of the same model."""
    parts = build(Config(store=str(folder / "memory.db"), embedder="none"))
    return MnemicPeer(Mnemic(replace(parts, embedder=embedder), has_worker=False))
