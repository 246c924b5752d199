-- name: put
INSERT INTO profiles (pid+org, $profile) VALUES (:pid+org, $:profile)
ON CONFLICT (pid, [[key|key_sha256]]) DO UPDATE SET value = excluded.value, source = excluded.source, updated_at = excluded.updated_at;
-- name: of
SELECT p.org, p.level, p.owner, $f.profile FROM profiles AS f JOIN partitions AS p USING (pid)
WHERE f.pid = :pid ORDER BY key;
-- name: remove
DELETE FROM profiles WHERE pid = :pid AND [[key = ANY(:keys)|key_sha256 IN (SELECT text_sha256(asked) FROM unnest(:keys::text[]) AS asked)]];
