"""What is particular to the backend `sqlite`: its tables, its words, its file, and other processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.backends import MemoryRegistry
from mnemic.backends.sqlite import SqliteBackend
from mnemic.errors import BackendError, ConfigError, UnavailableError, UnsupportedError

WRITER = """
import sys
from mnemic.backends.sqlite import SqliteBackend

backend = SqliteBackend(sys.argv[1])
kept = [backend.store(f"note {number} of {sys.argv[2]}", source=sys.argv[2]) for number in range(60)]
assert all(backend.delete(doc_id) for doc_id in kept[50:])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "backend.db"


@pytest.fixture
def backend(path: Path) -> Iterator[SqliteBackend]:
    backend = SqliteBackend(path)
    yield backend
    backend.close()


def words_of(path: Path, word: str) -> int:
    """How many rows the index of the file finds by a word."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT count(*) FROM documents_index WHERE documents_index MATCH ?", (word,))
        return int(found.fetchone()[0])


@pytest.mark.requirement("O-09")
def test_triggers_keep_the_index_in_step_with_whatever_changes_the_table(backend: SqliteBackend, path: Path):
    backend.store("a violin for Anna")
    with closing(sqlite3.connect(path)) as connection:
        kinds = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'documents'")
        assert len(kinds.fetchall()) == 3
        connection.execute("UPDATE documents SET content = 'a cello for Anna', terms = 'wcello wanna'")
        connection.commit()
    assert (words_of(path, "wviolin"), words_of(path, "wcello")) == (0, 1)
    assert [result.content for result in backend.retrieve("cello")] == ["a cello for Anna"]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM documents")
        connection.commit()
        connection.execute("INSERT INTO documents_index (documents_index, rank) VALUES ('integrity-check', 1)")
    assert words_of(path, "wcello") == 0
    assert backend.retrieve("cello") == []


@pytest.mark.requirement("O-10")
def test_a_score_is_the_negative_rank_of_fts5_turned_positive(backend: SqliteBackend, path: Path):
    backend.store("tea")
    for text in ("green tea, tea and more tea", "tea at five with the neighbours from the second floor", "coffee"):
        backend.store(text)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT bm25(documents_index) FROM documents_index WHERE documents_index MATCH 'wtea' ORDER BY rank"
        ranks = [row[0] for row in connection.execute(query)]
    scores = [result.score for result in backend.retrieve("tea")]
    assert scores == pytest.approx([-rank for rank in ranks], rel=1e-9)
    assert all(score > 0 for score in scores)


@pytest.mark.requirement("O-11", "R-25")
def test_words_are_joined_by_or_and_the_one_with_more_of_them_comes_first(backend: SqliteBackend):
    for text in ("the river in Lisbon", "a flat near the river in Lisbon", "a boat"):
        backend.store(text)
    found = backend.retrieve('a flat in "Lisbon" AND (NOT boats OR * near:')
    assert found[0].content == "a flat near the river in Lisbon"
    assert {result.content for result in found} == {"the river in Lisbon", "a flat near the river in Lisbon", "a boat"}


@pytest.mark.requirement("R-25")
@pytest.mark.parametrize(
    "text, query",
    [
        ("明天下午三点在会议室开会", "会议室"),
        ("新しいレストランで晩ご飯を食べた", "レストラン"),
        ("저는 어제 도서관에서 책을 읽었습니다", "도서관"),
        ("ฉันชอบกินข้าวผัดที่ตลาด", "ข้าวผัด"),
        ("Die Straße ist GESPERRT", "strasse gesperrt"),
        ("running shoes", "run"),
        ("the file main.cpp fails in C++", "c++"),
    ],
)
def test_words_of_every_script_are_found(backend: SqliteBackend, text: str, query: str):
    backend.store("something quite different in every way")
    backend.store(text)
    assert [result.content for result in backend.retrieve(query)] == [text]


@pytest.mark.requirement("R-25")
def test_of_a_very_long_query_the_rarest_words_count(backend: SqliteBackend):
    common = [f"common{number}" for number in range(400)]
    for number in range(3):
        backend.store(f"{' '.join(common)} {number}")
    backend.store("a pangolin")
    query = f"{' '.join(common)} pangolin {' '.join(f'unknown{number}' for number in range(400))}"
    assert backend.retrieve(query, top_k=1)[0].content == "a pangolin"


@pytest.mark.requirement("O-12")
def test_data_survives_the_process(path: Path):
    program = (
        "import sys; from mnemic.backends import MemoryRegistry\n"
        "print(MemoryRegistry.create('sqlite', db_path=sys.argv[1]).store('Anna likes figs', source='a'))\n"
    )
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    backend = MemoryRegistry.create("sqlite", db_path=path)
    assert [(each.content, each.source) for each in backend.retrieve("figs")] == [("Anna likes figs", "a")]
    assert backend.delete(run.stdout.strip()) is True
    backend.close()


@pytest.mark.requirement("O-12")
def test_two_processes_that_write_at_once_lose_nothing(path: Path):
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE, text=True)
        for name in ("left", "right")
    ]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [("", 0), ("", 0)]
    backend = SqliteBackend(path)
    sources = [result.source for result in backend.retrieve("note", top_k=1000)]
    backend.close()
    assert (sources.count("left"), sources.count("right"), len(sources)) == (50, 50, 100)


def test_a_locked_file_is_unavailable_and_nothing_is_stored(path: Path):
    backend = SqliteBackend(path, lock_wait_s=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError):
            backend.store("text")
        assert backend.retrieve("text") == []
    backend.store("text")
    assert len(backend.retrieve("text")) == 1
    backend.close()


def test_another_programs_database_is_left_alone(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as connection:
        connection.execute("CREATE TABLE documents (x)")
    before = (tmp_path / "theirs.db").read_bytes()
    with pytest.raises(ConfigError, match="another program"):
        SqliteBackend(tmp_path / "theirs.db")
    assert (tmp_path / "theirs.db").read_bytes() == before


def test_what_is_no_database_and_what_is_no_folder_is_said(tmp_path: Path):
    (tmp_path / "text.db").write_text("not a database at all " * 100, encoding="utf-8")
    with pytest.raises(BackendError):
        SqliteBackend(tmp_path / "text.db")
    with pytest.raises(ConfigError, match="folder"):
        SqliteBackend(tmp_path / "text.db" / "backend.db")


def test_a_file_with_terms_of_an_older_analyser_gets_todays(path: Path):
    backend = SqliteBackend(path)
    backend.store("Anna plays the violin")
    backend.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE documents SET terms = 'wold'")
        connection.execute("UPDATE stamp SET analyser = 'v0'")
        connection.commit()
    again = SqliteBackend(path)
    assert len(again.retrieve("violin")) == 1
    again.close()
    assert words_of(path, "wold") == 0


def test_a_closed_backend_and_saving_are_refused(backend: SqliteBackend, tmp_path: Path):
    with pytest.raises(UnsupportedError):
        backend.save(tmp_path / "saved")
    backend.close()
    with pytest.raises(UnavailableError, match="closed"):
        backend.retrieve("text")
