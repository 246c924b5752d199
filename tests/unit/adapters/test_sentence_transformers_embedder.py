"""The sentence-transformers adapter over a stand-in of the package, which is too heavy to install for tests.

The stand-in is an importable package with the signatures of version 6; the same adapter is run with the real one by
`drills/embedder_sentence_transformers.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from mnemic.adapters.embedders.sentence_transformers import DEFAULT_MODEL, SentenceTransformersEmbedder
from mnemic.backends import SentenceTransformerEmbedder
from mnemic.errors import BackendError, ConfigError

STAND_IN = """
import numpy as np

class SentenceTransformer:
    def __init__(self, model_name_or_path=None, *, device=None):
        if model_name_or_path == "absent":
            raise OSError("no such model")
        self.max_seq_length = 256
        self.calls = []

    def get_embedding_dimension(self):
        return 3

    def encode(self, sentences, *, prompt=None, batch_size=32, show_progress_bar=None, convert_to_numpy=True):
        if any("breaks" in sentence for sentence in sentences):
            raise RuntimeError("out of memory")
        return np.array([[len(sentence), 1.0, 2.0] for sentence in sentences], dtype=np.float32)
"""


@pytest.fixture
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sentence_transformers"
    folder.mkdir()
    (folder / "__init__.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)


@pytest.mark.requirement("O-44")
@pytest.mark.usefixtures("_package")
def test_the_default_is_the_small_minilm_and_dims_come_from_the_model():
    embedder = SentenceTransformersEmbedder()
    assert DEFAULT_MODEL == "all-MiniLM-L6-v2"
    assert (embedder.space.model, embedder.space.dims, embedder.space.max_tokens) == (DEFAULT_MODEL, 3, 256)


@pytest.mark.requirement("O-44")
@pytest.mark.usefixtures("_package")
def test_the_class_of_the_backends_has_the_two_methods():
    embedder = SentenceTransformerEmbedder()
    assert embedder.dim() == 3
    assert embedder.embed(["abc", "ab"]).shape == (2, 3)
    assert embedder.model.startswith("all-MiniLM-L6-v2:")


@pytest.mark.usefixtures("_package")
def test_rows_are_brought_to_length_1_and_blank_ones_are_zero():
    rows = SentenceTransformersEmbedder().embed_documents(["abc", " ", "ab"])
    expected = np.array([[3, 1, 2], [0, 0, 0], [2, 1, 2]]) / np.array([[14**0.5], [1], [3]])
    np.testing.assert_allclose(rows, expected, rtol=1e-6)


@pytest.mark.usefixtures("_package")
def test_prefixes_of_known_models_are_added_here():
    embedder = SentenceTransformersEmbedder("intfloat/e5-small-v2")
    row = embedder.embed_queries(["tea"])[0]
    assert round(float(row[0] / row[1])) == len("query: tea")


@pytest.mark.usefixtures("_package")
def test_a_model_that_cannot_be_loaded_says_what_to_do():
    with pytest.raises(ConfigError, match="folder"):
        _ = SentenceTransformersEmbedder("absent").space


@pytest.mark.usefixtures("_package")
def test_a_failure_of_the_model_is_a_backend_error_without_the_text():
    with pytest.raises(BackendError, match="RuntimeError") as caught:
        SentenceTransformersEmbedder().embed_documents(["this breaks"])
    assert "breaks" not in str(caught.value)


def test_without_the_package_the_line_to_run_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"pip install 'mnemic\[sentence-transformers\]'"):
        SentenceTransformersEmbedder()
