"""The identity of an embedding space."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property


@dataclass(frozen=True)
class Space:
    """Everything that decides what a vector means: two vectors may be compared only when all of it is equal.

    `dims` counts components, `max_tokens` model tokens; `precision` is the arithmetic of the model ("fp32", "int8").
    """

    model: str
    revision: str
    precision: str
    dims: int
    pooling: str
    query_prefix: str
    document_prefix: str
    max_tokens: int

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits that differ whenever any field does."""
        canonical = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]
