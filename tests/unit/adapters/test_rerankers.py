"""What rerankers promise beyond the port: sense, set-ups that are explained, and names that packages can bring."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mnemic_minilm
from mnemic.adapters.rerankers.cross_encoder import CrossEncoderReranker
from mnemic.adapters.rerankers.maxsim import MaxSimReranker
from mnemic.adapters.rerankers.registry import open_reranker
from mnemic.adapters.rerankers.scores import scores_of
from mnemic.build import build
from mnemic.config import Config
from mnemic.errors import BadReplyError, ConfigError
from tests.conformance.tiny_folder import plain_tokenizer
from tests.conformance.tiny_reranker import write_tiny_reranker

QUERY = "Which city did she move to?"
TEXTS = ["She relocated to Porto last autumn.", "The soup needs more salt.", "He fixes bicycles on Sundays."]


def test_maxsim_puts_the_text_that_answers_first():
    reranker = MaxSimReranker(threads=1)
    assert int(np.argmax(reranker.rerank(QUERY, TEXTS))) == 0
    reranker.close()


def test_maxsim_of_a_text_with_itself_is_the_number_of_its_word_pieces():
    reranker = MaxSimReranker(threads=1)
    (score,) = reranker.rerank("soup and salt", ["soup and salt"])
    assert score == pytest.approx(3.0, abs=1e-3)
    reranker.close()


def test_maxsim_explains_a_damaged_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    damaged = tmp_path / "model.onnx"
    damaged.write_bytes(b"damaged")
    monkeypatch.setattr(mnemic_minilm, "model_path", lambda: damaged)
    with pytest.raises(ConfigError, match="pip install"):
        MaxSimReranker(threads=1).rerank(QUERY, TEXTS)


def test_a_cross_encoder_reads_query_and_text_in_their_places(tmp_path: Path):
    folder = str(write_tiny_reranker(tmp_path))
    one, other = CrossEncoderReranker(folder), CrossEncoderReranker(folder, max_tokens=6)
    assert one.rerank("ab", ["cd"]) != one.rerank("ab", ["dc e"])
    np.testing.assert_allclose(other.rerank("ab", ["cd"]), other.rerank("ab", ["cd ef gh"]), rtol=1e-5)


def test_a_cross_encoder_in_the_folder_of_an_exporter_is_found(tmp_path: Path):
    write_tiny_reranker(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model_quantized.onnx")
    assert CrossEncoderReranker(str(tmp_path)).rerank("tea", ["green tea"]).shape == (1,)


def test_a_cross_encoder_with_the_tokens_of_an_uncased_bert_needs_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = write_tiny_reranker(tmp_path)
    texts = ["green tea", "tea [SEP] [CLS]", "x" * 40]
    expected = CrossEncoderReranker(str(folder), max_tokens=20).rerank("tea?", texts)
    plain_tokenizer().save(str(folder / "tokenizer.json"))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    np.testing.assert_allclose(CrossEncoderReranker(str(folder), max_tokens=20).rerank("tea?", texts), expected)


def test_the_name_of_a_special_token_in_a_text_is_ordinary_text(tmp_path: Path):
    tokenizer = plain_tokenizer()
    folder = write_tiny_reranker(tmp_path)
    for characters in (100, 50):
        tokenizer.model.max_input_chars_per_word = characters
        tokenizer.save(str(folder / "tokenizer.json"))
        forged, spelt = CrossEncoderReranker(str(folder)).rerank("tea", ["a [SEP] b", "a [ sep ] b"])
        assert forged == spelt


def test_one_of_several_graphs_is_named_as_the_model(tmp_path: Path):
    write_tiny_reranker(tmp_path)
    (tmp_path / "model.onnx").rename(tmp_path / "model_O4.onnx")
    assert CrossEncoderReranker(str(tmp_path / "model_O4.onnx")).rerank("tea", ["green tea"]).shape == (1,)


@pytest.mark.parametrize("tokens", [0, 4])
def test_a_cross_encoder_of_too_few_tokens_is_refused(tokens: int):
    with pytest.raises(ConfigError, match="tokens"):
        CrossEncoderReranker(max_tokens=tokens)


def test_a_model_that_is_no_reranker_is_refused(tmp_path: Path):
    with pytest.raises(BadReplyError, match="not a reranker"):
        CrossEncoderReranker(str(write_tiny_reranker(tmp_path, outputs=3))).rerank("tea", ["green tea"])


@pytest.mark.parametrize("broken", ["tokenizer.json", "model.onnx"])
@pytest.mark.parametrize("content", [None, "nonsense", json.dumps([1])])
def test_missing_and_damaged_files_are_named(tmp_path: Path, broken: str, content: str | None):
    file = write_tiny_reranker(tmp_path) / broken
    file.unlink()
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cross-encoder|tokenizer|model\.onnx"):
        CrossEncoderReranker(str(tmp_path)).rerank("tea", ["green tea"])


@pytest.mark.parametrize("answer", [[1.0], [float("nan"), 1.0], ["x", "y"], [[1.0], [2.0]]])
def test_scores_that_are_not_one_finite_number_per_text_are_refused(answer: Any):
    with pytest.raises(BadReplyError):
        scores_of("tea", ["green tea", "black tea"], 10, lambda _query, _texts: answer, "it")


def test_names_open_rerankers(tmp_path: Path):
    folder = write_tiny_reranker(tmp_path)
    assert open_reranker("maxsim").name == "maxsim"
    assert open_reranker(f"cross-encoder:{folder}").name == f"cross-encoder {folder.name}"
    assert open_reranker("cross-encoder", {"model": str(folder), "weight": 3.0}).capabilities.weight == 3.0


@pytest.mark.parametrize("name", ["maxsin", "maxsim:large"])
def test_an_unknown_name_is_refused(name: str):
    with pytest.raises(ConfigError):
        open_reranker(name)


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigError, match="does not accept"):
        open_reranker("maxsim", {"colour": "red"})


def test_a_reranker_of_another_package_is_opened_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    metadata = tmp_path / "third_party-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(
        "[mnemic.rerankers]\ntheirs = third_party_reranker:build\nbroken = nowhere:build\n", encoding="utf-8"
    )
    (tmp_path / "third_party_reranker.py").write_text(
        "from mnemic.adapters.rerankers.maxsim import MaxSimReranker\n"
        "def build(model, options):\n    assert model == 'large'\n    return MaxSimReranker(**options)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert isinstance(open_reranker("theirs:large", {"threads": 1}), MaxSimReranker)
    with pytest.raises(ConfigError, match="cannot load"):
        open_reranker("broken")


def test_the_configuration_names_the_reranker():
    config = Config(store="memory://", embedder="none", reranker="maxsim", reranker_options={"threads": 1})
    assert isinstance(build(config).reranker, MaxSimReranker)
    assert build(Config(store="memory://", embedder="none")).reranker is None
