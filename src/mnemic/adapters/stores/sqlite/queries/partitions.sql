-- name: pid
SELECT pid FROM partitions WHERE org = :org AND level = :level AND owner = :owner;
-- name: create
INSERT INTO partitions (org, level, owner, version, horizon) SELECT :org, :level, :owner, floor, floor + 1 FROM erasing
RETURNING pid;
-- name: advance
UPDATE partitions SET version = :version WHERE pid = :pid;
-- name: next_version
SELECT version + 1 FROM partitions WHERE pid = :pid;
-- name: version
SELECT version FROM partitions WHERE org = :org AND level = :level AND owner = :owner;
-- name: all
SELECT org, level, owner FROM partitions ORDER BY org, level, owner;
-- name: changed_messages
SELECT m.id, m.state, 'message', m.analyser, m.terms, CASE WHEN m.analyser = :analyser THEN '' ELSE m.text END,
    v.vector, '', 0.5, m.observed_at, NULL, m.session, m.position, coalesce(m.name, ''), m.role,
    substr(rtrim(m.text, char(9, 10, 13, 32)), -1) IN ('?', '？', '؟'), 0, m.changed
FROM messages AS m
LEFT JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = :space
WHERE m.pid = :pid AND m.changed > :since
ORDER BY m.changed, m.seq;
-- name: changed_memories
SELECT m.id, m.state, m.kind, m.analyser, m.terms, CASE WHEN m.analyser = :analyser THEN '' ELSE m.text END,
    v.vector, m.private_agent, m.importance, m.observed_at, m.expires_at, NULL, 0, '', '', 0,
    m.flags != '[]', m.changed
FROM memories AS m
LEFT JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = :space
WHERE m.pid = :pid AND m.changed > :since
ORDER BY m.changed, m.seq;
-- name: changed_chunks
SELECT c.id, c.state, 'document', c.analyser, c.terms, CASE WHEN c.analyser = :analyser THEN '' ELSE c.text END,
    v.vector, d.private_agent, 0.5, c.observed_at, NULL, c.document_id, c.chunk_index + 1, '', 'document', 0, 0,
    c.changed
FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id
LEFT JOIN vectors AS v ON v.pid = c.pid AND v.item_id = c.id AND v.view = 'item' AND v.space = :space
WHERE c.pid = :pid AND c.changed > :since
ORDER BY c.changed, c.seq;
-- name: count
SELECT
    (SELECT count(*) FROM messages WHERE pid IN (SELECT value FROM json_each(:pids)) AND state != 'erased'),
    (SELECT count(*) FROM memories WHERE pid IN (SELECT value FROM json_each(:pids)) AND state != 'erased'),
    (SELECT count(*) FROM documents WHERE pid IN (SELECT value FROM json_each(:pids)) AND status != 'erased'),
    (SELECT count(*) FROM chunks WHERE pid IN (SELECT value FROM json_each(:pids)) AND state != 'erased'),
    (SELECT count(*) FROM vectors WHERE pid IN (SELECT value FROM json_each(:pids)));
-- name: tally
SELECT m.state, m.kind, count(*) FROM memories AS m
WHERE m.pid IN (SELECT value FROM json_each(:pids)) AND m.private_agent IN ('', :agent) AND m.state != 'erased'
    AND (m.expires_at IS NULL OR m.expires_at > :now)
GROUP BY m.state, m.kind;
-- name: tally_documents
SELECT d.status, count(*) FROM documents AS d
WHERE d.pid IN (SELECT value FROM json_each(:pids)) AND d.private_agent IN ('', :agent) AND d.status != 'erased'
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
UPDATE partitions SET horizon = max(horizon, :changed) WHERE pid = :pid;
