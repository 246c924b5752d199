-- name: count_conversations
SELECT count(*) FROM conversations WHERE pid = :pid;
-- name: count_messages
SELECT count(*) FROM messages WHERE pid = :pid;
-- name: count_memories
SELECT count(*) FROM memories WHERE pid = :pid;
-- name: count_documents
SELECT count(*) FROM documents WHERE pid = :pid;
-- name: count_document_texts
SELECT count(*) FROM document_texts WHERE pid = :pid;
-- name: count_chunks
SELECT count(*) FROM chunks WHERE pid = :pid;
-- name: count_vectors
SELECT count(*) FROM vectors WHERE pid = :pid;
-- name: count_jobs
SELECT count(*) FROM jobs WHERE pid = :pid;
-- name: count_history
SELECT count(*) FROM history WHERE pid = :pid;
-- name: count_profiles
SELECT count(*) FROM profiles WHERE pid = :pid;
-- name: count_cursors
SELECT count(*) FROM cursors WHERE pid = :pid;
-- name: count_supports
SELECT count(*) FROM supports WHERE pid = :pid;
-- name: count_relations
SELECT count(*) FROM relations WHERE pid = :pid;
-- name: count_mentions
SELECT count(*) FROM mentions WHERE pid = :pid;
-- name: count_entities
SELECT count(*) FROM entities WHERE pid = :pid;
-- name: count_entity_vectors
SELECT count(*) FROM entity_vectors WHERE pid = :pid;
-- name: count_read_items
SELECT count(*) FROM read_items WHERE pid = :pid;
-- name: count_research_steps
SELECT count(*) FROM research_steps WHERE pid = :pid OR :pid = document_pid;
-- name: wipe_research_steps
DELETE FROM research_steps WHERE pid = :pid OR :pid = document_pid;
-- name: wipe_supports
DELETE FROM supports WHERE pid = :pid;
-- name: wipe_relations
DELETE FROM relations WHERE pid = :pid;
-- name: wipe_mentions
DELETE FROM mentions WHERE pid = :pid;
-- name: wipe_entities
DELETE FROM entities WHERE pid = :pid;
-- name: wipe_entity_vectors
DELETE FROM entity_vectors WHERE pid = :pid;
-- name: wipe_read_items
DELETE FROM read_items WHERE pid = :pid;
-- name: wipe_conversations
DELETE FROM conversations WHERE pid = :pid;
-- name: wipe_messages
DELETE FROM messages WHERE pid = :pid;
-- name: wipe_memories
DELETE FROM memories WHERE pid = :pid;
-- name: wipe_chunks
DELETE FROM chunks WHERE pid = :pid;
-- name: wipe_document_texts
DELETE FROM document_texts WHERE pid = :pid;
-- name: wipe_documents
DELETE FROM documents WHERE pid = :pid;
-- name: wipe_vectors
DELETE FROM vectors WHERE pid = :pid;
-- name: wipe_jobs
DELETE FROM jobs WHERE pid = :pid;
-- name: wipe_history
DELETE FROM history WHERE pid = :pid;
-- name: wipe_profiles
DELETE FROM profiles WHERE pid = :pid;
-- name: wipe_cursors
DELETE FROM cursors WHERE pid = :pid;
-- name: wipe_sources
DELETE FROM sources WHERE pid = :pid;
-- name: raise_floor
UPDATE erasing SET floor = max(floor, (SELECT version FROM partitions WHERE pid = :pid));
-- name: wipe_partition
DELETE FROM partitions WHERE pid = :pid;
-- name: derived
SELECT p.org, p.level, p.owner, m.id
FROM memories AS m JOIN partitions AS p USING (pid)
WHERE p.org = :org AND m.state != 'erased' AND m.provenance != '[]'
    AND m.pid NOT IN (SELECT value FROM json_each(:pids))
    AND EXISTS (
        SELECT 1 FROM json_each(m.provenance) AS source
        WHERE json_extract(source.value, '$.source_id') IN (SELECT value FROM json_each(:ids))
            OR EXISTS (
                SELECT 1 FROM json_each(:pids) AS own
                WHERE EXISTS (
                        SELECT 1 FROM messages AS s
                        WHERE s.pid = own.value AND s.id = json_extract(source.value, '$.source_id'))
                    OR EXISTS (
                        SELECT 1 FROM memories AS s
                        WHERE s.pid = own.value AND s.id = json_extract(source.value, '$.source_id'))
                    OR EXISTS (
                        SELECT 1 FROM chunks AS s
                        WHERE s.pid = own.value AND s.id = json_extract(source.value, '$.source_id'))
            )
    )
ORDER BY m.seq;
-- name: private
SELECT p.org, p.level, p.owner, m.id FROM memories AS m JOIN partitions AS p USING (pid)
WHERE p.org = :org AND m.private_agent = :agent AND m.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, d.id FROM documents AS d JOIN partitions AS p USING (pid)
WHERE p.org = :org AND d.private_agent = :agent AND d.status != 'erased';
-- name: key
SELECT secret FROM erasing;
-- name: put_key
UPDATE erasing SET secret = :secret;
-- name: add
INSERT INTO receipts (org, id, at, scope_hash, counts, hashes, notes)
VALUES (:org, :id, :at, :scope_hash, :counts, :hashes, :notes);
-- name: receipts
SELECT org, id, at, scope_hash, counts, hashes, notes FROM receipts WHERE org = :org ORDER BY at, id;
-- name: orgs
SELECT DISTINCT org FROM receipts ORDER BY org;
