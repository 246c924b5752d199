-- name: quick
PRAGMA journal_mode = DELETE;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -32000;
-- name: settled
PRAGMA journal_mode = DELETE;
PRAGMA secure_delete = ON;
-- name: snapshot
SELECT count(*) FROM sqlite_schema;
-- name: attach
ATTACH :path AS taken;
-- name: references_unchecked
PRAGMA foreign_keys = OFF;
-- name: broken_references
SELECT "table", count(*) FROM pragma_foreign_key_check() GROUP BY 1;
-- name: foreign_objects
SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%';
-- name: tables
SELECT name FROM {schema}.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name;
-- name: by_key
SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr;
-- name: columns
SELECT name FROM pragma_table_info(:table, :schema) ORDER BY cid;
-- name: count
SELECT count(*) FROM {schema}.{table};
-- name: newest
SELECT max(
    coalesce((SELECT max(version) FROM main.partitions), 0), coalesce((SELECT max(floor) FROM main.erasing), 0),
    coalesce((SELECT max(version) FROM taken.partitions), 0), coalesce((SELECT max(floor) FROM taken.erasing), 0)
);
-- name: empty
DELETE FROM main.{table};
-- name: drop_absent_rows_by_org
DELETE FROM main.{table} WHERE org IN (SELECT org FROM main.placements WHERE state IN ('moved', 'arriving'));
-- name: drop_absent_rows_by_pid
DELETE FROM main.{table} WHERE pid IN (
    SELECT pid FROM main.partitions
    WHERE org IN (SELECT org FROM main.placements WHERE state IN ('moved', 'arriving'))
);
-- name: fill
INSERT INTO main.{table} SELECT * FROM taken.{table};
-- name: new_versions
UPDATE partitions SET version = :version;
-- name: new_floor
UPDATE erasing SET floor = :version;
-- name: read
SELECT {columns} FROM main.{table} ORDER BY {order};
-- name: add
INSERT INTO main.{table} ({columns}) VALUES ({values});
-- name: all_rows
SELECT {columns} FROM {table};
-- name: rows_by_org
SELECT {columns} FROM {table} WHERE org = :org;
-- name: rows_by_pid
SELECT {columns} FROM {table} WHERE pid IN (SELECT pid FROM partitions WHERE org = :org);
-- name: orgs
SELECT DISTINCT org FROM {table};
-- name: scan
SELECT * FROM {schema}.{table} NOT INDEXED;
-- name: rows_up
SELECT rowid, * FROM {schema}.{table} NOT INDEXED ORDER BY rowid;
-- name: rows_down
SELECT rowid, * FROM {schema}.{table} NOT INDEXED ORDER BY rowid DESC;
-- name: row_at
SELECT * FROM {schema}.{table} NOT INDEXED WHERE rowid = :rowid;
-- name: key
SELECT name FROM pragma_table_info(:table) WHERE pk > 0 ORDER BY pk;
-- name: keys_down
SELECT * FROM {schema}.{table} ORDER BY {order};
-- name: orphans
SELECT "table", rowid FROM pragma_foreign_key_check() WHERE rowid IS NOT NULL;
-- name: drop_row
DELETE FROM {schema}.{table} WHERE rowid = :rowid;
-- name: in_order
ORDER BY seq;
-- name: referenced
SELECT DISTINCT "table" FROM pragma_foreign_key_list(:table);
-- name: primary_key
SELECT name FROM pragma_table_info(:table) WHERE pk > 0 ORDER BY pk;
-- name: first_unique
SELECT name FROM pragma_index_info('sqlite_autoindex_' || :table || '_1') ORDER BY seqno;
