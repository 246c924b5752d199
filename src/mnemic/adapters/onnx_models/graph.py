"""The graph of a model in a folder, run by onnxruntime in this process.

Answers for finding, checking, loading and running it. Graphs of other inputs than those of text encoders are refused.
"""

from __future__ import annotations

import hashlib
import importlib
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.extras import import_runtime
from mnemic.adapters.onnx_models.tokens import TOKENIZER_FILE, VOCABULARY_FILE, Tokenised
from mnemic.errors import BackendError, ConfigError

GRAPH_FILES = (
    *("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_optimized.onnx"),
    *("model_quantized.onnx", "onnx/model_quantized.onnx", "model_int8.onnx", "onnx/model_int8.onnx"),
)
"""Where exporters put the graph, in the order in which they are looked for."""

BATCH_TOKENS = 4096
"""Tokens, padding included, of one run of the model."""

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

_DYNAMIC = b"DynamicQuantize"
"""The operators that quantise what flows through the graph by its largest value have this in their names."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Output:
    """One output of a graph. `width`: of its last axis, 0 when the graph does not say."""

    name: str
    rank: int
    width: int


def find_graph(model: Path) -> tuple[Path, Path]:
    """The folder of a model and the graph in it. `model` is the folder, of which the first of `GRAPH_FILES` is taken,
    or the graph itself, which stands beside the tokenizer or a folder below. Raises `ConfigError` without one.
    """
    if model.suffix == ".onnx" and model.is_file():
        above = model.parent.parent
        has_tokenizer = any((model.parent / name).is_file() for name in (TOKENIZER_FILE, VOCABULARY_FILE))
        return (model.parent if has_tokenizer else above), model
    if not model.is_dir():
        raise ConfigError(f"{model} is not there; it must be the folder of a model, or an .onnx file in it")
    for name in GRAPH_FILES:
        if (model / name).is_file():
            return model, model / name
    others = sorted(
        path.relative_to(model).as_posix() for depth in ("*.onnx", "*/*.onnx") for path in model.glob(depth)
    )
    hint = f"; it has {', '.join(others[:5])}, of which one can be named" if others else ""
    raise ConfigError(f"the folder {model} holds no model.onnx and no onnx/model.onnx{hint}")


class Graph:
    """A loaded graph. It may be run from several threads at once."""

    def __init__(self, file: Path, threads: int) -> None:
        """`threads`: of one run. Raises `ConfigError` when the file is no graph, or one that wants other inputs than
        token ids, their mask and their types.
        """
        runtime = import_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that wait for the next run by spinning cost processor after every question, which others need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except runtime_errors() as error:
            raise ConfigError(f"{file} is no ONNX model ({type(error).__name__})") from error
        self._file = file
        self._inputs: dict[str, type[np.integer[Any]]] = {}
        for each in self._session.get_inputs():
            if each.name not in INPUTS or each.type not in _TYPES:
                raise ConfigError(
                    f"{file} wants the input {each.name!r} ({each.type}); only {', '.join(INPUTS)} of whole numbers "
                    "can be given to a model"
                )
            self._inputs[each.name] = _TYPES[each.type]
        if "input_ids" not in self._inputs:
            raise ConfigError(f"{file} takes no input_ids; it is no model of texts")

    @property
    def outputs(self) -> list[Output]:
        """What the graph can answer."""
        return [
            Output(each.name, len(each.shape), each.shape[-1] if each.shape and isinstance(each.shape[-1], int) else 0)
            for each in self._session.get_outputs()
        ]

    def run(self, output: str, rows: Sequence[Tokenised], pad_id: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
        """What the graph answers for these rows together, and `(n, tokens)`: where there is a token and no padding.

        Raises `BackendError` when it fails.
        """
        shape = (len(rows), max(len(row.ids) for row in rows))
        ids, types = np.full(shape, pad_id, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.bool_)
        for place, row in enumerate(rows):
            length = len(row.ids)
            ids[place, :length], types[place, :length], mask[place, :length] = row.ids, row.types, True
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        feed = {name: values[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            answer = self._session.run([output], feed)[0]
        except runtime_errors() as error:
            raise BackendError(f"{self._file} failed on {len(rows)} texts ({type(error).__name__})") from error
        return np.asarray(answer, dtype=np.float32), mask


def batches(lengths: Sequence[int], tokens: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """The rows that have tokens, longest first, in groups of at most `tokens` padded tokens (or of one row)."""
    rows = sorted((row for row, length in enumerate(lengths) if length), key=lambda row: -lengths[row])
    while rows:
        size = max(1, tokens // lengths[rows[0]])
        yield rows[:size]
        rows = rows[size:]


@dataclass(frozen=True, slots=True)
class GraphFile:
    """What a graph is without loading it. `checksum`: 12 hexadecimal digits over it, the weights that are kept beside
    it and the other files of its model. `is_dynamic`: it scales what flows through it by the largest value of a run,
    so that texts in one run change each other's answers.
    """

    checksum: str
    is_dynamic: bool


def describe(graph: Path, others: Sequence[Path]) -> GraphFile:
    """The checksum and the kind of a graph. Raises `ConfigError` for a file that cannot be read, or is empty."""
    digest, is_dynamic = hashlib.sha256(), False
    beside = sorted(path for path in graph.parent.iterdir() if path.name.startswith(graph.name) and path != graph)
    for file in (graph, *(path for path in (*beside, *others) if path.is_file() and path.stat().st_size)):
        try:
            with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest.update(hashlib.sha256(content).digest())
                is_dynamic = is_dynamic or (file == graph and content.find(_DYNAMIC) >= 0)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{file} cannot be read: {error}") from error
    return GraphFile(digest.hexdigest()[:12], is_dynamic)


def runtime_errors() -> tuple[type[Exception], ...]:
    """The exceptions of onnxruntime, which have no parent but `Exception`."""
    state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    return tuple(kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))
