-- name: memories
SELECT m.seq, p.level, m.kind, m.text, m.trust, m.provenance != '[]', EXISTS (
        SELECT 1 FROM history AS h WHERE h.pid = m.pid AND h.item_id = m.id AND h.action = 'merged'
            AND (h.after = '{}' OR strpos(h.after, '"merged_ids"') > 0)
    ), m.pid, m.id, m.provenance, m.metadata
FROM memories AS m JOIN partitions AS p USING (pid)
WHERE m.seq > :after AND m.metadata != '{}' AND m.state != 'erased'
ORDER BY m.seq LIMIT :limit;
-- name: write_memory
UPDATE memories SET metadata = :metadata, bookkeeping = :bookkeeping[[|,
    filterable = :filterable, filterable_bookkeeping = :filterable_bookkeeping]]
WHERE seq = :key;
-- name: unlink
DELETE FROM sources WHERE pid = :pid AND memory_id = :memory_id AND source_id = :source_id;
-- name: history
SELECT h.seq, p.level, m.kind, m.text, m.trust, m.provenance != '[]', EXISTS (
        SELECT 1 FROM history AS h WHERE h.pid = m.pid AND h.item_id = m.id AND h.action = 'merged'
            AND (h.after = '{}' OR strpos(h.after, '"merged_ids"') > 0)
    ), h.before, h.after
FROM history AS h JOIN memories AS m ON m.pid = h.pid AND m.id = h.item_id JOIN partitions AS p ON p.pid = h.pid
WHERE h.seq > :after AND (strpos(h.before, '"metadata"') > 0 OR strpos(h.after, '"metadata"') > 0)
ORDER BY h.seq LIMIT :limit;
-- name: write_history
UPDATE history SET before = :before, after = :after WHERE seq = :key;
-- name: documents
SELECT pid, id, metadata FROM documents WHERE strpos(metadata, '"chunking"') > 0;
-- name: write_document
UPDATE documents SET metadata = :metadata, bookkeeping = :bookkeeping WHERE pid = :pid AND id = :id;
