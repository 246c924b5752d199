"""Parts at the edge for tests of the engine: a clock one can turn, and a small embedder that can fail."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from mnemic.errors import UnavailableError
from mnemic.model.candidates import Space
from mnemic.model.scope import Scope
from mnemic.ports.models import EmbedderCapabilities, Vectors

ANNA = Scope(org="acme", user="anna", agent="jarvis", session="s1")
BERT = Scope(org="acme", user="bert", agent="jarvis", session="s1")
START = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def turn(self, **by: float) -> None:
        self.at += timedelta(**by)


@dataclass
class WordEmbedder:
    """A bag of hashed words: texts that share words are near. `is_broken` makes every call fail."""

    revision: str = "1"
    dims: int = 64
    is_local: bool = True
    is_broken: bool = False
    calls: list[str] = field(default_factory=list[str])

    @property
    def space(self) -> Space:
        return Space("words", self.revision, "fp32", self.dims, "sum", "", "", 512)

    @property
    def capabilities(self) -> EmbedderCapabilities:
        return EmbedderCapabilities(is_local=self.is_local, is_blocking=False, batch_size=64)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.is_broken:
            raise UnavailableError("the model is away")
        self.calls.extend(texts)
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dims)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)

    def close(self) -> None:
        pass

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dims, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(f"{self.revision}{word}".encode()) % self.dims] += 1.0
        length = np.linalg.norm(vector)
        return (vector / length).astype(np.float32) if length else vector
