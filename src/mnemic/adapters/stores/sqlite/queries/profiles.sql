-- name: put
INSERT INTO profiles (pid, key, value, source, created_at, updated_at)
VALUES (:pid, :key, :value, :source, :created_at, :updated_at)
ON CONFLICT (pid, key) DO UPDATE SET value = excluded.value, source = excluded.source, updated_at = excluded.updated_at;
-- name: of
SELECT key, value, source, created_at, updated_at FROM profiles WHERE pid = :pid ORDER BY key;
-- name: remove
DELETE FROM profiles WHERE pid = :pid AND key IN (SELECT value FROM json_each(:keys));
