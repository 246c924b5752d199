"""A tiny ONNX model in the layout that fastembed reads: every token has a random vector, and each position adds to its
own the mean of all, so that the first position (CLS) knows the whole text.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

DIMS = 384
CHARACTERS = string.ascii_lowercase + string.digits + string.punctuation
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *CHARACTERS, *(f"##{character}" for character in CHARACTERS)]


def write_tiny_model(folder: Path, *, seed: int = 1) -> Path:
    """Write the model and its tokenizer; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}), encoding="utf-8")
    settings = {"model_max_length": 512, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}), encoding="utf-8")
    (folder / "model_optimized.onnx").write_bytes(graph(token_vectors(seed)).SerializeToString())
    return folder


def token_vectors(seed: int = 1) -> NDArray[np.float32]:
    """The vector of every piece, `(pieces, 384)`."""
    return np.random.default_rng(seed).standard_normal((len(PIECES), DIMS)).astype(np.float32)


def tokenizer() -> Tokenizer:
    """WordPiece over single characters."""
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    made = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=1000))
    made.normalizer = BertNormalizer()
    made.pre_tokenizer = BertPreTokenizer()
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


def graph(table: NDArray[np.float32]) -> onnx.ModelProto:
    """`input_ids` and `attention_mask` `(n, tokens) int64` to `last_hidden_state` `(n, tokens, 384)`."""
    shape = ["n", "tokens"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, DIMS])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["tokens"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["tokens", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=1),
        helper.make_node("ReduceSum", ["wide", "middle"], ["count"], keepdims=1),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("Add", ["tokens", "mean"], ["last_hidden_state"]),
    ]
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "last"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "middle"),
    ]
    made = helper.make_graph(nodes, "tiny", inputs, [output], constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
