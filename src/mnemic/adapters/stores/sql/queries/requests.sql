-- name: add
INSERT INTO requests ($request) VALUES ($:request)
ON CONFLICT (org, caller, key) DO UPDATE SET $=request
WHERE requests.at < :since;
-- name: get
SELECT $request FROM requests WHERE org = :org AND caller = :caller AND key = :key;
-- name: answer
UPDATE requests
SET outcome = CASE WHEN fingerprint = '' AND :outcome::text = 'answered' THEN 'forgotten' ELSE :outcome::text END,
    answer = CASE WHEN fingerprint = '' THEN [[x'' ELSE :answer|''::bytea ELSE :answer::bytea]] END
WHERE org = :org AND caller = :caller AND key = :key AND token = :token AND outcome = 'open';
-- name: remove
DELETE FROM requests
WHERE org = :org AND caller = :caller AND key = :key AND token = :token AND outcome = 'open';
-- name: scrub
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = [[x''|''::bytea]], fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = :org AND token != :but AND fingerprint != '' AND (
    CASE :level::text WHEN 'user' THEN for_user = :owner WHEN 'agent' THEN for_agent = :owner
        WHEN 'session' THEN for_session = :owner ELSE true END
);
-- name: forget
DELETE FROM requests WHERE at < :before;
