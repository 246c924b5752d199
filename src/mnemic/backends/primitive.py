"""The memory primitive: four verbs that every backend has, and what they answer.

Answers for the abstract class and its result. It knows no technology; who can be had by which name is `registry`'s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mnemic.backends.extras import BackendFacts
from mnemic.errors import UnsupportedError

TOP_K = 5
"""Results of a retrieval that names no number."""

MIN_SCORE = 0.0
"""The score that a result must reach when the caller names none: on every scale it means "some evidence"."""


@dataclass(slots=True)
class RetrievalResult:
    """One thing found. `score` is on the scale of the backend that found it: higher is better, and the scores of two
    backends cannot be compared. `source` and `metadata` are as they were stored.
    """

    content: str
    score: float = 0.0
    source: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class MemoryBackend(ABC):
    """Keeps texts and finds them again; one object is one namespace, and no call sees another object's memory.

    Promises of every backend: texts come back exactly as they were stored; what `store` has returned an id for is
    found by the next `retrieve`, and what `delete` answered True for is not; a call that raises has changed nothing;
    calls may come from several threads. Subclass it, set `backend_id`, implement the four verbs, register it
    (`mnemic.backends.registry`), and prove it with `mnemic.testing.backend_contract.BackendContract`.
    """

    backend_id: str = ""
    """The name it is registered by; registering sets it where a class says none."""

    facts: BackendFacts = BackendFacts()
    """What it needs and whether it forgets at the end of the process."""

    @abstractmethod
    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """Keep a text; returns its id, which no other text of this namespace has, not even an equal or a deleted one.

        Raises `InvalidInputError` for what is no text, is blank or not valid Unicode, and for metadata that is no
        JSON object.
        """

    @abstractmethod
    def retrieve(self, query: str, *, top_k: int = TOP_K, **kwargs: Any) -> list[RetrievalResult]:
        """At most `top_k` results, best first. No query raises; a blank one finds nothing.

        `min_score` among the keywords: results below it are left out; on the backend's own scale, 0.0 by default.
        Raises `InvalidInputError` when `top_k` is below 1, and for a keyword that the backend does not know.
        """

    @abstractmethod
    def delete(self, doc_id: str) -> bool:
        """Remove the text of this id; True only if there was one."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything. Ids given before are not given again."""

    def save(self, path: str | Path) -> None:
        """Write everything to `path`, in the place of what is there, wholly or not at all.

        Raises `UnsupportedError` for a backend that cannot, or need not because its data is on disk already.
        """
        raise UnsupportedError(f"backend {self.backend_id!r} cannot save to {path}", capability="save")

    def load(self, path: str | Path) -> None:
        """Take what `save` wrote, in the place of what is held now. The ids are the saved ones.

        Raises `NotFoundError` when there is nothing, `BackendError` when it is damaged, `ConfigError` when another
        backend or another model wrote it; then nothing has changed. Raises `UnsupportedError` like `save`.
        """
        raise UnsupportedError(f"backend {self.backend_id!r} cannot load {path}", capability="load")

    def close(self) -> None:  # noqa: B027 -- a backend in memory need not close anything
        """Let go of files and models; closing twice is harmless. What was only in memory is gone."""
