-- name: insert
INSERT INTO history (pid+org, $history) VALUES (:pid+org, $:history) ON CONFLICT DO NOTHING;
-- name: of
SELECT p.org, p.level, p.owner, $h.history
FROM history AS h JOIN partitions AS p USING (pid)
WHERE h.pid = ANY(:pids) AND h.item_id = :item_id
    AND NOT EXISTS (
        SELECT 1 FROM memories AS m
        WHERE m.pid = h.pid AND m.id = h.item_id AND m.private_agent NOT IN ('', :agent)
    )
    AND NOT EXISTS (
        SELECT 1 FROM documents AS d
        WHERE d.pid = h.pid AND d.id = h.item_id AND d.private_agent NOT IN ('', :agent)
    )
ORDER BY h.seq;
-- name: scrub
UPDATE history SET before = '{}', after = '{}', reason = ''
WHERE pid = :pid AND item_id = ANY(:item_ids);
