-- name: unread
SELECT id, kind, text, private_agent, author, role, valid_from, valid_to FROM (
    SELECT * FROM (
        SELECT m.id, 'memory' AS kind, m.text, m.private_agent, '' AS author, '' AS role, m.valid_from, m.valid_to
        FROM memories AS m
        WHERE m.pid = :pid AND m.id > :after AND m.expires_at IS NULL
            AND (m.state = 'active' OR (m.state = 'superseded' AND m.valid_to IS NOT NULL))
            AND :memory::text IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM read_items AS r WHERE r.pid = m.pid AND r.item_id = m.id AND r.extractor = :memory)
        ORDER BY m.id LIMIT :limit
    ) AS of_memories
    UNION ALL
    SELECT * FROM (
        SELECT m.id, 'message' AS kind, m.text, CASE WHEN substr(m.agent, 1, 8) = 'project:' THEN m.agent ELSE '' END
            AS private_agent, coalesce(m.name, '') AS author, m.role, NULL::bigint, NULL::bigint
        FROM messages AS m
        WHERE m.pid = :pid AND m.id > :after AND m.state = 'active' AND m.role IN ('user', 'assistant')
            AND :message::text IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM read_items AS r WHERE r.pid = m.pid AND r.item_id = m.id AND r.extractor = :message)
        ORDER BY m.id LIMIT :limit
    ) AS of_messages
    UNION ALL
    SELECT * FROM (
        SELECT c.id, 'document' AS kind, c.text, d.private_agent, '' AS author, '' AS role, NULL::bigint, NULL::bigint
        FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id
        WHERE c.pid = :pid AND c.id > :after AND c.state = 'active'
            AND :document::text IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM read_items AS r WHERE r.pid = c.pid AND r.item_id = c.id AND r.extractor = :document)
        ORDER BY c.id LIMIT :limit
    ) AS of_chunks
) AS items
ORDER BY id LIMIT :limit;
-- name: readable
SELECT id FROM memories
WHERE pid = :pid AND id = ANY(:ids) AND expires_at IS NULL
    AND (state = 'active' OR (state = 'superseded' AND valid_to IS NOT NULL))
UNION ALL
SELECT id FROM messages
WHERE pid = :pid AND id = ANY(:ids) AND state = 'active' AND role IN ('user', 'assistant')
UNION ALL
SELECT id FROM chunks WHERE pid = :pid AND id = ANY(:ids) AND state = 'active';
-- name: read_for
SELECT e.private_agent FROM read_items AS r
LEFT JOIN mentions AS m ON m.pid = r.pid AND m.item_id = r.item_id
LEFT JOIN entities AS e ON e.pid = m.pid AND e.id = m.entity_id
WHERE r.pid = :pid AND r.item_id = :id;
-- name: put_entity
INSERT INTO entities (pid+org, id, private_agent, name_key, type, name, created_at)
VALUES (:pid+org, :id, :private_agent, :name_key, :type, :name, :created_at)
ON CONFLICT DO NOTHING;
-- name: put_relation
INSERT INTO relations (pid+org, id, private_agent, source_id, target_id, type, created_at)
VALUES (:pid+org, :id, :private_agent, :source_id, :target_id, :type, :created_at)
ON CONFLICT DO NOTHING;
-- name: put_mention
INSERT INTO mentions (pid+org, item_id, entity_id, name, description, span_start, span_end, extractor)
VALUES (:pid+org, :item_id, :entity_id, :name, :description, :span_start, :span_end, :extractor);
-- name: put_support
INSERT INTO supports (pid+org, item_id, relation_id, span_start, span_end, extractor, is_dated, valid_from, valid_to)
VALUES (:pid+org, :item_id, :relation_id, :span_start, :span_end, :extractor, :is_dated, :valid_from, :valid_to);
-- name: put_read
INSERT INTO read_items (pid+org, item_id, extractor) VALUES (:pid+org, :item_id, :extractor)
ON CONFLICT (pid, item_id) DO UPDATE SET extractor = excluded.extractor;
-- name: redate
UPDATE supports SET valid_from = :valid_from, valid_to = :valid_to WHERE pid = :pid AND item_id = :id
RETURNING relation_id;
-- name: forget_read
DELETE FROM read_items WHERE pid = :pid AND item_id = ANY(:ids) RETURNING item_id;
-- name: cut_supports
DELETE FROM supports WHERE pid = :pid AND item_id = ANY(:ids) RETURNING relation_id;
-- name: cut_mentions
DELETE FROM mentions WHERE pid = :pid AND item_id = ANY(:ids) RETURNING entity_id;
-- name: drop_relations
DELETE FROM relations
WHERE pid = :pid AND id = ANY(:ids)
    AND NOT EXISTS (SELECT 1 FROM supports AS s WHERE s.pid = relations.pid AND s.relation_id = relations.id);
-- name: weigh_relations
UPDATE relations SET
    weight = (
        SELECT count(DISTINCT coalesce(substr(
            coalesce(
                (SELECT i.text FROM memories AS i WHERE i.pid = s.pid AND i.id = s.item_id),
                (SELECT i.text FROM messages AS i WHERE i.pid = s.pid AND i.id = s.item_id),
                (SELECT i.text FROM chunks AS i WHERE i.pid = s.pid AND i.id = s.item_id)),
            CAST(s.span_start + 1 AS integer), CAST(s.span_end - s.span_start AS integer)), s.item_id))
        FROM supports AS s[[ INDEXED BY supports_relation|]]
        WHERE s.pid = relations.pid AND s.relation_id = relations.id),
    (valid_from, valid_to) = (
        SELECT CASE WHEN count(s.valid_from) = count(*) THEN min(s.valid_from) END,
            CASE WHEN count(s.valid_to) = count(*) THEN max(s.valid_to) END
        FROM supports AS s[[ INDEXED BY supports_relation|]]
        WHERE s.pid = relations.pid AND s.relation_id = relations.id AND s.is_dated = (
            SELECT max(o.is_dated) FROM supports AS o[[ INDEXED BY supports_relation|]] WHERE o.pid = relations.pid
                AND o.relation_id = relations.id)
    )
WHERE pid = :pid AND id = ANY(:ids);
-- name: drop_entities
DELETE FROM entities
WHERE pid = :pid AND id = ANY(:ids)
    AND NOT EXISTS (SELECT 1 FROM mentions AS m WHERE m.pid = entities.pid AND m.entity_id = entities.id);
-- name: name_entities
UPDATE entities SET
    name = (
        SELECT m.name FROM mentions AS m[[ INDEXED BY mentions_entity|]] WHERE m.pid = entities.pid
            AND m.entity_id = entities.id
        ORDER BY m.item_id LIMIT 1),
    description = coalesce((
        SELECT m.description FROM mentions AS m[[ INDEXED BY mentions_entity|]]
        WHERE m.pid = entities.pid AND m.entity_id = entities.id AND m.description != ''
        ORDER BY m.item_id DESC LIMIT 1), '')
WHERE pid = :pid AND id = ANY(:ids);
-- name: sum_entities
UPDATE entities SET
    mentions = (SELECT count(*) FROM mentions AS m[[ INDEXED BY mentions_entity|]] WHERE m.pid = entities.pid
        AND m.entity_id = entities.id),
    other_names = (
        SELECT [[json_group_array(others.name)|coalesce(json_agg(others.name ORDER BY others.name), '[]')::text]] FROM (
            SELECT DISTINCT m.name FROM mentions AS m[[ INDEXED BY mentions_entity|]]
            WHERE m.pid = entities.pid AND m.entity_id = entities.id AND m.name != entities.name
            ORDER BY m.name LIMIT 8
        ) AS others)
WHERE pid = :pid AND id = ANY(:ids);
-- name: drop_unsaid
DELETE FROM entity_vectors
WHERE pid = :pid AND entity_id = ANY(:ids) AND NOT EXISTS (
    SELECT 1 FROM entities AS e
    WHERE e.pid = entity_vectors.pid AND e.id = entity_vectors.entity_id
        AND e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END = entity_vectors.said);
-- name: select_entities
SELECT p.org, p.level, p.owner, $e.entity
FROM entities AS e JOIN partitions AS p ON p.pid = e.pid
-- name: select_entities_by_id (sqlite)
SELECT p.org, p.level, p.owner, $e.entity
FROM json_each(:ids) AS asked CROSS JOIN entities AS e ON e.id = asked.value JOIN partitions AS p ON p.pid = e.pid
-- name: select_entities_by_id (postgres)
-- OFFSET and LIMIT keep the look-ups by key: of a partition whose statistics are not gathered yet, as after a large
-- reading, all rows would be joined.
SELECT p.org, p.level, p.owner, $e.entity
FROM unnest(:ids::text[]) AS asked (value) CROSS JOIN unnest(:pids::bigint[]) AS own (pid)
CROSS JOIN LATERAL (SELECT * FROM entities AS o WHERE o.pid = own.pid AND o.id = asked.value OFFSET 0) AS e
JOIN partitions AS p ON p.pid = e.pid
-- name: where_seen
WHERE e.pid = ANY(:pids) AND e.private_agent IN ('', :agent)
    AND (:has_types = 0 OR e.type = ANY(:types))
-- name: and_key
AND e.name_key >= :prefix AND e.name_key < :prefix_end AND e.name_key > :after AND strpos(e.name_key, :part) > 0
-- name: and_keys
AND e.name_key = ANY(:keys)
-- name: and_first
AND e.name_key IN (
    SELECT DISTINCT o.name_key FROM entities AS o
    WHERE o.pid = ANY(:pids) AND o.private_agent IN ('', :agent)
        AND (:has_types = 0 OR o.type = ANY(:types))
        AND o.name_key >= :prefix AND o.name_key < :prefix_end AND o.name_key > :after
        AND strpos(o.name_key, :part) > 0
    ORDER BY o.name_key LIMIT :limit)
-- name: order_entities
ORDER BY e.name_key, e.id, p.level, p.owner;
-- name: relations (sqlite)
-- CROSS JOIN keeps this order: else every relation of a partition would be looked at.
SELECT * FROM (
    SELECT p.org, p.level, p.owner, $r.relation
    FROM json_each(:pids) AS own CROSS JOIN json_each(:ids) AS asked CROSS JOIN relations AS r
    JOIN partitions AS p ON p.pid = r.pid
    WHERE r.pid = own.value AND r.id IN (
        SELECT o.id FROM relations AS o
        WHERE o.pid = own.value AND o.source_id = asked.value AND o.private_agent IN ('', :agent)
            AND (:has_types = 0 OR o.type = ANY(:types))
            AND (:as_of IS NULL OR (
                (o.valid_from IS NULL OR o.valid_from <= :as_of) AND (o.valid_to IS NULL OR o.valid_to > :as_of)))
        ORDER BY o.weight DESC, o.id LIMIT :limit)
    UNION
    SELECT p.org, p.level, p.owner, $r.relation
    FROM json_each(:pids) AS own CROSS JOIN json_each(:ids) AS asked CROSS JOIN relations AS r
    JOIN partitions AS p ON p.pid = r.pid
    WHERE r.pid = own.value AND r.id IN (
        SELECT o.id FROM relations AS o
        WHERE o.pid = own.value AND o.target_id = asked.value AND o.private_agent IN ('', :agent)
            AND (:has_types = 0 OR o.type = ANY(:types))
            AND (:as_of IS NULL OR (
                (o.valid_from IS NULL OR o.valid_from <= :as_of) AND (o.valid_to IS NULL OR o.valid_to > :as_of)))
        ORDER BY o.weight DESC, o.id LIMIT :limit)
) AS found
ORDER BY weight DESC, id, level, owner;
-- name: relations (postgres)
SELECT * FROM (
    SELECT p.org, p.level, p.owner, $r.relation
    FROM partitions AS p CROSS JOIN unnest(:ids::text[]) AS asked (value)
    CROSS JOIN LATERAL (
        SELECT * FROM relations AS o
        WHERE o.pid = p.pid AND o.source_id = asked.value AND o.private_agent IN ('', :agent)
            AND (:has_types = 0 OR o.type = ANY(:types))
            AND (:as_of::bigint IS NULL OR (
                (o.valid_from IS NULL OR o.valid_from <= :as_of::bigint)
                AND (o.valid_to IS NULL OR o.valid_to > :as_of::bigint)))
        ORDER BY o.weight DESC, o.id LIMIT :limit) AS r
    WHERE p.pid = ANY(:pids)
    UNION
    SELECT p.org, p.level, p.owner, $r.relation
    FROM partitions AS p CROSS JOIN unnest(:ids::text[]) AS asked (value)
    CROSS JOIN LATERAL (
        SELECT * FROM relations AS o
        WHERE o.pid = p.pid AND o.target_id = asked.value AND o.private_agent IN ('', :agent)
            AND (:has_types = 0 OR o.type = ANY(:types))
            AND (:as_of::bigint IS NULL OR (
                (o.valid_from IS NULL OR o.valid_from <= :as_of::bigint)
                AND (o.valid_to IS NULL OR o.valid_to > :as_of::bigint)))
        ORDER BY o.weight DESC, o.id LIMIT :limit) AS r
    WHERE p.pid = ANY(:pids)
) AS found
ORDER BY weight DESC, id, level, owner;
-- name: supports (sqlite)
SELECT p.org, p.level, p.owner, $s.support
FROM json_each(:pids) AS own CROSS JOIN json_each(:ids) AS asked CROSS JOIN relations AS r CROSS JOIN supports AS s
JOIN partitions AS p ON p.pid = s.pid
WHERE r.pid = own.value AND r.id = asked.value AND r.private_agent IN ('', :agent)
    AND s.pid = own.value AND s.relation_id = asked.value AND s.item_id IN (
        SELECT o.item_id FROM supports AS o WHERE o.pid = own.value AND o.relation_id = asked.value
        ORDER BY o.item_id DESC LIMIT :limit)
ORDER BY s.relation_id, s.item_id DESC, p.level, p.owner;
-- name: supports (postgres)
SELECT p.org, p.level, p.owner, $s.support
FROM partitions AS p CROSS JOIN unnest(:ids::text[]) AS asked (value)
CROSS JOIN LATERAL (
    SELECT 1 FROM relations AS o WHERE o.pid = p.pid AND o.id = asked.value AND o.private_agent IN ('', :agent)
    LIMIT 1) AS seen
CROSS JOIN LATERAL (
    SELECT * FROM supports AS o WHERE o.pid = p.pid AND o.relation_id = asked.value
    ORDER BY o.item_id DESC LIMIT :limit) AS s
WHERE p.pid = ANY(:pids)
ORDER BY s.relation_id, s.item_id DESC, p.level, p.owner;
-- name: mentions (sqlite)
SELECT p.org, p.level, p.owner, $m.mention
FROM json_each(:pids) AS own CROSS JOIN json_each(:ids) AS asked CROSS JOIN entities AS e CROSS JOIN mentions AS m
JOIN partitions AS p ON p.pid = m.pid
WHERE e.pid = own.value AND e.id = asked.value AND e.private_agent IN ('', :agent)
    AND m.pid = own.value AND m.entity_id = asked.value AND m.item_id IN (
        SELECT o.item_id FROM mentions AS o WHERE o.pid = own.value AND o.entity_id = asked.value
        ORDER BY o.item_id DESC LIMIT :limit)
ORDER BY m.entity_id, m.item_id DESC, p.level, p.owner;
-- name: mentions (postgres)
SELECT p.org, p.level, p.owner, $m.mention
FROM partitions AS p CROSS JOIN unnest(:ids::text[]) AS asked (value)
CROSS JOIN LATERAL (
    SELECT 1 FROM entities AS o WHERE o.pid = p.pid AND o.id = asked.value AND o.private_agent IN ('', :agent)
    LIMIT 1) AS seen
CROSS JOIN LATERAL (
    SELECT * FROM mentions AS o WHERE o.pid = p.pid AND o.entity_id = asked.value
    ORDER BY o.item_id DESC LIMIT :limit) AS m
WHERE p.pid = ANY(:pids)
ORDER BY m.entity_id, m.item_id DESC, p.level, p.owner;
-- name: named_in (sqlite)
SELECT p.org, p.level, p.owner, $m.mention
FROM mentions AS m JOIN partitions AS p ON p.pid = m.pid
JOIN entities AS e ON e.pid = m.pid AND e.id = m.entity_id AND e.private_agent IN ('', :agent)
WHERE m.pid = ANY(:pids) AND m.item_id = ANY(:ids)
ORDER BY m.item_id, m.span_start, m.entity_id, p.level, p.owner;
-- name: named_in (postgres)
SELECT p.org, p.level, p.owner, $m.mention
FROM partitions AS p CROSS JOIN unnest(:ids::text[]) AS asked (value)
CROSS JOIN LATERAL (SELECT * FROM mentions AS o WHERE o.pid = p.pid AND o.item_id = asked.value OFFSET 0) AS m
CROSS JOIN LATERAL (
    SELECT 1 FROM entities AS o WHERE o.pid = p.pid AND o.id = m.entity_id AND o.private_agent IN ('', :agent)
    LIMIT 1) AS seen
WHERE p.pid = ANY(:pids)
ORDER BY m.item_id, m.span_start, m.entity_id, p.level, p.owner;
-- name: wipe_supports
DELETE FROM supports WHERE pid = :pid;
-- name: wipe_relations
DELETE FROM relations WHERE pid = :pid;
-- name: wipe_mentions
DELETE FROM mentions WHERE pid = :pid;
-- name: wipe_entities
DELETE FROM entities WHERE pid = :pid;
-- name: wipe_read
DELETE FROM read_items WHERE pid = :pid RETURNING item_id;
