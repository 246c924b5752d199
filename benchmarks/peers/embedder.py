"""Provides the embedder that all projects share: Mnemic's MiniLM, with precomputed vectors for large sets."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from mnemic.adapters.embedders.minilm import DIMS, MinilmEmbedder
from mnemic.model.candidates import Space
from mnemic.ports.models import EmbedderCapabilities, Vectors

BATCH = 1024
COMPLETE = "texts.json"
"""Written last: a folder that has it has everything."""


class SharedEmbedder:
    """Mnemic's port for embedders, which every peer's script adapts to what its peer wants to be given.

    `seconds` and `processor_s`: spent here since the object was made, by the clock and by the processor in all threads
    of the process; taken from those of a call, they leave what the memory itself took.
    A text that is in `folder` (see `precompute`) costs a look-up, any other a run of the model.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._inner = MinilmEmbedder()
        self._places: dict[str, int] = {}
        self._vectors: Vectors = np.zeros((0, DIMS), dtype=np.float32)
        self.seconds = self.processor_s = 0.0
        if folder is not None:
            self._places = {t: i for i, t in enumerate(json.loads((folder / COMPLETE).read_text("utf-8")))}
            self._vectors = np.load(folder / "vectors.npy", mmap_mode="r")

    @property
    def space(self) -> Space:
        """That of the shipped model."""
        return self._inner.space

    @property
    def capabilities(self) -> EmbedderCapabilities:
        """Those of the shipped model."""
        return self._inner.capabilities

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, one row per text."""
        start, processor = time.perf_counter(), time.process_time()
        vectors = np.zeros((len(texts), DIMS), dtype=np.float32)
        missing: list[int] = []
        for row, text in enumerate(texts):
            place = self._places.get(text)
            if place is None:
                missing.append(row)
            else:
                vectors[row] = self._vectors[place]
        if missing:
            vectors[missing] = self._inner.embed_documents([texts[row] for row in missing])
        self.seconds += time.perf_counter() - start
        self.processor_s += time.process_time() - processor
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As `embed_documents`: the model knows no difference."""
        return self.embed_documents(texts)

    def one(self, text: str) -> list[float]:
        """The vector of one text as a list, which is what most peers take."""
        return self.embed_documents([text])[0].tolist()

    def close(self) -> None:
        """Free the model."""
        self._inner.close()


def precompute(folder: Path, texts: Iterable[str]) -> None:
    """Write the vectors of texts into a folder for `SharedEmbedder`."""
    kept = list(dict.fromkeys(texts))
    folder.mkdir(parents=True, exist_ok=True)
    embedder = MinilmEmbedder()
    vectors = np.zeros((len(kept), DIMS), dtype=np.float32)
    for place in range(0, len(kept), BATCH):
        vectors[place : place + BATCH] = embedder.embed_documents(kept[place : place + BATCH])
    np.save(folder / "vectors.npy", vectors)
    (folder / COMPLETE).write_text(json.dumps(kept), encoding="utf-8")
