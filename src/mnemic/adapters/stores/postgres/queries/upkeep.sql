-- name: idle
SELECT p.org, p.level, p.owner, c.session, c.turns, c.messages, c.started_at, c.last_at
FROM conversations AS c JOIN partitions AS p USING (pid)
LEFT JOIN cursors AS k ON k.pid = c.pid AND k.session = c.session AND k.name = %(cursor)s
WHERE c.last_at < %(since)s AND coalesce(k.position, 0) < c.messages
-- name: idle_of
  AND c.pid = ANY(%(pids)s)
-- name: idle_order
ORDER BY c.last_at, p.org, p.level, p.owner, c.session LIMIT greatest(%(limit)s, 0);
-- name: memories
WHERE m.pid = %(pid)s AND m.id > %(after)s AND m.state != 'erased' ORDER BY m.id LIMIT %(limit)s
-- name: private_agents
SELECT private_agent FROM memories WHERE pid = %(pid)s AND private_agent != '' AND state != 'erased'
UNION
SELECT private_agent FROM documents WHERE pid = %(pid)s AND private_agent != '' AND status != 'erased'
ORDER BY private_agent;
-- name: fade
UPDATE memories SET faded = %(faded)s WHERE pid = %(pid)s AND id = %(id)s AND state != 'erased' RETURNING 1;
-- name: last_run
SELECT at FROM schedules WHERE name = %(name)s;
-- name: first_run
INSERT INTO schedules (name, at) VALUES (%(name)s, %(at)s) ON CONFLICT (name) DO NOTHING;
-- name: next_run
UPDATE schedules SET at = %(at)s WHERE name = %(name)s AND at = %(was)s;
-- name: forget_jobs
DELETE FROM jobs WHERE state = 'done' AND created_at < %(before)s;
