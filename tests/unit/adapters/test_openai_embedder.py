"""The wire to OpenAI-compatible servers, against a real HTTP server: prefixes, batches, cutting, and ways to fail."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from mnemic.adapters.embedders.openai import BATCH_TEXTS, Endpoint, OpenAIEmbedder
from mnemic.errors import BackendError, BadReplyError, ConfigError, RateLimitedError, TimedOutError, UnavailableError
from mnemic.testing.embedding_server import EmbeddingServer, Reply, embeddings

BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "

DIMS = 4
MODEL = "some-model"
KEY = "sk-very-secret"


def vector(text: str) -> list[float]:
    """Four numbers that differ between texts of different length, of no special length."""
    return [1.0 + len(text), 2.0, 3.0, float(len(text) % 7)]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(lambda texts: [vector(text) for text in texts]) as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    """The waits between tries, which nobody really waits."""
    return []


@pytest.fixture
def embedder(server: EmbeddingServer, waits: list[float]) -> Iterator[OpenAIEmbedder]:
    endpoint = Endpoint(base_url=server.url, api_key=KEY)
    embedder = OpenAIEmbedder(MODEL, endpoint, dims=DIMS, sleep=waits.append)
    yield embedder
    embedder.close()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def named(model: str, server: EmbeddingServer) -> OpenAIEmbedder:
    return OpenAIEmbedder(model, Endpoint(base_url=server.url))


@pytest.mark.requirement("J-03")
def test_nomic_embed_text_has_768_dims_and_its_two_prefixes_and_needs_no_key():
    with EmbeddingServer(lambda texts: np.ones((len(texts), 768)).tolist()) as server:
        embedder = named("nomic-embed-text", server)
        assert embedder.space.dims == 768
        assert server.requests == []
        assert embedder.embed_queries(["tea"]).shape == embedder.embed_documents(["tea"]).shape == (1, 768)
        embedder.close()
    assert server.inputs == [["search_query: tea"], ["search_document: tea"]]
    assert {request["model"] for request in server.requests} == {"nomic-embed-text"}
    assert not any("Authorization" in headers for headers in server.headers)


@pytest.mark.requirement("N-02", "N-03", "R-05")
@pytest.mark.parametrize("model", ["bge-small-en-v1.5", "BAAI/bge-small-en-v1.5", "bge-small-en-v1.5-q:latest"])
def test_bge_queries_get_the_instruction_and_a_blank_and_documents_get_nothing(model: str):
    with EmbeddingServer(lambda texts: np.ones((len(texts), 384)).tolist()) as server:
        embedder = named(model, server)
        embedder.embed_queries(["where is tea?"])
        embedder.embed_documents(["Tea is here."])
        embedder.close()
    assert server.inputs == [
        ["Represent this sentence for searching relevant passages: where is tea?"],
        ["Tea is here."],
    ]
    assert (embedder.space.query_prefix, embedder.space.document_prefix) == (BGE_QUERY_PREFIX, "")


@pytest.mark.requirement("R-05")
def test_prefixes_can_be_said_and_are_part_of_the_space(server: EmbeddingServer):
    plain = OpenAIEmbedder("nomic-embed-text", Endpoint(base_url=server.url), dims=DIMS)
    bare = OpenAIEmbedder(
        "nomic-embed-text", Endpoint(base_url=server.url), dims=DIMS, query_prefix="", document_prefix=""
    )
    bare.embed_queries(["tea"])
    assert server.inputs == [["tea"]]
    assert plain.space.id != bare.space.id
    plain.close()
    bare.close()


def test_dims_that_nobody_said_are_asked_for_once(server: EmbeddingServer):
    embedder = named(MODEL, server)
    assert embedder.space.dims == DIMS
    assert embedder.space.dims == DIMS
    assert len(server.requests) == 1
    embedder.close()


@pytest.mark.requirement("J-04")
def test_blank_texts_cost_no_call(server: EmbeddingServer, embedder: OpenAIEmbedder):
    assert not embedder.embed_documents(["", " ", "\u3000"]).any()
    assert embedder.embed_queries([]).shape == (0, DIMS)
    assert server.requests == []


def test_many_texts_go_in_batches_and_come_back_in_order(server: EmbeddingServer, embedder: OpenAIEmbedder):
    texts = ["x" * (number + 1) for number in range(BATCH_TEXTS * 2 + 1)]
    rows = embedder.embed_documents(texts)
    assert [len(batch) for batch in server.inputs] == [BATCH_TEXTS, BATCH_TEXTS, 1]
    expected = np.array([vector(text) for text in texts])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-5)


def test_a_text_that_the_server_finds_too_long_is_cut_until_it_fits():
    refusal = Reply(400, {"error": {"message": "the input length exceeds the context length"}})

    def judge(texts: list[str]) -> Reply | None:
        return refusal if any(len(text) > 100 for text in texts) else None

    with EmbeddingServer(lambda texts: [vector(text) for text in texts], judge=judge) as server:
        embedder = OpenAIEmbedder(MODEL, Endpoint(base_url=server.url), dims=DIMS)
        rows = embedder.embed_documents(["short", "y" * 350, "also short"])
        embedder.close()
    expected = np.array([vector("short"), vector("y" * 87), vector("also short")])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-5)


def test_it_declares_that_it_waits_for_somebody_else(embedder: OpenAIEmbedder):
    assert embedder.capabilities.is_blocking
    assert not embedder.capabilities.is_local


def test_a_refused_connection_names_the_address():
    address = f"http://127.0.0.1:{free_port()}/v1"
    embedder = OpenAIEmbedder(MODEL, Endpoint(base_url=address), dims=DIMS, sleep=lambda _: None)
    with pytest.raises(UnavailableError, match=address):
        embedder.embed_documents(["tea"])
    embedder.close()


def test_a_server_that_never_answers_is_given_up(server: EmbeddingServer):
    server.stalls.set()
    endpoint = Endpoint(base_url=server.url, timeout_s=0.2, query_timeout_s=0.2, attempts=1)
    embedder = OpenAIEmbedder(MODEL, endpoint, dims=DIMS)
    for call in (embedder.embed_documents, embedder.embed_queries):
        with pytest.raises(TimedOutError, match=r"within 0\.2 s"):
            call(["tea"])
    embedder.close()


def test_a_busy_server_is_asked_again_when_it_said(
    server: EmbeddingServer, embedder: OpenAIEmbedder, waits: list[float]
):
    server.scripted.append(Reply(429, headers={"Retry-After": "3"}))
    assert embedder.embed_documents(["tea"]).shape == (1, DIMS)
    assert waits == [3.0]


def test_a_date_to_come_back_is_read_against_the_servers_clock(
    server: EmbeddingServer, embedder: OpenAIEmbedder, waits: list[float]
):
    dates = {"Date": "Fri, 01 May 2026 12:00:00 GMT", "Retry-After": "Fri, 01 May 2026 12:00:07 GMT"}
    server.scripted.append(Reply(503, headers=dates))
    embedder.embed_documents(["tea"])
    assert waits == [7.0]


def test_a_server_that_asks_for_a_long_pause_gets_it_from_the_caller(
    server: EmbeddingServer, embedder: OpenAIEmbedder, waits: list[float]
):
    server.scripted.append(Reply(429, headers={"Retry-After": "600"}))
    with pytest.raises(RateLimitedError) as caught:
        embedder.embed_documents(["tea"])
    assert caught.value.retry_after_s == 600
    assert waits == []


def test_a_failing_server_is_asked_again_after_growing_waits(
    server: EmbeddingServer, embedder: OpenAIEmbedder, waits: list[float]
):
    server.scripted += [Reply(500), Reply(502)]
    assert embedder.embed_documents(["tea"]).shape == (1, DIMS)
    assert waits == [0.5, 1.0]


def test_after_the_last_try_the_failure_is_told(server: EmbeddingServer, embedder: OpenAIEmbedder, waits: list[float]):
    server.scripted += [Reply(500)] * 3
    with pytest.raises(UnavailableError, match="500"):
        embedder.embed_documents(["tea"])
    assert len(waits) == 2


def test_a_question_is_asked_once_because_somebody_waits(
    server: EmbeddingServer, embedder: OpenAIEmbedder, waits: list[float]
):
    server.scripted.append(Reply(500))
    with pytest.raises(UnavailableError):
        embedder.embed_queries(["tea"])
    assert (len(server.requests), waits) == (1, [])


@pytest.mark.requirement("N-30", "R-04")
def test_vectors_of_other_dims_than_the_space_are_refused(server: EmbeddingServer, embedder: OpenAIEmbedder):
    server.scripted.append(Reply(body=embeddings([[1.0] * (DIMS + 1)])))
    with pytest.raises(BadReplyError, match=r"\(1, 5\); expected \(1, 4\)"):
        embedder.embed_documents(["tea"])


@pytest.mark.parametrize(
    "body",
    [
        "{not json",
        "[]",
        {"error": "no data"},
        {"data": "four"},
        {"data": [7]},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": ["a", "b", "c", "d"]}]},
        {"data": [{"index": 1, "embedding": [1.0, 0.0, 0.0, 0.0]}]},
        {"data": [{"index": [0], "embedding": [1.0, 0.0, 0.0, 0.0]}]},
        embeddings([]),
        embeddings([[1.0, 0.0, 0.0, 0.0]] * 2),
        embeddings([[0.0, 0.0, 0.0, 0.0]]),
        '{"data": [{"index": 0, "embedding": [NaN, 0, 0, 1]}]}',
        '{"data": [{"index": 0, "embedding": [Infinity, 0, 0, 1]}]}',
    ],
)
@pytest.mark.requirement("J-06")
def test_an_answer_that_cannot_be_used_is_a_bad_reply(server: EmbeddingServer, embedder: OpenAIEmbedder, body: object):
    server.scripted.append(Reply(body=body))
    with pytest.raises(BadReplyError):
        embedder.embed_documents(["tea"])
    assert embedder.embed_documents(["tea"]).shape == (1, DIMS)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_for_the_person_to_mend(server: EmbeddingServer, embedder: OpenAIEmbedder, status: int):
    server.scripted.append(Reply(status, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    with pytest.raises(ConfigError, match="api_key") as caught:
        embedder.embed_documents(["tea"])
    assert KEY not in str(caught.value)


def test_a_model_that_ollama_lacks_is_answered_with_the_line_that_fetches_it(
    server: EmbeddingServer, embedder: OpenAIEmbedder
):
    server.scripted.append(Reply(404, {"error": {"message": 'model "some-model" not found, try pulling it first'}}))
    with pytest.raises(ConfigError, match="ollama pull some-model"):
        embedder.embed_documents(["tea"])


def test_another_refusal_tells_the_servers_code_but_not_its_words(server: EmbeddingServer, embedder: OpenAIEmbedder):
    server.scripted.append(Reply(400, {"error": {"code": "invalid_value", "message": "I did not like: my secret tea"}}))
    with pytest.raises(BackendError, match=r"400 \(invalid_value\)") as caught:
        embedder.embed_documents(["my secret tea"])
    assert "secret" not in str(caught.value)


def test_the_key_is_sent_and_shown_nowhere(
    server: EmbeddingServer, embedder: OpenAIEmbedder, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG):
        embedder.embed_documents(["tea"])
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text
    assert KEY not in repr(Endpoint(api_key=KEY)) + repr(embedder) + repr(vars(embedder))


@pytest.mark.parametrize(
    "base_url, url",
    [
        ("http://host:11434", "http://host:11434/v1/embeddings"),
        ("http://host:11434/", "http://host:11434/v1/embeddings"),
        ("https://host/v1/", "https://host/v1/embeddings"),
        ("https://host/openai/v1", "https://host/openai/v1/embeddings"),
    ],
)
def test_an_address_without_a_path_is_completed(base_url: str, url: str):
    assert Endpoint(base_url=base_url).url == url


@pytest.mark.parametrize("base_url", ["host:11434", "ftp://host/v1", "http:///v1", "http://me:word@host/v1"])
def test_an_address_that_is_none_or_holds_a_password_is_refused(base_url: str):
    with pytest.raises(ConfigError, match="base_url") as caught:
        Endpoint(base_url=base_url)
    assert "word@" not in str(caught.value)
