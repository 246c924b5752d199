"""The backend `colbert`: late interaction over one vector per token (Khattab and Zaharia 2020), in this process. A
ColBERT checkpoint needs the extra `memory-colbert`. `checkpoint="minilm"` uses the token vectors of the offline model
and needs nothing. Models are loaded on first use.
"""

from __future__ import annotations

import importlib
import string
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

import mnemic_minilm
from mnemic.adapters.embedders.minilm import MAX_TOKENS, THREADS, TOKENS, Session, open_session
from mnemic.adapters.extras import import_extra
from mnemic.backends.in_memory import Arrays, Document, InMemoryBackend, Scored
from mnemic.backends.primitive import FACTS, MemoryRegistry
from mnemic.errors import BadReplyError, ConfigError
from mnemic.ports.models import Vectors
from mnemic.text.wordpiece import WordPiece

DEFAULT_CHECKPOINT = "colbert-ir/colbertv2.0"
QUERY_TOKENS = 32
"""ColBERT pads a query with [MASK] to this length. The vectors of the padding stand for words it might have had."""

DOCUMENT_TOKENS = 220  # as ColBERTv2's default; longer texts are cut
QUERY_MARKER, DOCUMENT_MARKER = "[unused0]", "[unused1]"


class TokenEmbedder(ABC):
    """Turns a text into one vector per token, `(tokens, dims) float32`. No tokens give no rows."""

    @abstractmethod
    def embed_document(self, text: str) -> Vectors:
        """Vectors of a text to store."""

    @abstractmethod
    def embed_query(self, text: str) -> Vectors:
        """Vectors of a search query."""

    @property
    @abstractmethod
    def model(self) -> str:
        """Identifies the model in saved files. Known without loading it."""

    def close(self) -> None:  # noqa: B027 -- most models need no closing
        """Release the model. Idempotent."""


class CheckpointTokenEmbedder(TokenEmbedder):
    """A ColBERT checkpoint: a name, downloaded from its hub on first use, or the folder of its files. It is a BERT with
    one linear layer on top. As in the authors' code, a marker follows [CLS], queries are padded with [MASK] to 32
    tokens, documents are cut at 220, and their punctuation has no vectors. Needs the extra `memory-colbert`.
    """

    def __init__(self, checkpoint: str = DEFAULT_CHECKPOINT, *, device: str | None = None) -> None:
        """`device`: "cpu", "cuda", …. Default: a GPU if there is one. Loads nothing and needs no package yet."""
        self._checkpoint = checkpoint
        self._device = device
        self._loaded: _Checkpoint | None = None
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """The checkpoint's name or folder, as given."""
        return self._checkpoint

    @property
    def is_loaded(self) -> bool:
        """True once a text has been embedded."""
        return self._loaded is not None

    def embed_document(self, text: str) -> Vectors:
        """Vectors of all tokens except punctuation. Raises `ConfigError` if the checkpoint cannot be loaded."""
        return self._load().document(text)

    def embed_query(self, text: str) -> Vectors:
        """32 vectors. Raises `ConfigError` if the checkpoint cannot be loaded."""
        return self._load().query(text)

    def close(self) -> None:
        """Free the model. The next text loads it again."""
        with self._lock:
            self._loaded = None

    def _load(self) -> _Checkpoint:
        with self._lock:
            if self._loaded is None:
                self._loaded = _Checkpoint(self._checkpoint, self._device)
            return self._loaded


class _Checkpoint:
    """A loaded checkpoint."""

    def __init__(self, source: str, device: str | None) -> None:
        self._torch: Any = import_extra("torch", "memory-colbert")
        transformers: Any = import_extra("transformers", "memory-colbert")
        chosen = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source)
            self._bert: Any = transformers.AutoModel.from_pretrained(source).to(chosen).eval()
            self._linear: Any = _linear(self._torch, transformers, source).to(chosen)
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(
                f"the ColBERT checkpoint {source!r} cannot be loaded ({type(error).__name__}): download it once "
                "while online, or set the folder that contains its files"
            ) from error
        encode = self._tokenizer.encode
        self._silent = {encode(mark, add_special_tokens=False)[0] for mark in string.punctuation}
        self._silent.add(self._tokenizer.pad_token_id)

    def query(self, text: str) -> Vectors:
        ids = self._ids(text, QUERY_MARKER, QUERY_TOKENS)
        padding = QUERY_TOKENS - len(ids)
        return self._run(ids + [self._tokenizer.mask_token_id] * padding, [1] * len(ids) + [0] * padding)

    def document(self, text: str) -> Vectors:
        ids = self._ids(text, DOCUMENT_MARKER, DOCUMENT_TOKENS)
        rows = self._run(ids, [1] * len(ids))
        return rows[[place for place, each in enumerate(ids) if each not in self._silent]]

    def _ids(self, text: str, marker: str, limit: int) -> list[int]:
        """[CLS], the marker, the text and [SEP], at most `limit` in total."""
        ids = self._tokenizer(text, truncation=True, max_length=limit - 1)["input_ids"]
        return [ids[0], self._tokenizer.convert_tokens_to_ids(marker), *ids[1:]]

    def _run(self, ids: list[int], mask: list[int]) -> Vectors:
        torch = self._torch
        with torch.inference_mode():
            device = self._linear.device
            inputs = {"input_ids": [ids], "attention_mask": [mask]}
            hidden = self._bert(**{name: torch.tensor(rows, device=device) for name, rows in inputs.items()})
            vectors = hidden.last_hidden_state[0] @ self._linear.T
            return np.asarray(torch.nn.functional.normalize(vectors, dim=1).cpu().numpy(), dtype=np.float32)


def _linear(torch: Any, transformers: Any, source: str) -> Any:
    """The weight of the top layer, `(dims, hidden)`, which the plain model class leaves out."""
    file: str | None = transformers.utils.cached_file(
        source, "model.safetensors", _raise_exceptions_for_missing_entries=False
    )
    if file is not None:
        safetensors: Any = importlib.import_module("safetensors.torch")
        return safetensors.load_file(file)["linear.weight"].float()
    file = transformers.utils.cached_file(source, "pytorch_model.bin")
    return torch.load(file, map_location="cpu", weights_only=True)["linear.weight"].float()


class MinilmTokenEmbedder(TokenEmbedder):
    """The token vectors of the offline model, `(tokens, 384)`. Needs no package and no download. The model was trained
    for one vector per text, not for MaxSim. Leaves out [CLS] and [SEP]. English.
    """

    def __init__(self, *, threads: int = THREADS) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, Session] | None = None

    @property
    def model(self) -> str:
        """Model, revision and precision."""
        return f"{mnemic_minilm.MODEL}:{mnemic_minilm.REVISION}:{mnemic_minilm.PRECISION}:tokens"

    def embed_document(self, text: str) -> Vectors:
        """Vectors of the first 254 word pieces."""
        tokenizer, session = self._load()
        ids = tokenizer.encode(text, MAX_TOKENS)
        if not ids:
            return np.zeros((0, 0), dtype=np.float32)
        rows = session.run([TOKENS], {"input_ids": np.array([ids], dtype=np.int32)})[0]
        return np.asarray(rows[0, 1:-1], dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Like `embed_document`: the model has no prefixes."""
        return self.embed_document(text)

    def close(self) -> None:
        """Free the model. The next text loads it again."""
        with self._lock:
            self._loaded = None

    def _load(self) -> tuple[WordPiece, Session]:
        with self._lock:
            if self._loaded is None:
                session = open_session(mnemic_minilm.model_path(), self._threads)
                pieces = mnemic_minilm.vocab_path().read_text(encoding="utf-8").removesuffix("\n").split("\n")
                self._loaded = WordPiece(pieces), session
            return self._loaded


def choose_token_embedder(choice: TokenEmbedder | str | None) -> TokenEmbedder:
    """The given embedder, "minilm", or a checkpoint by name or folder. None: `DEFAULT_CHECKPOINT`."""
    if isinstance(choice, TokenEmbedder):
        return choice
    if choice == "minilm":
        return MinilmTokenEmbedder()
    return CheckpointTokenEmbedder(choice or DEFAULT_CHECKPOINT)


def max_sim(query: Vectors, document: Vectors) -> float:
    """The sum over the query's tokens of the highest cosine with any token of the document. Both are `(tokens, dims)
    float32` with unit rows. 0 if either has no tokens.
    """
    if not query.size or not document.size:
        return 0.0
    return float((query @ document.T).max(axis=1).sum())


@MemoryRegistry.register("colbert")
class ColbertBackend(InMemoryBackend[Vectors]):
    """Scores are MaxSim: at most the number of the query's tokens. `checkpoint`: a name (default
    `colbert-ir/colbertv2.0`, downloaded from its hub), a folder, "minilm" for the token vectors of the offline model,
    or a `TokenEmbedder`. Loaded on first use.
    """

    facts = FACTS["colbert"]

    def __init__(self, checkpoint: TokenEmbedder | str | None = None) -> None:
        """Loads nothing. The first text raises `ConfigError` if a package or the model is missing."""
        super().__init__()
        self._embedder = choose_token_embedder(checkpoint)
        self._matrices: dict[str, Vectors] = {}

    def close(self) -> None:
        """Close the embedder and drop all documents."""
        self.clear()
        self._embedder.close()

    def _read(self, content: str) -> Vectors:
        return _unit(self._embedder.embed_document(content))

    def _ask(self, query: str) -> Vectors:
        return _unit(self._embedder.embed_query(query))

    def _best(self, evidence: Vectors, limit: int) -> Sequence[Scored]:
        if not evidence.size:
            return []
        scored = [(doc_id, max_sim(evidence, matrix)) for doc_id, matrix in self._matrices.items()]
        return sorted(scored, key=lambda entry: -entry[1])[:limit]

    def _add(self, doc_id: str, evidence: Vectors) -> None:
        self._matrices[doc_id] = evidence

    def _remove(self, doc_id: str) -> None:
        del self._matrices[doc_id]

    def _replace(self, documents: Sequence[tuple[str, Document]], arrays: Arrays) -> None:
        if not documents:
            self._matrices = {}
            return
        pieces = np.split(arrays["tokens"].astype(np.float32), np.cumsum(arrays["lengths"])[:-1])
        self._matrices = {doc_id: piece for (doc_id, _), piece in zip(documents, pieces, strict=True)}

    def _arrays(self) -> Arrays:
        matrices = [matrix for matrix in self._matrices.values() if matrix.size]
        lengths = [len(matrix) for matrix in self._matrices.values()]
        tokens = np.concatenate(matrices) if matrices else np.zeros((0, 0), dtype=np.float32)
        return {"tokens": tokens, "lengths": np.array(lengths, dtype=np.int64)}

    def _model(self) -> str:
        return self._embedder.model


def _unit(rows: Vectors) -> Vectors:
    """Normalise rows to unit length; zero rows stay. Raises `BadReplyError` unless it is a table of finite numbers."""
    matrix = np.asarray(rows, dtype=np.float32)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():  # noqa: PLR2004 -- a table has two
        raise BadReplyError(f"the token embedder returned an array of shape {matrix.shape}; expected (tokens, dims)")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
