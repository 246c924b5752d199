"""Embeds with fastembed in this process. Downloads a model on first use unless its folder is given."""

import hashlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.embedders.known import known_model, plain_name, rows_of, unit_rows
from mnemic.adapters.extras import import_extra
from mnemic.adapters.onnx_models import runtime_errors
from mnemic.errors import BackendError, ConfigError
from mnemic.model.candidates import Space
from mnemic.ports.models import Embedder, EmbedderCapabilities, Vectors

DEFAULT_MODEL = "bge-small-en-v1.5-q"
BATCH_TEXTS = 32  # bounds the memory of one run: a batch is padded to its longest text
_BLOCK_BYTES = 1 << 20  # read at once to hash a model file: bounds memory


class _Model(Protocol):
    """The part of `fastembed.TextEmbedding` that is used."""

    def embed(self, documents: list[str], batch_size: int) -> Iterable[NDArray[np.float32]]: ...


class FastEmbedEmbedder:
    """A model of fastembed's list, with or without the publisher's name. Prefixes are added here."""

    capabilities = EmbedderCapabilities(is_local=True, is_blocking=False, batch_size=BATCH_TEXTS)

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        folder: Path | str | None = None,
        threads: int | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> None:
        """`folder`: the model's files (graph, `tokenizer.json`, `config.json`, …), to avoid the download. Loads no
        model. Raises `ConfigError` for an unknown model, a missing folder, and if the extra `fastembed` is not
        installed.
        """
        self._package: Any = import_extra("fastembed", "fastembed")
        described = _description(self._package, model)
        self._name: str = described["model"]
        self._files: tuple[str, ...] = (described["model_file"], "tokenizer.json")
        known = known_model(model).with_prefixes(query_prefix, document_prefix)
        self._known = replace(known, dims=int(described["dim"]))
        self._folder = None if folder is None else _check_folder(Path(folder))
        self._threads = threads
        self._lock = threading.Lock()
        self._model: _Model | None = None

    @property
    def space(self) -> Space:
        """The model's space. With a folder, it includes the files' checksum."""
        return self._space

    @cached_property
    def _space(self) -> Space:
        revision = "" if self._folder is None else _checksum(self._folder / name for name in self._files)
        return self._known.space(plain_name(self._name), "onnx, quantised", self._known.dims, revision=revision)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._known.document_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._known.query_prefix)

    def close(self) -> None:
        with self._lock:
            self._model = None

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        def embed(wanted: list[str]) -> Vectors:
            model = self._load()
            try:
                rows = np.stack([*model.embed([prefix + text for text in wanted], batch_size=BATCH_TEXTS)])
            except runtime_errors() as error:
                raise BackendError(f"fastembed failed to embed {len(wanted)} texts ({type(error).__name__})") from error
            return unit_rows(rows, (len(wanted), self._known.dims), "fastembed")

        return rows_of(texts, self._known.dims, embed)

    def _load(self) -> _Model:
        with self._lock:
            model = self._model or self._open()
            self._model = model
            return model

    def _open(self) -> _Model:
        """Load the model. Most file problems of fastembed are a `ValueError`."""
        place = {} if self._folder is None else {"specific_model_path": str(self._folder)}
        try:
            return self._package.TextEmbedding(
                self._name, threads=self._threads, providers=["CPUExecutionProvider"], **place
            )
        except (ValueError, OSError, *runtime_errors()) as error:
            raise ConfigError(
                f"fastembed cannot load {self._name} ({type(error).__name__}): download its files once "
                "while online, or set the embedder option `folder` to the folder that contains them"
            ) from error


def _description(package: Any, model: str) -> dict[str, Any]:
    described: list[dict[str, Any]] = package.TextEmbedding.list_supported_models()
    for name in (str.lower, plain_name):
        for entry in described:
            if name(entry["model"]) == name(model):
                return entry
    raise ConfigError(
        f"fastembed does not support the model {model!r}; `python -c 'import fastembed; "
        'print(*[m["model"] for m in fastembed.TextEmbedding.list_supported_models()])\'` lists the supported models'
    )


def _check_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise ConfigError(f"the embedder's folder {folder} does not exist; correct the option `folder`")
    return folder


def _checksum(files: Iterable[Path]) -> str:
    """12 hex digits of the SHA-256 over the files' contents. A missing file counts as empty."""
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                while block := stream.read(_BLOCK_BYTES):
                    digest.update(block)
    return digest.hexdigest()[:12]  # 48 bits distinguish models


if TYPE_CHECKING:
    _: type[Embedder] = FastEmbedEmbedder
