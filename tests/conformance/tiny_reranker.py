"""A tiny ONNX cross-encoder in the layout that exporters write: its score is the inner product of the mean token vector
of the query (type 0) and that of the text (type 1), of random vectors.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers.processors import TemplateProcessing

from tests.conformance.tiny_model import PIECES, tokenizer

DIMS = 16


def write_tiny_reranker(folder: Path, *, seed: int = 1, outputs: int = 1) -> Path:
    """Write the model and its tokenizer; returns the folder. `outputs`: scores per pair; a reranker has one."""
    folder.mkdir(parents=True, exist_ok=True)
    made = tokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(_graph(seed, outputs).SerializeToString())
    return folder


def _graph(seed: int, outputs: int) -> onnx.ModelProto:
    """`input_ids`, `attention_mask` and `token_type_ids` `(n, tokens) int64` to `logits` `(n, outputs)`."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", outputs])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("Sub", ["attention_mask", "token_type_ids"], ["of_query"]),
        *_mean("of_query", "query"),
        *_mean("token_type_ids", "text"),
        helper.make_node("Mul", ["query", "text"], ["products"]),
        helper.make_node("ReduceSum", ["products", "middle"], ["score"], keepdims=1),
        helper.make_node("Concat", ["score"] * outputs, ["logits"], axis=1),
    ]
    table = np.random.default_rng(seed).standard_normal((len(PIECES), DIMS)).astype(np.float32)
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "last"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "middle"),
    ]
    made = helper.make_graph(nodes, "tiny", inputs, [output], constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _mean(mask: str, name: str) -> list[onnx.NodeProto]:
    return [
        helper.make_node("Cast", [mask], [f"{name}_mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", [f"{name}_mask", "last"], [f"{name}_wide"]),
        helper.make_node("Mul", ["vectors", f"{name}_wide"], [f"{name}_kept"]),
        helper.make_node("ReduceSum", [f"{name}_kept", "middle"], [f"{name}_sum"], keepdims=0),
        helper.make_node("ReduceSum", [f"{name}_wide", "middle"], [f"{name}_count"], keepdims=0),
        helper.make_node("Div", [f"{name}_sum", f"{name}_count"], [name]),
    ]
