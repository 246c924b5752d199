"""The embedder of the memory primitive: texts in, a table of vectors out.

A thin face of the port `mnemic.ports.models`: whoever brings a model of his own writes two methods; every embedder
that Mnemic knows by name comes in through `PortEmbedder`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

from mnemic.adapters.embedders.registry import open_embedder
from mnemic.ports import models as port
from mnemic.ports.models import Vectors

DEFAULT_EMBEDDER = "minilm"
"""all-MiniLM-L6-v2 with 384 components, in 8 bits, from files that come with Mnemic: about 22 MB, no download."""

SENTENCE_TRANSFORMERS_EMBEDDER = "sentence-transformers:all-MiniLM-L6-v2"
"""The same model in full precision, by sentence-transformers: the choice of whoever has installed that extra."""


class Embedder(ABC):
    """Turns texts into vectors. Two methods are enough; the others have defaults that fit a model without prefixes."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text in the same order, `(n, dim) float32`; they need not be normalised."""

    @abstractmethod
    def dim(self) -> int:
        """The components of a vector."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Rows of texts that are searched with; as `embed` unless the model treats questions differently."""
        return self.embed(texts)

    @property
    def model(self) -> str:
        """What tells this model from others in a saved file: vectors of two models are never compared."""
        return f"{type(self).__module__}.{type(self).__qualname__}:{self.dim()}"

    def close(self) -> None:  # noqa: B027 -- most models need no closing
        """Let go of the model; closing twice is harmless."""


class PortEmbedder(Embedder):
    """Any embedder of the port; its prefixes stay its own business."""

    def __init__(self, embedder: port.Embedder) -> None:
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that are kept. Raises `BackendError` when the model or its server fails."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that are searched with."""
        return self._embedder.embed_queries(texts)

    def dim(self) -> int:
        """The components of a vector, which a model may have to be loaded for."""
        return self._embedder.space.dims

    @property
    def model(self) -> str:
        """The name of the model and the id of its space."""
        return f"{self._embedder.space.model}:{self._embedder.space.id}"

    def close(self) -> None:
        """Close the embedder of the port."""
        self._embedder.close()


EmbedderChoice: TypeAlias = Embedder | str | None


def chosen_embedder(choice: EmbedderChoice) -> Embedder:
    """The embedder itself, the one of a name that `mnemic.adapters.embedders.registry` knows, or for None the default.

    Raises `ConfigError` for an unknown name, and with the line to run when the package of a name is not installed.
    """
    if isinstance(choice, Embedder):
        return choice
    return PortEmbedder(open_embedder(choice or DEFAULT_EMBEDDER))
