"""What can be configured of documents: the sizes of their passages, and what reading a file may cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.config import load_config
from mnemic.engine.ingest_plan import chunk_config
from mnemic.errors import ConfigError
from mnemic.model.settings import Settings
from mnemic.text.chunking import DOCUMENT_CHUNKS, ChunkConfig


def configured(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return load_config("memory://", file=path, environment={}).settings


@pytest.mark.requirement("N-39")
def test_the_sizes_of_passages_are_configured_by_file_and_by_environment(tmp_path: Path):
    told = configured(tmp_path, "[memory.knowledge]\nchunk-size = 512\noverlap = 50\n")
    assert chunk_config(told) == ChunkConfig(512, 50, 128)
    variables = {"MNEMIC_MEMORY_KNOWLEDGE_CHUNK_SIZE": "80", "MNEMIC_MEMORY_KNOWLEDGE_OVERLAP": "0"}
    told = load_config("memory://", environment=variables | {"XDG_CONFIG_HOME": str(tmp_path)}).settings
    assert chunk_config(told) == ChunkConfig(80, 0, 20)


@pytest.mark.requirement("R-39")
def test_what_is_not_configured_is_what_was_measured_and_follows_the_size(tmp_path: Path):
    assert chunk_config(configured(tmp_path, "")) == DOCUMENT_CHUNKS
    assert chunk_config(configured(tmp_path, "[memory.knowledge]\nchunk-size = 512\n")) == ChunkConfig(512, 128, 128)
    assert chunk_config(configured(tmp_path, "[memory.knowledge]\noverlap = 10\n")) == ChunkConfig(160, 10, 40)
    assert chunk_config(configured(tmp_path, "[memory.knowledge]\nchunk-size = 1\n")) == ChunkConfig(1, 0, 0)


@pytest.mark.requirement("R-01")
@pytest.mark.parametrize("text", ["chunk-size = 64\noverlap = 64", "overlap = 160", "chunk-size = 0", "overlap = -1"])
def test_sizes_that_do_not_fit_each_other_are_refused_with_where_they_were_said(tmp_path: Path, text: str):
    with pytest.raises(ConfigError, match=r"memory\.knowledge\..*config\.toml"):
        configured(tmp_path, f"[memory.knowledge]\n{text}\n")


def test_what_reading_a_file_may_cost_is_configured(tmp_path: Path):
    told = configured(tmp_path, "[limits]\nmax-file-mb = 0.5\nread-timeout-s = 3\n")
    assert (told.max_file_bytes, told.read_timeout_s) == (524_288, 3)
    assert (Settings().max_file_bytes, Settings().read_timeout_s) == (104_857_600, 60)
