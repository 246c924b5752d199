"""The collection of an index in Qdrant: what it is made of, and what is refused; chosen by configuration."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mnemic import Mnemic, Scope
from mnemic.adapters.indexes.fts5 import Fts5Index
from mnemic.adapters.indexes.qdrant import Place, QdrantIndex
from mnemic.adapters.indexes.qdrant_points import FIELDS, QdrantOptions, address
from mnemic.build import build
from mnemic.config import Config, load_config
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.candidates import Space
from mnemic.model.health import Condition
from mnemic.testing.embedding_server import EmbeddingServer
from mnemic.testing.index_samples import HERS, a_change, a_query, ids
from mnemic.testing.samples import unit
from tests.qdrant_servers import QdrantServer

ANNA, BERT = Scope(user="anna"), Scope(user="bert")
DIMS = 1024
SPACE = Space("small", "1", "fp32", 2, "mean", "", "", 128)
KEY = "right-secret-7Q2"


@pytest.fixture(scope="module")
def server() -> Iterator[QdrantServer]:
    server = QdrantServer(KEY)
    yield server
    server.close()


def vector(text: str) -> list[float]:
    """Texts that share their first letter are near each other."""
    made = np.zeros(DIMS)
    made[ord(text.rpartition(": ")[2][0].lower()) % DIMS] = 1.0
    made[len(text) % DIMS] += 0.1
    return made.tolist()


@pytest.fixture(scope="module")
def mxbai() -> Iterator[EmbeddingServer]:
    """A server that speaks OpenAI's protocol, as Ollama does, and makes 1024 dims."""
    with EmbeddingServer(lambda texts: [vector(text) for text in texts]) as serving:
        yield serving


def environment(server: QdrantServer, mxbai: EmbeddingServer, folder: Path) -> dict[str, str]:
    """All that somebody says who wants this collection; its name is not among it."""
    return {
        "XDG_CONFIG_HOME": str(folder),
        "MNEMIC_STORE": str(folder / "memory.db"),
        "MNEMIC_EMBEDDER": "mxbai-embed-large",
        "MNEMIC_EMBEDDER_OPTIONS": f'{{"base_url": "{mxbai.url}"}}',
        "MNEMIC_MEMORY_INDEX_BACKEND": "qdrant",
        "QDRANT_URL": server.url,
        "QDRANT_API_KEY": KEY,
    }


@pytest.mark.requirement("T-27", "R-04")
def test_the_collection_is_true_recall_of_1024_dims_cosine_and_hnsw_for_mxbai_embed_large(
    server: QdrantServer, mxbai: EmbeddingServer, tmp_path: Path
):
    config = load_config(environment=environment(server, mxbai, tmp_path))
    with Mnemic.open(config) as mnemic:
        mnemic.remember(ANNA, "Cats fear thunder")
        mnemic.remember(ANNA, "Dogs love walks")
        mnemic.remember(BERT, "Cats are Bert's")
        mnemic.work()
        found = mnemic.recall(ANNA, "creature")
        assert [(hit.text, hit.similarity is not None) for hit in found][:1] == [("Cats fear thunder", True)]
        assert all("Bert" not in hit.text for hit in found)
        (finding,) = [each for each in mnemic.doctor().findings if each.part == "index"]
        assert finding.condition is Condition.OK
        assert "1024 dims" in finding.message
    told = server.ask("/collections/true_recall", method="GET")
    assert told["config"]["params"]["vectors"] == {"size": 1024, "distance": "Cosine"}
    assert told["config"]["hnsw_config"]["m"] == 16
    assert told["config"]["hnsw_config"]["ef_construct"] == 64
    assert told["config"]["metadata"]["mnemic_model"] == "mxbai-embed-large"
    assert set(told["payload_schema"]) == set(FIELDS)
    assert told["payload_schema"]["partition"]["params"]["is_tenant"] is True
    rows = [point for point in server.points() if point["payload"]["what"] == "active"]
    assert {len(row["vector"]) for row in rows} == {1024}
    assert len({row["payload"]["partition"] for row in rows}) == 1, "nobody has asked for Bert's yet"


@pytest.mark.requirement("R-04")
def test_a_collection_of_another_embedding_space_is_refused_with_what_to_do_also_at_equal_dims(
    server: QdrantServer, mxbai: EmbeddingServer, tmp_path: Path
):
    said = environment(server, mxbai, tmp_path)
    Mnemic.open(load_config(environment=said)).close()
    other_dims = said | {"MNEMIC_EMBEDDER": "minilm", "MNEMIC_EMBEDDER_OPTIONS": "{}"}
    other_model = said | {
        "MNEMIC_EMBEDDER": "ollama:bge-large",
        "MNEMIC_EMBEDDER_OPTIONS": f'{{"base_url": "{mxbai.url}", "dims": 1024}}',
    }
    for variables, named in ((other_dims, "384 dims"), (other_model, "bge-large (1024 dims")):
        with pytest.raises(ConfigError, match="cannot be compared") as refused:
            build(load_config(environment=variables))
        for words in (named, "mxbai-embed-large (1024 dims", "memory.index.qdrant.collection", "DELETE"):
            assert words in str(refused.value)
    with Mnemic.open(
        load_config(environment=other_dims | {"MNEMIC_MEMORY_INDEX_QDRANT_COLLECTION": "other"})
    ) as mnemic:
        mnemic.remember(ANNA, "Cats fear thunder")
        assert mnemic.recall(ANNA, "cats").hits[0].similarity is not None


def test_a_collection_that_somebody_else_made_is_left_alone(
    server: QdrantServer, mxbai: EmbeddingServer, tmp_path: Path
):
    server.ask("/collections/theirs", {"vectors": {"size": 1024, "distance": "Cosine"}}, "PUT")
    variables = environment(server, mxbai, tmp_path) | {"MNEMIC_MEMORY_INDEX_QDRANT_COLLECTION": "theirs"}
    with pytest.raises(ConfigError, match="was not created by Mnemic"):
        build(load_config(environment=variables))
    assert server.points("theirs") == []


def test_a_wrong_key_is_told_without_the_key_and_words_are_found(
    server: QdrantServer, mxbai: EmbeddingServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    config = load_config(environment=environment(server, mxbai, tmp_path) | {"QDRANT_API_KEY": "wrong-secret"})
    assert "wrong-secret" not in repr(config)
    with Mnemic.open(config) as mnemic:
        mnemic.remember(ANNA, "Cats fear thunder")
        found = mnemic.recall(ANNA, "thunder")
        (finding,) = [each for each in mnemic.doctor().findings if each.part == "index"]
    assert [hit.text for hit in found] == ["Cats fear thunder"]
    assert "QDRANT_API_KEY" in found.degraded[0]
    assert "rejected the API key" in finding.message
    assert "wrong-secret" not in f"{finding}{found.degraded}{caplog.text}"


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"qdrant_url": None}, "QDRANT_URL"),
        ({"embedder": "none"}, "set embedder.name"),
        ({"store": "memory://"}, "a file or PostgreSQL"),
        ({"qdrant_url": "ftp://somewhere"}, "http://localhost:6333"),
        ({"qdrant_options": {"patience": 3}}, "does not accept these options"),
        ({"qdrant_options": {"timeout_s": 0}}, "timeout_s must be a whole number above 0"),
        ({"qdrant_options": {"m": 1.5}}, "m must be a whole number"),
    ],
)
def test_a_set_up_that_cannot_be_is_refused_with_what_to_say(tmp_path: Path, changes: dict[str, object], told: str):
    config = Config(store=str(tmp_path / "memory.db"), index="qdrant", qdrant_url=":memory:")
    with pytest.raises(ConfigError, match=told):
        build(replace(config, **changes))


def test_the_keys_of_the_file_are_those_of_the_reference_also_without_the_leading_memory(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text(
        '[index]\nbackend = "qdrant"\n'
        '[index.qdrant]\nurl = "vectors"\ncollection = "mine"\noptions = { ef_search = 200 }\n'
    )
    config = load_config(file=file, environment={"XDG_DATA_HOME": str(tmp_path)})
    assert (config.index, config.qdrant_collection, config.qdrant_options) == ("qdrant", "mine", {"ef_search": 200})
    assert config.qdrant_url == str(tmp_path / "vectors"), "a folder counts from that of the file"
    assert Config().qdrant_collection == "true_recall"
    with pytest.raises(ConfigError, match="one of local, qdrant"):
        load_config(environment={"MNEMIC_MEMORY_INDEX_BACKEND": "faiss", "XDG_CONFIG_HOME": str(tmp_path)})


def test_a_folder_keeps_vectors_for_the_next_process_and_serves_one_at_a_time(tmp_path: Path):
    config = Config(store=str(tmp_path / "memory.db"), index="qdrant", qdrant_url=str(tmp_path / "vectors"))
    for number in range(2):
        with Mnemic.open(config) as mnemic:
            mnemic.remember(ANNA, f"Cats fear thunder {number}")
            found = mnemic.recall(ANNA, "Which animals are afraid of storms?")
            assert len(found) == number + 1
            assert all(hit.similarity is not None for hit in found)
            with Mnemic.open(config) as second:
                told = second.recall(ANNA, "thunder")
                assert "in use by another process" in told.degraded[0]
                assert len(told) == number + 1


def test_a_vector_of_other_dims_is_refused(tmp_path: Path):
    with closing(QdrantIndex(Fts5Index(tmp_path / "words.db"), Place(":memory:", "ours", SPACE))) as index:
        with pytest.raises(InvalidInputError, match="2"):
            index.apply(HERS, [a_change(vector=unit(1.0, 0.0, 0.0))], 1)
        with pytest.raises(InvalidInputError, match="3 dimensions"):
            index.search(a_query(vector=unit(1.0, 0.0, 0.0)))


def test_more_rows_than_fit_into_one_request_are_all_there(tmp_path: Path):
    rows = [a_change(f"{number}", "tea", vector=unit(1.0, number)) for number in range(7)]
    options = QdrantOptions(batch_rows=3)
    with closing(QdrantIndex(Fts5Index(tmp_path / "words.db"), Place(":memory:", "ours", SPACE), options)) as index:
        index.apply(HERS, rows, 1)
        assert ids(index.search(a_query(vector=unit(1.0, 0.0)))) == [str(number) for number in range(7)]


def test_an_address_is_shown_without_its_login():
    assert address("https://anna:secret@cloud.example:6333/path") == "https://cloud.example:6333/path"
