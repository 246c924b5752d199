-- name: insert
INSERT INTO api_keys (org, id, secret_hash, rights, name, bound_user, bound_agent, created_at, expires_at, revoked_at)
VALUES (%(org)s, %(id)s, %(secret_hash)s, %(rights)s, %(name)s, %(bound_user)s, %(bound_agent)s, %(created_at)s, %(expires_at)s::bigint, %(revoked_at)s::bigint) ON CONFLICT DO NOTHING RETURNING 1;
-- name: get
SELECT org, id, secret_hash, rights, name, bound_user, bound_agent, created_at, expires_at, revoked_at
FROM api_keys WHERE id = %(id)s;
-- name: list
SELECT org, id, secret_hash, rights, name, bound_user, bound_agent, created_at, expires_at, revoked_at
FROM api_keys WHERE org = %(org)s ORDER BY seq;
-- name: end
UPDATE api_keys
SET expires_at = CASE WHEN expires_at < %(expires_at)s::bigint THEN expires_at ELSE coalesce(%(expires_at)s::bigint, expires_at) END,
    revoked_at = CASE WHEN revoked_at < %(revoked_at)s::bigint THEN revoked_at ELSE coalesce(%(revoked_at)s::bigint, revoked_at) END
WHERE org = %(org)s AND id = %(id)s;
-- name: has_any
SELECT EXISTS (SELECT 1 FROM api_keys);
-- name: note
INSERT INTO audit (org, at, actor, verb, target, outcome) VALUES (%(org)s, %(at)s, %(actor)s, %(verb)s, %(target)s, %(outcome)s) RETURNING 1;
-- name: notes
SELECT seq, org, at, actor, verb, target, outcome FROM audit
WHERE org = %(org)s AND (%(before)s::bigint IS NULL OR seq < %(before)s::bigint) ORDER BY seq DESC LIMIT %(limit)s;
-- name: forget
DELETE FROM audit WHERE at < %(before)s::bigint;
