"""The tokeniser and graph of a model folder, run by onnxruntime in this process. WordPiece of uncased BERT models, the
most common kind, needs no package; others need `tokenizers`. Special tokens ("[SEP]") inside a text are ordinary text,
so no text can forge the input's structure.
"""

import hashlib
import importlib
import json
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.extras import import_extra, import_runtime
from mnemic.errors import BackendError, ConfigError
from mnemic.text.wordpiece import MAX_WORD_CHARACTERS, WordPiece

TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "vocab.txt"

MAX_FILE_BYTES = 64 << 20
"""The largest known vocabularies take 35 MB as JSON."""

_KINDS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_FRAMES = ("[CLS]", "[SEP]")
_PAIR_FRAME = 3
"""Framing tokens of a pair: one before, one between, one after."""


@dataclass(frozen=True, slots=True)
class Tokenised:
    """The ids of a text or pair, and for each the part that it belongs to (0 or 1)."""

    ids: list[int]
    types: list[int]


class Tokens(Protocol):
    """The tokeniser of a model. Thread-safe."""

    def single(self, text: str) -> Tokenised:
        """The ids of a text, cut at the maximum. Empty for a blank text."""
        ...

    def pair(self, first: str, second: str) -> Tokenised:
        """The ids of both texts, cutting the longer one first."""
        ...


def read_tokens(folder: Path, max_tokens: int, extra: str) -> Tokens:
    """Load a folder's tokeniser for at most `max_tokens` tokens, framing included. Raises `ConfigError` if it is
    missing or damaged, or needs the package `tokenizers` (of `extra`) that is not installed.
    """
    file, vocabulary = folder / TOKENIZER_FILE, folder / VOCABULARY_FILE
    if not file.is_file():
        if not vocabulary.is_file():
            raise ConfigError(
                f"{folder} has no tokenizer: it needs {TOKENIZER_FILE}, or the {VOCABULARY_FILE} of a BERT model"
            )
        if read_table(folder / "tokenizer_config.json").get("do_lower_case", True) is not True:
            raise ConfigError(f"{vocabulary} is for a case-sensitive model, which requires {TOKENIZER_FILE}")
        return _Pieces(read_text(vocabulary).removesuffix("\n").split("\n"), max_tokens, vocabulary)
    content = read_text(file)
    table = _table(content, file)
    model = _part(table, "model")
    if model.get("type") not in _KINDS:
        raise ConfigError(f"{file} is not a supported tokenizer; its model must be one of {', '.join(_KINDS)}")
    pieces = _read_pieces(table, model)
    return _Pieces(pieces, max_tokens, file) if pieces else _Packaged(_parsed(content, file, extra), max_tokens)


def read_text(file: Path) -> str:
    """The text of a model's file. Raises `ConfigError` if it is huge, unreadable or not UTF-8."""
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{file} is larger than {MAX_FILE_BYTES >> 20} MB, so it is not a tokenizer file")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error


def read_table(file: Path) -> dict[str, Any]:
    """The JSON object in a file, empty if there is no file. Raises `ConfigError` for anything else."""
    return _table(read_text(file), file) if file.is_file() else {}


def _table(content: str, file: Path) -> dict[str, Any]:
    try:
        table = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged: it is not JSON") from error
    if not isinstance(table, dict):
        raise ConfigError(f"{file} is damaged: it is not a JSON object")
    return cast("dict[str, Any]", table)


def _part(table: dict[str, Any], name: str) -> dict[str, Any]:
    part = table.get(name)
    return cast("dict[str, Any]", part) if isinstance(part, dict) else {}


def _read_pieces(table: dict[str, Any], model: dict[str, Any]) -> list[str]:
    """The pieces by id if `WordPiece` of `mnemic.text` matches this file, else none."""
    expected = {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": MAX_WORD_CHARACTERS}
    normaliser = _part(table, "normalizer")
    cleans = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
    is_ours = (
        all(model.get(name) == value for name, value in expected.items())
        and model.get("continuing_subword_prefix", "##") == "##"
        and all(normaliser.get(name) == value for name, value in cleans.items())
        and normaliser.get("strip_accents") in (None, True)
        and _part(table, "pre_tokenizer") == {"type": "BertPreTokenizer"}
    )
    vocabulary = _part(model, "vocab")
    if not is_ours or any(name not in vocabulary for name in ("[UNK]", *_FRAMES)):
        return []
    is_framed = _is_bert_frame(_part(table, "post_processor"), vocabulary)
    places = {place: piece for piece, place in vocabulary.items() if isinstance(place, int)}
    if not is_framed or sorted(places) != list(range(len(vocabulary))) or _has_added_words(table):
        return []
    return [places[place] for place in range(len(places))]


def _is_bert_frame(processor: dict[str, Any], vocabulary: dict[str, Any]) -> bool:
    """True if the frame is BERT's: [CLS] text [SEP], and [SEP] after the second text of a pair."""
    start, end = ([name, vocabulary[name]] for name in _FRAMES)
    if processor.get("type") == "BertProcessing":
        return processor.get("cls") == start and processor.get("sep") == end
    if processor.get("type") != "TemplateProcessing":
        return False
    special = _part(processor, "special_tokens")
    if any(_part(special, name).get("ids") != [vocabulary[name]] for name in _FRAMES):
        return False
    first = [_special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, _special("[SEP]", 0)]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, _special("[SEP]", 1)]
    return processor.get("single") == first and processor.get("pair") == first + second


def _special(name: str, kind: int) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": kind}}


def _has_added_words(table: dict[str, Any]) -> bool:
    """True if words other than special tokens were added, which are matched before a text is split."""
    added = cast("list[Any]", table.get("added_tokens") or [])
    return any(not isinstance(each, dict) or not cast("dict[str, Any]", each).get("special") for each in added)


class _Pieces:
    """WordPiece of this package."""

    def __init__(self, pieces: list[str], max_tokens: int, file: Path) -> None:
        try:
            self._words = WordPiece(pieces)
        except KeyError as error:
            raise ConfigError(f"{file} is not a BERT vocabulary: it lacks {error}") from error
        self._start, self._end = (pieces.index(name) for name in _FRAMES)
        self._max_tokens = max_tokens

    def single(self, text: str) -> Tokenised:
        ids = self._words.encode(text, self._max_tokens)
        return Tokenised(ids, [0] * len(ids))

    def pair(self, first: str, second: str) -> Tokenised:
        room = self._max_tokens - _PAIR_FRAME
        ones, twos = self._encode_inside(first, room), self._encode_inside(second, room)
        if len(ones) + len(twos) > room:
            shorter = min(len(ones), len(twos), room // 2)
            kept = (shorter, room - shorter) if len(ones) <= len(twos) else (room - shorter, shorter)
            ones, twos = ones[: kept[0]], twos[: kept[1]]
        ids = [self._start, *ones, self._end, *twos, self._end]
        return Tokenised(ids, [0] * (len(ones) + 2) + [1] * (len(twos) + 1))

    def _encode_inside(self, text: str, room: int) -> list[int]:
        """The ids of a text without its frame, at most `room`."""
        return self._words.encode(text, room + 2)[1:-1]


def _parsed(content: str, file: Path, extra: str) -> Any:
    """A tokeniser of the package `tokenizers`."""
    package: Any = import_extra("tokenizers", extra)
    try:
        return package.Tokenizer.from_str(content)
    except Exception as error:  # the package raises nothing narrower; see tests/architecture/test_sizes.py
        raise ConfigError(f"{file} is damaged, or needs a newer tokenizers package: {error}") from error


class _Packaged:
    """A tokeniser read by the package `tokenizers`."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.encode_special_tokens = True

    def single(self, text: str) -> Tokenised:
        found = self._tokenizer.encode(text)
        if all(found.special_tokens_mask):
            return Tokenised([], [])
        return Tokenised(list(found.ids), list(found.type_ids))

    def pair(self, first: str, second: str) -> Tokenised:
        found = self._tokenizer.encode(first, second)
        return Tokenised(list(found.ids), list(found.type_ids))


GRAPH_FILES = (
    *("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_optimized.onnx"),
    *("model_quantized.onnx", "onnx/model_quantized.onnx", "model_int8.onnx", "onnx/model_int8.onnx"),
)
"""File names of graphs, in search order."""

BATCH_TOKENS = 4096
"""Tokens per run of the model, with padding."""

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

_DYNAMIC = b"DynamicQuantize"
"""Part of the names of operators that quantise intermediate values by their maximum."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a graph. `width`: of its last axis, 0 if unknown."""

    name: str
    rank: int
    width: int


def find_graph(model: Path) -> tuple[Path, Path]:
    """The folder of a model and its graph. `model` is a folder, searched for `GRAPH_FILES`, or the graph itself, in the
    tokenizer's folder or one below. Raises `ConfigError` without one.
    """
    if model.suffix == ".onnx" and model.is_file():
        above = model.parent.parent
        has_tokenizer = any((model.parent / name).is_file() for name in (TOKENIZER_FILE, VOCABULARY_FILE))
        return (model.parent if has_tokenizer else above), model
    if not model.is_dir():
        raise ConfigError(f"{model} does not exist; use a model folder or an .onnx file inside one")
    for name in GRAPH_FILES:
        if (model / name).is_file():
            return model, model / name
    others = sorted(
        path.relative_to(model).as_posix() for depth in ("*.onnx", "*/*.onnx") for path in model.glob(depth)
    )
    hint = f"; choose one of {', '.join(others[:5])}" if others else ""
    raise ConfigError(f"the folder {model} has neither model.onnx nor onnx/model.onnx{hint}")


class Graph:
    """A loaded graph. Thread-safe."""

    def __init__(self, file: Path, threads: int) -> None:
        """`threads`: per run. Raises `ConfigError` unless the inputs are token ids, mask and types of a valid graph."""
        try:
            self._session = open_session(str(file), threads)
        except runtime_errors() as error:
            raise ConfigError(f"{file} is not an ONNX model ({type(error).__name__})") from error
        self._file = file
        self._inputs: dict[str, type[np.integer[Any]]] = {}
        for each in self._session.get_inputs():
            if each.name not in INPUTS or each.type not in _TYPES:
                raise ConfigError(
                    f"{file} requires the input {each.name!r} ({each.type}); supported inputs are "
                    f"{', '.join(INPUTS)} with integers"
                )
            self._inputs[each.name] = _TYPES[each.type]
        if "input_ids" not in self._inputs:
            raise ConfigError(f"{file} has no input named input_ids, so it is not a text model")

    @property
    def outputs(self) -> list[Output]:
        """The outputs of the graph."""
        return [
            Output(each.name, len(each.shape), each.shape[-1] if each.shape and isinstance(each.shape[-1], int) else 0)
            for each in self._session.get_outputs()
        ]

    def run(self, output: str, rows: Sequence[Tokenised], pad_id: int = 0) -> tuple[Floats, NDArray[np.bool_]]:
        """The output for these rows, and `(n, tokens)`: True for tokens, not padding. May raise `BackendError`."""
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
    """Indices of rows with tokens, longest first, in groups of up to `tokens` padded tokens (or one row)."""
    rows = sorted((row for row, length in enumerate(lengths) if length), key=lambda row: -lengths[row])
    while rows:
        size = max(1, tokens // lengths[rows[0]])
        yield rows[:size]
        rows = rows[size:]


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A graph's properties without loading it. `checksum`: 12 hex digits over the model's files. `is_dynamic`: it
    scales by a run's maximum, so that texts in one run affect each other.
    """

    checksum: str
    is_dynamic: bool


def describe(graph: Path, others: Sequence[Path]) -> GraphFile:
    """The checksum and kind of a graph. Raises `ConfigError` for an unreadable or empty file."""
    digest, is_dynamic = hashlib.sha256(), False
    beside = sorted(path for path in graph.parent.iterdir() if path.name.startswith(graph.name) and path != graph)
    for file in (graph, *(path for path in (*beside, *others) if path.is_file() and path.stat().st_size)):
        try:
            with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest.update(hashlib.sha256(content).digest())
                is_dynamic = is_dynamic or (file == graph and content.find(_DYNAMIC) >= 0)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{file} cannot be read: {error}") from error
    return GraphFile(digest.hexdigest()[:12], is_dynamic)  # 48 bits distinguish models


def open_session(graph: str, threads: int) -> Any:
    """Load a graph from a file. `threads`: per run. Raises `runtime_errors`."""
    runtime = import_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that wait for the next run by spinning cost 2 ms of CPU time after every question, which others need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def runtime_errors() -> tuple[type[Exception], ...]:
    """The exceptions of onnxruntime. Their only base class is `Exception`."""
    state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    return tuple(kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))
