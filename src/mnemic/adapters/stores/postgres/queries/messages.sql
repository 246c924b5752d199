-- name: conversation
SELECT turns, messages, started_at, last_at FROM conversations WHERE pid = %(pid)s AND session = %(session)s;
-- name: begin_conversation
INSERT INTO conversations (pid, org, session, turns, messages, started_at, last_at)
VALUES (%(pid)s, %(org)s, %(session)s, 0, 0, %(at)s, %(at)s);
-- name: advance_conversation
UPDATE conversations SET turns = greatest(turns, %(turn)s), messages = greatest(messages, %(position)s),
    last_at = greatest(last_at, %(at)s)
WHERE pid = %(pid)s AND session = %(session)s
RETURNING 1;
-- name: insert
INSERT INTO messages (pid, org, id, changed, session, turn_id, turn, position, role, name, text, observed_at,
    created_at, agent, external_id, trust, state, metadata, bookkeeping, analyser, terms)
VALUES (%(pid)s, %(org)s, %(id)s, %(changed)s, %(session)s, %(turn_id)s, %(turn)s, %(position)s, %(role)s, %(name)s,
    %(text)s, %(observed_at)s, %(created_at)s, %(agent)s, %(external_id)s, %(trust)s, %(state)s, %(metadata)s,
    %(bookkeeping)s, %(analyser)s, %(terms)s)
ON CONFLICT DO NOTHING RETURNING 1;
-- name: select
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
-- name: where_ids
WHERE m.pid = ANY(%(pids)s::bigint[]) AND m.id = ANY(%(ids)s::text[]) AND m.state != 'erased';
-- name: where_turn
WHERE m.pid = ANY(%(pids)s::bigint[]) AND m.turn_id = %(turn_id)s AND m.state != 'erased'
ORDER BY m.position, m.id;
-- name: where_external_id
WHERE m.pid = %(pid)s AND m.session = %(session)s AND m.external_id IS NOT NULL
    AND m.external_sha256 IN (SELECT text_sha256(asked) FROM unnest(%(external_ids)s::text[]) AS asked);
-- name: where_latest
WHERE m.pid = ANY(%(pids)s::bigint[]) AND m.session = %(session)s AND m.state != 'erased'
ORDER BY m.position DESC, m.id DESC LIMIT greatest(%(limit)s, 0);
-- name: where_page
WHERE m.pid = ANY(%(pids)s::bigint[]) AND (%(after)s::text IS NULL OR m.id > %(after)s) AND m.state != 'erased'
ORDER BY m.id LIMIT greatest(%(limit)s, 0);
-- name: erase
UPDATE messages SET state = 'erased', text = '', name = NULL, metadata = '{}', bookkeeping = '{}', terms = '', changed = %(changed)s
WHERE pid = %(pid)s AND state != 'erased' AND id = ANY(%(ids)s::text[])
RETURNING id;
