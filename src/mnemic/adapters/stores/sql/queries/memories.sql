-- name: insert
INSERT INTO memories (pid+org, [[|filterable, filterable_bookkeeping, ]]changed, analyser, terms, $memory)
VALUES (:pid+org, [[|:filterable, :filterable_bookkeeping, ]]:changed, :analyser, :terms, $:memory)
ON CONFLICT [[(pid, private_agent, dedup_key) WHERE state IN ('active', 'quarantined')|]] DO NOTHING;
-- name: taken_ids (postgres)
SELECT id FROM memories WHERE pid = ANY(:pids) AND id = ANY(:ids);
-- name: select
SELECT p.org, p.level, p.owner, $m.memory FROM memories AS m JOIN partitions AS p USING (pid)
-- name: select_ids
SELECT m.id FROM memories AS m JOIN partitions AS p USING (pid)
-- name: where_visible
WHERE m.pid = ANY(:pids) AND m.private_agent IN ('', :agent)
-- name: and_ids
AND m.id = ANY(:ids) AND m.state != 'erased'
-- name: where_holder
WHERE m.pid = :pid AND m.private_agent = :private_agent AND [[m.dedup_key = :dedup_key|m.dedup_sha256 = text_sha256(:dedup_key)]]
    AND m.state IN ('active', 'quarantined')
-- name: and_query
AND (m.expires_at IS NULL OR m.expires_at > :now)
AND (
    CASE WHEN is_empty(:states) THEN m.state != 'erased' ELSE m.state = ANY(:states) END
    OR (:or_flagged AND m.flags != '[]' AND m.state = 'active')
)
AND (is_empty(:kinds) OR m.kind = ANY(:kinds))
AND substr(m.id, length(m.id) - length(:ending::text) + 1) = :ending::text
AND (:as_of::bigint IS NULL OR (
    coalesce(m.valid_from, m.observed_at) <= :as_of::bigint AND coalesce(m.valid_to > :as_of::bigint, true)))
AND (:known_at::bigint IS NULL OR (
    m.created_at <= :known_at::bigint AND coalesce(m.retired_at > :known_at::bigint, true)))
-- name: after_newest
AND (m.created_at, m.id) < (
    SELECT created_at, id FROM memories
    WHERE id = :after AND pid = ANY(:pids) AND private_agent IN ('', :agent) LIMIT 1
)
-- name: after_oldest
AND (m.created_at, m.id) > (
    SELECT created_at, id FROM memories
    WHERE id = :after AND pid = ANY(:pids) AND private_agent IN ('', :agent) LIMIT 1
)
-- name: after_importance
AND (coalesce(m.faded, m.importance), m.access_count, m.created_at, m.id) < (
    SELECT coalesce(faded, importance), access_count, created_at, id FROM memories
    WHERE id = :after AND pid = ANY(:pids) AND private_agent IN ('', :agent) LIMIT 1
)
-- name: order_newest
ORDER BY m.created_at DESC, m.id DESC
-- name: order_oldest
ORDER BY m.created_at, m.id
-- name: order_importance
ORDER BY coalesce(m.faded, m.importance) DESC, m.access_count DESC, m.created_at DESC, m.id DESC
-- name: limit
LIMIT :limit
-- name: present
SELECT text FROM memories WHERE pid = :pid AND id = :id AND updated_at = :was_updated_at AND state != 'erased';
-- name: replace
UPDATE memories SET changed = :changed, analyser = :analyser, terms = :terms, 
    [[|filterable = :filterable, filterable_bookkeeping = :filterable_bookkeeping, ]]$=:memory
WHERE pid = :pid AND id = :id AND NOT EXISTS (
    SELECT 1 FROM memories AS o
    WHERE :state::text IN ('active', 'quarantined') AND o.pid = :pid AND o.private_agent = :private_agent
        AND [[o.dedup_key = :dedup_key|o.dedup_sha256 = text_sha256(:dedup_key)]] AND o.state IN ('active', 'quarantined')
        AND o.id != :id
);
-- name: touch
-- Without LIMIT, SQLite compares every memory of the partition with every access (0.8 s instead of 12 ms for 1,000
-- accesses in 10,000 memories).
UPDATE memories SET access_count = access_count + accesses.value, faded = NULL,
    last_accessed_at = greatest(coalesce(last_accessed_at, :at), :at)
FROM [[(SELECT key, value FROM json_each(:counts) LIMIT -1) AS accesses|
    unnest(:ids::text[], :added::bigint[]) AS accesses (key, value)]]
WHERE memories.pid = :pid AND memories.id = accesses.key AND memories.state != 'erased';
-- name: erase
UPDATE memories SET state = 'erased', text = '', context = '', snippet = '', source = '',
    categories = [['[]'|'{}']], provenance = '[]', metadata = '{}', bookkeeping = '{}',
    [[|filterable = '{}', filterable_bookkeeping = '{}', ]]flags = '[]', dedup_key = '', terms = '',
    updated_at = :at, changed = :changed
WHERE pid = :pid AND state != 'erased' AND id = ANY(:ids)
RETURNING id;
