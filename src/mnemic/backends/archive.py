"""The file that an in-memory backend saves: its documents and its arrays in one NumPy archive, without pickles."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import BackendError, ConfigError, NotFoundError, UnavailableError

LAYOUT = 1
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """One text with what was said about it."""

    content: str
    source: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Archive:
    """What one file holds. `backend` and `model` say who can read it; documents are in the order of storing."""

    backend: str
    model: str
    documents: Mapping[str, Document]
    arrays: Arrays


def write_archive(path: str | Path, archive: Archive) -> None:
    """Write the file in the place of what is there, wholly or not at all. Raises `UnavailableError`."""
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
    """What the file holds. Raises `NotFoundError` when there is none, `UnavailableError` when it cannot be read,
    `BackendError` when it is damaged, and `ConfigError` when another backend, model or layout wrote it.
    """
    source = Path(path).expanduser()
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
            arrays: dict[str, NDArray[Any]] = {name: found[name] for name in found.files}
        head = cast("dict[str, Any]", json.loads(arrays.pop("head").tobytes()))
        documents = {doc_id: Document(*rest) for doc_id, *rest in head["documents"]}
        written = (head["layout"], head["backend"], head["model"])
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no saved memory {source}") from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BackendError(f"{source} is no saved memory, or is damaged ({type(error).__name__})") from error
    except OSError as error:
        raise UnavailableError(f"{source} cannot be read: {error}") from error
    if written != (LAYOUT, backend, model):
        raise ConfigError(
            f"{source} was saved by backend {written[1]!r} with model {written[2] or 'none'}; load it with that one, "
            f"not with {backend!r} and {model or 'none'}"
        )
    return Archive(backend, model, documents, arrays)
