"""The backend `hybrid`: any two backends combined by weighted reciprocal rank fusion. It saves a folder: one file per
part, and a list of the files that belong together. The list is replaced last and atomically, so an interrupted save
leaves the older one whole.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from mnemic.backends import primitive
from mnemic.errors import BackendError, ConfigError, MnemicError, NotFoundError, UnavailableError, UnsupportedError
from mnemic.ranking.fusion import RRF_K, reciprocal_rank_fusion

OVER_FETCH = 3
"""Each part returns this many times `top_k`, so that a result of only one part keeps its rank."""

TAG = "mnemic.hybrid"
"""The metadata key that identifies a document in both parts. Callers never see it."""

_TAG_CHARACTERS = 32  # hexadecimal digits of a 128-bit tag
Part = primitive.MemoryBackend | str


@primitive.MemoryRegistry.register("hybrid")
class HybridBackend(primitive.MemoryBackend):
    """Keeps every document in both parts. A score is the sum of weight / (rrf_k + rank) over the parts that found it.

    `sparse` and `dense` are names or backends, also third-party ones. The hybrid owns and closes them. It can find
    their other documents, but not delete them. Packages, GPU and durability follow from the parts. An id contains the
    document's ids in both parts, so it stays valid if both parts are durable.
    """

    def __init__(
        self,
        sparse: Part = "bm25",
        dense: Part = "faiss",
        *,
        sparse_weight: float = 1.0,
        dense_weight: float = 1.0,
        rrf_k: float = RRF_K,
    ) -> None:
        """Raises `ConfigError` for a weight or constant that is negative or not finite, and if both weights are 0."""
        numbers = (sparse_weight, dense_weight, rrf_k)
        if not all(math.isfinite(number) and number >= 0 for number in numbers) or not sparse_weight + dense_weight:
            raise ConfigError(f"weights and rrf_k must not be negative, and a weight must be above 0, not {numbers}")
        if sparse is dense and not isinstance(sparse, str):
            raise ConfigError("a hybrid backend requires two different backends")
        self.sparse = _open_part(sparse)
        self.dense = _open_part(dense)
        self.facts = primitive.join_facts(self.sparse.facts, self.dense.facts)
        self._weights = (sparse_weight, dense_weight)
        self._rrf_k = rrf_k
        self._hidden: set[str] = set()

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """As `MemoryBackend.store`, in both parts. If one fails, what the other stored is never returned."""
        text, line, given = primitive.check_document(content, source, metadata)
        tag = uuid4().hex
        tagged = {**given, TAG: tag}
        self._hidden.add(tag)
        with ExitStack() as undo:
            undo.callback(self._hidden.discard, tag)
            sparse_id = self.sparse.store(text, source=line, metadata=tagged)
            undo.pop_all()
            undo.callback(self._undo_store, sparse_id, tag)
            dense_id = self.dense.store(text, source=line, metadata=tagged)
            undo.pop_all()
        self._hidden.discard(tag)
        return f"{tag}{len(sparse_id)}:{sparse_id}{dense_id}"

    def retrieve(self, query: str, *, top_k: int = primitive.TOP_K, **kwargs: Any) -> list[primitive.RetrievalResult]:
        """As `MemoryBackend.retrieve`. `min_score` is on the scale of the fused score."""
        question, limit, min_score = primitive.check_request(query, top_k, kwargs)
        found: dict[str, primitive.RetrievalResult] = {}
        rankings: list[list[str]] = []
        for part in (self.sparse, self.dense):
            results = part.retrieve(question, top_k=limit * OVER_FETCH)
            keyed = [(_key(result), result) for result in results]
            shown = [(key, result) for key, result in keyed if key not in self._hidden]
            rankings.append([key for key, _ in shown])
            found.update({key: result for key, result in shown if key not in found})
        fused = reciprocal_rank_fusion(rankings, self._rrf_k, self._weights)
        return [_remove_tag(found[key], score) for key, score in fused[:limit] if score >= min_score]

    def delete(self, doc_id: str) -> bool:
        """As `MemoryBackend.delete`. If a part fails, the document stays hidden; repeat the call to delete the rest."""
        place = _parse_id(doc_id)
        if place is None:
            return False
        tag, sparse_id, dense_id = place
        was_hidden = tag in self._hidden
        self._hidden.add(tag)
        was_sparse = self.sparse.delete(sparse_id)
        was_dense = self.dense.delete(dense_id)
        self._hidden.discard(tag)
        return was_sparse or was_dense or was_hidden

    def clear(self) -> None:
        """Clear both parts, the second even if the first fails."""
        try:
            self.sparse.clear()
        finally:
            self.dense.clear()
        self._hidden.clear()

    def save(self, path: str | Path) -> None:
        """Save the parts that are not durable to the folder `path`. Raises `UnsupportedError` if both are durable."""
        write_parts(path, self._saved_parts("save"))

    def load(self, path: str | Path) -> None:
        """Load what `save` wrote. If one part fails, the other is restored."""
        read_parts(path, self._saved_parts("load"))

    def close(self) -> None:
        """Close both parts."""
        try:
            self.sparse.close()
        finally:
            self.dense.close()

    def _saved_parts(self, capability: str) -> dict[str, primitive.MemoryBackend]:
        parts = {"sparse": self.sparse, "dense": self.dense}
        saved = {name: part for name, part in parts.items() if not part.facts.is_durable}
        if not saved:
            raise UnsupportedError("nothing to save: both backends store their data on disk", capability=capability)
        return saved

    def _undo_store(self, sparse_id: str, tag: str) -> None:
        """Undo the first half of a store. If that fails too, the half stays hidden, and the first error is raised."""
        with suppress(MnemicError):
            self.sparse.delete(sparse_id)
            self._hidden.discard(tag)


def _open_part(part: Part) -> primitive.MemoryBackend:
    return primitive.MemoryRegistry.create(part) if isinstance(part, str) else part


def _parse_id(doc_id: str) -> tuple[str, str, str] | None:
    """Tag, sparse id and dense id. None if it is not a hybrid's id."""
    length, colon, rest = doc_id[_TAG_CHARACTERS:].partition(":")
    if not colon or not (length.isascii() and length.isdigit()):
        return None
    return doc_id[:_TAG_CHARACTERS], rest[: int(length)], rest[int(length) :]


def _key(result: primitive.RetrievalResult) -> str:
    """The tag, or source and text for documents that the hybrid did not store."""
    return str(result.metadata.get(TAG) or f"{len(result.source)}:{result.source}{result.content}")


def _remove_tag(result: primitive.RetrievalResult, score: float) -> primitive.RetrievalResult:
    metadata = {name: value for name, value in result.metadata.items() if name != TAG}
    return primitive.RetrievalResult(result.content, score, result.source, metadata)


LIST = "parts.json"


def write_parts(path: str | Path, parts: Mapping[str, primitive.MemoryBackend]) -> None:
    """Save the parts to the folder `path`, replacing an older save. Raises `UnavailableError`."""
    folder = Path(path).expanduser()
    names = {part: f"{part}-{uuid4().hex}" for part in parts}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, backend in parts.items():
            backend.save(folder / names[part])
        half = folder / f"{LIST}.part"
        half.write_text(json.dumps(names), encoding="utf-8")
        half.replace(folder / LIST)
        for part in parts:
            for older in folder.glob(f"{part}-*"):
                if older.name != names[part]:
                    older.unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(f"{folder} cannot be written: {error}") from error


def read_parts(path: str | Path, parts: Mapping[str, primitive.MemoryBackend]) -> None:
    """Load the parts from the folder `path`, all or none. Raises what `MemoryBackend.load` raises."""
    folder = Path(path).expanduser()
    names = _read_list(folder)
    if set(names) != set(parts):
        raise BackendError(f"{folder} contains {', '.join(sorted(names))}; expected {', '.join(sorted(parts))}")
    with tempfile.TemporaryDirectory() as before, ExitStack() as undo:
        for part, backend in parts.items():
            backend.save(Path(before) / part)
            backend.load(folder / names[part])
            undo.callback(backend.load, Path(before) / part)
        undo.pop_all()


def _read_list(folder: Path) -> dict[str, str]:
    try:
        names = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no saved memory in {folder}") from error
    except OSError as error:
        raise UnavailableError(f"{folder} cannot be read: {error}") from error
    except ValueError as error:
        raise BackendError(f"{folder / LIST} is damaged or not a list of saved parts") from error
    if not isinstance(names, dict):
        raise BackendError(f"{folder / LIST} is damaged or not a list of saved parts")
    return {str(part): Path(str(name)).name for part, name in cast("dict[object, object]", names).items()}
