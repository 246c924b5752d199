"""Folders of tiny models as sentence-transformers writes them: a graph, a tokenizer, and the small files that say how
the vectors of tokens become one, what stands before a text, and how much of it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from tests.conformance.tiny_model import DIMS, PIECES, graph, token_vectors

MAX_TOKENS = 64


def write_tiny_folder(folder: Path, *, seed: int = 1, pooling: str | None = "mean_tokens") -> Path:
    """Write a whole folder; returns it. `pooling` None: no file says how."""
    folder.mkdir(parents=True, exist_ok=True)
    plain_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(graph(token_vectors(seed)).SerializeToString())
    write_table(folder / "config.json", {"hidden_size": DIMS, "max_position_embeddings": 512, "pad_token_id": 0})
    write_table(folder / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    if pooling is not None:
        write_table(
            folder / "1_Pooling" / "config.json", {"word_embedding_dimension": DIMS, f"pooling_mode_{pooling}": True}
        )
    return folder


def write_table(file: Path, table: Mapping[str, Any] | list[Any]) -> None:
    """Write a JSON file."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(table), encoding="utf-8")


def plain_tokenizer() -> Tokenizer:
    """WordPiece over single characters, framed as BERT frames texts and pairs."""
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    made: Any = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return made


def pooled_graph(name: str = "sentence_embedding", width: int = DIMS) -> onnx.ModelProto:
    """`input_ids` to one vector for each text, the sum of its tokens', as the output `name`; [PAD] has the zero row."""
    table = token_vectors()[:, :width].copy()
    table[0] = 0
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("ReduceSum", ["vectors", "middle"], [name], keepdims=0),
    ]
    constants = [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1]), "middle")]
    return _model(nodes, ["input_ids"], helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width]), constants)


def dynamic_graph() -> onnx.ModelProto:
    """`input_ids` to vectors of tokens in 8 bits, with one scale for all of a run, as a quantiser makes them."""
    table = token_vectors() * np.linspace(0.1, 10, len(PIECES), dtype=np.float32)[:, np.newaxis]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("DynamicQuantizeLinear", ["vectors"], ["levels", "scale", "zero"]),
        helper.make_node("DequantizeLinear", ["levels", "scale", "zero"], ["last_hidden_state"]),
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "tokens", DIMS])
    return _model(nodes, ["input_ids"], output, [numpy_helper.from_array(table, "table")])


def graph_with_input(name: str) -> onnx.ModelProto:
    """A graph that wants one input more, or other ones."""
    nodes = [helper.make_node("Cast", [name], ["last_hidden_state"], to=TensorProto.FLOAT)]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "tokens"])
    return _model(nodes, [name], output, [])


def _model(
    nodes: list[onnx.NodeProto], inputs: list[str], output: onnx.ValueInfoProto, constants: list[TensorProto]
) -> onnx.ModelProto:
    taken = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "tokens"]) for name in inputs]
    made = helper.make_graph(nodes, "tiny", taken, [output], constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
