"""mem0 without a language model: `add(infer=False)`, Qdrant's local mode on disk, `user_id` as the scope."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Peer, PeerError

DIMS = 384


class Embedding:
    """What mem0 asks of an embedding model."""

    def __init__(self, embedder: SharedEmbedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector; the action makes no difference to this model."""
        del memory_action
        return self._embedder.one(text)

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Many vectors."""
        del memory_action
        return self._embedder.embed_documents(texts).tolist()


class Mem0Peer:
    """Its keyword part needs a model that is fetched when it is first used, so search is by vectors only here."""

    def __init__(self, folder: Path, embedder: SharedEmbedder) -> None:
        module: Any = importlib.import_module("mem0")
        store = {"collection_name": "memory", "path": str(folder / "qdrant"), "embedding_model_dims": DIMS}
        key = {"api_key": "never used"}  # the clients of model and embedder are made, but not asked
        self._memory: Any = module.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**store, "on_disk": True}},
                "embedder": {"provider": "openai", "config": key},
                "llm": {"provider": "openai", "config": key},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = Embedding(embedder)

    def add(self, user: str, text: str) -> None:
        """`add` of one message."""
        self.add_many(user, [text])

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """`add` of many messages, which keeps them one after the other."""
        messages = [{"role": "user", "content": text} for text in texts]
        kept = self._memory.add(messages, user_id=user, infer=False)["results"]
        if len(kept) != len(texts):
            raise PeerError(f"{len(kept)} of {len(texts)} kept")

    def search(self, user: str, query: str, k: int) -> list[str]:
        """`search`, with its threshold off: a limit on hits is the only limit of the others."""
        found = self._memory.search(query, filters={"user_id": user}, top_k=k, threshold=0.0)
        return [hit["memory"] for hit in found["results"]]

    def close(self) -> None:
        """`close`, and the client of Qdrant."""
        self._memory.close()
        self._memory.vector_store.client.close()


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """Everything on disk, nothing inferred."""
    return Mem0Peer(folder, embedder)
