-- name: put
INSERT INTO profiles (pid, org, key, value, source, created_at, updated_at)
VALUES (%(pid)s, %(org)s, %(key)s, %(value)s, %(source)s, %(created_at)s, %(updated_at)s)
ON CONFLICT (pid, key_sha256) DO UPDATE
    SET value = excluded.value, source = excluded.source, updated_at = excluded.updated_at
RETURNING 1;
-- name: of
SELECT key, value, source, created_at, updated_at FROM profiles WHERE pid = %(pid)s ORDER BY key;
-- name: remove
DELETE FROM profiles WHERE pid = %(pid)s AND key_sha256 IN (SELECT text_sha256(asked) FROM unnest(%(keys)s::text[]) AS asked);
