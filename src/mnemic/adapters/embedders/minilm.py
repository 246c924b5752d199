"""The default embedder: all-MiniLM-L6-v2 in this process, from files included with Mnemic. English; reads up to 256
word pieces of a text. onnxruntime and the model are loaded on first use, and once for all embedders of a process.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

import mnemic_minilm
from mnemic.adapters import onnx_models
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

SUMMARY_DIMS = 3 * DIMS  # of `_summarise_layers`

TOKENS = "SkipLayerNormalization.320"
"""The token vectors of the last layer, before pooling."""

_REPAIR = "run `pip install --force-reinstall --no-deps mnemic` (in a checkout: `python scripts/build_minilm.py`)"


_LOADED = WeakValueDictionary[tuple[object, ...], Any]()
_LOADING = threading.Lock()
Loaded = TypeVar("Loaded")


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
        return self._embed(texts, (), None)

    def embed_layers(
        self, texts: Sequence[str], spans: Sequence[tuple[int, int]] | None = None
    ) -> tuple[Vectors, Vectors]:
        """Vectors of the texts, and features of the texts or spans from `LAYERS`: `(n, SUMMARY_DIMS)`, or `(n, 0)`
        with a custom graph.
        """
        found = self._embed(texts, self._layers, spans)
        return found[:, :DIMS], found[:, DIMS:]

    def _embed(self, texts: Sequence[str], layers: Sequence[str], spans: Sequence[tuple[int, int]] | None) -> Vectors:
        vectors = np.zeros((len(texts), DIMS + (SUMMARY_DIMS if layers else 0)), dtype=np.float32)
        if all(not text or text.isspace() for text in texts):
            return vectors
        tokenizer = self._load_tokenizer()
        tokens = [tokenizer.encode(text, self.space.max_tokens) for text in texts]
        batches = list(onnx_models.batches([len(ids) for ids in tokens], BATCH_TOKENS))
        inputs = [padded([tokens[row] for row in rows]) for rows in batches]
        marks = [self._find_pieces(*each) for each in zip(texts, spans or (), tokens, strict=bool(spans))]
        read = [[marks[row] for row in rows] if marks else [] for rows in batches]
        run = partial(self._run, layers)
        found = map(run, inputs, read) if len(inputs) == 1 else self._runners().map(run, inputs, read)
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

    def _find_pieces(self, text: str, span: tuple[int, int], ids: Sequence[int]) -> tuple[int, int]:
        """Start and end of the word pieces of a span. Contains at least one."""
        first, last = (len(self._load_tokenizer().encode(text[:end], self.space.max_tokens)) - 1 for end in span)
        first = min(first, len(ids) - 1)
        return first, max(last, first + 1)

    def _run(self, layers: Sequence[str], input_ids: NDArray[np.int32], marks: Sequence[tuple[int, int]]) -> Vectors:
        found = _run(self._session or self._load_session(), ["embedding", *layers], input_ids)
        if not layers:
            return found[0]
        is_read = _mask(marks, input_ids.shape[1]) if marks else input_ids != PADDING_ID
        return _summarise_layers(found, is_read[:, :, None])

    def _load_tokenizer(self) -> WordPiece:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = _load_once(_read_words, self._vocabulary)
            return self._tokenizer

    def _load_session(self) -> Session:
        with self._lock:
            if self._session is None:
                self._session = _load_once(_open, self._model, 1)
            return self._session

    def _runners(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="mnemic-embed")
            return self._pool


def _mask(marks: Sequence[tuple[int, int]], width: int) -> NDArray[np.bool_]:
    """Word pieces within each `(start, end)`, `(n, width)`."""
    first, last = np.array(marks).T[:, :, None]
    return (first <= np.arange(width)) & (np.arange(width) < last)


def _summarise_layers(found: Sequence[Vectors], is_token: NDArray[np.bool_]) -> Vectors:
    """Vectors of texts; mean and standard deviation of some tokens in the third layer, and their mean in the fifth."""
    vectors, third, fifth = found
    mean = np.mean(third, axis=1, keepdims=True, where=is_token)
    spread = np.sqrt(np.mean(np.square(third - mean), axis=1, where=is_token))
    return np.hstack([vectors, mean[:, 0], spread, np.mean(fifth, axis=1, where=is_token)])


class TokenVectors:
    """The vectors of word pieces before the offline model pools them. Loaded on first use. Thread-safe."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, Session] | None = None

    def of(self, texts: Sequence[str]) -> list[Vectors]:
        """The vectors of each text's first 254 word pieces, `(pieces, 384)`, without its start and end. Raises
        `ConfigError` for a missing or damaged model, and `BackendError` if it fails.
        """
        tokenizer, session = self._load()
        tokens = [tokenizer.encode(text, MAX_TOKENS) for text in texts]
        found = [np.zeros((0, 0), dtype=np.float32)] * len(texts)
        for rows in onnx_models.batches([len(ids) for ids in tokens], BATCH_TOKENS):
            (states,) = _run(session, [TOKENS], padded([tokens[row] for row in rows]))
            for row, state in zip(rows, states, strict=True):
                found[row] = state[1 : len(tokens[row]) - 1]
        return found

    def close(self) -> None:
        """Free the model. The next text loads it again."""
        with self._lock:
            self._loaded = None

    def _load(self) -> tuple[WordPiece, Session]:
        with self._lock:
            if self._loaded is None:
                words = _read_words(_check_file(mnemic_minilm.vocab_path()))
                self._loaded = words, _open(mnemic_minilm.model_path(), self._threads)
            return self._loaded


def _load_once(load: Callable[..., Loaded], *source: object) -> Loaded:
    """Load something, or return what an earlier call with the same arguments loaded and somebody still holds."""
    with _LOADING:
        loaded: Loaded | None = _LOADED.get((load, *source))
        if loaded is None:
            _LOADED[load, *source] = loaded = load(*source)
        return loaded


def _open(model: Path, threads: int) -> Session:
    try:
        return onnx_models.open_session(str(model), threads)
    except onnx_models.runtime_errors() as error:
        raise ConfigError(f"{model} is missing, damaged or not the offline model: {_REPAIR}") from error


def _run(session: Session, outputs: Sequence[str], input_ids: NDArray[np.int32]) -> list[Vectors]:
    try:
        return session.run(outputs, {"input_ids": input_ids})
    except onnx_models.runtime_errors() as error:
        raise BackendError(f"the offline embedder failed on a batch of {len(input_ids)} texts: {error}") from error


def _read_words(vocabulary: Path) -> WordPiece:
    return WordPiece(vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n"))


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
