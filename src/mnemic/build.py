"""The composition root: from a Config to the parts of an open Mnemic. The only place that names adapters."""

from __future__ import annotations

from mnemic.adapters.clocks.system import SystemClock
from mnemic.adapters.indexes.graphs import GraphKeeper
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counter import CounterObserver
from mnemic.config import Config
from mnemic.engine.parts import Parts
from mnemic.errors import BackendError, ConfigError
from mnemic.ports.embedder import Embedder
from mnemic.ports.index import Index
from mnemic.ports.reranker import Reranker
from mnemic.ports.store import Store
from mnemic.text.analyser import Analyser


def build(config: Config) -> Parts:
    """The parts that `config` asks for. Raises `ConfigError` when it asks for something that is not there."""
    embedder = _embedder(config)
    return Parts(
        store=_store(config),
        index=_index(config),
        embedder=embedder,
        clock=SystemClock(),
        observer=CounterObserver(),
        reranker=_reranker(config),
        settings=config.settings,
    )


def _reranker(config: Config) -> Reranker | None:
    if config.reranker == "none":
        return None
    from mnemic.adapters.rerankers.registry import open_reranker

    return open_reranker(config.reranker, config.reranker_options)


def _store(config: Config) -> Store:
    if config.postgres_url is not None:
        return _postgres(config.postgres_url, config)
    path = config.sqlite_path
    if path is None:
        from mnemic.adapters.stores.memory import MemoryStore

        return MemoryStore()
    from mnemic.adapters.stores.sqlite import SqliteStore

    return SqliteStore(path, lock_wait_s=config.lock_wait_s)


def _postgres(url: str, config: Config) -> Store:
    try:
        from mnemic.adapters.stores.postgres import PostgresStore
    except ImportError as error:
        raise ConfigError(
            f"a PostgreSQL store needs a driver that is not here ({error}): run `pip install 'mnemic[postgres]'`"
        ) from error
    return PostgresStore(url, lock_wait_s=config.lock_wait_s)


def _index(config: Config) -> Index:
    """All in memory; a store in a file has room beside it for what large partitions need."""
    path, settings = config.sqlite_path, config.settings
    folder = None if path is None else path.with_name(f"{path.name}.index")
    scan = ScanIndex(
        budget_bytes=config.index_budget_bytes,
        exact_rows=settings.exact_partition_rows,
        keyword_rows=settings.keyword_candidates,
        graphs=GraphKeeper(None if folder is None else folder / "graphs"),
    )
    if folder is None:
        return scan
    from mnemic.adapters.indexes.fts5 import Fts5Index
    from mnemic.adapters.indexes.tiered import TieredIndex

    words = Fts5Index(folder / "fts5.db", analyser=Analyser().name)
    return TieredIndex(scan, words, threshold_rows=config.settings.large_partition_rows)


def _embedder(config: Config) -> Embedder | None:
    """The embedder, None for "none". Its space is asked for here: a server that must tell its dims, and is down, is an
    error of opening, and of nothing later.
    """
    if config.embedder == "none":
        return None
    from mnemic.adapters.embedders.registry import open_embedder

    embedder = open_embedder(config.embedder, config.embedder_options)
    try:
        dims = embedder.space.dims
    except BackendError as error:
        embedder.close()
        raise ConfigError(f"{error}; to open without it, declare the embedder's option dims") from error
    if config.embedder_dims not in (None, dims):
        embedder.close()
        raise ConfigError(f"{config.embedder} makes vectors of {dims} dims, not {config.embedder_dims}")
    return embedder
