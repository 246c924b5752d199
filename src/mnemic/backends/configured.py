"""The memory primitive as a configuration says: which backend, what injection takes, how long texts are cut.

config = load_config()
with closing(open_backend(config)) as backend:
    messages = inject_context(query, messages, backend, config=context_config(config))
"""

from __future__ import annotations

from mnemic.backends.injection import DEFAULT_MIN_SCORE, ContextConfig
from mnemic.backends.primitive import MemoryBackend
from mnemic.backends.registry import MemoryRegistry
from mnemic.config import Config, load_config
from mnemic.text.chunking import DEFAULT_MIN_CHUNK_SIZE, ChunkConfig


def open_backend(config: Config | None = None) -> MemoryBackend:
    """The backend that `tools.storage.default_backend` names, over the file of `db_path` where it keeps its data in
    one; in memory and hybrid backends, and others that take no `db_path`, go without. None means the configuration
    that counts (`mnemic.config.load_config`).

    Raises `ConfigError` for a name nobody knows, and with the line to run when a package is missing.
    """
    settings = (config or load_config()).backend
    has_file = settings.db_path is not None and MemoryRegistry.takes(settings.name, "db_path")
    return MemoryRegistry.create(settings.name, **({"db_path": settings.db_path} if has_file else {}))


def context_config(config: Config | None = None) -> ContextConfig:
    """What `inject_context` takes: `agent.context_from_memory` and the keys `context_…` of `tools.storage`."""
    config = config or load_config()
    settings = config.backend
    return ContextConfig(
        enabled=config.injects_context,
        top_k=settings.top_k,
        min_score=DEFAULT_MIN_SCORE if settings.min_score is None else settings.min_score,
        max_context_tokens=settings.max_tokens,
    )


def chunk_config(config: Config | None = None) -> ChunkConfig:
    """What `chunk_text` and `ingest_path` take: the keys `chunk_…` of `tools.storage`. Where chunks are smaller than
    the usual minimum, their size is the minimum.
    """
    settings = (config or load_config()).backend
    return ChunkConfig(
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.chunk_overlap,
        min_chunk_size=min(DEFAULT_MIN_CHUNK_SIZE, settings.chunk_size),
    )
