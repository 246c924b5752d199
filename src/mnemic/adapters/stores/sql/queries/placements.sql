-- name: find
SELECT $placement FROM placements WHERE org = :org;
-- name: hold (postgres)
SELECT pg_advisory_xact_lock_shared(hashtextextended(current_schema() || ' ' || org, 0))
FROM unnest(:orgs::text[]) AS asked (org);
-- name: wait_for_transfers (postgres)
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || :org, 1));
-- name: list
SELECT $placement FROM placements ORDER BY org;
-- name: put
INSERT INTO placements ($placement) VALUES ($:placement)
ON CONFLICT (org) DO UPDATE SET state = :state, place = :place, token = :token, at = :at;
-- name: drop
DELETE FROM placements WHERE org = :org;
-- name: wait_for_writers (postgres)
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || :org, 0));
-- name: insert
INSERT INTO {table} ({columns}) VALUES ({values});
-- name: update
UPDATE {table} SET {changes} WHERE {key};
-- name: remove
DELETE FROM {table} WHERE {key};
-- name: add_space
INSERT INTO spaces (space, dims) VALUES (:space, :dims) ON CONFLICT DO NOTHING;
-- name: newest
SELECT greatest((SELECT coalesce(max(version), 0) FROM partitions), (SELECT floor FROM erasing), :version);
-- name: renew
UPDATE partitions SET version = :version WHERE org = :org;
