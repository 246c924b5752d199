-- name: insert
INSERT INTO oauth_tokens ($token) VALUES ($:token);
-- name: get
SELECT $token FROM oauth_tokens WHERE hash = :hash;
-- name: remove
DELETE FROM oauth_tokens WHERE org = :org AND hash = :hash;
-- name: remove_of_key
DELETE FROM oauth_tokens WHERE org = :org AND key_id = :id;
-- name: orgs
SELECT DISTINCT org FROM oauth_tokens WHERE connection = :connection;
-- name: end
DELETE FROM oauth_tokens WHERE connection = :connection;
-- name: forget
DELETE FROM oauth_tokens WHERE expires_at < :before;
