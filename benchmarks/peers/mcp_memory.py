"""mcp-memory-service: its SQLite store, one `store` partition per user, and its hybrid search."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Peer, PeerError

PACKAGE = "mcp_memory_service"


class Model:
    """What it asks of a sentence-transformers model."""

    def __init__(self, embedder: SharedEmbedder) -> None:
        self._embedder = embedder

    def encode(self, texts: Sequence[str], **options: object) -> NDArray[Any]:
        """One row per text."""
        del options
        return self._embedder.embed_documents(list(texts))


class McpMemoryPeer:
    """Its verbs are coroutines; they run on one event loop here."""

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        storage: Any = importlib.import_module(f"{PACKAGE}.storage.sqlite_vec").SqliteVecMemoryStorage
        self._memory: Any = importlib.import_module(f"{PACKAGE}.models.memory").Memory
        self._hash: Any = importlib.import_module(f"{PACKAGE}.utils.hashing").generate_content_hash

        async def model(self: Any) -> None:
            self.embedding_model = Model(embedder)

        ours: Any = type("Storage", (storage,), {"_initialize_embedding_model": model})
        self._storage: Any = ours(str(folder / "memory.db"))
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._storage.initialize())

    def add(self, user: str, text: str) -> None:
        """`store`."""
        kept, why = self._loop.run_until_complete(self._storage.store(self._drafted(text), store=user))
        if not kept:
            raise PeerError(why)

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """`store_batch`: one transaction."""
        drafts = [self._drafted(text) for text in dict.fromkeys(texts)]
        answers = self._loop.run_until_complete(self._storage.store_batch(drafts, store=user))
        refused = [why for kept, why in answers if not kept]
        if refused:
            raise PeerError(f"{len(refused)} of {len(texts)}: {refused[0]}")

    def search(self, user: str, query: str, k: int) -> list[str]:
        """`retrieve_hybrid` in the partition of the user."""
        found = self._loop.run_until_complete(self._storage.retrieve_hybrid(query, n_results=k, store=user))
        return [result.memory.content for result in found]

    def close(self) -> None:
        """`close`."""
        self._loop.run_until_complete(self._storage.close())
        self._loop.close()

    def _drafted(self, text: str) -> Any:
        return self._memory(content=text, content_hash=self._hash(text))


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """Its duplicate check by meaning is switched off by the driver: it would refuse texts that the others keep."""
    return McpMemoryPeer(folder, embedder)
