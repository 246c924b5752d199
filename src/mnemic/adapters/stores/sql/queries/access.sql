-- name: insert
INSERT INTO api_keys ($key) VALUES ($:key) ON CONFLICT DO NOTHING;
-- name: get
SELECT $key FROM api_keys WHERE id = :id;
-- name: list
SELECT $key FROM api_keys WHERE org = :org ORDER BY [[rowid|seq]];
-- name: end
UPDATE api_keys
SET expires_at = CASE WHEN expires_at < :expires_at::bigint THEN expires_at ELSE coalesce(:expires_at::bigint, expires_at) END,
    revoked_at = CASE WHEN revoked_at < :revoked_at::bigint THEN revoked_at ELSE coalesce(:revoked_at::bigint, revoked_at) END
WHERE org = :org AND id = :id;
-- name: blank
UPDATE api_keys
SET name = '', revoked_at = CASE WHEN revoked_at < :at THEN revoked_at ELSE :at END,
    bound_user = CASE WHEN bound_user IS NULL THEN NULL ELSE :erased END,
    bound_agent = CASE WHEN bound_agent IS NULL THEN NULL ELSE :erased END
WHERE org = :org AND id = :id;
-- name: has_any
SELECT EXISTS (SELECT 1 FROM api_keys);
-- name: note
INSERT INTO audit ($audit) VALUES ($:audit);
-- name: notes
SELECT $audit, seq FROM audit
WHERE org = :org AND (:before::bigint IS NULL OR seq < :before::bigint) ORDER BY seq DESC LIMIT :limit;
-- name: forget
DELETE FROM audit WHERE at < :before;
