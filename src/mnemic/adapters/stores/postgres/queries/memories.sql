-- name: insert
INSERT INTO memories (pid, org, id, changed, private_agent, dedup_key, text, kind, importance, confidence, categories,
    context, snippet, source, agent, observed_at, created_at, updated_at, valid_from, valid_to, retired_at, expires_at,
    last_accessed_at, access_count, is_pinned, state, other_id, trust, provenance, metadata, filterable,
    bookkeeping, filterable_bookkeeping, faded, flags, analyser, terms)
VALUES (%(pid)s, %(org)s, %(id)s, %(changed)s, %(private_agent)s, %(dedup_key)s, %(text)s, %(kind)s, %(importance)s,
    %(confidence)s, %(categories)s::text[], %(context)s, %(snippet)s, %(source)s, %(agent)s, %(observed_at)s,
    %(created_at)s, %(updated_at)s, %(valid_from)s, %(valid_to)s, %(retired_at)s, %(expires_at)s,
    %(last_accessed_at)s, %(access_count)s, %(is_pinned)s, %(state)s, %(other_id)s, %(trust)s, %(provenance)s,
    %(metadata)s, %(filterable)s::jsonb, %(bookkeeping)s, %(filterable_bookkeeping)s::jsonb, %(faded)s, %(flags)s,
    %(analyser)s, %(terms)s)
ON CONFLICT DO NOTHING RETURNING 1;
-- name: taken_ids
SELECT id FROM memories WHERE pid = ANY(%(pids)s::bigint[]) AND id = ANY(%(ids)s::text[]);
-- name: select
SELECT p.org, p.level, p.owner, m.id, m.text, m.kind, m.dedup_key, m.created_at, m.updated_at, m.observed_at,
    m.importance, m.confidence, m.categories, m.context, m.snippet, m.source, m.agent, m.private_agent, m.valid_from,
    m.valid_to, m.retired_at, m.expires_at, m.last_accessed_at, m.access_count, m.is_pinned, m.state, m.other_id,
    m.trust, m.provenance, m.metadata, m.faded, m.flags, m.bookkeeping
FROM memories AS m JOIN partitions AS p USING (pid)
-- name: select_ids
SELECT m.id FROM memories AS m JOIN partitions AS p USING (pid)
-- name: where_visible
WHERE m.pid = ANY(%(pids)s::bigint[]) AND m.private_agent IN ('', %(agent)s)
-- name: and_ids
AND m.id = ANY(%(ids)s::text[]) AND m.state != 'erased'
-- name: where_holder
WHERE m.pid = %(pid)s AND m.private_agent = %(private_agent)s AND m.dedup_sha256 = text_sha256(%(dedup_key)s)
    AND m.state IN ('active', 'quarantined')
-- name: and_query
AND (m.expires_at IS NULL OR m.expires_at > %(now)s)
AND (
    CASE WHEN %(states)s::text[] = '{}' THEN m.state != 'erased' ELSE m.state = ANY(%(states)s::text[]) END
    OR (%(or_flagged)s AND m.flags != '[]' AND m.state = 'active')
)
AND (%(kinds)s::text[] = '{}' OR m.kind = ANY(%(kinds)s::text[]))
AND (%(as_of)s::bigint IS NULL OR (
    coalesce(m.valid_from, m.observed_at) <= %(as_of)s::bigint AND coalesce(m.valid_to > %(as_of)s::bigint, true)))
AND (%(known_at)s::bigint IS NULL OR (
    m.created_at <= %(known_at)s::bigint AND coalesce(m.retired_at > %(known_at)s::bigint, true)))
-- name: after_newest
AND (m.created_at, m.id) < (
    SELECT created_at, id FROM memories
    WHERE id = %(after)s AND pid = ANY(%(pids)s::bigint[]) AND private_agent IN ('', %(agent)s) LIMIT 1
)
-- name: after_oldest
AND (m.created_at, m.id) > (
    SELECT created_at, id FROM memories
    WHERE id = %(after)s AND pid = ANY(%(pids)s::bigint[]) AND private_agent IN ('', %(agent)s) LIMIT 1
)
-- name: after_importance
AND (coalesce(m.faded, m.importance), m.access_count, m.created_at, m.id) < (
    SELECT coalesce(faded, importance), access_count, created_at, id FROM memories
    WHERE id = %(after)s AND pid = ANY(%(pids)s::bigint[]) AND private_agent IN ('', %(agent)s) LIMIT 1
)
-- name: order_newest
ORDER BY m.created_at DESC, m.id DESC
-- name: order_oldest
ORDER BY m.created_at, m.id
-- name: order_importance
ORDER BY coalesce(m.faded, m.importance) DESC, m.access_count DESC, m.created_at DESC, m.id DESC
-- name: limit
LIMIT %(limit)s
-- name: present
SELECT text FROM memories
WHERE pid = %(pid)s AND id = %(id)s AND updated_at = %(was_updated_at)s AND state != 'erased';
-- name: replace
UPDATE memories SET changed = %(changed)s, private_agent = %(private_agent)s, dedup_key = %(dedup_key)s,
    text = %(text)s, kind = %(kind)s, importance = %(importance)s, confidence = %(confidence)s,
    categories = %(categories)s::text[], context = %(context)s, snippet = %(snippet)s, source = %(source)s,
    agent = %(agent)s, observed_at = %(observed_at)s, created_at = %(created_at)s, updated_at = %(updated_at)s,
    valid_from = %(valid_from)s, valid_to = %(valid_to)s, retired_at = %(retired_at)s, expires_at = %(expires_at)s,
    last_accessed_at = %(last_accessed_at)s, access_count = %(access_count)s, is_pinned = %(is_pinned)s,
    state = %(state)s, other_id = %(other_id)s, trust = %(trust)s, provenance = %(provenance)s,
    metadata = %(metadata)s, filterable = %(filterable)s::jsonb, bookkeeping = %(bookkeeping)s,
    filterable_bookkeeping = %(filterable_bookkeeping)s::jsonb, faded = %(faded)s, flags = %(flags)s, analyser = %(analyser)s, terms = %(terms)s
WHERE pid = %(pid)s AND id = %(id)s;
-- name: touch
UPDATE memories SET access_count = access_count + %(count)s, faded = NULL,
    last_accessed_at = greatest(coalesce(last_accessed_at, %(at)s), %(at)s)
WHERE pid = %(pid)s AND id = %(id)s AND state != 'erased'
RETURNING 1;
-- name: erase
UPDATE memories SET state = 'erased', text = '', context = '', snippet = '', source = '', categories = '{}',
    provenance = '[]', metadata = '{}', filterable = '{}', bookkeeping = '{}', filterable_bookkeeping = '{}', flags = '[]',
    dedup_key = '', terms = '', updated_at = %(at)s, changed = %(changed)s
WHERE pid = %(pid)s AND state != 'erased' AND id = ANY(%(ids)s::text[])
RETURNING id;
