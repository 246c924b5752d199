"""What the backends that live in this process share: documents by id, one lock, saving and loading."""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

from mnemic.backends.archive import Archive, Arrays, Document, read_archive, write_archive
from mnemic.backends.checks import checked_document, checked_request
from mnemic.backends.primitive import TOP_K, MemoryBackend, RetrievalResult

Evidence = TypeVar("Evidence")
"""What an index keeps of a text, and what it is asked with: words, a vector, or one vector per token."""

Scored = tuple[str, float]


class InMemoryBackend(MemoryBackend, Generic[Evidence]):
    """The four verbs over a subclass's index.

    A subclass says how a text becomes evidence (without the lock, because models take their time; a failure there
    leaves everything as it was), and keeps evidence by id (under the lock).
    """

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._lock = threading.Lock()

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """See `MemoryBackend.store`."""
        document = Document(*checked_document(content, source, metadata))
        evidence = self._read(document.content)
        doc_id = uuid4().hex
        with self._lock:
            self._add(doc_id, evidence)
            self._documents[doc_id] = document
        return doc_id

    def retrieve(self, query: str, *, top_k: int = TOP_K, **kwargs: Any) -> list[RetrievalResult]:
        """See `MemoryBackend.retrieve`."""
        question, limit, min_score = checked_request(query, top_k, kwargs)
        if not question.strip():
            return []
        evidence = self._ask(question)
        with self._lock:
            found = [
                (self._documents[doc_id], score) for doc_id, score in self._best(evidence, limit) if score >= min_score
            ]
        return [
            RetrievalResult(each.content, score, each.source, copy.deepcopy(each.metadata)) for each, score in found
        ]

    def delete(self, doc_id: str) -> bool:
        """See `MemoryBackend.delete`."""
        with self._lock:
            if doc_id not in self._documents:
                return False
            del self._documents[doc_id]
            self._remove(doc_id)
            return True

    def clear(self) -> None:
        """See `MemoryBackend.clear`."""
        with self._lock:
            self._documents.clear()
            self._replace([], {})

    def save(self, path: str | Path) -> None:
        """See `MemoryBackend.save`. One file."""
        with self._lock:
            archive = Archive(self.backend_id, self._model(), dict(self._documents), self._arrays())
        write_archive(path, archive)

    def load(self, path: str | Path) -> None:
        """See `MemoryBackend.load`."""
        archive = read_archive(path, backend=self.backend_id, model=self._model())
        with self._lock:
            self._documents = dict(archive.documents)
            self._replace(list(archive.documents.items()), archive.arrays)

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._documents)

    @abstractmethod
    def _read(self, content: str) -> Evidence:
        """The evidence of a text that is kept."""

    @abstractmethod
    def _ask(self, query: str) -> Evidence:
        """The evidence of a text that is searched with."""

    @abstractmethod
    def _best(self, evidence: Evidence, limit: int) -> Sequence[Scored]:
        """The best ids with their scores, best first, of equal ones the oldest first."""

    @abstractmethod
    def _add(self, doc_id: str, evidence: Evidence) -> None:
        """Take a new document in."""

    @abstractmethod
    def _remove(self, doc_id: str) -> None:
        """Forget a document that is there."""

    @abstractmethod
    def _replace(self, documents: Sequence[tuple[str, Document]], arrays: Arrays) -> None:
        """Forget everything and take these in; `arrays` are those that `_arrays` gave for them, empty with none."""

    def _arrays(self) -> Arrays:
        """What saves the work of reading the documents again, in their order."""
        return {}

    def _model(self) -> str:
        """Who made the evidence, "" where no model did."""
        return ""
