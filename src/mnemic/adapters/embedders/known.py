"""Dims, prefixes, pooling and length of published embedding models, from their authors' model cards.

What every embedder does with rows: blank texts get the zero row without a call, all others a checked unit row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from mnemic.errors import BadReplyError
from mnemic.model.candidates import Space
from mnemic.ports.models import Vectors

BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
"""What the authors of BGE, mxbai and Arctic Embed put before an English query; documents get nothing."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One model. `dims` 0: not known. `max_tokens`: what it reads of a text, in its own tokens."""

    name: str
    dims: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""
    max_tokens: int = 512

    def with_prefixes(self, query: str | None, document: str | None) -> KnownModel:
        """The same model with other prefixes; None keeps the known one."""
        return replace(
            self,
            query_prefix=self.query_prefix if query is None else query,
            document_prefix=self.document_prefix if document is None else document,
        )

    def space(
        self, model: str, precision: str, dims: int, *, revision: str = "", pooling: str = "as published"
    ) -> Space:
        """The space that a technology makes with the model; `pooling`: where the model's own is not known."""
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
    return replace(_KNOWN.get(plain_name(name), KnownModel(name)), name=name)


def plain_name(name: str) -> str:
    """The name without its publisher, its tag, its file format and the mark of a quantised copy."""
    plain = name.lower().rpartition("/")[2].partition(":")[0]
    for ending in ("-gguf", "-onnx", "-q"):
        plain = plain.removesuffix(ending)
    return plain


def _family(example: KnownModel, dims_of: Mapping[str, int]) -> dict[str, KnownModel]:
    return {name: replace(example, name=name, dims=dims) for name, dims in dims_of.items()}


_KNOWN = {
    **_family(
        KnownModel("BGE, English", query_prefix=BGE_QUERY_PREFIX, pooling="cls"),
        {
            "bge-small-en": 384,
            "bge-base-en": 768,
            "bge-large-en": 1024,
            "bge-small-en-v1.5": 384,
            "bge-base-en-v1.5": 768,
            "bge-large-en-v1.5": 1024,
        },
    ),
    **_family(
        KnownModel("mxbai", query_prefix=BGE_QUERY_PREFIX, pooling="cls"),
        {"mxbai-embed-large": 1024, "mxbai-embed-large-v1": 1024},
    ),
    **_family(
        KnownModel("Arctic Embed", query_prefix=BGE_QUERY_PREFIX, pooling="cls"),
        {
            "snowflake-arctic-embed-xs": 384,
            "snowflake-arctic-embed-s": 384,
            "snowflake-arctic-embed-m": 768,
            "snowflake-arctic-embed-m-v1.5": 768,
            "snowflake-arctic-embed-l": 1024,
        },
    ),
    **_family(
        KnownModel("GTE", pooling="mean"), {"gte-tiny": 384, "gte-small": 384, "gte-base": 768, "gte-large": 1024}
    ),
    **_family(
        KnownModel("Granite", pooling="cls"),
        {
            "granite-embedding-30m-english": 384,
            "granite-embedding-125m-english": 768,
            "granite-embedding-small-english-r2": 384,
            "granite-embedding-english-r2": 768,
        },
    ),
    **_family(
        KnownModel("nomic", 0, "search_query: ", "search_document: ", "mean", max_tokens=2048),
        {"nomic-embed-text": 768, "nomic-embed-text-v1": 768, "nomic-embed-text-v1.5": 768},
    ),
    **_family(
        KnownModel("E5", query_prefix="query: ", document_prefix="passage: ", pooling="mean"),
        {
            "e5-small-v2": 384,
            "e5-base-v2": 768,
            "e5-large-v2": 1024,
            "multilingual-e5-small": 384,
            "multilingual-e5-base": 768,
            "multilingual-e5-large": 1024,
        },
    ),
    **_family(
        KnownModel("MiniLM", pooling="mean", max_tokens=256),
        {"all-minilm": 384, "all-minilm-l6-v2": 384, "all-minilm-l12-v2": 384},
    ),
    **_family(
        KnownModel("EmbeddingGemma", 0, "task: search result | query: ", "title: none | text: ", "mean", 2048),
        {"embeddinggemma": 768, "embeddinggemma-300m": 768},
    ),
    **_family(
        KnownModel("BGE, Chinese", query_prefix="为这个句子生成表示以用于检索相关文章：", pooling="cls"),
        {"bge-small-zh-v1.5": 512, "bge-base-zh-v1.5": 768, "bge-large-zh-v1.5": 1024},
    ),
    **_family(KnownModel("BGE-M3", pooling="cls", max_tokens=8192), {"bge-m3": 1024}),
    **_family(
        KnownModel("OpenAI", max_tokens=8191),
        {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536},
    ),
}


def rows_of(texts: Sequence[str], dims: int, embed: Callable[[list[str]], Vectors]) -> Vectors:
    """`(n, dims) float32`: what `embed` makes of texts, and zero rows for blank ones, which call nothing."""
    rows = np.zeros((len(texts), dims), dtype=np.float32)
    places = [place for place, text in enumerate(texts) if text and not text.isspace()]
    if places:
        rows[places] = embed([texts[place] for place in places])
    return rows


def unit_rows(values: ArrayLike, shape: tuple[int, int], source: str) -> Vectors:
    """Unit rows of exactly this shape; errors name `source`. Raises `BadReplyError` for another shape, for values that
    are no numbers, and for zero rows.
    """
    try:
        rows = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise BadReplyError(f"{source} sent vectors that are not numbers") from error
    if rows.shape != shape:
        raise BadReplyError(f"{source} sent vectors of shape {rows.shape}; expected {shape}")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BadReplyError(f"{source} sent a vector with NaN or infinity")
    if not lengths.all():
        raise BadReplyError(f"{source} sent a zero vector for a text with content")
    return (rows / lengths).astype(np.float32)
