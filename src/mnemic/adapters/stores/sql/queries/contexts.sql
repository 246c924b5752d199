-- name: insert
INSERT INTO context_records (pid+org, $shown) VALUES (:pid+org, $:shown) ON CONFLICT DO NOTHING;
-- name: list
SELECT p.org, p.level, p.owner, $c.shown
FROM context_records AS c JOIN partitions AS p USING (pid[[|, org]])
WHERE c.pid = ANY(:pids)
    AND (:session::text IS NULL OR c.session = :session::text)
    AND (:of_agent::text IS NULL OR c.agent = :of_agent::text)
    AND (:message_id::text IS NULL OR c.message_id = :message_id::text)
    AND (:id::text IS NULL OR c.id = :id::text)
    AND (:after::text IS NULL OR c.id < :after::text)
ORDER BY c.id DESC LIMIT :limit;
-- name: link
UPDATE context_records SET message_id = :message_id, query = ''
WHERE pid = :pid AND message_id IS NULL AND at BETWEEN :since AND :until
    AND query = :query AND (session IS NULL OR session = :session);
-- name: erase
DELETE FROM context_records WHERE pid = :pid AND id = ANY(:ids);
-- name: forget
DELETE FROM context_records
WHERE at < :before OR (pid, id) IN (
    SELECT pid, id FROM (
        SELECT pid, id, row_number() OVER (PARTITION BY pid ORDER BY id DESC) AS place FROM context_records
    ) AS counted
    WHERE place > :most
);
