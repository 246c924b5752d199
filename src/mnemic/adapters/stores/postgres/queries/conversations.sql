-- name: get
SELECT p.org, p.level, p.owner, c.session, c.turns, c.messages, c.started_at, c.last_at
FROM conversations AS c JOIN partitions AS p USING (pid)
WHERE c.pid = ANY(%(pids)s::bigint[]) AND c.session = %(session)s;
-- name: messages
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = ANY(%(pids)s::bigint[]) AND m.session = %(session)s AND m.position > %(after)s AND m.state != 'erased'
ORDER BY m.position LIMIT greatest(%(limit)s, 0);
-- name: cursor
SELECT position FROM cursors
WHERE pid = ANY(%(pids)s::bigint[]) AND session = %(session)s AND name = %(name)s;
-- name: move
UPDATE cursors SET position = %(to)s
WHERE pid = %(pid)s AND session = %(session)s AND name = %(name)s AND position = %(was)s;
-- name: move_from_0
INSERT INTO cursors (pid, org, session, name, position) VALUES (%(pid)s, %(org)s, %(session)s, %(name)s, %(to)s)
ON CONFLICT (pid, session, name) DO UPDATE SET position = excluded.position WHERE cursors.position = 0;
-- name: place
SELECT observed_at, position, id FROM messages WHERE pid = %(pid)s AND id = %(id)s;
-- name: said
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = %(pid)s AND m.state != 'erased' AND (%(session)s::text IS NULL OR m.session = %(session)s)
    AND m.observed_at >= %(since)s::bigint AND m.observed_at < %(until)s::bigint
    AND (m.observed_at, m.position, m.id) < (%(at)s::bigint, %(position)s::bigint, %(id)s::text)
ORDER BY m.observed_at DESC, m.position DESC, m.id DESC LIMIT %(limit)s;
