"""Defines what a project must provide to be measured, and what it gets: its own folder, and the shared embedder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from benchmarks.peers.embedder import SharedEmbedder


class Peer(Protocol):
    """An open memory of several users, used as its own documentation shows."""

    def add(self, user: str, text: str) -> None:
        """Keep one text; back only when the peer calls it kept. Raises where the peer says that it did not."""
        ...

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """The same for many, by the peer's own way for many where it has one."""
        ...

    def search(self, user: str, query: str, k: int) -> list[str]:
        """At most k texts of this user, best first, by the peer's own search."""
        ...

    def close(self) -> None:
        """End as the peer wants to be ended."""
        ...


class Opener(Protocol):
    """`open_peer` of a peer's script."""

    def __call__(self, folder: Path, embedder: SharedEmbedder) -> Peer:
        """Open, or create, the memory in a folder."""
        ...


class PeerError(Exception):
    """A peer answered that it did not keep something."""
