"""A third party's backend for tests: what it finds is said beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnemic.backends import BackendFacts, MemoryBackend, RetrievalResult
from mnemic.errors import BackendError


class Listed(MemoryBackend):
    """A backend that finds what it is made of, whatever is asked; it keeps what it was asked."""

    backend_id = "listed"

    def __init__(self, *results: RetrievalResult, has_cosine_scores: bool = False) -> None:
        self.results, self.asked = list(results), list[tuple[str, int, dict[str, Any]]]()
        self.facts = BackendFacts(has_cosine_scores=has_cosine_scores)

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self.results.append(RetrievalResult(content, 1.0, source, dict(metadata or {})))
        return str(len(self.results))

    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        self.asked.append((query, top_k, kwargs))
        return self.results

    def delete(self, doc_id: str) -> bool:
        raise BackendError(f"{doc_id} stays")

    def clear(self) -> None:
        self.results.clear()
