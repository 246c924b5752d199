"""Shared by in-process backends: documents by id, one lock, and a file to save and load. The file is a NumPy archive of
documents and arrays, without pickles.
"""

from __future__ import annotations

import copy
import json
import os
import threading
import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from mnemic.backends.primitive import TOP_K, MemoryBackend, RetrievalResult, check_document, check_request
from mnemic.errors import BackendError, ConfigError, NotFoundError, UnavailableError

LAYOUT = 1  # of the saved file; raise it if older versions must not read the file
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its source and metadata."""

    content: str
    source: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Archive:
    """The content of a file. `backend` and `model` decide who can read it. Documents are in insertion order."""

    backend: str
    model: str
    documents: Mapping[str, Document]
    arrays: Arrays


def write_archive(path: str | Path, archive: Archive) -> None:
    """Replace the file atomically. Raises `UnavailableError`."""
    target = Path(path).expanduser()
    rows = [[doc_id, each.content, each.source, each.metadata] for doc_id, each in archive.documents.items()]
    head = {"layout": LAYOUT, "backend": archive.backend, "model": archive.model, "documents": rows}
    half = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with half.open("wb") as stream:
            arrays: dict[str, NDArray[Any]] = {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)}
            np.savez(stream, allow_pickle=False, **arrays, **archive.arrays)
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(target)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise UnavailableError(f"{target} cannot be written: {error}") from error


def read_archive(path: str | Path, *, backend: str, model: str) -> Archive:
    """The content of a file. Raises `NotFoundError` if there is none, `UnavailableError` if it cannot be read,
    `BackendError` if it is damaged, and `ConfigError` if another backend, model or layout wrote it.
    """
    source = Path(path).expanduser()
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
            arrays: dict[str, NDArray[Any]] = {name: found[name] for name in found.files}
        head = cast("dict[str, Any]", json.loads(arrays.pop("head").tobytes()))
        documents = {doc_id: Document(*rest) for doc_id, *rest in head["documents"]}
        written = (head["layout"], head["backend"], head["model"])
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no saved memory at {source}") from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BackendError(f"{source} is damaged or not a saved memory ({type(error).__name__})") from error
    except OSError as error:
        raise UnavailableError(f"{source} cannot be read: {error}") from error
    if written != (LAYOUT, backend, model):
        raise ConfigError(
            f"{source} was saved by backend {written[1]!r} with model {written[2] or 'none'}; load it with these, "
            f"not with {backend!r} and {model or 'none'}"
        )
    return Archive(backend, model, documents, arrays)


Evidence = TypeVar("Evidence")
"""What an index stores of a text and searches with: words, a vector, or one vector per token."""

Scored = tuple[str, float]


class InMemoryBackend(MemoryBackend, Generic[Evidence]):
    """The four verbs over a subclass's index. A subclass turns a text into evidence without the lock, because models
    are slow; a failure there changes nothing. It stores evidence by id under the lock.
    """

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._lock = threading.Lock()

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """See `MemoryBackend.store`."""
        document = Document(*check_document(content, source, metadata))
        evidence = self._read(document.content)
        doc_id = uuid4().hex
        with self._lock:
            self._add(doc_id, evidence)
            self._documents[doc_id] = document
        return doc_id

    def retrieve(self, query: str, *, top_k: int = TOP_K, **kwargs: Any) -> list[RetrievalResult]:
        """See `MemoryBackend.retrieve`."""
        question, limit, min_score = check_request(query, top_k, kwargs)
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
        return len(self._documents)

    @abstractmethod
    def _read(self, content: str) -> Evidence:
        """The evidence of a text to store."""

    @abstractmethod
    def _ask(self, query: str) -> Evidence:
        """The evidence of a search query."""

    @abstractmethod
    def _best(self, evidence: Evidence, limit: int) -> Sequence[Scored]:
        """The best ids with their scores, best first. Equal scores: oldest first."""

    @abstractmethod
    def _add(self, doc_id: str, evidence: Evidence) -> None:
        """Add a new document."""

    @abstractmethod
    def _remove(self, doc_id: str) -> None:
        """Remove an existing document."""

    @abstractmethod
    def _replace(self, documents: Sequence[tuple[str, Document]], arrays: Arrays) -> None:
        """Replace all documents. `arrays` come from `_arrays` for them, empty if there are none."""

    def _arrays(self) -> Arrays:
        """Arrays that save computing evidence again, in document order."""
        return {}

    def _model(self) -> str:
        """The model that made the evidence, "" if none did."""
        return ""
