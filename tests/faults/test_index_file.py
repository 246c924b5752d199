"""The file that holds the words of large partitions fails: answers stay the same, from memory."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings

ANNA = Scope(user="anna")
TEXTS = [f"note n{number}" for number in range(12)]


def opened(path: Path) -> Mnemic:
    config = Config(store=str(path), embedder="none", lock_wait_s=0.05, settings=Settings(large_partition_rows=4))
    return Mnemic(build(config))


def found(mnemic: Mnemic, text: str) -> list[str]:
    return [hit.text for hit in mnemic.recall(ANNA, text.rsplit(maxsplit=1)[-1]) if not hit.is_fallback]


@pytest.mark.requirement("P-21")
def test_a_large_partition_is_answered_from_memory_when_its_file_cannot_be_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "memory.db.index").write_text("in the way", encoding="utf-8")
    with opened(tmp_path / "memory.db") as mnemic, caplog.at_level(logging.WARNING):
        mnemic.remember_many(ANNA, TEXTS)
        assert [found(mnemic, text) for text in TEXTS] == [[text] for text in TEXTS]
        mnemic.remember(ANNA, "a later one")
        assert found(mnemic, "a later one") == ["a later one"]
    assert [record.name for record in caplog.records] == ["mnemic.index"]


@pytest.mark.requirement("P-21")
def test_a_file_that_fails_in_the_middle_of_use_is_left_for_memory_and_used_again_by_the_next_process(tmp_path: Path):
    path, words = tmp_path / "memory.db", tmp_path / "memory.db.index" / "fts5.db"
    with opened(path) as mnemic:
        mnemic.remember_many(ANNA, TEXTS)
        assert found(mnemic, "n3") == ["note n3"]
        with closing(sqlite3.connect(words, isolation_level=None)) as elsewhere:
            elsewhere.execute("DROP TABLE partitions")  # no damage that is recognised as such: statements fail
            mnemic.remember(ANNA, "a later one")
            assert found(mnemic, "a later one") == ["a later one"]
            assert found(mnemic, "n3") == ["note n3"]
    words.unlink()
    with opened(path) as mnemic:
        assert [found(mnemic, text) for text in TEXTS] == [[text] for text in TEXTS]
        assert words.exists()
