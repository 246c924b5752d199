-- name: link
INSERT INTO sources (pid+org, memory_id, source_id)
[[VALUES (:pid, :memory_id, :source_id)|SELECT * FROM unnest(:pid::bigint[], :org::text[], :memory_id::text[], :source_id::text[])]]
ON CONFLICT DO NOTHING;
-- name: unlink
DELETE FROM sources WHERE pid = :pid AND memory_id = ANY(:ids);
-- name: where_made_of
WHERE p.org = :org AND m.state != 'erased' AND (m.pid, m.id) IN (
    SELECT s.pid, s.memory_id FROM sources AS s
    WHERE [[|s.org = :org AND ]]s.source_id = ANY(:ids) AND (
        s.pid = :pid OR NOT (
            EXISTS (SELECT 1 FROM messages AS o WHERE o.pid = s.pid AND o.id = s.source_id)
            OR EXISTS (SELECT 1 FROM memories AS o WHERE o.pid = s.pid AND o.id = s.source_id)
            OR EXISTS (SELECT 1 FROM chunks AS o WHERE o.pid = s.pid AND o.id = s.source_id)
            OR EXISTS (SELECT 1 FROM documents AS o WHERE o.pid = s.pid AND o.id = s.source_id)
        )
    )
)
ORDER BY m.seq;
-- name: where_flagged
WHERE p.org = :org AND m.flags != '[]' AND m.state != 'erased' AND EXISTS (
    SELECT 1 FROM [[json_each(m.flags)|jsonb_array_elements(m.flags::jsonb)]] AS flag
    WHERE [[json_extract(flag.value, '$.source_id')|flag ->> 'source_id']] = :source_id
)
ORDER BY m.seq;
-- name: texts
WITH places AS (SELECT pid, org, level, owner FROM partitions WHERE org = :org AND (pid = :pid) = :is_own)
SELECT p.org, p.level, p.owner, o.id, o.text
FROM places AS p [[CROSS JOIN|JOIN]] messages AS o ON o.pid = p.pid AND o.id = ANY(:ids)
WHERE o.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, o.id, o.text
FROM places AS p [[CROSS JOIN|JOIN]] memories AS o ON o.pid = p.pid AND o.id = ANY(:ids)
WHERE o.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, o.id, o.text
FROM places AS p [[CROSS JOIN|JOIN]] chunks AS o ON o.pid = p.pid AND o.id = ANY(:ids)
WHERE o.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, o.id, coalesce(t.text, '')
FROM places AS p [[CROSS JOIN|JOIN]] documents AS o ON o.pid = p.pid AND o.id = ANY(:ids)
LEFT JOIN document_texts AS t ON t.pid = o.pid AND t.document_id = o.id
WHERE o.status != 'erased';
-- name: held
SELECT id FROM messages WHERE pid = :pid AND id = ANY(:ids)
UNION ALL
SELECT id FROM memories WHERE pid = :pid AND id = ANY(:ids)
UNION ALL
SELECT id FROM chunks WHERE pid = :pid AND id = ANY(:ids)
UNION ALL
SELECT id FROM documents WHERE pid = :pid AND id = ANY(:ids);
