"""The default embedder: all-MiniLM-L6-v2 in this process, from files included with Mnemic. English; reads up to 256
word pieces of a text. onnxruntime and the model are loaded on first use.
"""

import importlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

import mnemic_minilm
from mnemic.adapters.extras import import_runtime
from mnemic.errors import BackendError, ConfigError
from mnemic.model.candidates import Space
from mnemic.ports.models import Embedder, EmbedderCapabilities, LayeredEmbedder, Vectors
from mnemic.text.wordpiece import WordPiece

DIMS = 384  # from the model card

MAX_TOKENS = 256
"""The model card's limit; the position table would allow 512."""

BATCH_TOKENS = 512
"""Tokens per run of the model, with padding. Throughput is flat from about 100 to 2,000, memory is not."""

BATCH_TEXTS = 64
"""The best number of texts per call: sorting by length needs some to choose from."""

THREADS = 2
"""Parallel runs of the model, one thread each. With two threads a run takes longer for texts up to 128 tokens (1.9 ms
instead of 1.2 for a question) and nearly twice the CPU time.
"""

PADDING_ID = 0  # of `[PAD]` in the model's vocabulary

LAYERS = ("SkipLayerNormalization.164", "SkipLayerNormalization.268")
"""The token vectors of two inner layers in the shipped graph, `(n, tokens, 384) float32`: the third and the fifth."""

TOKENS = "SkipLayerNormalization.320"
"""The token vectors of the last layer, before pooling."""

_REPAIR = "run `pip install --force-reinstall --no-deps mnemic` (in a checkout: `python scripts/build_minilm.py`)"

_RUNTIME_ERRORS = (
    *("EPFail", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf"),
    *("NoModel", "NoSuchFile", "NotImplemented", "RuntimeException"),
)


class Session(Protocol):
    """The part of `onnxruntime.InferenceSession` that is used."""

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, NDArray[np.int32]]) -> list[Vectors]: ...


class MinilmEmbedder:
    """all-MiniLM-L6-v2: no prefixes, the same vectors for queries and documents, 384 dims."""

    capabilities = EmbedderCapabilities(is_local=True, is_blocking=False, batch_size=BATCH_TEXTS)

    def __init__(
        self,
        *,
        model: Path | None = None,
        vocabulary: Path | None = None,
        threads: int = THREADS,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """`model` and `vocabulary` default to the included files. `threads`: parallel runs, for many texts. Raises
        `ConfigError` if a file is missing. A damaged model fails at the first text.
        """
        self._model = _check_file(model or mnemic_minilm.model_path())
        self._layers = LAYERS if model is None else ()
        self._vocabulary = _check_file(vocabulary or mnemic_minilm.vocab_path())
        self._threads = threads
        self.space = Space(
            model=mnemic_minilm.MODEL,
            revision=mnemic_minilm.REVISION,
            precision=mnemic_minilm.PRECISION,
            dims=DIMS,
            pooling="mean",
            query_prefix="",
            document_prefix="",
            max_tokens=max_tokens,
        )
        self._lock = threading.Lock()
        self._tokenizer: WordPiece | None = None
        self._session: Session | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def is_loaded(self) -> bool:
        """True once the model is loaded. Blank texts never load it."""
        return self._session is not None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, ())

    def embed_layers(self, texts: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Vectors, and what `_pool` makes of `LAYERS`, `(n, 1152)`; `(n, 0)` with another graph."""
        found = self._embed(texts, self._layers)
        return found[:, :DIMS], found[:, DIMS:]

    def _embed(self, texts: Sequence[str], layers: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), DIMS * (4 if layers else 1)), dtype=np.float32)
        if all(not text or text.isspace() for text in texts):
            return vectors
        tokenizer = self._load_tokenizer()
        tokens = [tokenizer.encode(text, self.space.max_tokens) for text in texts]
        batches = list(token_batches([len(ids) for ids in tokens]))
        inputs = [padded([tokens[row] for row in rows]) for rows in batches]
        run = partial(self._run, layers)
        found = map(run, inputs) if len(inputs) == 1 else self._runners().map(run, inputs)
        for rows, values in zip(batches, found, strict=True):
            vectors[rows] = values
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Like `embed_documents`: the model has no prefixes."""
        return self.embed_documents(texts)

    def close(self) -> None:
        with self._lock:
            pool, self._pool, self._session = self._pool, None, None
        if pool is not None:
            pool.shutdown()

    def _run(self, layers: Sequence[str], input_ids: NDArray[np.int32]) -> Vectors:
        session = self._session or self._load_session()
        try:
            found = session.run(["embedding", *layers], {"input_ids": input_ids})
        except runtime_errors() as error:
            raise BackendError(f"the offline embedder failed on a batch of {len(input_ids)} texts: {error}") from error
        return _pool(found, (input_ids != PADDING_ID)[:, :, None]) if layers else found[0]

    def _load_tokenizer(self) -> WordPiece:
        with self._lock:
            if self._tokenizer is None:
                pieces = self._vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n")
                self._tokenizer = WordPiece(pieces)
            return self._tokenizer

    def _load_session(self) -> Session:
        with self._lock:
            if self._session is None:
                self._session = open_session(self._model, 1)
            return self._session

    def _runners(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="mnemic-embed")
            return self._pool


def _pool(found: Sequence[Vectors], is_token: NDArray[np.bool_]) -> Vectors:
    """Each text's vector, its tokens' mean and standard deviation in the third layer, and their mean in the fifth."""
    vectors, third, fifth = found
    mean = np.mean(third, axis=1, keepdims=True, where=is_token)
    spread = np.sqrt(np.mean(np.square(third - mean), axis=1, where=is_token))
    return np.hstack([vectors, mean[:, 0], spread, np.mean(fifth, axis=1, where=is_token)])


def open_session(model: Path, threads: int) -> Session:
    """Load a graph from a file. Raises `ConfigError` if it is not one."""
    runtime = import_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    # Threads that wait for the next run by spinning cost 2 ms of CPU time after every question, which others need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except runtime_errors() as error:
        raise ConfigError(f"{model} is damaged or not the offline model: {_REPAIR}") from error


def runtime_errors() -> tuple[type[Exception], ...]:
    """The exceptions of onnxruntime. Their only base class is `Exception`."""
    state: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    return tuple(getattr(state, name) for name in _RUNTIME_ERRORS)


def token_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of rows with tokens, longest first, in groups of up to `BATCH_TOKENS` padded tokens (or one row)."""
    rows = sorted((row for row, length in enumerate(lengths) if length), key=lambda row: -lengths[row])
    while rows:
        size = max(1, BATCH_TOKENS // lengths[rows[0]])
        yield rows[:size]
        rows = rows[size:]


def padded(tokens: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """One row per text, padded to the longest: `(n, tokens)`."""
    padded = np.full((len(tokens), max(map(len, tokens))), PADDING_ID, dtype=np.int32)
    for row, ids in enumerate(tokens):
        padded[row, : len(ids)] = ids
    return padded


def _check_file(path: Path) -> Path:
    if not path.is_file():
        raise ConfigError(f"the offline embedder's file {path} is missing: {_REPAIR}")
    return path


if TYPE_CHECKING:
    _: tuple[type[Embedder], type[LayeredEmbedder]] = MinilmEmbedder, MinilmEmbedder
