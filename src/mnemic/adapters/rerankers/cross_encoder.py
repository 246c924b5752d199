"""Reranks with an ONNX cross-encoder in this process, from a local folder or downloaded once. A folder with uncased
BERT tokens needs no package; other tokens, and downloads, need the extra `cross-encoder`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mnemic.adapters import onnx_models
from mnemic.adapters.extras import import_extra
from mnemic.adapters.rerankers.scores import scores_of
from mnemic.errors import BadReplyError, ConfigError
from mnemic.ports.models import Reranker, RerankerCapabilities, Scores

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
"""Apache-2.0, English, 22 million parameters, trained on MS MARCO passages."""

MAX_TOKENS = 512
"""Query and text together. The position table of BERT models ends here."""

LEAST_TOKENS = 5
"""The frame of a pair, and a token of each text."""

MAX_TEXTS = 100  # bounds the time of a recall: each is a run of the model over query and text
WEIGHT = 2.0
"""Lets it decide among candidates with similar scores. Not measured here, because it depends on the data."""

THREADS = 2  # leaves the other cores to further recalls


class CrossEncoderReranker:
    """Scores pairs with a model of one output, such as the ms-marco MiniLM and BGE rerankers."""

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        threads: int = THREADS,
        max_tokens: int = MAX_TOKENS,
        weight: float = WEIGHT,
    ) -> None:
        """`model`: a folder with `model.onnx` and `tokenizer.json` (or `vocab.txt`), an ONNX file in it, or a
        repository to download once. `weight`: as in `RerankerCapabilities`. Loads nothing. Raises `ConfigError` for too
        few tokens.
        """
        if max_tokens < LEAST_TOKENS:
            raise ConfigError(f"a cross-encoder's max_tokens must be at least {LEAST_TOKENS}, not {max_tokens}")
        self._model = model
        self._threads = threads
        self._max_tokens = max_tokens
        self._weight = weight
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        return f"cross-encoder {Path(self._model).name}"

    @property
    def capabilities(self) -> RerankerCapabilities:
        return RerankerCapabilities(is_local=True, is_blocking=False, max_texts=MAX_TEXTS, weight=self._weight)

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        return scores_of(query, texts, MAX_TEXTS, self._judge_pairs, self.name)

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _judge_pairs(self, query: str, texts: list[str]) -> Scores:
        model = self._load()
        pairs = [model.tokens.pair(query, text) for text in texts]
        scores = np.zeros(len(pairs), dtype=np.float32)
        lengths = [len(pair.ids) for pair in pairs]
        for rows in onnx_models.batches(lengths, 1) if model.is_dynamic else onnx_models.batches(lengths):
            answer, _ = model.graph.run(model.output, [pairs[row] for row in rows], model.pad_id)
            if answer.size != len(rows):
                raise BadReplyError(f"{self.name} is not a reranker: it returned {answer.shape} for {len(rows)} pairs")
            scores[rows] = answer.reshape(-1)
        return scores

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                named = Path(self._model).expanduser()
                found = named if named.exists() else _fetch_folder(self._model)
                self._loaded = _Loaded(found, self._threads, self._max_tokens)
            return self._loaded


class _Loaded:
    """A loaded model."""

    def __init__(self, model: Path, threads: int, max_tokens: int) -> None:
        folder, file = onnx_models.find_graph(model)
        self.tokens: onnx_models.Tokens = onnx_models.read_tokens(folder, max_tokens, "cross-encoder")
        self.graph = onnx_models.Graph(file, threads)
        self.output = self.graph.outputs[0].name
        self.is_dynamic = onnx_models.describe(file, ()).is_dynamic
        pad_id = onnx_models.read_table(folder / "config.json").get("pad_token_id")
        self.pad_id = pad_id if isinstance(pad_id, int) else 0


def _fetch_folder(repository: str) -> Path:
    """The folder of a repository in the hub's local cache."""
    hub: Any = import_extra("huggingface_hub", "cross-encoder")
    try:
        files = [
            Path(hub.hf_hub_download(repository, name)) for name in (onnx_models.TOKENIZER_FILE, "onnx/model.onnx")
        ]
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot load cross-encoder {repository!r} ({type(error).__name__}): download it once "
            "while online, or set the model to the folder that contains its files"
        ) from error
    return files[0].parent


if TYPE_CHECKING:
    _: type[Reranker] = CrossEncoderReranker
