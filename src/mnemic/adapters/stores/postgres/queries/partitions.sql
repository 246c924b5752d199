-- name: pids
SELECT p.org, p.level, p.owner, p.pid, p.version
FROM unnest(%(orgs)s::text[], %(levels)s::text[], %(owners)s::text[]) AS asked (org, level, owner)
JOIN partitions AS p ON p.org = asked.org AND p.level = asked.level
    AND p.owner_sha256 = text_sha256(asked.owner) AND p.owner = asked.owner;
-- name: lock
SELECT pid, version FROM partitions
WHERE org = %(org)s AND level = %(level)s AND owner_sha256 = text_sha256(%(owner)s) AND owner = %(owner)s
FOR NO KEY UPDATE;
-- name: lock_of_dead_jobs
SELECT pid FROM partitions
WHERE pid IN (SELECT pid FROM jobs WHERE state = 'dead' AND id = ANY(%(ids)s::text[]))
    AND (%(pids)s::bigint[] IS NULL OR pid = ANY(%(pids)s::bigint[]))
ORDER BY org, level, owner
FOR NO KEY UPDATE;
-- name: create
INSERT INTO partitions (org, level, owner, version, horizon)
SELECT %(org)s, %(level)s, %(owner)s, floor, floor + 1 FROM erasing
ON CONFLICT DO NOTHING RETURNING pid, version;
-- name: advance
UPDATE partitions SET version = %(version)s WHERE pid = %(pid)s;
-- name: all
SELECT org, level, owner FROM partitions ORDER BY org, level, owner;
-- name: changes
SELECT m.id, m.state, 'message', m.analyser, m.terms,
    CASE WHEN m.analyser = %(analyser)s THEN '' ELSE m.text END,
    v.vector::text, '', 0.5::double precision, m.observed_at, NULL::bigint, m.session, m.position,
    coalesce(m.name, ''), m.role, right(rtrim(m.text, E'\t\n\r '), 1) IN ('?', '？', '؟'), false,
    m.changed AS changed, 0 AS class, m.seq AS seq
FROM messages AS m
LEFT JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = %(space)s
WHERE m.pid = %(pid)s AND m.changed > %(since)s
UNION ALL
SELECT m.id, m.state, m.kind, m.analyser, m.terms,
    CASE WHEN m.analyser = %(analyser)s THEN '' ELSE m.text END,
    v.vector::text, m.private_agent, m.importance, m.observed_at, m.expires_at, NULL, 0,
    '', '', false, m.flags != '[]', m.changed, 1, m.seq
FROM memories AS m
LEFT JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = %(space)s
WHERE m.pid = %(pid)s AND m.changed > %(since)s
UNION ALL
SELECT c.id, c.state, 'document', c.analyser, c.terms,
    CASE WHEN c.analyser = %(analyser)s THEN '' ELSE c.text END,
    v.vector::text, d.private_agent, 0.5, c.observed_at, NULL, c.document_id, c.chunk_index + 1,
    '', 'document', false, false, c.changed, 2, c.seq
FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id
LEFT JOIN vectors AS v ON v.pid = c.pid AND v.item_id = c.id AND v.view = 'item' AND v.space = %(space)s
WHERE c.pid = %(pid)s AND c.changed > %(since)s
ORDER BY changed, class, seq;
-- name: count
SELECT
    (SELECT count(*) FROM messages WHERE pid = ANY(%(pids)s::bigint[]) AND state != 'erased'),
    (SELECT count(*) FROM memories WHERE pid = ANY(%(pids)s::bigint[]) AND state != 'erased'),
    (SELECT count(*) FROM documents WHERE pid = ANY(%(pids)s::bigint[]) AND status != 'erased'),
    (SELECT count(*) FROM chunks WHERE pid = ANY(%(pids)s::bigint[]) AND state != 'erased'),
    (SELECT count(*) FROM vectors WHERE pid = ANY(%(pids)s::bigint[]));
-- name: tally
SELECT m.state, m.kind, count(*) FROM memories AS m
WHERE m.pid = ANY(%(pids)s::bigint[]) AND m.private_agent IN ('', %(agent)s) AND m.state != 'erased'
    AND (m.expires_at IS NULL OR m.expires_at > %(now)s)
GROUP BY m.state, m.kind;
-- name: tally_documents
SELECT d.status, count(*) FROM documents AS d
WHERE d.pid = ANY(%(pids)s::bigint[]) AND d.private_agent IN ('', %(agent)s) AND d.status != 'erased'
GROUP BY d.status;
-- name: horizon
SELECT horizon FROM partitions WHERE pid = %(pid)s;
-- name: tombstones
SELECT count(*)
FROM chunks AS c
WHERE c.pid = %(pid)s AND c.state = 'erased' AND NOT EXISTS (SELECT 1 FROM sources AS s WHERE s.source_id = c.id);
-- name: compact
DELETE FROM chunks WHERE pid = %(pid)s AND id IN (
    SELECT c.id
    FROM chunks AS c
    WHERE c.pid = %(pid)s AND c.state = 'erased' AND NOT EXISTS (SELECT 1 FROM sources AS s WHERE s.source_id = c.id)
    ORDER BY c.changed, c.seq LIMIT %(limit)s
) RETURNING changed;
-- name: raise_horizon
UPDATE partitions SET horizon = greatest(horizon, %(changed)s) WHERE pid = %(pid)s;
