-- name: add
INSERT INTO requests (org, caller, key, token, fingerprint, at, for_user, for_agent, for_session, outcome, answer)
VALUES (%(org)s, %(caller)s, %(key)s, %(token)s, %(fingerprint)s, %(at)s, %(for_user)s, %(for_agent)s, %(for_session)s, %(outcome)s, %(answer)s)
ON CONFLICT (org, caller, key) DO UPDATE
SET token = excluded.token, fingerprint = excluded.fingerprint, at = excluded.at, for_user = excluded.for_user,
    for_agent = excluded.for_agent, for_session = excluded.for_session, outcome = excluded.outcome,
    answer = excluded.answer
WHERE requests.at < %(since)s::bigint
RETURNING 1;
-- name: get
SELECT org, caller, key, token, fingerprint, at, for_user, for_agent, for_session, outcome, answer
FROM requests WHERE org = %(org)s AND caller = %(caller)s AND key = %(key)s;
-- name: answer
UPDATE requests
SET outcome = CASE WHEN fingerprint = '' AND %(outcome)s::text = 'answered' THEN 'forgotten' ELSE %(outcome)s::text END,
    answer = CASE WHEN fingerprint = '' THEN ''::bytea ELSE %(answer)s::bytea END
WHERE org = %(org)s AND caller = %(caller)s AND key = %(key)s AND token = %(token)s AND outcome = 'open';
-- name: remove
DELETE FROM requests
WHERE org = %(org)s AND caller = %(caller)s AND key = %(key)s AND token = %(token)s AND outcome = 'open';
-- name: scrub_org
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = ''::bytea, fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = %(org)s AND token != %(but)s AND fingerprint != '';
-- name: scrub_user
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = ''::bytea, fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = %(org)s AND for_user = %(owner)s AND token != %(but)s AND fingerprint != '';
-- name: scrub_agent
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = ''::bytea, fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = %(org)s AND for_agent = %(owner)s AND token != %(but)s AND fingerprint != '';
-- name: scrub_session
UPDATE requests
SET outcome = CASE outcome WHEN 'answered' THEN 'forgotten' ELSE outcome END, answer = ''::bytea, fingerprint = '',
    for_user = NULL, for_agent = NULL, for_session = NULL
WHERE org = %(org)s AND for_session = %(owner)s AND token != %(but)s AND fingerprint != '';
-- name: forget
DELETE FROM requests WHERE at < %(before)s::bigint;
