"""The public memory primitive: `store`, `retrieve`, `delete`, `clear` over five technologies, or your own.

    from mnemic.backends import MemoryRegistry

    backend = MemoryRegistry.create("sqlite", db_path="notes.db")

One object is one namespace without scopes, trust or history. `Mnemic` has those and does not use these backends. Split
long texts with `chunk_text` and files with `ingest_path`. `inject_context` adds results to a model's prompt, and
`open_backend` follows a configuration.
"""

from mnemic.backends.faiss import Embedder, PortEmbedder, SentenceTransformerEmbedder, open_embedder
from mnemic.backends.ingestion import Ingested, chunk_config, ingest_path
from mnemic.backends.injection import ContextConfig, context_config, inject_context
from mnemic.backends.primitive import FACTS, BackendFacts, MemoryBackend, MemoryRegistry, RetrievalResult, open_backend
from mnemic.text.chunking import Chunk, ChunkConfig, chunk_text

__all__ = [
    "FACTS",
    "BackendFacts",
    "Chunk",
    "ChunkConfig",
    "ContextConfig",
    "Embedder",
    "Ingested",
    "MemoryBackend",
    "MemoryRegistry",
    "PortEmbedder",
    "RetrievalResult",
    "SentenceTransformerEmbedder",
    "chunk_config",
    "chunk_text",
    "context_config",
    "ingest_path",
    "inject_context",
    "open_backend",
    "open_embedder",
]
