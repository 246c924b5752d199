-- name: put
INSERT INTO documents (pid, id, private_agent, source, title, title_key, media_type, status, reason, sha256,
    created_at, updated_at, pages, headings, metadata, bookkeeping)
SELECT :pid, :id, :private_agent, :source, :title, :title_key, :media_type, :status, :reason, :sha256, :created_at,
    :updated_at, :pages, :headings, :metadata, :bookkeeping
WHERE NOT EXISTS (
    SELECT 1 FROM documents
    WHERE pid = :pid AND private_agent = :private_agent AND source = :source AND status != 'erased' AND id != :id
)
ON CONFLICT (pid, id) DO UPDATE SET source = excluded.source, title = excluded.title,
    title_key = excluded.title_key, media_type = excluded.media_type, status = excluded.status, reason = excluded.reason, sha256 = excluded.sha256,
    created_at = excluded.created_at, updated_at = excluded.updated_at, pages = excluded.pages,
    headings = excluded.headings, metadata = excluded.metadata, bookkeeping = excluded.bookkeeping
WHERE status != 'erased' AND private_agent = excluded.private_agent;
-- name: put_text
INSERT INTO document_texts (pid, document_id, text) VALUES (:pid, :id, :text)
ON CONFLICT (pid, document_id) DO UPDATE SET text = excluded.text;
-- name: count
UPDATE documents SET characters = :characters, chunks = :chunks WHERE pid = :pid AND id = :id;
-- name: select
SELECT p.org, p.level, p.owner, d.id, d.private_agent, d.source, d.title, d.media_type, d.status, d.reason, d.sha256,
    d.created_at, d.updated_at, d.pages, d.headings, d.characters, d.chunks, d.metadata, d.bookkeeping
FROM documents AS d JOIN partitions AS p USING (pid)
-- name: select_text
SELECT p.org, p.level, p.owner, coalesce(t.text, '')
FROM documents AS d JOIN partitions AS p ON p.pid = d.pid
LEFT JOIN document_texts AS t ON t.pid = d.pid AND t.document_id = d.id
-- name: where_visible
WHERE d.pid IN (SELECT value FROM json_each(:pids)) AND d.private_agent IN ('', :agent)
-- name: and_ids
AND d.id IN (SELECT value FROM json_each(:ids)) AND d.status != 'erased'
-- name: and_present
AND d.status != 'erased'
-- name: and_statuses
AND d.status IN (SELECT value FROM json_each(:statuses))
-- name: and_sources
AND d.source IN (SELECT value FROM json_each(:sources))
-- name: and_under
AND instr(d.source, :under) = 1
-- name: and_titles
AND d.title_key != '' AND d.title_key IN (SELECT value FROM json_each(:titles))
-- name: and_after
AND (d.source, d.id) > (:after_source, :after_id)
-- name: order
ORDER BY d.source, d.id
-- name: limit
LIMIT :limit
-- name: erase
UPDATE documents SET status = 'erased', source = '', title = '', title_key = '', reason = '', sha256 = '', pages = '[]',
    headings = '[]', characters = 0, chunks = 0, metadata = '{}', bookkeeping = '{}', updated_at = :at
WHERE pid = :pid AND status != 'erased' AND id IN (SELECT value FROM json_each(:ids))
RETURNING id;
-- name: erase_texts
DELETE FROM document_texts WHERE pid = :pid AND document_id IN (SELECT value FROM json_each(:ids));
-- name: erase_chunks
UPDATE chunks SET state = 'erased', text = '', headings = '[]', terms = '', changed = :changed
WHERE pid = :pid AND state != 'erased' AND document_id IN (SELECT value FROM json_each(:ids))
RETURNING id;
-- name: taken_chunk
SELECT id FROM chunks WHERE pid = :pid AND id IN (SELECT value FROM json_each(:ids)) LIMIT 1;
-- name: insert_chunk
INSERT INTO chunks (pid, id, changed, document_id, chunk_index, page_number, last_page_number, span_start, span_end, token_count,
    headings, text, trust, state, created_at, observed_at, analyser, terms)
VALUES (:pid, :id, :changed, :document_id, :chunk_index, :page_number, :last_page_number, :span_start, :span_end, :token_count,
    :headings, :text, :trust, :state, :created_at, :observed_at, :analyser, :terms);
-- name: select_chunks
SELECT p.org, p.level, p.owner, c.id, c.document_id, c.chunk_index, c.span_start, c.span_end, c.text, c.token_count,
    d.title, d.source, c.created_at, c.observed_at, c.page_number, c.headings, d.private_agent, c.state, c.trust,
    c.last_page_number
FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id JOIN partitions AS p ON p.pid = c.pid
-- name: and_chunk_ids
AND c.pid = d.pid AND c.id IN (SELECT value FROM json_each(:ids)) AND c.state != 'erased'
-- name: and_passages
AND c.document_id = :document_id AND c.chunk_index >= :first AND c.state != 'erased'
ORDER BY c.chunk_index, c.id LIMIT :count
