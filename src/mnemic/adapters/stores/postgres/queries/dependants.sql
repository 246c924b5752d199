-- name: link
INSERT INTO sources (pid, org, memory_id, source_id)
SELECT pid, org, memory_id, source_id
FROM unnest(%(pid)s::bigint[], %(org)s::text[], %(memory_id)s::text[], %(source_id)s::text[])
    AS row (pid, org, memory_id, source_id)
ON CONFLICT DO NOTHING;
-- name: unlink
DELETE FROM sources WHERE pid = %(pid)s AND memory_id = ANY(%(ids)s::text[]);
-- name: where_made_of
WHERE p.org = %(org)s AND m.state != 'erased' AND (m.pid, m.id) IN (
    SELECT s.pid, s.memory_id FROM sources AS s
    WHERE s.org = %(org)s AND s.source_id = ANY(%(ids)s::text[]) AND (
        s.pid = %(pid)s OR NOT (
            EXISTS (SELECT 1 FROM messages AS o WHERE o.pid = s.pid AND o.id = s.source_id)
            OR EXISTS (SELECT 1 FROM memories AS o WHERE o.pid = s.pid AND o.id = s.source_id)
            OR EXISTS (SELECT 1 FROM chunks AS o WHERE o.pid = s.pid AND o.id = s.source_id)
            OR EXISTS (SELECT 1 FROM documents AS o WHERE o.pid = s.pid AND o.id = s.source_id)
        )
    )
)
ORDER BY m.seq;
-- name: where_flagged
WHERE p.org = %(org)s AND m.flags != '[]' AND m.state != 'erased' AND EXISTS (
    SELECT 1 FROM jsonb_array_elements(m.flags::jsonb) AS flag WHERE flag ->> 'source_id' = %(source_id)s
)
ORDER BY m.seq;
-- name: texts
WITH places AS (SELECT pid, org, level, owner FROM partitions WHERE org = %(org)s AND (pid = %(pid)s) = %(is_own)s)
SELECT p.org, p.level, p.owner, o.id, o.text
FROM places AS p JOIN messages AS o ON o.pid = p.pid AND o.id = ANY(%(ids)s::text[])
WHERE o.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, o.id, o.text
FROM places AS p JOIN memories AS o ON o.pid = p.pid AND o.id = ANY(%(ids)s::text[])
WHERE o.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, o.id, o.text
FROM places AS p JOIN chunks AS o ON o.pid = p.pid AND o.id = ANY(%(ids)s::text[])
WHERE o.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, o.id, coalesce(t.text, '')
FROM places AS p JOIN documents AS o ON o.pid = p.pid AND o.id = ANY(%(ids)s::text[])
LEFT JOIN document_texts AS t ON t.pid = o.pid AND t.document_id = o.id
WHERE o.status != 'erased';
-- name: held
SELECT id FROM messages WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[])
UNION ALL
SELECT id FROM memories WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[])
UNION ALL
SELECT id FROM chunks WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[])
UNION ALL
SELECT id FROM documents WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]);
