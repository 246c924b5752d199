-- name: insert
INSERT INTO api_keys (org, id, secret_hash, rights, name, bound_user, bound_agent, created_at, expires_at, revoked_at)
VALUES (:org, :id, :secret_hash, :rights, :name, :bound_user, :bound_agent, :created_at, :expires_at, :revoked_at);
-- name: get
SELECT org, id, secret_hash, rights, name, bound_user, bound_agent, created_at, expires_at, revoked_at
FROM api_keys WHERE id = :id;
-- name: list
SELECT org, id, secret_hash, rights, name, bound_user, bound_agent, created_at, expires_at, revoked_at
FROM api_keys WHERE org = :org ORDER BY rowid;
-- name: end
UPDATE api_keys
SET expires_at = CASE WHEN expires_at < :expires_at THEN expires_at ELSE coalesce(:expires_at, expires_at) END,
    revoked_at = CASE WHEN revoked_at < :revoked_at THEN revoked_at ELSE coalesce(:revoked_at, revoked_at) END
WHERE org = :org AND id = :id;
-- name: has_any
SELECT EXISTS (SELECT 1 FROM api_keys);
-- name: note
INSERT INTO audit (org, at, actor, verb, target, outcome) VALUES (:org, :at, :actor, :verb, :target, :outcome);
-- name: notes
SELECT seq, org, at, actor, verb, target, outcome FROM audit
WHERE org = :org AND (:before IS NULL OR seq < :before) ORDER BY seq DESC LIMIT :limit;
-- name: forget
DELETE FROM audit WHERE at < :before;
