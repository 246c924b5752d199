"""The fastembed adapter with fastembed's own loading and pooling, over a tiny model in a local folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.fastembed import DEFAULT_MODEL, FastEmbedEmbedder
from mnemic.errors import ConfigError
from tests.conformance.tiny_model import token_vectors, tokenizer, write_tiny_model

BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def first_position(text: str) -> NDArray[np.float32]:
    """What CLS pooling of the tiny model gives, computed in numpy."""
    vectors = token_vectors()[tokenizer().encode(text).ids]
    row = vectors[0] + vectors.mean(axis=0)
    return row / np.linalg.norm(row)


@pytest.mark.requirement("N-01", "R-04")
def test_the_small_bge_has_384_dims_and_pools_the_first_position(folder: Path):
    embedder = FastEmbedEmbedder(DEFAULT_MODEL, folder=folder)
    assert DEFAULT_MODEL == "bge-small-en-v1.5-q"
    assert (embedder.space.model, embedder.space.dims, embedder.space.pooling) == ("bge-small-en-v1.5", 384, "cls")
    row = embedder.embed_documents(["tea at noon"])[0]
    np.testing.assert_allclose(row, first_position("tea at noon"), atol=1e-5)


@pytest.mark.requirement("N-02", "N-03", "R-05")
def test_queries_get_the_instruction_and_documents_get_nothing(folder: Path):
    embedder = FastEmbedEmbedder(folder=folder)
    query, document = embedder.embed_queries(["where is tea?"])[0], embedder.embed_documents(["where is tea?"])[0]
    np.testing.assert_allclose(query, first_position(BGE_QUERY_PREFIX + "where is tea?"), atol=1e-5)
    np.testing.assert_allclose(document, first_position("where is tea?"), atol=1e-5)


@pytest.mark.requirement("J-04")
def test_blank_texts_load_no_model(tmp_path: Path):
    embedder = FastEmbedEmbedder(folder=tmp_path)
    assert not embedder.embed_documents(["", " "]).any()


@pytest.mark.requirement("R-04")
def test_two_folders_with_other_weights_are_two_spaces(folder: Path, tmp_path: Path):
    other = FastEmbedEmbedder(folder=write_tiny_model(tmp_path, seed=2))
    assert other.space.id != FastEmbedEmbedder(folder=folder).space.id


def test_models_are_found_with_and_without_their_publisher():
    for name in ("BAAI/bge-small-en-v1.5", "bge-small-en-v1.5", "bge-small-en-v1.5-q"):
        assert FastEmbedEmbedder(name).space.model == "bge-small-en-v1.5"


def test_a_model_that_fastembed_does_not_know_is_refused_with_the_line_that_lists_them():
    with pytest.raises(ConfigError, match="list_supported_models"):
        FastEmbedEmbedder("no-such-model")


def test_a_folder_that_is_not_there_is_refused_at_once(tmp_path: Path):
    with pytest.raises(ConfigError, match="absent"):
        FastEmbedEmbedder(folder=tmp_path / "absent")


def test_a_folder_without_the_files_says_what_to_do_at_the_first_text(tmp_path: Path):
    with pytest.raises(ConfigError, match="folder"):
        FastEmbedEmbedder(folder=tmp_path).embed_documents(["tea"])
