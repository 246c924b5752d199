-- name: get
SELECT p.org, p.level, p.owner, $c.conversation
FROM conversations AS c JOIN partitions AS p USING (pid)
WHERE c.pid = :pid AND c.session = :session;
-- name: messages
SELECT p.org, p.level, p.owner, $m.message
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = :pid AND m.session = :session AND m.position > :after AND m.state != 'erased'
ORDER BY m.position LIMIT greatest(:limit, 0);
-- name: sessions
SELECT p.org, p.level, p.owner, m.session, max(m.turn), count(*), min(m.observed_at), max(m.observed_at)
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = ANY(:pids) AND m.state != 'erased'
GROUP BY p.org, p.level, p.owner, m.session ORDER BY max(m.observed_at) DESC, m.session LIMIT :limit;
-- name: cursor
SELECT position FROM cursors WHERE pid = :pid AND session = :session AND name = :name;
-- name: move
UPDATE cursors SET position = :to WHERE pid = :pid AND session = :session AND name = :name AND position = :was;
-- name: move_from_0
INSERT INTO cursors (pid+org, session, name, position) VALUES (:pid+org, :session, :name, :to)
ON CONFLICT (pid, session, name) DO UPDATE SET position = excluded.position WHERE cursors.position = 0;
-- name: place
SELECT observed_at, position, id FROM messages WHERE pid = :pid AND id = :id;
-- name: said
SELECT p.org, p.level, p.owner, $m.message
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = :pid AND m.state != 'erased' AND (:session::text IS NULL OR m.session = :session)
    AND substr(m.id, length(m.id) - length(:ending::text) + 1) = :ending::text
    AND m.observed_at >= :since::bigint AND m.observed_at < :until::bigint
    AND (m.observed_at, m.position, m.id) < (:at::bigint, :position::bigint, :id::text)
ORDER BY m.observed_at DESC, m.position DESC, m.id DESC LIMIT :limit;
-- name: metadata
SELECT m.id, m.metadata FROM messages AS m
WHERE m.pid = ANY(:pids) AND m.metadata != '{}' AND m.state != 'erased';
