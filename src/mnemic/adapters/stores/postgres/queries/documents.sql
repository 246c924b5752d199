-- name: put
INSERT INTO documents (pid, org, id, private_agent, source, title, title_key, media_type, status, reason, sha256,
    created_at, updated_at, pages, headings, metadata, bookkeeping)
SELECT %(pid)s, %(org)s, %(id)s, %(private_agent)s, %(source)s, %(title)s, %(title_key)s, %(media_type)s, %(status)s, %(reason)s,
    %(sha256)s, %(created_at)s, %(updated_at)s, %(pages)s, %(headings)s, %(metadata)s, %(bookkeeping)s
WHERE NOT EXISTS (
    SELECT 1 FROM documents
    WHERE pid = %(pid)s AND private_agent = %(private_agent)s AND source_sha256 = text_sha256(%(source)s)
        AND status != 'erased' AND id != %(id)s
)
ON CONFLICT (pid, id) DO UPDATE SET source = excluded.source, title = excluded.title,
    title_key = excluded.title_key, media_type = excluded.media_type, status = excluded.status, reason = excluded.reason, sha256 = excluded.sha256,
    created_at = excluded.created_at, updated_at = excluded.updated_at, pages = excluded.pages,
    headings = excluded.headings, metadata = excluded.metadata, bookkeeping = excluded.bookkeeping
WHERE documents.status != 'erased' AND documents.private_agent = excluded.private_agent
RETURNING 1;
-- name: put_text
INSERT INTO document_texts (pid, org, document_id, text) VALUES (%(pid)s, %(org)s, %(id)s, %(text)s)
ON CONFLICT (pid, document_id) DO UPDATE SET text = excluded.text;
-- name: count
UPDATE documents SET characters = %(characters)s, chunks = %(chunks)s WHERE pid = %(pid)s AND id = %(id)s;
-- name: select
SELECT p.org, p.level, p.owner, d.id, d.private_agent, d.source, d.title, d.media_type, d.status, d.reason, d.sha256,
    d.created_at, d.updated_at, d.pages, d.headings, d.characters, d.chunks, d.metadata, d.bookkeeping
FROM documents AS d JOIN partitions AS p USING (pid)
-- name: select_text
SELECT p.org, p.level, p.owner, coalesce(t.text, '')
FROM documents AS d JOIN partitions AS p ON p.pid = d.pid
LEFT JOIN document_texts AS t ON t.pid = d.pid AND t.document_id = d.id
-- name: where_visible
WHERE d.pid = ANY(%(pids)s::bigint[]) AND d.private_agent IN ('', %(agent)s)
-- name: and_ids
AND d.id = ANY(%(ids)s::text[]) AND d.status != 'erased'
-- name: and_present
AND d.status != 'erased'
-- name: and_statuses
AND d.status = ANY(%(statuses)s::text[])
-- name: and_sources
AND d.source_sha256 IN (SELECT text_sha256(asked) FROM unnest(%(sources)s::text[]) AS asked)
-- name: and_under
AND starts_with(d.source, %(under)s)
-- name: and_titles
AND d.title_key != '' AND d.title_key = ANY(%(titles)s::text[])
-- name: and_after
AND (d.source, d.id) > (%(after_source)s, %(after_id)s)
-- name: order
ORDER BY d.source, d.id
-- name: limit
LIMIT %(limit)s
-- name: erase
UPDATE documents SET status = 'erased', source = '', title = '', title_key = '', reason = '', sha256 = '', pages = '[]',
    headings = '[]', characters = 0, chunks = 0, metadata = '{}', bookkeeping = '{}', updated_at = %(at)s
WHERE pid = %(pid)s AND status != 'erased' AND id = ANY(%(ids)s::text[])
RETURNING id;
-- name: erase_texts
DELETE FROM document_texts WHERE pid = %(pid)s AND document_id = ANY(%(ids)s::text[]);
-- name: erase_chunks
UPDATE chunks SET state = 'erased', text = '', headings = '[]', terms = '', changed = %(changed)s
WHERE pid = %(pid)s AND state != 'erased' AND document_id = ANY(%(ids)s::text[])
RETURNING id;
-- name: taken_chunk
SELECT id FROM chunks WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]) LIMIT 1;
-- name: insert_chunk
INSERT INTO chunks (pid, org, id, changed, document_id, chunk_index, page_number, last_page_number, span_start, span_end,
    token_count, headings, text, trust, state, created_at, observed_at, analyser, terms)
SELECT pid, org, id, changed, document_id, chunk_index, page_number, last_page_number, span_start, span_end, token_count,
    headings, text, trust, state, created_at, observed_at, analyser, terms
FROM unnest(
    %(pid)s::bigint[], %(org)s::text[], %(id)s::text[], %(changed)s::bigint[], %(document_id)s::text[],
    %(chunk_index)s::bigint[], %(page_number)s::bigint[], %(last_page_number)s::bigint[], %(span_start)s::bigint[], %(span_end)s::bigint[],
    %(token_count)s::bigint[], %(headings)s::text[], %(text)s::text[], %(trust)s::text[], %(state)s::text[],
    %(created_at)s::bigint[], %(observed_at)s::bigint[], %(analyser)s::text[], %(terms)s::text[]
) WITH ORDINALITY AS row (pid, org, id, changed, document_id, chunk_index, page_number, last_page_number,
    span_start, span_end, token_count, headings, text, trust, state, created_at, observed_at, analyser, terms, number)
ORDER BY number;
-- name: select_chunks
SELECT p.org, p.level, p.owner, c.id, c.document_id, c.chunk_index, c.span_start, c.span_end, c.text, c.token_count,
    d.title, d.source, c.created_at, c.observed_at, c.page_number, c.headings, d.private_agent, c.state, c.trust,
    c.last_page_number
FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id JOIN partitions AS p ON p.pid = c.pid
-- name: and_chunk_ids
AND c.pid = d.pid AND c.id = ANY(%(ids)s::text[]) AND c.state != 'erased'
-- name: and_passages
AND c.document_id = %(document_id)s AND c.chunk_index >= %(first)s AND c.state != 'erased'
ORDER BY c.chunk_index, c.id LIMIT %(count)s
