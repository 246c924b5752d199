-- name: insert
INSERT INTO history (pid, id, item_id, action, actor, reason, at, before, after)
VALUES (:pid, :id, :item_id, :action, :actor, :reason, :at, :before, :after);
-- name: of
SELECT p.org, p.level, p.owner, h.id, h.item_id, h.action, h.actor, h.reason, h.at, h.before, h.after
FROM history AS h JOIN partitions AS p USING (pid)
WHERE h.pid IN (SELECT value FROM json_each(:pids)) AND h.item_id = :item_id
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
WHERE pid = :pid AND item_id IN (SELECT value FROM json_each(:item_ids));
