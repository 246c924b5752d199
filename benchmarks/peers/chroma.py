"""Chroma: one collection on disk, the user as metadata, and a `where` filter in every query."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Peer


class ChromaPeer:
    """Vectors are handed over, so that no embedding function of its own runs."""

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        chromadb: Any = importlib.import_module("chromadb")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self._client: Any = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._collection: Any = self._client.get_or_create_collection(
            "memory", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._embedder = embedder

    def add(self, user: str, text: str) -> None:
        """`add` of one."""
        self.add_many(user, [text])

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """`add` of many."""
        self._collection.add(
            ids=[str(uuid.uuid4()) for _ in texts],
            documents=list(texts),
            embeddings=self._embedder.embed_documents(texts),
            metadatas=[{"user": user} for _ in texts],
        )

    def search(self, user: str, query: str, k: int) -> list[str]:
        """`query` with the filter."""
        vectors = self._embedder.embed_queries([query])
        found = self._collection.query(query_embeddings=vectors, n_results=k, where={"user": user})
        return list(found["documents"][0])

    def close(self) -> None:
        """`close`, where this version has it."""
        self._client.close()


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """A `PersistentClient` with its defaults, cosine distance."""
    return ChromaPeer(folder, embedder)
