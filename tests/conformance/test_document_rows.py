"""What is left of an erased or replaced document in the rows themselves: nothing that it said."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.model.document import DocumentStatus, Heading
from mnemic.ports.store import Store
from mnemic.testing.samples import ANNA, HERS, NOW, a_document, a_vector, add_vectors, fill_document, terms

WORD = "xylophone"


def leave_tombstones(store: Store) -> None:
    """A document all of whose fields say the word is filled, filled anew with nothing, filled again, and erased."""
    document = a_document(f"{WORD}.md", title=WORD, sha256=WORD, headings=(Heading(0, 1, WORD),), metadata={WORD: WORD})
    for text in (WORD, "", WORD):
        chunks = fill_document(store, document, *[text] * bool(text), headings=(WORD,))
        add_vectors(store, *(a_vector(chunk.id) for chunk in chunks))
    with store.write() as work:
        work.documents.put([replace(document, status=DocumentStatus.FAILED, reason=WORD)])
        assert terms(WORD).terms == WORD
    with store.read() as work:
        assert work.documents.text(ANNA.visibility, document.id) == WORD
    with store.write() as work:
        assert work.documents.erase(HERS, [document.id], NOW) == 1


def check(tables: dict[str, list[str]]) -> None:
    """The rows of the tables, each as one text: tombstones of one document and two chunks, and no word."""
    counts = {name: len(rows) for name, rows in tables.items()}
    assert (counts["documents"], counts["chunks"], counts["document_texts"], counts["vectors"]) == (1, 2, 0, 0)
    assert [name for name, rows in tables.items() if any(WORD in row for row in rows)] == []


def test_rows_of_erased_documents_in_sqlite_say_nothing_and_the_file_neither(tmp_path: Path):
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    leave_tombstones(store)
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        check({name: [str(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in names})  # noqa: S608 -- names of our own tables
    assert WORD.encode() not in path.read_bytes()


def test_rows_of_erased_documents_in_postgresql_say_nothing(
    make_postgres: Callable[..., PostgresStore], postgres_url: str
):
    store = make_postgres()
    leave_tombstones(store)
    with psycopg.connect(postgres_url, options=f"-c search_path={store.schema},public") as connection:
        listed = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [store.schema])
        rows = {
            name: [str(row) for row in connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name)))]
            for (name,) in listed.fetchall()
        }
    check(rows)
    store.close()


def test_documents_and_chunks_of_postgresql_and_sqlite_have_the_same_columns(
    tmp_path: Path, make_postgres: Callable[..., PostgresStore], postgres_url: str
):
    store, path = make_postgres(), tmp_path / "memory.db"
    SqliteStore(path).close()
    with psycopg.connect(postgres_url) as connection, closing(sqlite3.connect(path)) as file:
        for table in ("documents", "document_texts", "chunks"):
            there = connection.execute(
                "SELECT column_name FROM information_schema.columns "
                "WHERE table_schema = %s AND table_name = %s AND is_generated = 'NEVER'",
                [store.schema, table],
            )
            here = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
            assert sorted(row[0] for row in there) == sorted([*here, "org"])
    store.close()


@pytest.mark.requirement("J-45")
def test_a_chunk_has_the_fields_that_its_table_needs_with_their_defaults(tmp_path: Path):
    path = tmp_path / "memory.db"
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        columns = {row[1]: (row[2], row[3], row[4]) for row in connection.execute("PRAGMA table_info(chunks)")}
    for name in ("id", "document_id", "pid", "text", "created_at"):
        assert columns[name][1] == 1  # never null
    assert columns["chunk_index"] == ("INTEGER", 1, "0")
    assert columns["token_count"] == ("INTEGER", 1, "0")
    assert columns["page_number"] == ("INTEGER", 0, None)
