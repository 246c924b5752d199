-- name: pid (sqlite)
SELECT pid, version FROM partitions WHERE org = :org AND level = :level AND owner = :owner;
-- name: pids (postgres)
SELECT p.org, p.level, p.owner, p.pid, p.version
FROM unnest(:orgs::text[], :levels::text[], :owners::text[]) AS asked (org, level, owner)
JOIN partitions AS p ON p.org = asked.org AND p.level = asked.level
    AND p.owner_sha256 = text_sha256(asked.owner) AND p.owner = asked.owner;
-- name: lock (postgres)
SELECT pid, version FROM partitions
WHERE org = :org AND level = :level AND owner_sha256 = text_sha256(:owner) AND owner = :owner
FOR NO KEY UPDATE;
-- name: lock_of_dead_jobs (postgres)
SELECT pid FROM partitions
WHERE pid IN (SELECT pid FROM jobs WHERE state = 'dead' AND id = ANY(:ids))
    AND (:pids::bigint[] IS NULL OR pid = ANY(:pids))
ORDER BY org, level, owner
FOR NO KEY UPDATE;
-- name: create
INSERT INTO partitions (org, level, owner, version, horizon)
SELECT :org, :level, :owner, floor, floor + 1 FROM erasing
[[RETURNING pid|ON CONFLICT DO NOTHING RETURNING pid, version]];
-- name: advance
UPDATE partitions SET version = :version WHERE pid = :pid;
-- name: next_version (sqlite)
SELECT version + 1 FROM partitions WHERE pid = :pid;
-- name: all
SELECT org, level, owner FROM partitions
WHERE org NOT IN (SELECT org FROM placements WHERE state IN ('stopped', 'moved', 'arriving'))
ORDER BY org, level, owner;
-- name: changed_messages
SELECT m.id, m.state, 'message', m.analyser, m.terms, CASE WHEN m.analyser = :analyser THEN '' ELSE m.text END,
    v.vector::text, CASE WHEN substr(m.agent, 1, 8) = 'project:' THEN m.agent ELSE '' END, 0.5[[|::double precision]],
    m.observed_at, NULL::bigint, m.session, m.position,
    coalesce(m.name, ''), m.role,
    [[substr(rtrim(m.text, char(9, 10, 13, 32)), -1)|right(rtrim(m.text, E'\t\n\r '), 1)]] IN ('?', '？', '؟'), false,
    m.changed AS changed, 0 AS class, m.seq AS seq
FROM messages AS m
LEFT JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = :space
WHERE m.pid = :pid AND m.changed > :since
-- name: changed_memories
SELECT m.id, m.state, m.kind, m.analyser, m.terms, CASE WHEN m.analyser = :analyser THEN '' ELSE m.text END,
    v.vector::text, m.private_agent, m.importance, m.observed_at, m.expires_at, NULL, 0, '', '', false,
    m.flags != '[]', m.changed AS changed, 1 AS class, m.seq AS seq
FROM memories AS m
LEFT JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = :space
WHERE m.pid = :pid AND m.changed > :since
-- name: changed_chunks
SELECT c.id, c.state, 'document', c.analyser, c.terms, CASE WHEN c.analyser = :analyser THEN '' ELSE c.text END,
    v.vector::text, d.private_agent, 0.5, c.observed_at, NULL, c.document_id, c.chunk_index + 1, '', 'document', false,
    false, c.changed AS changed, 2 AS class, c.seq AS seq
FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id
LEFT JOIN vectors AS v ON v.pid = c.pid AND v.item_id = c.id AND v.view = 'item' AND v.space = :space
WHERE c.pid = :pid AND c.changed > :since
-- name: order_changes
ORDER BY changed, [[|class, ]]seq;
-- name: count
SELECT
    (SELECT count(*) FROM messages WHERE pid = ANY(:pids) AND state != 'erased'),
    (SELECT count(*) FROM memories WHERE pid = ANY(:pids) AND state != 'erased'),
    (SELECT count(*) FROM documents WHERE pid = ANY(:pids) AND status != 'erased'),
    (SELECT count(*) FROM chunks WHERE pid = ANY(:pids) AND state != 'erased'),
    (SELECT count(*) FROM vectors WHERE pid = ANY(:pids));
-- name: tally
SELECT m.state, m.kind, count(*) FROM memories AS m
WHERE m.pid = ANY(:pids) AND m.private_agent IN ('', :agent) AND m.state != 'erased'
    AND (m.expires_at IS NULL OR m.expires_at > :now)
GROUP BY m.state, m.kind;
-- name: tally_documents
SELECT d.status, count(*) FROM documents AS d
WHERE d.pid = ANY(:pids) AND d.private_agent IN ('', :agent) AND d.status != 'erased'
GROUP BY d.status;
-- name: horizon
SELECT horizon FROM partitions WHERE pid = :pid;
-- name: tombstones
SELECT count(*)
FROM chunks AS c
WHERE c.pid = :pid AND c.state = 'erased' AND NOT EXISTS (SELECT 1 FROM sources AS s WHERE s.source_id = c.id);
-- name: compact
DELETE FROM chunks WHERE pid = :pid AND id IN (
    SELECT c.id
    FROM chunks AS c
    WHERE c.pid = :pid AND c.state = 'erased' AND NOT EXISTS (SELECT 1 FROM sources AS s WHERE s.source_id = c.id)
    ORDER BY c.changed, c.seq LIMIT :limit
) RETURNING changed;
-- name: raise_horizon
UPDATE partitions SET horizon = greatest(horizon, :changed) WHERE pid = :pid;
