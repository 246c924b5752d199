-- name: add
INSERT INTO requests (org, caller, key, token, fingerprint, at, for_user, for_agent, for_session, outcome, answer)
VALUES (:org, :caller, :key, :token, :fingerprint, :at, :for_user, :for_agent, :for_session, :outcome, :answer)
ON CONFLICT (org, caller, key) DO UPDATE
SET token = excluded.token, fingerprint = excluded.fingerprint, at = excluded.at, for_user = excluded.for_user,
    for_agent = excluded.for_agent, for_session = excluded.for_session, outcome = excluded.outcome,
    answer = excluded.answer
WHERE requests.at < :since;
-- name: get
SELECT org, caller, key, token, fingerprint, at, for_user, for_agent, for_session, outcome, answer
FROM requests WHERE org = :org AND caller = :caller AND key = :key;
-- name: answer
UPDATE requests
SET outcome = CASE WHEN fingerprint = '' AND :outcome = 'answered' THEN 'forgotten' ELSE :outcome END,
    answer = CASE WHEN fingerprint = '' THEN x'' ELSE :answer END
WHERE org = :org AND caller = :caller AND key = :key AND token = :token AND outcome = 'open';
-- name: remove
DELETE FROM requests
WHERE org = :org AND caller = :caller AND key = :key AND token = :token AND outcome = 'open';
-- name: scrub_org
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = x'', fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = :org AND token != :but AND fingerprint != '';
-- name: scrub_user
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = x'', fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = :org AND for_user = :owner AND token != :but AND fingerprint != '';
-- name: scrub_agent
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = x'', fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = :org AND for_agent = :owner AND token != :but AND fingerprint != '';
-- name: scrub_session
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = x'', fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = :org AND for_session = :owner AND token != :but AND fingerprint != '';
-- name: forget
DELETE FROM requests WHERE at < :before;
