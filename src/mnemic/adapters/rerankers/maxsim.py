"""Reranks by late interaction over the offline model's token vectors: MaxSim (Khattab and Zaharia 2020). English.
Weaker than a ColBERT checkpoint, because the model was trained for one vector per text, but needs no download.
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import mnemic_minilm
from mnemic.adapters.embedders import minilm
from mnemic.adapters.rerankers.scores import scores_of
from mnemic.errors import BackendError
from mnemic.ports.models import Reranker, RerankerCapabilities, Scores, Vectors
from mnemic.text.wordpiece import WordPiece

THREADS = 2
"""Per run: it scores many whole texts at once."""

MAX_TEXTS = 200  # bounds the time of a recall; twice the cross-encoder's, since the model is small
WEIGHT = 0.25
"""Measured: the highest weight that harmed no test set (docs/decisions/0009-rerankers.md)."""


class MaxSimReranker:
    """The sum over the query's word pieces of the highest cosine with any word piece of the text."""

    def __init__(self, *, threads: int = THREADS) -> None:
        """Loads nothing until the first text."""
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, minilm.Session] | None = None

    @property
    def name(self) -> str:
        return "maxsim"

    @property
    def capabilities(self) -> RerankerCapabilities:
        return RerankerCapabilities(is_local=True, is_blocking=False, max_texts=MAX_TEXTS, weight=WEIGHT)

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        return scores_of(query, texts, MAX_TEXTS, self._judge_texts, self.name)

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _judge_texts(self, query: str, texts: list[str]) -> list[float]:
        asked, *said = self._token_vectors([query, *texts])
        return [float((asked @ each.T).max(axis=1).sum()) if asked.size and each.size else 0.0 for each in said]

    def _token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """The unit vectors of each text's word pieces, `(pieces, 384)`, without its start and end."""
        tokenizer, session = self._load()
        tokens = [tokenizer.encode(text, minilm.MAX_TOKENS) for text in texts]
        found = [np.zeros((0, 0), dtype=np.float32)] * len(texts)
        for rows in minilm.token_batches([len(ids) for ids in tokens]):
            try:
                (states,) = session.run([minilm.TOKENS], {"input_ids": minilm.padded([tokens[row] for row in rows])})
            except minilm.runtime_errors() as error:
                raise BackendError(f"maxsim failed to score {len(rows)} texts ({type(error).__name__})") from error
            for row, state in zip(rows, states, strict=True):
                vectors = state[1 : len(tokens[row]) - 1]
                found[row] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return found

    def _load(self) -> tuple[WordPiece, minilm.Session]:
        with self._lock:
            if self._loaded is None:
                pieces = mnemic_minilm.vocab_path().read_text(encoding="utf-8").removesuffix("\n").split("\n")
                self._loaded = WordPiece(pieces), minilm.open_session(mnemic_minilm.model_path(), self._threads)
            return self._loaded


if TYPE_CHECKING:
    _: type[Reranker] = MaxSimReranker
