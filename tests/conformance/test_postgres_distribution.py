"""Tables could be spread over several servers: their keys hold the column that would decide where a row is."""

from __future__ import annotations

import psycopg
import pytest

from tests.conformance.conftest import MakePostgres

COLUMNS: dict[str, str] = dict.fromkeys(
    ("api_keys", "audit", "receipts", "requests", "placements", "oauth_tokens"), "org"
)
"""Tables without a partition. All others would be distributed by `pid`."""

EVERYWHERE = {
    "partitions": "gives the numbers of partitions; small, so every server would have a copy",
    "spaces": "belongs to no org; a few rows",
    "schedules": "belongs to no org; a few rows",
    "erasing": "belongs to no org; one row",
    "schema_version": "belongs to no org; one row per migration",
}
EXCEPTIONS = {("api_keys", "api_keys_id_key"): "a key is looked up by its id, before its org is known"}
KEYS = """
SELECT t.relname, i.relname, array_agg(a.attname::text)
FROM pg_index AS x JOIN pg_class AS t ON t.oid = x.indrelid JOIN pg_class AS i ON i.oid = x.indexrelid
LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = ANY(x.indkey)
WHERE x.indisunique AND t.relkind = 'r' AND t.relnamespace = %s::regnamespace
GROUP BY t.relname, i.relname
"""
REFERENCES = """
SELECT f.relname, t.relname, r.conname, (
    SELECT array_agg(h.attname::text ORDER BY h.attname) FROM pg_attribute AS h
    WHERE h.attrelid = t.oid AND h.attnum = ANY(r.confkey)
)
FROM pg_constraint AS r JOIN pg_class AS f ON f.oid = r.conrelid JOIN pg_class AS t ON t.oid = r.confrelid
WHERE r.contype = 'f' AND f.relnamespace = %s::regnamespace
"""


@pytest.mark.requirement("P-55")
def test_every_unique_key_holds_the_column_of_distribution(make_postgres: MakePostgres, ordinary_url: str):
    store = make_postgres()
    with psycopg.connect(ordinary_url) as connection:
        keys = connection.execute(KEYS, [store.schema]).fetchall()
        references = connection.execute(REFERENCES, [store.schema]).fetchall()
    store.close()
    missing = {(table, name) for table, name, columns in keys if table not in EVERYWHERE and not holds(table, columns)}
    assert missing == set(EXCEPTIONS)
    assert {table for table, _, _ in keys} > {*EVERYWHERE, *COLUMNS}
    assert [row for row in references if row[1] not in EVERYWHERE and "pid" not in row[3]] == []


def holds(table: str, columns: list[str]) -> bool:
    return COLUMNS.get(table, "pid") in columns
