"""The composition root: from a Config to the parts of an open Mnemic. The only place that names adapters."""

from __future__ import annotations

from mnemic.adapters.clocks.system import SystemClock
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counter import CounterObserver
from mnemic.config import Config
from mnemic.engine.parts import Parts
from mnemic.errors import ConfigError
from mnemic.ports.embedder import Embedder
from mnemic.ports.store import Store


def build(config: Config) -> Parts:
    """The parts that `config` asks for. Raises `ConfigError` when it asks for something that is not there."""
    return Parts(
        store=_store(config),
        index=ScanIndex(budget_bytes=config.index_budget_bytes),
        embedder=_embedder(config.embedder),
        clock=SystemClock(),
        observer=CounterObserver(),
        settings=config.settings,
    )


def _store(config: Config) -> Store:
    path = config.sqlite_path
    if path is None:
        from mnemic.adapters.stores.memory import MemoryStore

        return MemoryStore()
    from mnemic.adapters.stores.sqlite import SqliteStore

    return SqliteStore(path, lock_wait_s=config.lock_wait_s)


def _embedder(name: str) -> Embedder | None:
    if name == "none":
        return None
    if name == "minilm":
        from mnemic.adapters.embedders.minilm import MinilmEmbedder

        return MinilmEmbedder()
    raise ConfigError(f"embedder {name!r} is not known; there are minilm and none")
