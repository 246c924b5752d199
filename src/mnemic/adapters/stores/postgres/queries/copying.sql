-- name: columns
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attidentity != '' AS is_numbered
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname != 'schema_version'
    AND NOT starts_with(c.relname, 'search_')
    AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY c.relname, a.attnum;
-- name: references
SELECT DISTINCT f.relname, t.relname
FROM pg_constraint AS r JOIN pg_class AS f ON f.oid = r.conrelid JOIN pg_class AS t ON t.oid = r.confrelid
WHERE r.contype = 'f' AND f.relnamespace = current_schema()::regnamespace AND f.oid != t.oid
    AND NOT starts_with(f.relname, 'search_');
-- name: owned
SELECT DISTINCT f.relname, a.attname
FROM pg_constraint AS r JOIN pg_class AS f ON f.oid = r.conrelid
    CROSS JOIN unnest(r.conkey, r.confkey) AS pair (here, there)
    JOIN pg_attribute AS a ON a.attrelid = r.conrelid AND a.attnum = pair.here
    JOIN pg_attribute AS p ON p.attrelid = r.confrelid AND p.attnum = pair.there
WHERE r.contype = 'f' AND r.confrelid = to_regclass('partitions') AND p.attname = 'pid'
    AND NOT starts_with(f.relname, 'search_');
-- name: count
SELECT count(*) FROM {table};
-- name: read
SELECT {columns} FROM {table};
-- name: without_absent
WHERE org NOT IN (SELECT org FROM placements WHERE state IN ('moved', 'arriving'));
-- name: lock
LOCK TABLE {tables} IN EXCLUSIVE MODE;
-- name: empty
DELETE FROM {table};
-- name: fill
INSERT INTO {table} ({columns}) VALUES ({values});
-- name: add_partition
INSERT INTO partitions (org, level, owner, version) VALUES (%(org)s, %(level)s, %(owner)s, %(version)s) RETURNING pid;
-- name: newest
SELECT greatest(
    (SELECT coalesce(max(version), 0) FROM partitions), (SELECT coalesce(max(floor), 0) FROM erasing), %(copied)s
);
-- name: new_floor
UPDATE erasing SET floor = %(version)s;
-- name: all_rows
SELECT {columns} FROM {table};
-- name: rows_by_org
SELECT {columns} FROM {table} WHERE org = %(org)s;
-- name: rows_by_pid
SELECT {columns} FROM {table} WHERE pid IN (SELECT pid FROM partitions WHERE org = %(org)s);
-- name: orgs
SELECT DISTINCT org FROM {table};
-- name: in_order
ORDER BY seq;
