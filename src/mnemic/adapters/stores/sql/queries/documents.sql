-- name: put
INSERT INTO documents (pid+org, title_key, $document)
SELECT :pid+org, :title_key, $:document
WHERE NOT EXISTS (
    SELECT 1 FROM documents
    WHERE pid = :pid AND private_agent = :private_agent AND [[source = :source|source_sha256 = text_sha256(:source)]]
        AND status != 'erased' AND id != :id
)
ON CONFLICT (pid, id) DO UPDATE SET title_key = excluded.title_key, $=document
WHERE documents.status != 'erased' AND documents.private_agent = excluded.private_agent;
-- name: put_text
INSERT INTO document_texts (pid+org, document_id, text) VALUES (:pid+org, :id, :text)
ON CONFLICT (pid, document_id) DO UPDATE SET text = excluded.text;
-- name: count
UPDATE documents SET characters = :characters, chunks = :chunks WHERE pid = :pid AND id = :id;
-- name: select
SELECT p.org, p.level, p.owner, $d.document, d.characters, d.chunks
FROM documents AS d JOIN partitions AS p USING (pid)
-- name: select_text
SELECT p.org, p.level, p.owner, coalesce(t.text, '')
FROM documents AS d JOIN partitions AS p ON p.pid = d.pid
LEFT JOIN document_texts AS t ON t.pid = d.pid AND t.document_id = d.id
-- name: where_visible
WHERE d.pid = ANY(:pids) AND d.private_agent IN ('', :agent)
-- name: and_ids
AND d.id = ANY(:ids) AND d.status != 'erased'
-- name: and_present
AND d.status != 'erased'
-- name: and_statuses
AND d.status = ANY(:statuses)
-- name: and_sources
AND [[d.source = ANY(:sources)|d.source_sha256 IN (SELECT text_sha256(asked) FROM unnest(:sources::text[]) AS asked)]]
-- name: and_under
AND strpos(d.source, :under) = 1
-- name: and_titles
AND d.title_key != '' AND d.title_key = ANY(:titles)
-- name: and_after
AND (d.source, d.id) > (:after_source, :after_id)
-- name: order
ORDER BY d.source, d.id
-- name: limit
LIMIT :limit
-- name: erase
UPDATE documents SET status = 'erased', source = '', title = '', title_key = '', reason = '', sha256 = '', pages = '[]',
    headings = '[]', characters = 0, chunks = 0, metadata = '{}', bookkeeping = '{}', updated_at = :at
WHERE pid = :pid AND status != 'erased' AND id = ANY(:ids)
RETURNING id;
-- name: erase_texts
DELETE FROM document_texts WHERE pid = :pid AND document_id = ANY(:ids);
-- name: erase_chunks
UPDATE chunks SET state = 'erased', text = '', headings = '[]', terms = '', changed = :changed
WHERE pid = :pid AND state != 'erased' AND document_id = ANY(:ids)
RETURNING id;
-- name: taken_chunk
SELECT id FROM chunks WHERE pid = :pid AND id = ANY(:ids) LIMIT 1;
-- name: insert_chunk
INSERT INTO chunks (pid+org, changed, analyser, terms, $chunk)
[[VALUES (:pid, :changed, :analyser, :terms, $:chunk)|SELECT pid, org, changed, analyser, terms, $chunk
FROM unnest(:pid::bigint[], :org::text[], :changed::bigint[], :analyser::text[], :terms::text[], $[]chunk)
    WITH ORDINALITY AS row (pid, org, changed, analyser, terms, $chunk, number)
ORDER BY number]];
-- name: select_chunks
SELECT p.org, p.level, p.owner, $c.chunk, d.title, d.source, d.private_agent, d.metadata
FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id JOIN partitions AS p ON p.pid = c.pid
-- name: and_chunk_ids
AND c.pid = d.pid AND c.id = ANY(:ids) AND c.state != 'erased'
-- name: and_passages
AND c.document_id = :document_id AND c.chunk_index >= :first AND c.state != 'erased'
ORDER BY c.chunk_index, c.id LIMIT :count
