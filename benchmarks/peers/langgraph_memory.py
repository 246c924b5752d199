"""LangGraph's `InMemoryStore`, which writes nothing to disk."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.peers.embedder import SharedEmbedder
from benchmarks.peers.langgraph_sqlite import LangGraphPeer, index_of
from benchmarks.peers.protocol import Peer


def open_peer(folder: Path, embedder: SharedEmbedder) -> Peer:
    """The folder stays empty."""
    del folder
    memory: Any = importlib.import_module("langgraph.store.memory")
    return LangGraphPeer(memory.InMemoryStore(index=index_of(embedder)), ExitStack())
