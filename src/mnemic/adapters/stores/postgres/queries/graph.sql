-- name: unread
SELECT id, kind, text, private_agent, author, role, valid_from, valid_to FROM (
    SELECT * FROM (
        SELECT m.id, 'memory' AS kind, m.text, m.private_agent, '' AS author, '' AS role, m.valid_from, m.valid_to
        FROM memories AS m
        WHERE m.pid = %(pid)s AND m.id > %(after)s AND m.expires_at IS NULL
            AND (m.state = 'active' OR (m.state = 'superseded' AND m.valid_to IS NOT NULL))
            AND %(memory)s::text IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM read_items AS r WHERE r.pid = m.pid AND r.item_id = m.id AND r.extractor = %(memory)s)
        ORDER BY m.id LIMIT %(limit)s
    ) AS of_memories
    UNION ALL
    SELECT * FROM (
        SELECT m.id, 'message' AS kind, m.text, '' AS private_agent, m.name AS author, m.role, NULL::bigint,
            NULL::bigint
        FROM messages AS m
        WHERE m.pid = %(pid)s AND m.id > %(after)s AND m.state = 'active' AND m.role IN ('user', 'assistant')
            AND %(message)s::text IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM read_items AS r WHERE r.pid = m.pid AND r.item_id = m.id AND r.extractor = %(message)s)
        ORDER BY m.id LIMIT %(limit)s
    ) AS of_messages
    UNION ALL
    SELECT * FROM (
        SELECT c.id, 'document' AS kind, c.text, d.private_agent, '' AS author, '' AS role, NULL::bigint, NULL::bigint
        FROM chunks AS c JOIN documents AS d ON d.pid = c.pid AND d.id = c.document_id
        WHERE c.pid = %(pid)s AND c.id > %(after)s AND c.state = 'active'
            AND %(document)s::text IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM read_items AS r WHERE r.pid = c.pid AND r.item_id = c.id AND r.extractor = %(document)s)
        ORDER BY c.id LIMIT %(limit)s
    ) AS of_chunks
) AS items
ORDER BY id LIMIT %(limit)s;
-- name: readable
SELECT id FROM memories
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]) AND expires_at IS NULL
    AND (state = 'active' OR (state = 'superseded' AND valid_to IS NOT NULL))
UNION ALL
SELECT id FROM messages
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]) AND state = 'active' AND role IN ('user', 'assistant')
UNION ALL
SELECT id FROM chunks WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]) AND state = 'active';
-- name: read_for
SELECT e.private_agent FROM read_items AS r
LEFT JOIN mentions AS m ON m.pid = r.pid AND m.item_id = r.item_id
LEFT JOIN entities AS e ON e.pid = m.pid AND e.id = m.entity_id
WHERE r.pid = %(pid)s AND r.item_id = %(id)s;
-- name: put_entity
INSERT INTO entities (pid, org, id, private_agent, name_key, type, name, created_at)
VALUES (%(pid)s, %(org)s, %(id)s, %(private_agent)s, %(name_key)s, %(type)s, %(name)s, %(created_at)s)
ON CONFLICT DO NOTHING
RETURNING 1;
-- name: put_relation
INSERT INTO relations (pid, org, id, private_agent, source_id, target_id, type, created_at)
VALUES (%(pid)s, %(org)s, %(id)s, %(private_agent)s, %(source_id)s, %(target_id)s, %(type)s, %(created_at)s)
ON CONFLICT DO NOTHING
RETURNING 1;
-- name: put_mention
INSERT INTO mentions (pid, org, item_id, entity_id, name, description, span_start, span_end, extractor)
VALUES (%(pid)s, %(org)s, %(item_id)s, %(entity_id)s, %(name)s, %(description)s, %(span_start)s, %(span_end)s,
    %(extractor)s)
RETURNING 1;
-- name: put_support
INSERT INTO supports (pid, org, item_id, relation_id, span_start, span_end, extractor, is_dated, valid_from, valid_to)
VALUES (%(pid)s, %(org)s, %(item_id)s, %(relation_id)s, %(span_start)s, %(span_end)s, %(extractor)s, %(is_dated)s,
    %(valid_from)s, %(valid_to)s)
RETURNING 1;
-- name: put_read
INSERT INTO read_items (pid, org, item_id, extractor) VALUES (%(pid)s, %(org)s, %(item_id)s, %(extractor)s)
ON CONFLICT (pid, item_id) DO UPDATE SET extractor = excluded.extractor
RETURNING 1;
-- name: redate
UPDATE supports SET valid_from = %(valid_from)s, valid_to = %(valid_to)s WHERE pid = %(pid)s AND item_id = %(id)s
RETURNING relation_id;
-- name: forget_read
DELETE FROM read_items WHERE pid = %(pid)s AND item_id = ANY(%(ids)s::text[]) RETURNING item_id;
-- name: cut_supports
DELETE FROM supports WHERE pid = %(pid)s AND item_id = ANY(%(ids)s::text[]) RETURNING relation_id;
-- name: cut_mentions
DELETE FROM mentions WHERE pid = %(pid)s AND item_id = ANY(%(ids)s::text[]) RETURNING entity_id;
-- name: drop_relations
DELETE FROM relations
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[])
    AND NOT EXISTS (SELECT 1 FROM supports AS s WHERE s.pid = relations.pid AND s.relation_id = relations.id);
-- name: weigh_relations
UPDATE relations SET
    weight = (SELECT count(*) FROM supports AS s WHERE s.pid = relations.pid AND s.relation_id = relations.id),
    (valid_from, valid_to) = (
        SELECT CASE WHEN count(s.valid_from) = count(*) THEN min(s.valid_from) END,
            CASE WHEN count(s.valid_to) = count(*) THEN max(s.valid_to) END
        FROM supports AS s
        WHERE s.pid = relations.pid AND s.relation_id = relations.id AND s.is_dated = (
            SELECT max(o.is_dated) FROM supports AS o WHERE o.pid = relations.pid AND o.relation_id = relations.id)
    )
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]);
-- name: drop_entities
DELETE FROM entities
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[])
    AND NOT EXISTS (SELECT 1 FROM mentions AS m WHERE m.pid = entities.pid AND m.entity_id = entities.id);
-- name: name_entities
UPDATE entities SET
    name = (
        SELECT m.name FROM mentions AS m WHERE m.pid = entities.pid AND m.entity_id = entities.id
        ORDER BY m.item_id LIMIT 1),
    description = coalesce((
        SELECT m.description FROM mentions AS m
        WHERE m.pid = entities.pid AND m.entity_id = entities.id AND m.description != ''
        ORDER BY m.item_id DESC LIMIT 1), '')
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]);
-- name: sum_entities
UPDATE entities SET
    mentions = (SELECT count(*) FROM mentions AS m WHERE m.pid = entities.pid AND m.entity_id = entities.id),
    other_names = (
        SELECT coalesce(json_agg(others.name ORDER BY others.name), '[]')::text FROM (
            SELECT DISTINCT m.name FROM mentions AS m
            WHERE m.pid = entities.pid AND m.entity_id = entities.id AND m.name != entities.name
            ORDER BY m.name LIMIT 8
        ) AS others)
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]);
-- name: drop_unsaid
DELETE FROM entity_vectors
WHERE pid = %(pid)s AND entity_id = ANY(%(ids)s::text[]) AND NOT EXISTS (
    SELECT 1 FROM entities AS e
    WHERE e.pid = entity_vectors.pid AND e.id = entity_vectors.entity_id
        AND e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END = entity_vectors.said);
-- name: select_entities
SELECT p.org, p.level, p.owner, e.id, e.name, e.name_key, e.type, e.created_at, e.description, e.other_names,
    e.mentions, e.private_agent
FROM entities AS e JOIN partitions AS p ON p.pid = e.pid
-- name: select_entities_by_id
-- OFFSET and LIMIT keep the look-ups by key: of a partition whose statistics are not gathered yet, as after a large
-- reading, all rows would be joined.
SELECT p.org, p.level, p.owner, e.id, e.name, e.name_key, e.type, e.created_at, e.description, e.other_names,
    e.mentions, e.private_agent
FROM unnest(%(ids)s::text[]) AS asked (value) CROSS JOIN unnest(%(pids)s::bigint[]) AS own (pid)
CROSS JOIN LATERAL (SELECT * FROM entities AS o WHERE o.pid = own.pid AND o.id = asked.value OFFSET 0) AS e
JOIN partitions AS p ON p.pid = e.pid
-- name: where_seen
WHERE e.pid = ANY(%(pids)s::bigint[]) AND e.private_agent IN ('', %(agent)s)
    AND (%(has_types)s = 0 OR e.type = ANY(%(types)s::text[]))
-- name: and_key
AND e.name_key >= %(prefix)s AND e.name_key < %(prefix_end)s AND e.name_key > %(after)s AND strpos(e.name_key,
    %(part)s) > 0
-- name: and_keys
AND e.name_key = ANY(%(keys)s::text[])
-- name: and_first
AND e.name_key IN (
    SELECT DISTINCT o.name_key FROM entities AS o
    WHERE o.pid = ANY(%(pids)s::bigint[]) AND o.private_agent IN ('', %(agent)s)
        AND (%(has_types)s = 0 OR o.type = ANY(%(types)s::text[]))
        AND o.name_key >= %(prefix)s AND o.name_key < %(prefix_end)s AND o.name_key > %(after)s
        AND strpos(o.name_key, %(part)s) > 0
    ORDER BY o.name_key LIMIT %(limit)s)
-- name: order_entities
ORDER BY e.name_key, e.id, p.level, p.owner;
-- name: relations
SELECT * FROM (
    SELECT p.org, p.level, p.owner, r.id, r.source_id, r.target_id, r.type, r.created_at, r.weight, r.valid_from,
        r.valid_to, r.private_agent
    FROM partitions AS p CROSS JOIN unnest(%(ids)s::text[]) AS asked (value)
    CROSS JOIN LATERAL (
        SELECT * FROM relations AS o
        WHERE o.pid = p.pid AND o.source_id = asked.value AND o.private_agent IN ('', %(agent)s)
            AND (%(has_types)s = 0 OR o.type = ANY(%(types)s::text[]))
            AND (%(as_of)s::bigint IS NULL OR (
                (o.valid_from IS NULL OR o.valid_from <= %(as_of)s::bigint)
                AND (o.valid_to IS NULL OR o.valid_to > %(as_of)s::bigint)))
        ORDER BY o.weight DESC, o.id LIMIT %(limit)s) AS r
    WHERE p.pid = ANY(%(pids)s::bigint[])
    UNION
    SELECT p.org, p.level, p.owner, r.id, r.source_id, r.target_id, r.type, r.created_at, r.weight, r.valid_from,
        r.valid_to, r.private_agent
    FROM partitions AS p CROSS JOIN unnest(%(ids)s::text[]) AS asked (value)
    CROSS JOIN LATERAL (
        SELECT * FROM relations AS o
        WHERE o.pid = p.pid AND o.target_id = asked.value AND o.private_agent IN ('', %(agent)s)
            AND (%(has_types)s = 0 OR o.type = ANY(%(types)s::text[]))
            AND (%(as_of)s::bigint IS NULL OR (
                (o.valid_from IS NULL OR o.valid_from <= %(as_of)s::bigint)
                AND (o.valid_to IS NULL OR o.valid_to > %(as_of)s::bigint)))
        ORDER BY o.weight DESC, o.id LIMIT %(limit)s) AS r
    WHERE p.pid = ANY(%(pids)s::bigint[])
) AS found
ORDER BY weight DESC, id, level, owner;
-- name: supports
SELECT p.org, p.level, p.owner, s.item_id, s.relation_id, s.span_start, s.span_end, s.extractor, s.valid_from,
    s.valid_to, s.is_dated
FROM partitions AS p CROSS JOIN unnest(%(ids)s::text[]) AS asked (value)
CROSS JOIN LATERAL (
    SELECT 1 FROM relations AS o WHERE o.pid = p.pid AND o.id = asked.value AND o.private_agent IN ('', %(agent)s)
    LIMIT 1) AS seen
CROSS JOIN LATERAL (
    SELECT * FROM supports AS o WHERE o.pid = p.pid AND o.relation_id = asked.value
    ORDER BY o.item_id DESC LIMIT %(limit)s) AS s
WHERE p.pid = ANY(%(pids)s::bigint[])
ORDER BY s.relation_id, s.item_id DESC, p.level, p.owner;
-- name: mentions
SELECT p.org, p.level, p.owner, m.item_id, m.entity_id, m.name, m.span_start, m.span_end, m.extractor
FROM partitions AS p CROSS JOIN unnest(%(ids)s::text[]) AS asked (value)
CROSS JOIN LATERAL (
    SELECT 1 FROM entities AS o WHERE o.pid = p.pid AND o.id = asked.value AND o.private_agent IN ('', %(agent)s)
    LIMIT 1) AS seen
CROSS JOIN LATERAL (
    SELECT * FROM mentions AS o WHERE o.pid = p.pid AND o.entity_id = asked.value
    ORDER BY o.item_id DESC LIMIT %(limit)s) AS m
WHERE p.pid = ANY(%(pids)s::bigint[])
ORDER BY m.entity_id, m.item_id DESC, p.level, p.owner;
-- name: named_in
SELECT p.org, p.level, p.owner, m.item_id, m.entity_id, m.name, m.span_start, m.span_end, m.extractor
FROM partitions AS p CROSS JOIN unnest(%(ids)s::text[]) AS asked (value)
CROSS JOIN LATERAL (SELECT * FROM mentions AS o WHERE o.pid = p.pid AND o.item_id = asked.value OFFSET 0) AS m
CROSS JOIN LATERAL (
    SELECT 1 FROM entities AS o WHERE o.pid = p.pid AND o.id = m.entity_id AND o.private_agent IN ('', %(agent)s)
    LIMIT 1) AS seen
WHERE p.pid = ANY(%(pids)s::bigint[])
ORDER BY m.item_id, m.span_start, m.entity_id, p.level, p.owner;
-- name: wipe_supports
DELETE FROM supports WHERE pid = %(pid)s;
-- name: wipe_relations
DELETE FROM relations WHERE pid = %(pid)s;
-- name: wipe_mentions
DELETE FROM mentions WHERE pid = %(pid)s;
-- name: wipe_entities
DELETE FROM entities WHERE pid = %(pid)s;
-- name: wipe_read
DELETE FROM read_items WHERE pid = %(pid)s RETURNING item_id;
