-- name: count_conversations
SELECT count(*) FROM conversations WHERE pid = %(pid)s;
-- name: count_messages
SELECT count(*) FROM messages WHERE pid = %(pid)s;
-- name: count_memories
SELECT count(*) FROM memories WHERE pid = %(pid)s;
-- name: count_documents
SELECT count(*) FROM documents WHERE pid = %(pid)s;
-- name: count_document_texts
SELECT count(*) FROM document_texts WHERE pid = %(pid)s;
-- name: count_chunks
SELECT count(*) FROM chunks WHERE pid = %(pid)s;
-- name: count_vectors
SELECT count(*) FROM vectors WHERE pid = %(pid)s;
-- name: count_jobs
SELECT count(*) FROM jobs WHERE pid = %(pid)s;
-- name: count_history
SELECT count(*) FROM history WHERE pid = %(pid)s;
-- name: count_profiles
SELECT count(*) FROM profiles WHERE pid = %(pid)s;
-- name: count_cursors
SELECT count(*) FROM cursors WHERE pid = %(pid)s;
-- name: count_supports
SELECT count(*) FROM supports WHERE pid = %(pid)s;
-- name: count_relations
SELECT count(*) FROM relations WHERE pid = %(pid)s;
-- name: count_mentions
SELECT count(*) FROM mentions WHERE pid = %(pid)s;
-- name: count_entities
SELECT count(*) FROM entities WHERE pid = %(pid)s;
-- name: count_entity_vectors
SELECT count(*) FROM entity_vectors WHERE pid = %(pid)s;
-- name: count_read_items
SELECT count(*) FROM read_items WHERE pid = %(pid)s;
-- name: count_research_steps
SELECT count(*) FROM research_steps WHERE pid = %(pid)s OR %(pid)s = document_pid;
-- name: wipe_research_steps
DELETE FROM research_steps WHERE pid = %(pid)s OR %(pid)s = document_pid;
-- name: wipe_supports
DELETE FROM supports WHERE pid = %(pid)s;
-- name: wipe_relations
DELETE FROM relations WHERE pid = %(pid)s;
-- name: wipe_mentions
DELETE FROM mentions WHERE pid = %(pid)s;
-- name: wipe_entities
DELETE FROM entities WHERE pid = %(pid)s;
-- name: wipe_entity_vectors
DELETE FROM entity_vectors WHERE pid = %(pid)s;
-- name: wipe_read_items
DELETE FROM read_items WHERE pid = %(pid)s;
-- name: wipe_conversations
DELETE FROM conversations WHERE pid = %(pid)s;
-- name: wipe_messages
DELETE FROM messages WHERE pid = %(pid)s;
-- name: wipe_memories
DELETE FROM memories WHERE pid = %(pid)s;
-- name: wipe_chunks
DELETE FROM chunks WHERE pid = %(pid)s;
-- name: wipe_document_texts
DELETE FROM document_texts WHERE pid = %(pid)s;
-- name: wipe_documents
DELETE FROM documents WHERE pid = %(pid)s;
-- name: wipe_vectors
DELETE FROM vectors WHERE pid = %(pid)s;
-- name: wipe_jobs
DELETE FROM jobs WHERE pid = %(pid)s;
-- name: wipe_history
DELETE FROM history WHERE pid = %(pid)s;
-- name: wipe_profiles
DELETE FROM profiles WHERE pid = %(pid)s;
-- name: wipe_cursors
DELETE FROM cursors WHERE pid = %(pid)s;
-- name: wipe_sources
DELETE FROM sources WHERE pid = %(pid)s;
-- name: raise_floor
UPDATE erasing SET floor = greatest(floor, (SELECT version FROM partitions WHERE pid = %(pid)s));
-- name: wipe_partition
DELETE FROM partitions WHERE pid = %(pid)s;
-- name: derived
SELECT p.org, p.level, p.owner, m.id
FROM memories AS m JOIN partitions AS p USING (pid, org)
WHERE p.org = %(org)s AND m.state != 'erased' AND m.provenance != '[]' AND m.pid != ALL(%(pids)s::bigint[])
    AND EXISTS (
        SELECT 1 FROM (SELECT jsonb_array_elements(m.provenance::jsonb) ->> 'source_id' AS id) AS source
        WHERE source.id = ANY(%(ids)s::text[])
            OR EXISTS (SELECT 1 FROM messages AS s WHERE s.pid = ANY(%(pids)s::bigint[]) AND s.id = source.id)
            OR EXISTS (SELECT 1 FROM memories AS s WHERE s.pid = ANY(%(pids)s::bigint[]) AND s.id = source.id)
            OR EXISTS (SELECT 1 FROM chunks AS s WHERE s.pid = ANY(%(pids)s::bigint[]) AND s.id = source.id)
    )
ORDER BY m.seq;
-- name: private
SELECT p.org, p.level, p.owner, m.id FROM memories AS m JOIN partitions AS p USING (pid, org)
WHERE p.org = %(org)s AND m.private_agent = %(agent)s AND m.state != 'erased'
UNION ALL
SELECT p.org, p.level, p.owner, d.id FROM documents AS d JOIN partitions AS p USING (pid, org)
WHERE p.org = %(org)s AND d.private_agent = %(agent)s AND d.status != 'erased';
-- name: key
SELECT secret FROM erasing;
-- name: put_key
UPDATE erasing SET secret = %(secret)s;
-- name: add
INSERT INTO receipts (org, id, at, scope_hash, counts, hashes, notes)
VALUES (%(org)s, %(id)s, %(at)s, %(scope_hash)s, %(counts)s, %(hashes)s, %(notes)s)
ON CONFLICT DO NOTHING RETURNING 1;
-- name: receipts
SELECT org, id, at, scope_hash, counts, hashes, notes FROM receipts WHERE org = %(org)s ORDER BY at, id;
-- name: orgs
SELECT DISTINCT org FROM receipts ORDER BY org;
