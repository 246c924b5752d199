"""Reranks with a cross-encoder in ONNX form, in this process: it reads query and text together.

Answers for the model's files, pairs of tokens and scores. The files are a local folder, or fetched once from a hub by
the name of their repository. Needs the extra `cross-encoder` (the package tokenizers); onnxruntime comes with Mnemic.
"""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.extras import import_extra
from mnemic.adapters.rerankers.scores import scores_of
from mnemic.errors import BackendError, BadReplyError, ConfigError
from mnemic.ports.reranker import Reranker, RerankerCapabilities, Scores

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
"""Apache-2.0, English, 22 million parameters, trained on MS MARCO passages."""

MAX_TOKENS = 512
"""Of query and text together; the position table of BERT models ends there."""

MAX_TEXTS = 100
WEIGHT = 2.0
"""So that it decides among candidates of like scores. Not measured here: a reranker of your own data is."""

BATCH_TOKENS = 4096
"""Tokens, padding included, of one run of the model."""

THREADS = 2
TOKENIZER_FILE = "tokenizer.json"
MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
"""Where exporters put the graph, in the order in which they are looked for."""

_Pair = Any
"""One pair as the tokenizer encodes it: `ids`, `type_ids`."""


class CrossEncoderReranker:
    """Scores pairs with a model that has one output per pair, such as the ms-marco MiniLM and BGE rerankers."""

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        threads: int = THREADS,
        max_tokens: int = MAX_TOKENS,
        weight: float = WEIGHT,
    ) -> None:
        """`model`: the folder of `tokenizer.json` and `model.onnx`, or the name of a repository that is fetched once.
        `weight`: as in `RerankerCapabilities`.

        Loads and fetches nothing. Raises `ConfigError` when the extra is not installed.
        """
        self._package: Any = import_extra("tokenizers", "cross-encoder")
        self._model = model
        self._threads = threads
        self._max_tokens = max_tokens
        self._weight = weight
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        return f"cross-encoder {Path(self._model).name}"

    @property
    def capabilities(self) -> RerankerCapabilities:
        return RerankerCapabilities(is_local=True, is_blocking=False, max_texts=MAX_TEXTS, weight=self._weight)

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        return scores_of(query, texts, MAX_TEXTS, self._judged, self.name)

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _judged(self, query: str, texts: list[str]) -> Scores:
        tokenizer, session = self._load()
        pairs = tokenizer.encode_batch([(query, text) for text in texts])
        scores = np.zeros(len(pairs), dtype=np.float32)
        wanted = {each.name for each in session.get_inputs()}
        for rows in _batches([len(pair.ids) for pair in pairs]):
            feed = {name: ids for name, ids in _padded([pairs[row] for row in rows]).items() if name in wanted}
            try:
                answer = np.asarray(session.run(None, feed)[0], dtype=np.float32)
            except _runtime_errors() as error:
                raise BackendError(f"{self.name} failed on {len(rows)} texts ({type(error).__name__})") from error
            if answer.size != len(rows):
                raise BadReplyError(f"{self.name} answers {answer.shape} for {len(rows)} pairs; it is no reranker")
            scores[rows] = answer.reshape(-1)
        return scores

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                tokenizer_file, graph = self._files()
                self._loaded = self._tokenizer(tokenizer_file), _session(graph, self._threads)
            return self._loaded

    def _tokenizer(self, file: Path) -> Any:
        content = file.read_text(encoding="utf-8")
        try:
            is_table = isinstance(json.loads(content), dict)
        except ValueError:
            is_table = False
        if not is_table:
            raise ConfigError(f"{file} is no tokenizer: it holds no JSON object")
        tokenizer = self._package.Tokenizer.from_str(content)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._max_tokens)
        return tokenizer

    def _files(self) -> tuple[Path, Path]:
        folder = Path(self._model)
        if not folder.is_dir():
            return _fetched(self._model)
        graphs = [folder / name for name in MODEL_FILES if (folder / name).is_file()]
        if not graphs or not (folder / TOKENIZER_FILE).is_file():
            raise ConfigError(f"{folder} is no cross-encoder: it needs {TOKENIZER_FILE} and one of {MODEL_FILES}")
        return folder / TOKENIZER_FILE, graphs[0]


def _fetched(repository: str) -> tuple[Path, Path]:
    """The files of a repository, from the hub's cache on this machine if they are there."""
    hub: Any = import_extra("huggingface_hub", "cross-encoder")
    try:
        files = [Path(hub.hf_hub_download(repository, name)) for name in (TOKENIZER_FILE, "onnx/model.onnx")]
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the cross-encoder {repository!r} cannot be loaded ({type(error).__name__}): fetch it once with the "
            "network on, or name the folder of its files as the model"
        ) from error
    return files[0], files[1]


def _session(graph: Path, threads: int) -> Any:
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except _runtime_errors() as error:
        raise ConfigError(f"{graph} is no ONNX model ({type(error).__name__})") from error


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows, longest first, in groups of at most `BATCH_TOKENS` padded tokens."""
    rows = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    while rows:
        size = max(1, BATCH_TOKENS // max(lengths[rows[0]], 1))
        yield rows[:size]
        rows = rows[size:]


def _padded(pairs: Sequence[_Pair]) -> dict[str, NDArray[np.int64]]:
    shape = (len(pairs), max(len(pair.ids) for pair in pairs))
    ids, types, mask = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)], types[row, : len(pair.ids)] = pair.ids, pair.type_ids
        mask[row, : len(pair.ids)] = 1
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}


def _runtime_errors() -> tuple[type[Exception], ...]:
    """The exceptions of onnxruntime, which have no parent but `Exception`."""
    state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    return tuple(kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))


if TYPE_CHECKING:
    _: type[Reranker] = CrossEncoderReranker
