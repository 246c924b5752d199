"""Embeds with an ONNX model in a local folder, as sentence-transformers and its exporters write it. Pooling, prefixes
and length come from files beside the graph or, for published models, from the folder's name. Downloads nothing.
Unsupported models are refused when the memory is opened, not at the first text.
"""

import json
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters import onnx_models
from mnemic.adapters.embedders.known import known_model, rows_of, unit_rows
from mnemic.errors import BadReplyError, ConfigError
from mnemic.model.candidates import Space
from mnemic.ports.models import Embedder, EmbedderCapabilities, Vectors

POOLINGS = ("mean", "cls", "max", "last")
"""How token vectors become one. "cls" is the first token's, "last" the last one's."""

MAX_TOKENS = 512
"""Default limit of tokens per text. Longer texts would take seconds, while a write waits for its vector."""

LEAST_TOKENS = 8  # fewer leave no room for a text beside the prefix and the two framing tokens

_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
    # The same direction as the mean; only the direction is kept.
    "pooling_mode_mean_sqrt_len_tokens": "mean",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
_NAMES = {"lasttoken": "last", "mean_sqrt_len_tokens": "mean"}
_HARMLESS = ("Transformer", "Pooling", "Normalize")
_OFFSET_POSITIONS = ("camembert", "mpnet", "roberta", "xlm-roberta")
"""Model types whose first position follows the padding's: two fewer than the table has."""


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """`pooling` "": unspecified. `further`: steps after pooling. `width`: of a vector, 0 if unspecified."""

    pooling: str
    query_prefix: str
    document_prefix: str
    max_tokens: int
    width: int
    pad_id: int
    further: tuple[str, ...]


def read_settings(folder: Path) -> FolderSettings:
    """Read a folder's settings. Raises `ConfigError` for a damaged file or an unsupported setting."""
    known = known_model(folder.name)
    config = onnx_models.read_table(folder / "config.json")
    query, document = _prompts(onnx_models.read_table(folder / "config_sentence_transformers.json"))
    if not query and not document:
        query, document = known.query_prefix, known.document_prefix
    pooling_file, further = _modules(folder)
    pooling = onnx_models.read_table(pooling_file)
    if pooling.get("include_prompt") is False and (query or document):
        raise ConfigError(f"{pooling_file} excludes the prefix from pooling, which is not supported; use another model")
    return FolderSettings(
        pooling=_pooling(pooling, pooling_file) or known.pooling,
        query_prefix=query,
        document_prefix=document,
        max_tokens=_max_tokens(folder, config),
        width=_number(pooling.get("word_embedding_dimension")) or _number(config.get("hidden_size")),
        pad_id=_number(config.get("pad_token_id")),
        further=further,
    )


def _prompts(table: dict[str, Any]) -> tuple[str, str]:
    """The prefixes of queries and documents, by the names that sentence-transformers uses."""
    found = table.get("prompts")
    prompts = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    default = prompts.get(str(table.get("default_prompt_name") or ""), "")
    query = prompts.get("query", default)
    document = next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), default)
    return str(query or ""), str(document or "")


def _modules(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The file that describes the pooling, and the modules that change the result after it."""
    file = folder / "modules.json"
    if not file.is_file():
        return folder / "1_Pooling" / "config.json", ()
    try:
        modules = json.loads(onnx_models.read_text(file))
        kinds = [(str(each["type"]).rpartition(".")[2], str(each["path"])) for each in modules]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged: it does not contain a list of modules") from error
    path = next((path for kind, path in kinds if kind == "Pooling"), "1_Pooling")
    further = tuple(kind for kind, _ in kinds if kind not in _HARMLESS)
    return folder / Path(path).name / "config.json", further


def _pooling(table: dict[str, Any], file: Path) -> str:
    named = table.get("pooling_mode")
    flagged = [way for flag, way in _FLAGS.items() if table.get(flag) is True]
    ways = {_NAMES.get(way, way) for way in ([named] if isinstance(named, str) else flagged)}
    if len(ways) > 1 or not ways <= set(POOLINGS):
        raise ConfigError(f"{file} sets the pooling to {' and '.join(sorted(ways))}; use one of {', '.join(POOLINGS)}")
    return next(iter(ways), "")


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    """The smallest limit in the files, at most `MAX_TOKENS`."""
    positions = _number(config.get("max_position_embeddings"))
    if positions and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    said = (
        onnx_models.read_table(folder / "sentence_bert_config.json").get("max_seq_length"),
        onnx_models.read_table(folder / "tokenizer_config.json").get("model_max_length"),
        positions,
    )
    return max(LEAST_TOKENS, min([MAX_TOKENS, *(number for number in map(_number, said) if number)]))


def _number(value: object) -> int:
    """A whole number of 0 or more, else 0. Exporters write "no limit" as a number of thirty digits."""
    return int(value) if isinstance(value, int | float) and 0 <= value < math.inf else 0


BATCH_TEXTS = 64  # enough to sort by length, so that runs contain little padding
BATCH_TOKENS = 512
"""Tokens per run of the model, with padding, as for the offline model."""

THREADS = 2
"""Parallel runs of the model, one thread each (decision 0003)."""

POOLED = "in the graph"
_TEXT_RANK, _TOKEN_RANK = 2, 3
"""Number of axes of an output with a vector per text, and per token."""

_POOLED_OUTPUTS = ("sentence_embedding", "embedding", "embeddings", "sentence_embeddings", "text_embeds")
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings", "hidden_states")


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model: graph, output, pooling and tokeniser."""

    graph: onnx_models.Graph
    output: str
    pooling: str
    width: int
    tokens: onnx_models.Tokens


class OnnxFolderEmbedder:
    """A model folder. Its files set prefixes, pooling and length, unless options override them."""

    capabilities = EmbedderCapabilities(is_local=True, is_blocking=False, batch_size=BATCH_TEXTS)

    def __init__(
        self,
        model: Path | str,
        *,
        pooling: str | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        max_tokens: int | None = None,
        threads: int = THREADS,
    ) -> None:
        """`model`: a folder, or one of its ONNX files. `pooling`: one of `POOLINGS`; None: from the files. `threads`:
        parallel runs. Reads only the small files. Raises `ConfigError` if one is missing, damaged or unsupported.
        """
        if pooling is not None and pooling not in POOLINGS:
            raise ConfigError(f"pooling must be one of {', '.join(POOLINGS)}, not {pooling!r}")
        if threads < 1 or (max_tokens is not None and max_tokens < LEAST_TOKENS):
            raise ConfigError(f"threads must be at least 1 and max_tokens at least {LEAST_TOKENS}")
        self._folder, self._file = onnx_models.find_graph(Path(model).expanduser())
        said = read_settings(self._folder)
        self._said, self._asked_pooling = said, pooling
        self._query_prefix = said.query_prefix if query_prefix is None else query_prefix
        self._document_prefix = said.document_prefix if document_prefix is None else document_prefix
        self._max_tokens, self._threads = max_tokens or said.max_tokens, threads
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def space(self) -> Space:
        """The space is named after the files' checksum, so you can move the folder, and other weights are another
        space. Loads the graph to see its outputs. Raises `ConfigError`.
        """
        return self._space

    @cached_property
    def _space(self) -> Space:
        model = self._load()
        return Space(
            model=f"onnx:{self._kind.checksum}",
            revision="",
            precision="as published",
            dims=model.width or self._probe_dims(model),
            pooling=model.pooling,
            query_prefix=self._query_prefix,
            document_prefix=self._document_prefix,
            max_tokens=self._max_tokens,
        )

    @cached_property
    def _kind(self) -> onnx_models.GraphFile:
        return onnx_models.describe(
            self._file, [self._folder / onnx_models.TOKENIZER_FILE, self._folder / onnx_models.VOCABULARY_FILE]
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._document_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._query_prefix)

    def close(self) -> None:
        with self._lock:
            pool, self._pool, self._model = self._pool, None, None
        if pool is not None:
            pool.shutdown()

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        return rows_of(texts, self.space.dims, partial(self._rows, prefix=prefix))

    def _rows(self, texts: list[str], prefix: str) -> Vectors:
        model, dims = self._load(), self.space.dims
        tokens = [model.tokens.single(prefix + text) for text in texts]
        # A graph that scales by a run's largest value gets one text per run: others would change its vector.
        limit = 1 if self._kind.is_dynamic else BATCH_TOKENS
        groups = list(onnx_models.batches([len(each.ids) for each in tokens], limit))
        inputs = [[tokens[row] for row in rows] for rows in groups]
        run = partial(self._run, model)
        found = map(run, inputs) if len(inputs) == 1 else self._runners().map(run, inputs)
        vectors = np.zeros((len(texts), dims), dtype=np.float32)
        for rows, values in zip(groups, found, strict=True):
            vectors[rows] = unit_rows(values, (len(rows), dims), str(self._file))
        return vectors

    def _run(self, model: _Model, rows: list[onnx_models.Tokenised]) -> Vectors:
        answer, mask = model.graph.run(model.output, rows, self._said.pad_id)
        if model.pooling == POOLED:
            return answer
        if answer.shape[:2] != mask.shape or not answer.shape[-1]:
            raise BadReplyError(f"{self._file} returned shape {answer.shape} for tokens of shape {mask.shape}")
        return pooled(answer, mask, model.pooling)

    def _probe_dims(self, model: _Model) -> int:
        row = self._run(model, [model.tokens.single("a")])
        return int(row.shape[-1])

    def _load(self) -> _Model:
        with self._lock:
            self._model = self._model or self._open_model()
            return self._model

    def _open_model(self) -> _Model:
        tokens = onnx_models.read_tokens(self._folder, self._max_tokens, "onnx")
        graph = onnx_models.Graph(self._file, 1)
        output, pooling = self._choice(graph.outputs, self._said)
        return _Model(graph, output.name, pooling, output.width, tokens)

    def _choice(self, outputs: Sequence[onnx_models.Output], said: FolderSettings) -> tuple[onnx_models.Output, str]:
        """The output to use: the pooled one if the graph has it and no option asks for another."""
        by_name = {output.name: output for output in outputs}
        of_texts = [output for output in outputs if output.name in _POOLED_OUTPUTS and output.rank == _TEXT_RANK]
        of_tokens = [output for output in outputs if output.rank == _TOKEN_RANK]
        of_tokens.sort(key=lambda output: output.name not in _TOKEN_OUTPUTS)
        if of_texts and self._asked_pooling is None:
            return of_texts[0], POOLED
        if not of_tokens:
            hint = "; a model with logits is a reranker, so set it as `reranker`" if "logits" in by_name else ""
            raise ConfigError(
                f"{self._file} must output token vectors (last_hidden_state) or usable text vectors "
                f"(sentence_embedding), not {', '.join(by_name)}{hint}"
            )
        if said.further:
            raise ConfigError(
                f"{self._folder} applies {' and '.join(said.further)} after pooling, but {self._file.name} does not; "
                "export the model with sentence_embedding as an output"
            )
        pooling = self._asked_pooling or said.pooling
        if not pooling:
            raise ConfigError(
                f"no file in {self._folder} specifies the pooling; set the option `pooling` to one of "
                f"{', '.join(POOLINGS)} according to the model card"
            )
        return of_tokens[0], pooling

    def _runners(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="mnemic-embed")
            return self._pool


def pooled(vectors: Vectors, mask: NDArray[np.bool_], way: str) -> Vectors:
    """One row per text from its tokens' `vectors` `(n, tokens, dims)`, not normalised, so "mean" is their sum."""
    if way == "cls":
        return vectors[:, 0]
    if way == "last":
        return vectors[np.arange(len(vectors)), mask.sum(axis=1) - 1]
    if way == "max":
        return np.where(mask[..., np.newaxis], vectors, -np.inf).max(axis=1)
    return np.einsum("ntd,nt->nd", vectors, mask.astype(np.float32))


if TYPE_CHECKING:
    _: type[Embedder] = OnnxFolderEmbedder
