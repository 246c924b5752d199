"""The default embedder against the promises of its port and of its module, with the shipped model."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import mnemic_minilm
from mnemic.adapters import onnx_models
from mnemic.adapters.embedders import minilm
from mnemic.adapters.embedders.minilm import (
    DIMS,
    LAYERS,
    MAX_TOKENS,
    SUMMARY_DIMS,
    TOKENS,
    MinilmEmbedder,
    TokenVectors,
)
from mnemic.errors import BackendError, ConfigError

TEXTS = [
    "I moved to Lisbon in March and work from a small flat near the river.",
    "ok",
    "The build fails since the compiler was updated; the linker does not find the maths library any more.",
    "My sister's dog is afraid of thunder.",
    " ".join(["We planted tomatoes, beans and three kinds of lettuce behind the shed."] * 12),
    "明天下午三點開會",
    "🙂",
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[MinilmEmbedder]:
    shared = MinilmEmbedder()
    yield shared
    shared.close()


def cosine(embedder: MinilmEmbedder, left: str, right: str) -> float:
    first, second = embedder.embed_documents([left, right])
    return float(first @ second)


def test_the_shipped_files_have_their_published_checksums() -> None:
    folder = mnemic_minilm.model_path().parent
    lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert {line.split()[1] for line in lines} == {mnemic_minilm.model_path().name, mnemic_minilm.vocab_path().name}
    for line in lines:
        expected, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == expected


def test_the_shipped_files_stay_below_thirty_megabytes() -> None:
    assert sum(file.stat().st_size for file in mnemic_minilm.model_path().parent.iterdir() if file.is_file()) <= 30e6


def test_the_space_names_the_model_and_its_arithmetic(embedder: MinilmEmbedder) -> None:
    space = embedder.space
    assert (space.model, space.dims, space.max_tokens) == (mnemic_minilm.MODEL, DIMS, MAX_TOKENS)
    assert (space.revision, space.precision) == (mnemic_minilm.REVISION, mnemic_minilm.PRECISION)
    assert (space.query_prefix, space.document_prefix) == ("", "")


def test_another_limit_of_tokens_is_another_space(embedder: MinilmEmbedder) -> None:
    shorter = MinilmEmbedder(max_tokens=64).space
    assert shorter == replace(embedder.space, max_tokens=64)
    assert shorter.id != embedder.space.id


def test_the_model_is_loaded_once_for_all_who_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def count(model: str, threads: int) -> minilm.Session:
        opened.append(model)
        return real(model, threads)

    real = onnx_models.open_session
    monkeypatch.setattr(onnx_models, "open_session", count)
    first, second = MinilmEmbedder(), MinilmEmbedder()
    assert np.array_equal(first.embed_queries(TEXTS[:1]), second.embed_queries(TEXTS[:1]))
    assert len(opened) == 1
    first.close()
    assert second.embed_queries(TEXTS[:1]).any()
    second.close()
    MinilmEmbedder().embed_queries(TEXTS[:1])
    assert len(opened) == 2


def test_it_is_declared_local_and_not_blocking(embedder: MinilmEmbedder) -> None:
    assert embedder.capabilities.is_local
    assert not embedder.capabilities.is_blocking


def test_one_float32_unit_row_is_given_per_text(embedder: MinilmEmbedder) -> None:
    vectors = embedder.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows(embedder: MinilmEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, DIMS)
    assert embedder.embed_queries([]).shape == (0, DIMS)


@pytest.mark.requirement("J-04")
@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u200b", "\x00"])
def test_a_blank_text_is_the_zero_row_and_the_model_is_not_loaded(blank: str) -> None:
    fresh = MinilmEmbedder()
    assert not fresh.embed_documents([blank, ""]).any()
    assert not fresh.embed_queries([blank]).any()
    assert not fresh.is_loaded


@pytest.mark.requirement("J-04")
def test_a_blank_text_among_others_is_the_zero_row_in_its_place(embedder: MinilmEmbedder) -> None:
    vectors = embedder.embed_documents(["tea", " ", "coffee"])
    assert vectors.any(axis=1).tolist() == [True, False, True]


def test_rows_come_in_the_order_of_the_texts(embedder: MinilmEmbedder) -> None:
    forward = embedder.embed_documents(TEXTS)
    backward = embedder.embed_documents(TEXTS[::-1])
    np.testing.assert_allclose(forward, backward[::-1], atol=0.01)


def test_a_vector_does_not_depend_on_the_other_texts_of_the_call(embedder: MinilmEmbedder) -> None:
    alone = np.concatenate([embedder.embed_documents([text]) for text in TEXTS])
    together = embedder.embed_documents(TEXTS * 20)[: len(TEXTS)]
    assert (alone * together).sum(axis=1).min() > 0.9999


def test_queries_and_documents_share_their_vectors(embedder: MinilmEmbedder) -> None:
    np.testing.assert_array_equal(embedder.embed_queries(TEXTS[:1]), embedder.embed_documents(TEXTS[:1]))


@pytest.mark.parametrize(
    "text,paraphrase,unrelated",
    [
        ("I adopted a puppy last week", "We have a new young dog at home", "The printer is out of toner"),
        ("When is my dentist appointment?", "Your check-up of the teeth is on Monday", "Rust has no garbage collector"),
        ("She can't stand loud music", "Noisy songs annoy her", "He paid the invoice in euros"),
    ],
)
def test_a_paraphrase_is_closer_than_an_unrelated_text(
    embedder: MinilmEmbedder, text: str, paraphrase: str, unrelated: str
) -> None:
    assert cosine(embedder, text, paraphrase) > cosine(embedder, text, unrelated) + 0.2


def test_what_lies_beyond_the_limit_of_tokens_is_cut(embedder: MinilmEmbedder) -> None:
    start = "garden " * MAX_TOKENS
    assert cosine(embedder, start, start + "motorcycle " * 100) > 0.9999


def test_inner_layers_come_with_the_same_vectors_and_do_not_depend_on_the_other_texts(embedder: MinilmEmbedder) -> None:
    vectors, layers = embedder.embed_layers(TEXTS)
    np.testing.assert_allclose(vectors, embedder.embed_documents(TEXTS), atol=0.01)
    assert layers.shape == (len(TEXTS), SUMMARY_DIMS)
    alone = np.vstack([embedder.embed_layers([text])[1] for text in TEXTS])
    np.testing.assert_allclose(layers, alone, atol=0.05)
    blank = embedder.embed_layers(["", TEXTS[0]])[1]
    assert not blank[0].any()
    assert blank[1].any()
    assert embedder.embed_layers([])[1].shape == (0, SUMMARY_DIMS)


def test_inner_layers_of_a_span_are_those_of_its_own_words(embedder: MinilmEmbedder) -> None:
    text = "Jordan flew to Jordan"
    texts, spans = (
        [text, text, text, "", "garden " * MAX_TOKENS + "Jordan"],
        [(0, 6), (15, 21), (6, 15), (0, 0), (0, 0)],
    )
    spans[-1] = (len(texts[-1]) - 6, len(texts[-1]))  # beyond the limit of tokens
    vectors, layers = embedder.embed_layers(texts, spans)
    np.testing.assert_allclose(vectors, embedder.embed_documents(texts), atol=0.01)
    person, country, between, blank, beyond = layers
    alike = [float(np.corrcoef(one, other)[0, 1]) for one, other in ((person, country), (person, between))]
    assert alike[0] > alike[1]
    assert not np.allclose(person, country, atol=0.1)
    np.testing.assert_allclose(person, embedder.embed_layers([text], [(0, 6)])[1][0], atol=0.05)
    assert not blank.any()
    assert np.isfinite(beyond).all()


def test_inner_layers_are_the_third_and_fifth_of_the_graph() -> None:
    loaded = onnx.ModelProto()
    loaded.ParseFromString(mnemic_minilm.model_path().read_bytes())
    graph = loaded.graph
    # Each layer has two normalisations, the second of which is its output.
    outputs = [node.output[0] for node in graph.node if node.op_type == "SkipLayerNormalization"][1::2]
    assert [outputs[2], outputs[4], outputs[5]] == [*LAYERS, TOKENS]
    assert [each.name for each in graph.output] == ["embedding", *LAYERS, TOKENS]


def test_another_graph_shows_no_layers(tmp_path: Path) -> None:
    copy = tmp_path / "model.onnx"
    copy.write_bytes(mnemic_minilm.model_path().read_bytes())
    vectors, layers = MinilmEmbedder(model=copy).embed_layers(["tea"])
    assert (vectors.shape, layers.shape) == ((1, DIMS), (1, 0))


def test_threads_that_share_an_embedder_get_the_vectors_of_one_thread(embedder: MinilmEmbedder) -> None:
    expected = embedder.embed_documents(TEXTS)
    fresh = MinilmEmbedder()
    with ThreadPoolExecutor(max_workers=6) as pool:
        for vectors in pool.map(fresh.embed_documents, [TEXTS] * 24):
            np.testing.assert_allclose(vectors, expected, atol=0.01)


def test_closing_twice_is_harmless_and_the_next_text_loads_the_model_again() -> None:
    fresh = MinilmEmbedder()
    before = fresh.embed_queries(["tea"])
    fresh.close()
    fresh.close()
    assert not fresh.is_loaded
    np.testing.assert_allclose(fresh.embed_queries(["tea"]), before, atol=0.01)


def test_a_missing_model_is_told_with_the_line_to_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pip install"):
        MinilmEmbedder(model=tmp_path / "model.onnx")


def test_a_damaged_model_is_told_with_the_line_to_run(tmp_path: Path) -> None:
    damaged = tmp_path / "model.onnx"
    damaged.write_bytes(mnemic_minilm.model_path().read_bytes()[:1000])
    with pytest.raises(ConfigError, match="pip install"):
        MinilmEmbedder(model=damaged).embed_queries(["tea"])


def test_a_failing_model_is_a_backend_error() -> None:
    # The position table ends at 512, so the graph itself refuses what a wrong limit lets through.
    with pytest.raises(BackendError):
        MinilmEmbedder(max_tokens=600).embed_documents(["word " * 600])


def test_token_vectors_have_the_errors_of_the_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged, missing = tmp_path / "model.onnx", tmp_path / "missing.txt"
    damaged.write_bytes(mnemic_minilm.model_path().read_bytes()[:1000])
    for name, path in (("model_path", damaged), ("model_path", missing), ("vocab_path", missing)):
        with monkeypatch.context() as patch:
            patch.setattr(mnemic_minilm, name, lambda path=path: path)
            with pytest.raises(ConfigError, match="pip install"):
                TokenVectors(1).of(["tea"])
    monkeypatch.setattr(minilm, "MAX_TOKENS", 600)
    with pytest.raises(BackendError):
        TokenVectors(1).of(["word " * 600])


def test_importing_the_embedder_does_not_import_onnxruntime() -> None:
    code = "import sys, mnemic.adapters.embedders.minilm; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
