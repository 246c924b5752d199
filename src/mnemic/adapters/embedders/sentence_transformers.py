"""Embeds with the package sentence-transformers (needs torch). Downloads a model by name unless given a folder."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic.adapters.embedders.known import known_model, rows_of, unit_rows
from mnemic.adapters.extras import import_extra
from mnemic.errors import BackendError, ConfigError
from mnemic.model.candidates import Space
from mnemic.ports.models import Embedder, EmbedderCapabilities, Vectors

DEFAULT_MODEL = "all-MiniLM-L6-v2"
BATCH_TEXTS = 32  # the package's default; larger needs more memory


class SentenceTransformersEmbedder:
    """A sentence-transformers model. Prefixes of known models are added here; configure others."""

    capabilities = EmbedderCapabilities(is_local=True, is_blocking=False, batch_size=BATCH_TEXTS)

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        device: str | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> None:
        """`model`: a name or folder. `device`: "cuda", …. Loads no model. Raises `ConfigError` without the extra."""
        self._package: Any = import_extra("sentence_transformers", "sentence-transformers")
        self._known = known_model(model).with_prefixes(query_prefix, document_prefix)
        self._source = model
        self._device = device
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        """The model's space. Loads the model to learn its dims and length. Raises `ConfigError`."""
        return self._space

    @cached_property
    def _space(self) -> Space:
        model = self._model
        known = replace(self._known, max_tokens=int(model.max_seq_length or self._known.max_tokens))
        return known.space(Path(self._source).name, "fp32", int(_dims(model)))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return rows_of(texts, self.space.dims, lambda wanted: self._encode(wanted, self._known.document_prefix))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return rows_of(texts, self.space.dims, lambda wanted: self._encode(wanted, self._known.query_prefix))

    def close(self) -> None:
        """Nothing to do."""

    def _encode(self, texts: list[str], prefix: str) -> Vectors:
        """Embed one call at a time: torch uses all cores. The model's own prompts are not used."""
        try:
            with self._lock:
                rows = self._model.encode(
                    [prefix + text for text in texts],
                    prompt="",
                    batch_size=BATCH_TEXTS,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
        except RuntimeError as error:
            raise BackendError(
                f"sentence-transformers failed to embed {len(texts)} texts ({type(error).__name__})"
            ) from error
        return unit_rows(rows, (len(texts), self.space.dims), "sentence-transformers")

    @cached_property
    def _model(self) -> Any:
        try:
            return self._package.SentenceTransformer(self._source, device=self._device)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"sentence-transformers cannot load {self._source!r} ({type(error).__name__}): download it once "
                "while online, or set the model to the folder that contains its files"
            ) from error


def _dims(model: Any) -> int:
    """The number of dims, by the current method name or the one before version 5.3."""
    ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    return ask()


if TYPE_CHECKING:
    _: type[Embedder] = SentenceTransformersEmbedder
