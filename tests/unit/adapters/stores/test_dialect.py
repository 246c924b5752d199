"""One text of a statement becomes what SQLite and PostgreSQL take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mnemic.adapters.stores.sql import dialect
from mnemic.adapters.stores.sql.dialect import MEMORY, NOUNS, statements

TOPICS = sorted(path.stem for path in (Path(dialect.__file__).parent / "queries").glob("*.sql"))


def test_lists_parameters_and_types_are_written_as_each_dialect_has_them():
    sqlite, postgres = (statements(name, "conversations") for name in ("sqlite", "postgres"))
    assert sqlite["cursor"] == "SELECT position FROM cursors WHERE pid = :pid AND session = :session AND name = :name"
    assert postgres["cursor"].endswith("WHERE pid = %(pid)s AND session = %(session)s AND name = %(name)s")
    assert "(:session IS NULL OR" in sqlite["said"]
    assert "(%(session)s::text IS NULL OR" in postgres["said"]
    sqlite, postgres = (statements(name, "vectors") for name in ("sqlite", "postgres"))
    assert sqlite["erase"].endswith("pid = :pid AND item_id IN (SELECT value FROM json_each(:ids))")
    assert postgres["erase"].endswith("pid = %(pid)s AND item_id = ANY(%(ids)s::text[])")


def test_rows_of_postgresql_hold_their_org_and_those_of_sqlite_do_not():
    sqlite, postgres = (statements(name, "profiles")["put"] for name in ("sqlite", "postgres"))
    assert sqlite.startswith("INSERT INTO profiles (pid, key, value,")
    assert postgres.startswith("INSERT INTO profiles (pid, org, key, value,")
    assert "VALUES (%(pid)s, %(org)s, %(key)s, %(value)s," in postgres


def test_a_statement_names_every_column_of_its_noun():
    for name in ("sqlite", "postgres"):
        sql = statements(name, "memories")
        for column in MEMORY.names:
            assert re.search(rf"\b{column}\b", sql["insert"])
            assert f"m.{column}" in sql["select"]
            assert f"{column} = " in sql["replace"]


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
@pytest.mark.parametrize("topic", TOPICS)
def test_nothing_of_the_written_form_is_left(name: str, topic: str):
    for sql in statements(name, topic).values():
        assert not re.search(r"\[\[|\]\]|\$(?!\.)|is_empty|pid\+org", sql), sql
        assert (("::" in sql) or ("%(" in sql)) <= (name == "postgres"), sql


def test_both_have_the_same_statements_but_for_those_that_one_alone_needs():
    only = {
        topic: {*statements("sqlite", topic)} ^ {*statements("postgres", topic)}
        for topic in TOPICS
        if {*statements("sqlite", topic)} != {*statements("postgres", topic)}
    }
    assert only == {
        "entity_vectors": {"visible", "nearest"},
        "jobs": {"is_open"},
        "memories": {"taken_ids"},
        "partitions": {"pid", "pids", "lock", "lock_of_dead_jobs", "next_version"},
        "placements": {"hold", "wait_for_transfers", "wait_for_writers"},
    }


def test_every_noun_that_statements_name_is_described_once():
    text = "".join((Path(dialect.__file__).parent / f"queries/{topic}.sql").read_text("utf-8") for topic in TOPICS)
    assert {*re.findall(r"\$(?:=:|=|:|\[\]|\w+\.)?([a-z]\w*)", text)} - {"source_id"} <= {*NOUNS}
