-- name: get
SELECT p.org, p.level, p.owner, c.session, c.turns, c.messages, c.started_at, c.last_at
FROM conversations AS c JOIN partitions AS p USING (pid)
WHERE c.pid = :pid AND c.session = :session;
-- name: messages
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = :pid AND m.session = :session AND m.position > :after AND m.state != 'erased'
ORDER BY m.position LIMIT :limit;
-- name: cursor
SELECT position FROM cursors WHERE pid = :pid AND session = :session AND name = :name;
-- name: move
UPDATE cursors SET position = :to WHERE pid = :pid AND session = :session AND name = :name AND position = :was;
-- name: move_from_0
INSERT INTO cursors (pid, session, name, position) VALUES (:pid, :session, :name, :to)
ON CONFLICT (pid, session, name) DO UPDATE SET position = excluded.position WHERE position = 0;
-- name: place
SELECT observed_at, position, id FROM messages WHERE pid = :pid AND id = :id;
-- name: said
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = :pid AND m.state != 'erased' AND (:session IS NULL OR m.session = :session)
    AND m.observed_at >= :since AND m.observed_at < :until
    AND (m.observed_at, m.position, m.id) < (:at, :position, :id)
ORDER BY m.observed_at DESC, m.position DESC, m.id DESC LIMIT :limit;
