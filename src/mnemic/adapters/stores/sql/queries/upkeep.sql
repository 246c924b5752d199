-- name: idle
SELECT p.org, p.level, p.owner, $c.conversation
FROM conversations AS c JOIN partitions AS p USING (pid)
LEFT JOIN cursors AS k ON k.pid = c.pid AND k.session = c.session AND k.name = :cursor
WHERE c.last_at < :since AND coalesce(k.position, 0) < c.messages
  AND p.org NOT IN (SELECT org FROM placements WHERE state IN ('stopped', 'moved', 'arriving'))
  -- Users' own sessions are ephemeral. Their owners are two ids, joined by U+001F.
  AND [[instr(p.owner, char(31))|strpos(p.owner, chr(31))]] = 0
-- name: idle_of
  AND c.pid = :pid
-- name: idle_order
ORDER BY c.last_at, p.org, p.level, p.owner, c.session LIMIT greatest(:limit, 0);
-- name: memories
WHERE m.pid = :pid AND m.id > :after AND m.state != 'erased' ORDER BY m.id LIMIT :limit
-- name: private_agents
SELECT private_agent FROM memories WHERE pid = :pid AND private_agent != '' AND state != 'erased'
UNION
SELECT private_agent FROM documents WHERE pid = :pid AND private_agent != '' AND status != 'erased'
ORDER BY private_agent;
-- name: fade
UPDATE memories SET faded = :faded WHERE pid = :pid AND id = :id AND state != 'erased';
-- name: last_run
SELECT at FROM schedules WHERE name = :name;
-- name: first_run
INSERT INTO schedules (name, at) VALUES (:name, :at) ON CONFLICT (name) DO NOTHING;
-- name: next_run
UPDATE schedules SET at = :at WHERE name = :name AND at = :was;
-- name: unserved
SELECT org, state = 'stopped' FROM placements
WHERE org = ANY(:orgs) AND state IN ('stopped', 'moved', 'arriving');
-- name: forget_jobs
DELETE FROM jobs WHERE state = 'done' AND created_at < :before;
