-- name: insert
INSERT INTO memories (pid, id, changed, private_agent, dedup_key, text, kind, importance, confidence, categories,
    context, snippet, source, agent, observed_at, created_at, updated_at, valid_from, valid_to, retired_at, expires_at,
    last_accessed_at, access_count, is_pinned, state, other_id, trust, provenance, metadata, bookkeeping,
    faded, flags, analyser, terms)
VALUES (:pid, :id, :changed, :private_agent, :dedup_key, :text, :kind, :importance, :confidence, :categories,
    :context, :snippet, :source, :agent, :observed_at, :created_at, :updated_at, :valid_from, :valid_to, :retired_at,
    :expires_at, :last_accessed_at, :access_count, :is_pinned, :state, :other_id, :trust, :provenance, :metadata,
    :bookkeeping, :faded, :flags, :analyser, :terms)
ON CONFLICT (pid, private_agent, dedup_key) WHERE state IN ('active', 'quarantined') DO NOTHING;
-- name: select
SELECT p.org, p.level, p.owner, m.id, m.text, m.kind, m.dedup_key, m.created_at, m.updated_at, m.observed_at,
    m.importance, m.confidence, m.categories, m.context, m.snippet, m.source, m.agent, m.private_agent, m.valid_from,
    m.valid_to, m.retired_at, m.expires_at, m.last_accessed_at, m.access_count, m.is_pinned, m.state, m.other_id,
    m.trust, m.provenance, m.metadata, m.faded, m.flags, m.bookkeeping
FROM memories AS m JOIN partitions AS p USING (pid)
-- name: select_ids
SELECT m.id FROM memories AS m JOIN partitions AS p USING (pid)
-- name: where_visible
WHERE m.pid IN (SELECT value FROM json_each(:pids)) AND m.private_agent IN ('', :agent)
-- name: and_ids
AND m.id IN (SELECT value FROM json_each(:ids)) AND m.state != 'erased'
-- name: where_holder
WHERE m.pid = :pid AND m.private_agent = :private_agent AND m.dedup_key = :dedup_key
    AND m.state IN ('active', 'quarantined')
-- name: and_query
AND (m.expires_at IS NULL OR m.expires_at > :now)
AND (
    CASE WHEN :states = '[]' THEN m.state != 'erased' ELSE m.state IN (SELECT value FROM json_each(:states)) END
    OR (:or_flagged AND m.flags != '[]' AND m.state = 'active')
)
AND (:kinds = '[]' OR m.kind IN (SELECT value FROM json_each(:kinds)))
AND (:as_of IS NULL OR (coalesce(m.valid_from, m.observed_at) <= :as_of AND coalesce(m.valid_to > :as_of, 1)))
AND (:known_at IS NULL OR (m.created_at <= :known_at AND coalesce(m.retired_at > :known_at, 1)))
-- name: after_newest
AND (m.created_at, m.id) < (
    SELECT created_at, id FROM memories
    WHERE id = :after AND pid IN (SELECT value FROM json_each(:pids)) AND private_agent IN ('', :agent)
)
-- name: after_oldest
AND (m.created_at, m.id) > (
    SELECT created_at, id FROM memories
    WHERE id = :after AND pid IN (SELECT value FROM json_each(:pids)) AND private_agent IN ('', :agent)
)
-- name: after_importance
AND (coalesce(m.faded, m.importance), m.access_count, m.created_at, m.id) < (
    SELECT coalesce(faded, importance), access_count, created_at, id FROM memories
    WHERE id = :after AND pid IN (SELECT value FROM json_each(:pids)) AND private_agent IN ('', :agent)
)
-- name: order_newest
ORDER BY m.created_at DESC, m.id DESC
-- name: order_oldest
ORDER BY m.created_at, m.id
-- name: order_importance
ORDER BY coalesce(m.faded, m.importance) DESC, m.access_count DESC, m.created_at DESC, m.id DESC
-- name: limit
LIMIT :limit
-- name: replace
UPDATE memories SET changed = :changed, private_agent = :private_agent, dedup_key = :dedup_key, text = :text,
    kind = :kind, importance = :importance, confidence = :confidence, categories = :categories, context = :context,
    snippet = :snippet, source = :source, agent = :agent, observed_at = :observed_at, created_at = :created_at,
    updated_at = :updated_at, valid_from = :valid_from, valid_to = :valid_to, retired_at = :retired_at,
    expires_at = :expires_at, last_accessed_at = :last_accessed_at, access_count = :access_count,
    is_pinned = :is_pinned, state = :state, other_id = :other_id, trust = :trust, provenance = :provenance,
    metadata = :metadata, bookkeeping = :bookkeeping, faded = :faded, flags = :flags, analyser = :analyser, terms = :terms
WHERE pid = :pid AND id = :id AND updated_at = :was_updated_at AND state != 'erased';
-- name: text
SELECT text FROM memories WHERE pid = :pid AND id = :id;
-- name: touch
UPDATE memories SET access_count = access_count + accesses.value, faded = NULL,
    last_accessed_at = max(coalesce(last_accessed_at, :at), :at)
FROM json_each(:counts) AS accesses
WHERE memories.pid = :pid AND memories.id = accesses.key AND memories.state != 'erased';
-- name: erase
UPDATE memories SET state = 'erased', text = '', context = '', snippet = '', source = '', categories = '[]',
    provenance = '[]', metadata = '{}', bookkeeping = '{}', flags = '[]', dedup_key = '', terms = '',
    updated_at = :at, changed = :changed
WHERE pid = :pid AND state != 'erased' AND id IN (SELECT value FROM json_each(:ids))
RETURNING id;
