"""MemPalace: drawers in its default store, one wing per user, and its hybrid search."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Peer, PeerError


class MemPalacePeer:
    """Drawers are written as its miner writes them: `upsert` on the collection of the palace."""

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        embedding: Any = importlib.import_module("mempalace.embedding")
        function: Any = embedding.get_embedding_function(device="cpu", model="minilm").__class__

        def forward(self: object, documents: Sequence[str], batch_size: int = 32) -> object:
            del self, batch_size
            return embedder.embed_documents(list(documents))

        def no_download(self: object) -> None:
            del self

        def given(device: str | None = None, model: str | None = None) -> object:
            del device, model
            return shared

        ours: Any = type("Ours", (function,), {"_forward": forward, "_download_model_if_not_exists": no_download})
        shared: object = ours(preferred_providers=["CPUExecutionProvider"])
        embedding.get_embedding_function = given
        self._palace = str(folder)
        self._get_collection: Any = importlib.import_module("mempalace.palace").get_collection
        self._get_collection(self._palace)
        self._search: Any = importlib.import_module("mempalace.searcher").search_memories

    def add(self, user: str, text: str) -> None:
        """One drawer."""
        self.add_many(user, [text])

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """Many drawers, each of a source of its own, as otherwise its search would keep one per source."""
        ids = [f"drawer_{uuid.uuid4().hex}" for _ in texts]
        about = {"wing": user, "room": "memories", "added_by": "benchmark", "chunk_index": 0}
        filed_at = datetime.now(UTC).isoformat()
        metadatas = [{**about, "source_file": name, "filed_at": filed_at} for name in ids]
        collection = self._get_collection(self._palace)  # anew each time: a search may close the client of an older one
        collection.upsert(ids=ids, documents=list(texts), metadatas=metadatas)

    def search(self, user: str, query: str, k: int) -> list[str]:
        """`search_memories` with its default candidates."""
        found = self._search(query, self._palace, wing=user, n_results=k)
        if "error" in found:
            raise PeerError(found["error"])
        return [hit["text"] for hit in found["results"]]

    def close(self) -> None:
        """The collection is closed with the process; it has nothing else to offer."""


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """A palace in the folder."""
    return MemPalacePeer(folder, embedder)
