"""Tokens of a model in a folder, against the `tokenizers` package that wrote the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mnemic.adapters.onnx_models import read_tokens
from mnemic.errors import ConfigError
from tests.conformance.tiny_folder import plain_tokenizer, write_table

ROOM = 12
WORDS = st.text(alphabet="ab é.", max_size=ROOM - 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    plain_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def reference(max_tokens: int) -> Tokenizer:
    made: Any = plain_tokenizer()
    made.enable_truncation(max_tokens)
    made.encode_special_tokens = True
    return made


@given(first=WORDS, second=WORDS)
def test_pairs_are_framed_and_cut_as_the_package_does(folder: Path, first: str, second: str):
    found, expected = read_tokens(folder, ROOM, "onnx").pair(first, second), reference(ROOM).encode(first, second)
    assert (found.ids, found.types) == (expected.ids, expected.type_ids)


@given(text=st.text(alphabet="ab é.[SEP]", max_size=2 * ROOM))
def test_single_texts_are_framed_and_cut_as_the_package_does(folder: Path, text: str):
    found, expected = read_tokens(folder, ROOM, "onnx").single(text), reference(ROOM).encode(text)
    assert found.ids == ([] if all(expected.special_tokens_mask) else expected.ids)
    assert set(found.types) <= {0}


@pytest.mark.parametrize("characters", [100, 50])
def test_no_text_forges_the_structure_of_the_input(tmp_path: Path, characters: int):
    """100 is read without the package, 50 with it."""
    made = plain_tokenizer()
    made.model.max_input_chars_per_word = characters
    made.save(str(tmp_path / "tokenizer.json"))
    tokens = read_tokens(tmp_path, 100, "onnx")
    assert tokens.single("a [SEP] b [CLS]").ids.count(3) == 1
    assert tokens.pair("a [SEP]", "b [SEP]").ids.count(3) == 2


def test_a_vocabulary_alone_is_that_of_an_uncased_bert(tmp_path: Path, folder: Path):
    pieces = sorted(plain_tokenizer().get_vocab().items(), key=lambda each: each[1])
    (tmp_path / "vocab.txt").write_text("\n".join(piece for piece, _ in pieces) + "\n", encoding="utf-8")
    assert read_tokens(tmp_path, ROOM, "onnx").single("Ab é") == read_tokens(folder, ROOM, "onnx").single("Ab é")


def test_a_vocabulary_alone_of_a_model_that_knows_capitals_is_refused(tmp_path: Path):
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
    write_table(tmp_path / "tokenizer_config.json", {"do_lower_case": False})
    with pytest.raises(ConfigError, match="case-sensitive"):
        read_tokens(tmp_path, ROOM, "onnx")


def test_a_vocabulary_without_the_pieces_of_a_bert_is_refused(tmp_path: Path):
    (tmp_path / "vocab.txt").write_text("tea\nnoon\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="UNK"):
        read_tokens(tmp_path, ROOM, "onnx")
