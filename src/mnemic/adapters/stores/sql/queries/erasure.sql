-- name: count
SELECT count(*) FROM {table} WHERE pid = :pid;
-- name: count_research_steps
SELECT count(*) FROM research_steps WHERE pid = :pid OR :pid = document_pid;
-- name: wipe
DELETE FROM {table} WHERE pid = :pid;
-- name: wipe_research_steps
DELETE FROM research_steps WHERE pid = :pid OR :pid = document_pid;
-- name: raise_floor
UPDATE erasing SET floor = greatest(floor, (SELECT version FROM partitions WHERE pid = :pid));
-- name: derived
SELECT p.org, p.level, p.owner, m.id
FROM memories AS m JOIN partitions AS p USING (pid[[|, org]])
WHERE p.org = :org AND m.state != 'erased' AND m.provenance != '[]'
    AND m.pid != ALL(:pids)
    AND EXISTS (
        SELECT 1 FROM (
            SELECT [[json_extract(value, '$.source_id') AS id FROM json_each(m.provenance)|jsonb_array_elements(m.provenance::jsonb) ->> 'source_id' AS id]]
        ) AS source
        WHERE source.id = ANY(:ids)
            OR EXISTS (SELECT 1 FROM messages AS s WHERE s.pid = ANY(:pids) AND s.id = source.id)
            OR EXISTS (SELECT 1 FROM memories AS s WHERE s.pid = ANY(:pids) AND s.id = source.id)
            OR EXISTS (SELECT 1 FROM chunks AS s WHERE s.pid = ANY(:pids) AND s.id = source.id)
    )
ORDER BY m.seq;
-- name: private
SELECT p.org, p.level, p.owner, m.id FROM memories AS m JOIN partitions AS p USING (pid[[|, org]])
WHERE p.org = :org AND m.private_agent = :agent AND m.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, d.id FROM documents AS d JOIN partitions AS p USING (pid[[|, org]])
WHERE p.org = :org AND d.private_agent = :agent AND d.status != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, m.id FROM messages AS m JOIN partitions AS p USING (pid[[|, org]])
WHERE p.org = :org AND m.agent = :agent AND substr(m.agent, 1, 8) = 'project:' AND m.state != 'erased';
-- name: key
SELECT secret FROM erasing;
-- name: put_key
UPDATE erasing SET secret = :secret;
-- name: add
INSERT INTO receipts ($receipt) VALUES ($:receipt) ON CONFLICT DO NOTHING;
-- name: receipts
SELECT $receipt FROM receipts WHERE org = :org ORDER BY at, id;
-- name: orgs
SELECT DISTINCT org FROM receipts ORDER BY org;
