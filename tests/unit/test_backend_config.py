"""The memory primitive by configuration: the keys of its own tables, their aliases, and the effect of every value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mnemic.backends import (
    ChunkConfig,
    ContextConfig,
    MemoryRegistry,
    RetrievalResult,
    chunk_config,
    chunk_text,
    context_config,
    inject_context,
    open_backend,
)
from mnemic.backends.sqlite import SqliteBackend
from mnemic.config import BackendSettings, Config, load_config, resolve
from mnemic.config.keys import STORAGE_KEYS
from mnemic.errors import ConfigError
from tests.unit.backends.listed_backend import Listed

WHOLE = """
[agent]
context_from_memory = false

[tools.storage]
default_backend = "bm25"
db_path = "notes/memory.db"
context_top_k = 7
context_min_score = 0.25
context_max_tokens = 99
chunk_size = 256
chunk_overlap = 32
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "none"), "XDG_DATA_HOME": str(tmp_path / "data")}


def loaded(file: Path, content: str, environment: Mapping[str, str]) -> Config:
    file.write_text(content, encoding="utf-8")
    return load_config(file=file, environment=environment)


def shown(file: Path | None, environment: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    return {value.key: (value.shown, value.origin) for value in resolve(file=file, environment=environment).values}


class TestKeys:
    @pytest.mark.requirement("O-53", "O-54", "O-55", "O-56")
    def test_the_defaults(self, environment: dict[str, str], tmp_path: Path):
        config = load_config(environment=environment)
        assert config.injects_context
        assert config.backend == BackendSettings()
        values = {key.rpartition(".")[2]: value for key, (value, _) in shown(None, environment).items()}
        assert {key.path.rpartition(".")[2]: values[key.path.rpartition(".")[2]] for key in STORAGE_KEYS} == {
            "default_backend": "sqlite",
            "db_path": str(tmp_path / "data" / "mnemic" / "backend.db"),
            "context_top_k": 5,
            "context_min_score": 0.1,
            "context_max_tokens": 2048,
            "chunk_size": 512,
            "chunk_overlap": 64,
        }
        assert values["context_from_memory"] is True

    @pytest.mark.requirement("O-52", "O-53", "O-54", "O-55", "O-56")
    def test_a_file_that_says_all_of_them(self, file: Path, environment: dict[str, str]):
        config = loaded(file, WHOLE, environment)
        assert not config.injects_context
        assert config.backend == BackendSettings(
            name="bm25",
            db_path=str(file.parent / "notes" / "memory.db"),
            top_k=7,
            min_score=0.25,
            max_tokens=99,
            chunk_size=256,
            chunk_overlap=32,
        )
        assert shown(file, environment)["tools.storage.chunk_size"] == (256, f"file {file}")

    @pytest.mark.requirement("O-52", "O-57")
    def test_memory_is_another_name_of_the_table_and_our_own_tables_stay(self, file: Path, environment: dict[str, str]):
        whole = loaded(file, WHOLE, environment)
        alias = loaded(
            file, WHOLE.replace("[tools.storage]", "[memory]") + "[memory.short-term]\nmax-memories = 3\n", environment
        )
        assert alias.backend == whole.backend
        assert alias.settings.max_session_memories == 3
        assert shown(file, environment)["tools.storage.context_top_k"] == (7, f"file {file}, as memory.context_top_k")
        both = "[memory]\nchunk_size = 300\n[tools.storage]\nchunk_overlap = 30"
        assert replace(loaded(file, both, environment).backend, chunk_size=512) == BackendSettings(chunk_overlap=30)

    @pytest.mark.requirement("O-58")
    @pytest.mark.parametrize("table", ["", "[agent]", "[memory]", "[tools.storage]", "[app.memory]"])
    def test_the_old_switch_is_moved_while_loading(self, table: str, file: Path, environment: dict[str, str]):
        for said in (True, False):
            config = loaded(file, f"{table}\ncontext_injection = {str(said).lower()}", environment)
            assert config.injects_context is said
        place = f"{table.strip('[]')}.".removeprefix("app.").lstrip(".")
        origin = f"file {file}, as {place}context_injection"
        assert shown(file, environment)["agent.context_from_memory"] == (False, origin)

    @pytest.mark.requirement("O-57", "O-58")
    @pytest.mark.parametrize(
        "content, names",
        [
            ("[memory]\ndb_path = 'a'\n[tools.storage]\ndb_path = 'a'", ("memory.db_path", "tools.storage.db_path")),
            ("[tools.storage]\nchunk_size = 9\n[memory]\nchunk_size = 9", ("memory.chunk_size", "tools.storage.chunk")),
            (
                "[agent]\ncontext_from_memory = true\n[memory]\ncontext_injection = true",
                ("agent.context_from_memory", "memory.context_injection"),
            ),
            (
                "context_injection = true\n[memory]\ncontext_injection = true",
                ("context_injection and memory.context_i",),
            ),
            ("[tools.storage]\nchunk_size = 64", ("chunk_overlap, 64 (default)", "chunk_size, 64 (file")),
            ("[memory]\nchunk_size = 8\nchunk_overlap = 9", ("chunk_overlap, 9 (", "as memory.chunk_size")),
        ],
    )
    def test_what_contradicts_itself_names_both_places(
        self, content: str, names: tuple[str, ...], file: Path, environment: dict[str, str]
    ):
        with pytest.raises(ConfigError) as refused:
            loaded(file, content, environment)
        assert all(name in str(refused.value) for name in (*names, str(file)))

    @pytest.mark.requirement("O-52")
    @pytest.mark.parametrize(
        "content, told",
        [
            ("[tools.storage]\ncontext_topk = 3", r"did you mean tools\.storage\.context_top_k\?"),
            ("[memory]\ncontext_max_token = 3", r"did you mean memory\.context_max_tokens\?"),
            ("[agent]\ncontext_from_memry = true", r"did you mean agent\.context_from_memory\?"),
            ("[tools.storag]\nchunk_size = 3", r"did you mean tools\.storage\?"),
            ("[agent]\ncontext_from_memory = 1", "must be true or false"),
            ("[memory]\ncontext_min_score = 'low'", "must be a number"),
            ("[memory]\ncontext_min_score = nan", "must be a number"),
            ("[memory]\ncontext_top_k = 0", "whole number from 1"),
            ("[memory]\nchunk_overlap = -1", "whole number from 0"),
            ("[memory]\ndb_path = ''", "must be text"),
            ("tools = 3", r"as \[tools\]"),
        ],
    )
    def test_what_is_wrong_is_named(self, content: str, told: str, file: Path, environment: dict[str, str]):
        with pytest.raises(ConfigError, match=told):
            loaded(file, content, environment)

    def test_the_environment_wins_over_the_file(self, file: Path, environment: dict[str, str]):
        environment |= {
            "MNEMIC_AGENT_CONTEXT_FROM_MEMORY": "true",
            "MNEMIC_TOOLS_STORAGE_DEFAULT_BACKEND": "faiss",
            "MNEMIC_TOOLS_STORAGE_DB_PATH": "~/own.db",
            "MNEMIC_TOOLS_STORAGE_CONTEXT_MIN_SCORE": "-0.5",
        }
        config = loaded(file, WHOLE, environment)
        assert config.injects_context
        assert (config.backend.name, config.backend.min_score) == ("faiss", -0.5)
        assert config.backend.db_path == str(Path("~/own.db").expanduser())


class TestEffect:
    @pytest.mark.requirement("O-54")
    def test_the_backend_and_its_file(self, file: Path, environment: dict[str, str]):
        config = loaded(file, "[tools.storage]\ndb_path = 'deep/own.db'", environment)
        backend = open_backend(config)
        assert isinstance(backend, SqliteBackend)
        backend.store("Anna rents a flat in Lisbon")
        backend.close()
        assert (file.parent / "deep" / "own.db").is_file()
        again = open_backend(config)
        assert again.retrieve("Lisbon")[0].content == "Anna rents a flat in Lisbon"
        again.close()

    @pytest.mark.requirement("O-54")
    def test_without_a_path_it_is_the_backends_own(
        self, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        backend = open_backend()
        assert isinstance(backend, SqliteBackend)
        assert backend.path == tmp_path / "data" / "mnemic" / "backend.db"
        backend.close()

    @pytest.mark.requirement("O-51", "O-54")
    def test_backends_without_a_file_go_without_and_one_of_a_third_party_is_opened_by_its_name(
        self, file: Path, environment: dict[str, str]
    ):
        assert open_backend(loaded(file, WHOLE, environment)).backend_id == "bm25"
        MemoryRegistry.register("listed")(Listed)
        try:
            assert isinstance(open_backend(Config(backend=BackendSettings(name="listed", db_path="x"))), Listed)
        finally:
            MemoryRegistry.unregister("listed")

    @pytest.mark.requirement("O-54")
    def test_a_name_nobody_knows_is_refused_with_the_nearest(self):
        with pytest.raises(ConfigError, match="did you mean sqlite"):
            open_backend(Config(backend=BackendSettings(name="sqlit", db_path="x")))

    @pytest.mark.requirement("O-53", "O-55")
    def test_what_injection_takes(self, file: Path, environment: dict[str, str]):
        backend = Listed(*(RetrievalResult("one two", score, "s") for score in (0.9, 0.25, 0.2)))
        off = context_config(loaded(file, WHOLE, environment))
        assert off == ContextConfig(enabled=False, top_k=7, min_score=0.25, max_context_tokens=99)
        asked: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
        assert inject_context("q", asked, backend, config=off) == asked
        on = context_config(loaded(file, WHOLE.replace("false", "true"), environment))
        (system, _) = inject_context("q", asked, backend, config=on)
        assert system["content"].count("one two") == 2
        assert backend.asked == [("q", 7, {})]

    @pytest.mark.requirement("O-55", "R-06")
    def test_a_score_that_nobody_said_drops_nothing_where_scores_are_no_cosines(
        self, file: Path, environment: dict[str, str]
    ):
        backend = Listed(RetrievalResult("one two", 0.01, "s"))
        default = context_config(loaded(file, "", environment))
        assert default == ContextConfig()
        empty: list[dict[str, str]] = []
        assert len(inject_context("q", empty, backend, config=default)) == 1
        said = context_config(loaded(file, "[memory]\ncontext_min_score = 0.1", environment))
        assert not inject_context("q", empty, backend, config=said)

    @pytest.mark.requirement("O-56", "R-01")
    def test_how_long_texts_are_cut(self, file: Path, environment: dict[str, str]):
        assert chunk_config(loaded(file, "", environment)) == ChunkConfig()
        config = chunk_config(loaded(file, WHOLE, environment))
        assert config == ChunkConfig(chunk_size=256, chunk_overlap=32)
        assert [chunk.offset for chunk in chunk_text("word " * 600, config=config)] == [0, 224, 448]
        small = chunk_config(loaded(file, "[memory]\nchunk_size = 8\nchunk_overlap = 2", environment))
        assert small == ChunkConfig(chunk_size=8, chunk_overlap=2, min_chunk_size=8)
