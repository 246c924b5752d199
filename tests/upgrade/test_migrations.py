"""Files of other versions: older ones open and are brought up to date in one transaction, newer ones are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.adapters.stores.sqlite import session as sqlite_session
from mnemic.adapters.stores.sqlite.session import migrations
from mnemic.errors import BackendError, ConfigError
from mnemic.model.chat import Usage
from mnemic.model.records import JobState
from mnemic.testing.samples import ANNA, HERS, NOW, a_document, a_memory, a_query, add_memories, fill_document
from mnemic.testing.store_units import texts

KNOWN = migrations()
NEWEST = KNOWN[-1][0]
ROWS = """
INSERT INTO partitions (pid, org, level, owner, version) VALUES (1, 'acme', 'user', 'anna', 1);
INSERT INTO memories (pid, id, changed, dedup_key, text, kind, importance, confidence, categories, context, snippet,
    source, observed_at, created_at, updated_at, state, trust, provenance, metadata, analyser, terms)
VALUES (1, 'm1', 1, 'tea', 'Anna likes tea', 'fact', 0.5, 1.0, '[]', '', '', '', 0, 0, 0, 'active', 'user', '[]', '{}',
    'sample-1', 'anna likes tea');
INSERT INTO conversations (pid, session, turns, messages, started_at, last_at) VALUES (1, 's1', 1, 1, 0, 0);
INSERT INTO jobs (pid, id, kind, key, payload, state, attempts, created_at, run_at, error)
VALUES (1, 'j1', 'embed', 'm1', '{}', 'pending', 0, 0, 0, '');
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def make_first(path: Path) -> None:
    """A file as the first version wrote it, with a row in each table that later versions change."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(KNOWN[0][1] + ROWS)
        connection.execute("PRAGMA user_version = 1")
        connection.execute(f"PRAGMA application_id = {sqlite_session.APPLICATION_ID}")
        connection.commit()


def test_migrations_are_numbered_without_a_gap():
    assert [number for number, _ in KNOWN] == list(range(1, NEWEST + 1))


def test_a_store_of_the_first_version_opens_with_its_rows(path: Path):
    make_first(path)
    store = SqliteStore(path)
    assert texts(store) == ["Anna likes tea"]
    assert add_memories(store, a_memory("Anna likes coffee")) == [True]
    store.close()
    assert version(path) == NEWEST


def test_a_store_of_the_first_version_gains_cursors_schedules_fading_and_the_cost_of_jobs(path: Path):
    make_first(path)
    store = SqliteStore(path)
    with store.write() as work:
        (memory,) = work.memories.list(ANNA.visibility, a_query())
        (job,) = work.jobs.list(None, tuple(JobState), 9)
        assert (memory.faded, memory.importance, job.key, job.usage) == (None, 0.5, "m1", Usage())
        assert [talk.session for talk in work.upkeep.idle("summarised", NOW, 9)] == ["s1"]
        work.upkeep.fade(HERS, {memory.id: 0.25})
        assert work.conversations.move(HERS, "s1", "summarised", 0, 1)
        assert work.upkeep.start_run("evict", None, NOW)
    store.close()
    store = SqliteStore(path)
    with store.read() as work:
        assert [memory.faded for memory in work.memories.list(ANNA.visibility, a_query())] == [0.25]
        assert work.conversations.cursor(HERS, "s1", "summarised") == 1
        assert work.upkeep.last_run("evict") == NOW
    store.close()


def test_a_store_of_the_first_version_takes_documents(path: Path):
    make_first(path)
    store = SqliteStore(path)
    document = a_document()
    (chunk,) = fill_document(store, document, "Tea is hot.")
    store.close()
    store = SqliteStore(path)
    assert texts(store) == ["Anna likes tea"]
    with store.read() as work:
        assert work.documents.chunks(ANNA.visibility, [chunk.id]) == [chunk]
    store.close()


def test_opening_again_changes_nothing(path: Path):
    SqliteStore(path).close()
    before = path.read_bytes()
    SqliteStore(path).close()
    assert path.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused_with_the_line_to_run(path: Path):
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"newer version of Mnemic .*pip install --upgrade mnemic"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_the_old_version_and_its_rows(path: Path, monkeypatch: pytest.MonkeyPatch):
    store = SqliteStore(path)
    add_memories(store, a_memory("tea"))
    store.close()
    before = tables(path)
    script = "CREATE TABLE half_done (x);\nDELETE FROM memories;\nCREATE TABLE memories (x);\n"
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_session, "migrations", lambda: [*KNOWN, (NEWEST + 1, script)])
        with pytest.raises(BackendError, match="setting up the store"):
            SqliteStore(path)
    assert (version(path), tables(path)) == (NEWEST, before)
    store = SqliteStore(path)
    assert texts(store) == ["tea"]
    store.close()


def test_migrations_of_several_versions_run_together_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = [(NEWEST + 1, "CREATE TABLE one (x);\n"), (NEWEST + 2, "CREATE TABLE one (x);\n")]
    monkeypatch.setattr(sqlite_session, "migrations", lambda: [*KNOWN, *steps])
    with pytest.raises(BackendError):
        SqliteStore(path)
    assert (version(path), tables(path)) == (0, set())
    monkeypatch.setattr(sqlite_session, "migrations", lambda: [*KNOWN, steps[0]])
    SqliteStore(path).close()
    assert version(path) == NEWEST + 1
    assert "one" in tables(path)


def test_a_store_of_the_first_version_learns_what_its_memories_were_made_of(path: Path):
    make_first(path)
    made = (
        '[{"source_id": "x", "start": 0, "end": 1, "extractor": "e", "version": "1", "support": 1.0}]',
        '{"merged_ids": ["m1", "m2"], "chosen_ids": "none"}',
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE memories SET provenance = ?, metadata = ?", made)
        merged = ("h1", "m1", "merged", "{}", '{"metadata": {"merged_ids": ["m1", "m2"]}}')
        connection.execute(
            "INSERT INTO history (pid, id, item_id, action, actor, reason, at, before, after)"
            " VALUES (1, ?, ?, ?, 'cli', '', 0, ?, ?)",
            merged,
        )
        connection.commit()
    store = SqliteStore(path)
    with store.read() as work:
        found = {source: [m.id for m in work.dependants.of(HERS, [source])] for source in ("x", "m2", "m1", "none")}
        (memory,) = work.memories.list(ANNA.visibility, a_query())
    store.close()
    assert found == {"x": ["m1"], "m2": ["m1"], "m1": [], "none": []}
    assert memory.flags == ()
    assert (memory.metadata, memory.bookkeeping) == ({"chosen_ids": "none"}, {"merged_ids": ["m1", "m2"]})
