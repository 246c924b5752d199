-- name: insert
INSERT INTO history (pid, org, id, item_id, action, actor, reason, at, before, after)
VALUES (%(pid)s, %(org)s, %(id)s, %(item_id)s, %(action)s, %(actor)s, %(reason)s, %(at)s, %(before)s, %(after)s)
ON CONFLICT DO NOTHING RETURNING 1;
-- name: of
SELECT p.org, p.level, p.owner, h.id, h.item_id, h.action, h.actor, h.reason, h.at, h.before, h.after
FROM history AS h JOIN partitions AS p USING (pid)
WHERE h.pid = ANY(%(pids)s::bigint[]) AND h.item_id = %(item_id)s
    AND NOT EXISTS (
        SELECT 1 FROM memories AS m
        WHERE m.pid = h.pid AND m.id = h.item_id AND m.private_agent NOT IN ('', %(agent)s)
    )
    AND NOT EXISTS (
        SELECT 1 FROM documents AS d
        WHERE d.pid = h.pid AND d.id = h.item_id AND d.private_agent NOT IN ('', %(agent)s)
    )
ORDER BY h.seq;
-- name: scrub
UPDATE history SET before = '{}', after = '{}', reason = ''
WHERE pid = %(pid)s AND item_id = ANY(%(item_ids)s::text[]);
