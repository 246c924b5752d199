"""Dims, prefixes, pooling and maximum length of published embedding models, and checks of embedding results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from mnemic.errors import BadReplyError
from mnemic.model.candidates import Space
from mnemic.ports.models import Vectors


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model. `dims` 0: unknown. `max_tokens`: the model's limit in its own tokens."""

    name: str
    dims: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""
    max_tokens: int = 512

    def with_prefixes(self, query: str | None, document: str | None) -> KnownModel:
        """The same model with other prefixes. None keeps the known one."""
        return replace(
            self,
            query_prefix=self.query_prefix if query is None else query,
            document_prefix=self.document_prefix if document is None else document,
        )

    def space(
        self, model: str, precision: str, dims: int, *, revision: str = "", pooling: str = "as published"
    ) -> Space:
        """The space of the model in a technology. `pooling`: used if the model's own is unknown."""
        return Space(
            model=model,
            revision=revision,
            precision=precision,
            dims=dims,
            pooling=self.pooling or pooling,
            query_prefix=self.query_prefix,
            document_prefix=self.document_prefix,
            max_tokens=self.max_tokens,
        )


def known_model(name: str) -> KnownModel:
    """Look up a model under any of its names. An unknown one gets no prefixes, dims 0 and 512 tokens."""
    return replace(_load_known().get(plain_name(name), KnownModel(name)), name=name)


def plain_name(name: str) -> str:
    """The name without publisher, tag, file format and quantisation suffix."""
    plain = name.lower().rpartition("/")[2].partition(":")[0]
    for ending in ("-gguf", "-onnx", "-q"):
        plain = plain.removesuffix(ending)
    return plain


@cache
def _load_known() -> dict[str, KnownModel]:
    """Models by plain name. `known.json` has a row per family, with the dims of each model."""
    families = json.loads(Path(__file__).with_name("known.json").read_text(encoding="utf-8"))
    return {name: KnownModel(name, dims, **shared) for shared in families for name, dims in shared.pop("dims").items()}


def rows_of(texts: Sequence[str], dims: int, embed: Callable[[list[str]], Vectors]) -> Vectors:
    """`(n, dims) float32`: embeddings of the texts. Blank texts get zero rows without a call."""
    rows = np.zeros((len(texts), dims), dtype=np.float32)
    places = [place for place, text in enumerate(texts) if text and not text.isspace()]
    if places:
        rows[places] = embed([texts[place] for place in places])
    return rows


def unit_rows(values: ArrayLike, shape: tuple[int, int], source: str) -> Vectors:
    """Unit rows of this shape. Raises `BadReplyError`, naming `source`, for other shapes, non-numbers and zero rows."""
    try:
        rows = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise BadReplyError(f"{source} returned vectors with non-numeric values") from error
    if rows.shape != shape:
        raise BadReplyError(f"{source} returned vectors of shape {rows.shape}; expected {shape}")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BadReplyError(f"{source} returned a vector that contains NaN or infinity")
    if not lengths.all():
        raise BadReplyError(f"{source} returned a zero vector for non-empty text")
    return (rows / lengths).astype(np.float32)
