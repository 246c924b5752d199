"""LangGraph's `SqliteStore`: one namespace per user, and vector search with sqlite-vec."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.protocol import Peer

DIMS = 384
FIELDS = ["text"]
"""Said with every `put`: left to its configuration, the SQLite store embeds the whole value as JSON."""


class LangGraphPeer:
    """Any store of LangGraph: `put`, `batch` and `search` are the same for all."""

    def __init__(self, store: Any, closing: ExitStack) -> None:
        self._store, self._closing = store, closing
        self._put: Any = importlib.import_module("langgraph.store.base").PutOp

    def add(self, user: str, text: str) -> None:
        """`put`."""
        self._store.put(("memories", user), str(uuid.uuid4()), {"text": text}, index=FIELDS)

    def add_many(self, user: str, texts: Sequence[str]) -> None:
        """`batch` of `PutOp`."""
        self._store.batch(
            [self._put(("memories", user), str(uuid.uuid4()), {"text": text}, index=FIELDS) for text in texts]
        )

    def search(self, user: str, query: str, k: int) -> list[str]:
        """`search` in the namespace of the user."""
        return [item.value["text"] for item in self._store.search(("memories", user), query=query, limit=k)]

    def close(self) -> None:
        """Leave the store's context."""
        self._closing.close()


def index_of(embedder: SharedEmbedder) -> dict[str, Any]:
    """The index configuration all LangGraph stores take."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return embedder.embed_documents(list(texts)).tolist()

    return {"dims": DIMS, "embed": embed, "fields": FIELDS}


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """As its documentation opens it: `from_conn_string`, then `setup`."""
    sqlite: Any = importlib.import_module("langgraph.store.sqlite")
    closing = ExitStack()
    store = closing.enter_context(
        sqlite.SqliteStore.from_conn_string(str(folder / "store.db"), index=index_of(embedder))
    )
    store.setup()
    return LangGraphPeer(store, closing)
