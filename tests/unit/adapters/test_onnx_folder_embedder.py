"""Models of a folder: what its files say is obeyed, and what cannot be done is refused by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import mnemic_minilm
from mnemic.adapters.embedders.minilm import MAX_TOKENS as MINILM_TOKENS
from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.embedders.onnx_folder import OnnxFolderEmbedder
from mnemic.adapters.embedders.registry import open_embedder
from mnemic.api import Mnemic
from mnemic.config import Config
from mnemic.errors import ConfigError
from mnemic.model.scope import Scope
from tests.conformance.tiny_folder import (
    MAX_TOKENS,
    dynamic_graph,
    graph_with_input,
    plain_tokenizer,
    pooled_graph,
    write_table,
    write_tiny_folder,
)
from tests.conformance.tiny_model import DIMS, token_vectors

BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "

TEXTS = ["tea at noon", "a"]
Rows = NDArray[np.float32]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny_folder(tmp_path / "model")


def hidden(text: str) -> Rows:
    """The vectors of the tokens that the tiny graph answers, computed in numpy."""
    vectors = token_vectors()[plain_tokenizer().encode(text).ids]
    return vectors + mean(vectors)


def mean(rows: Rows) -> Rows:
    return np.asarray(np.mean(rows, axis=0), dtype=np.float32)


def first(rows: Rows) -> Rows:
    return rows[0]


def last(rows: Rows) -> Rows:
    return rows[-1]


def largest(rows: Rows) -> Rows:
    return np.max(rows, axis=0)


def unit(row: Rows) -> Rows:
    return (row / np.linalg.norm(row)).astype(np.float32)


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize(
    "said, row",
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, mean),
        ({"pooling_mode_cls_token": True}, first),
        ({"pooling_mode_max_tokens": True}, largest),
        ({"pooling_mode_lasttoken": True}, last),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, mean),
        ({"pooling_mode": "lasttoken"}, last),
    ],
)
def test_vectors_are_pooled_as_the_folder_says(folder: Path, said: dict[str, object], row: Callable[[Rows], Rows]):
    write_table(folder / "1_Pooling" / "config.json", said)
    rows = OnnxFolderEmbedder(folder).embed_documents(TEXTS)
    for text, found in zip(TEXTS, rows, strict=True):
        np.testing.assert_allclose(found, unit(row(hidden(text))), atol=1e-5)


@pytest.mark.requirement("N-02", "R-05")
def test_the_prompts_of_the_folder_are_the_prefixes(folder: Path):
    write_table(folder / "config_sentence_transformers.json", {"prompts": {"query": "q: ", "passage": "p: "}})
    embedder = OnnxFolderEmbedder(folder)
    assert (embedder.space.query_prefix, embedder.space.document_prefix) == ("q: ", "p: ")
    np.testing.assert_allclose(embedder.embed_queries(["tea"])[0], unit(mean(hidden("q: tea"))), atol=1e-5)
    np.testing.assert_allclose(embedder.embed_documents(["tea"])[0], unit(mean(hidden("p: tea"))), atol=1e-5)


def test_a_default_prompt_is_for_both(folder: Path):
    said = {"prompts": {"any": "x: "}, "default_prompt_name": "any"}
    write_table(folder / "config_sentence_transformers.json", said)
    space = OnnxFolderEmbedder(folder).space
    assert (space.query_prefix, space.document_prefix) == ("x: ", "x: ")


@pytest.mark.parametrize(
    "name, prefixes, pooling",
    [
        ("bge-small-en-v1.5", (BGE_QUERY_PREFIX, ""), "cls"),
        ("snowflake-arctic-embed-xs", (BGE_QUERY_PREFIX, ""), "cls"),
        ("e5-small-v2-onnx", ("query: ", "passage: "), "mean"),
        ("gte-small", ("", ""), "mean"),
    ],
)
def test_what_no_file_says_is_known_of_a_published_model_by_the_name_of_its_folder(
    tmp_path: Path, name: str, prefixes: tuple[str, str], pooling: str
):
    folder = write_tiny_folder(tmp_path / name, pooling=None)
    write_table(folder / "config_sentence_transformers.json", {"prompts": {"query": "", "document": ""}})
    space = OnnxFolderEmbedder(folder).space
    assert (space.query_prefix, space.document_prefix, space.pooling) == (*prefixes, pooling)


def test_options_go_before_the_files(folder: Path):
    options = {"pooling": "cls", "query_prefix": "q ", "document_prefix": "", "max_tokens": 16}
    space = open_embedder(f"onnx:{folder}", options).space
    assert (space.pooling, space.query_prefix, space.document_prefix, space.max_tokens) == ("cls", "q ", "", 16)


@pytest.mark.requirement("J-03")
def test_dims_and_length_are_those_of_the_model(folder: Path):
    space = OnnxFolderEmbedder(folder).space
    assert (space.dims, space.max_tokens) == (DIMS, MAX_TOKENS)


@pytest.mark.parametrize(
    "said, tokens",
    [
        ({"max_position_embeddings": 40, "model_type": "bert"}, 40),
        ({"max_position_embeddings": 42, "model_type": "mpnet"}, 40),
        ({"max_position_embeddings": 8192}, MAX_TOKENS),
        ({"max_position_embeddings": "many"}, MAX_TOKENS),
    ],
)
def test_a_text_is_never_longer_than_the_table_of_positions(folder: Path, said: dict[str, object], tokens: int):
    write_table(folder / "config.json", said)
    assert OnnxFolderEmbedder(folder).space.max_tokens == tokens


@pytest.mark.parametrize("limit", [10**30, float("inf"), -1, "long"])
def test_a_limit_of_tokens_that_is_none_is_passed_over(folder: Path, limit: object):
    (folder / "sentence_bert_config.json").unlink()
    write_table(folder / "tokenizer_config.json", {"model_max_length": limit})
    assert OnnxFolderEmbedder(folder).space.max_tokens == 512


@pytest.mark.requirement("R-04")
def test_other_weights_in_the_same_folder_are_another_space_and_another_folder_of_the_same_is_not(tmp_path: Path):
    one, same = write_tiny_folder(tmp_path / "one"), write_tiny_folder(tmp_path / "same")
    space = OnnxFolderEmbedder(one).space
    assert OnnxFolderEmbedder(same).space == space
    write_tiny_folder(one, seed=2)
    assert OnnxFolderEmbedder(one).space.id != space.id


def test_weights_that_are_kept_beside_the_graph_are_part_of_the_space(folder: Path):
    space = OnnxFolderEmbedder(folder).space
    (folder / "model.onnx_data").write_bytes(b"weights")
    assert OnnxFolderEmbedder(folder).space.id != space.id


def test_the_files_of_the_offline_model_give_its_vectors():
    folder = mnemic_minilm.model_path().parent
    embedder, shipped = OnnxFolderEmbedder(folder, max_tokens=MINILM_TOKENS), MinilmEmbedder()
    assert (embedder.space.dims, embedder.space.pooling) == (384, "in the graph")
    texts = ["Anna moved to Lisbon in March.", "ok", "明天下午三点开会", "\u200b", "a [SEP] b"]
    np.testing.assert_allclose(embedder.embed_documents(texts), shipped.embed_documents(texts), atol=1e-5)
    embedder.close()
    shipped.close()


def test_a_graph_that_pools_by_itself_is_asked_for_that(folder: Path):
    (folder / "model.onnx").write_bytes(pooled_graph(width=12).SerializeToString())
    embedder = OnnxFolderEmbedder(folder)
    assert (embedder.space.dims, embedder.space.pooling) == (12, "in the graph")
    expected = token_vectors()[plain_tokenizer().encode("tea").ids, :12].sum(axis=0)
    np.testing.assert_allclose(embedder.embed_documents(["tea", "tea at noon"])[0], unit(expected), atol=1e-5)


def test_texts_in_one_call_do_not_change_each_other_where_a_graph_scales_by_the_largest_value(folder: Path):
    (folder / "model.onnx").write_bytes(dynamic_graph().SerializeToString())
    embedder = OnnxFolderEmbedder(folder)
    loud = "~" * 10
    np.testing.assert_array_equal(embedder.embed_documents(["abc", loud])[0], embedder.embed_documents(["abc"])[0])


def test_one_of_several_graphs_is_named_as_the_model(folder: Path):
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model_O4.onnx").write_bytes(pooled_graph(width=12).SerializeToString())
    assert open_embedder(f"onnx:{folder}/onnx/model_O4.onnx").space.dims == 12
    assert open_embedder(f"onnx:{folder}").space.dims == DIMS


def test_tokens_of_an_uncased_bert_need_no_package(folder: Path, monkeypatch: pytest.MonkeyPatch):
    expected = OnnxFolderEmbedder(folder).embed_documents(TEXTS)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    np.testing.assert_array_equal(OnnxFolderEmbedder(folder).embed_documents(TEXTS), expected)


def test_other_tokens_without_the_package_are_refused_with_the_line_that_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    tokenizer = plain_tokenizer()
    tokenizer.model.max_input_chars_per_word = 50
    tokenizer.save(str(folder / "tokenizer.json"))
    assert OnnxFolderEmbedder(folder).embed_documents(["tea"]).any()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError, match=r"pip install 'mnemic\[onnx\]'"):
        _ = OnnxFolderEmbedder(folder).space


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("1_Pooling/config.json", '{"pooling_mode_weightedmean_tokens": true}', "weightedmean"),
        ("1_Pooling/config.json", '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}', "cls and mean"),
        ("1_Pooling/config.json", "{}", "option `pooling`"),
        ("1_Pooling/config.json", "[1]", "damaged"),
        ("config.json", "{", "damaged"),
        ("config.json", "[" * 100_000, "damaged"),
        ("modules.json", '{"type": 1}', "not contain a list of modules"),
        ("modules.json", '[{"type": "x.Transformer", "path": ""}, {"type": "x.Dense", "path": "2_Dense"}]', "Dense"),
        ("tokenizer.json", '{"model": {"type": "Magic"}}', "not a supported tokenizer"),
        ("tokenizer.json", "\xff", "not JSON"),
        ("tokenizer.json", '{"model": {"type": "BPE"}}', "damaged"),
        ("model.onnx", "nonsense", "not an ONNX model"),
    ],
)
def test_what_cannot_be_done_is_refused_when_the_memory_is_opened(folder: Path, name: str, content: str, message: str):
    write_table(folder / name, {})
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        Mnemic.open(Config(store="memory://", embedder=f"onnx:{folder}"))


@pytest.mark.parametrize(
    "missing, message", [("model.onnx", "has neither model"), ("tokenizer.json", "has no tokenizer")]
)
def test_a_missing_file_is_named(folder: Path, missing: str, message: str):
    (folder / missing).unlink()
    with pytest.raises(ConfigError, match=message):
        _ = open_embedder(f"onnx:{folder}").space


def test_an_empty_graph_is_refused(folder: Path):
    (folder / "model.onnx").write_bytes(b"")
    with pytest.raises(ConfigError, match="model"):
        _ = OnnxFolderEmbedder(folder).space


@pytest.mark.parametrize("name", ["pixel_values", "attention_mask"])
def test_a_graph_of_other_inputs_is_refused(folder: Path, name: str):
    (folder / "model.onnx").write_bytes(graph_with_input(name).SerializeToString())
    with pytest.raises(ConfigError, match="input"):
        _ = OnnxFolderEmbedder(folder).space


def test_a_model_that_judges_pairs_is_refused_and_sent_to_the_rerankers(folder: Path):
    (folder / "model.onnx").write_bytes(pooled_graph("logits", 1).SerializeToString())
    with pytest.raises(ConfigError, match="reranker"):
        _ = OnnxFolderEmbedder(folder).space


@pytest.mark.parametrize(
    "options", [{"pooling": "median"}, {"max_tokens": 2}, {"threads": 0}, {"colour": "red"}, {"folder": "x"}]
)
def test_wrong_options_are_refused(folder: Path, options: dict[str, object]):
    with pytest.raises(ConfigError):
        open_embedder(f"onnx:{folder}", options)


def test_a_name_without_a_folder_is_refused():
    with pytest.raises(ConfigError, match="onnx:FOLDER"):
        open_embedder("onnx")


def test_blank_texts_and_texts_of_control_characters_have_the_zero_row(folder: Path):
    assert not OnnxFolderEmbedder(folder).embed_documents(["", " ", "\u200b"]).any()


@pytest.mark.requirement("J-03", "R-04")
def test_a_memory_finds_by_the_model_of_a_folder(folder: Path):
    scope = Scope(user="anna")
    with Mnemic.open(Config(store="memory://", embedder=f"onnx:{folder}")) as memory:
        memory.remember(scope, "green tea at noon")
        memory.remember(scope, "zyxwvut")
        hit = memory.recall(scope, "tea noon").hits[0]
    assert hit.text == "green tea at noon"
    assert {each.feature: each.points for each in hit.contributions}["dense"] > 0
