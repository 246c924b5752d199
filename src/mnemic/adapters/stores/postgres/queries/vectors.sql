-- name: add_space
INSERT INTO spaces (space, dims) VALUES (%(space)s, %(dims)s) ON CONFLICT DO NOTHING;
-- name: dims
SELECT dims FROM spaces WHERE space = %(space)s;
-- name: touch_memories
UPDATE memories SET updated_at = %(at)s, changed = %(changed)s
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]) AND state != 'erased'
RETURNING id;
-- name: touch_messages
UPDATE messages SET changed = %(changed)s
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]) AND state != 'erased'
RETURNING id;
-- name: touch_chunks
UPDATE chunks SET changed = %(changed)s
WHERE pid = %(pid)s AND id = ANY(%(ids)s::text[]) AND state != 'erased'
RETURNING id;
-- name: put
INSERT INTO vectors (pid, org, item_id, view, space, vector)
SELECT pid, org, item_id, view, space, vector::vector
FROM unnest(
    %(pid)s::bigint[], %(org)s::text[], %(item_id)s::text[], %(view)s::text[], %(space)s::text[], %(vector)s::text[]
) AS row (pid, org, item_id, view, space, vector)
ON CONFLICT (pid, item_id, view, space) DO UPDATE SET vector = excluded.vector;
-- name: get
SELECT item_id, vector::text FROM vectors
WHERE pid = %(pid)s AND view = %(view)s AND space = %(space)s AND item_id = ANY(%(ids)s::text[]);
-- name: missing
SELECT id, text FROM (
    SELECT pid, id, text FROM memories WHERE pid = %(pid)s AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM messages WHERE pid = %(pid)s AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM chunks WHERE pid = %(pid)s AND state != 'erased'
) AS items
WHERE NOT EXISTS (
    SELECT 1 FROM vectors AS v
    WHERE v.pid = items.pid AND v.item_id = items.id AND v.view = 'item' AND v.space = %(space)s
)
AND btrim(text, E'\t\n\v\f\r ') != ''
ORDER BY id LIMIT greatest(%(limit)s, 0);
-- name: coverage
SELECT count(*), count(*) FILTER (WHERE EXISTS (
    SELECT 1 FROM vectors AS v
    WHERE v.pid = items.pid AND v.item_id = items.id AND v.view = 'item' AND v.space = %(space)s
)) FROM (
    SELECT pid, id, text FROM memories WHERE pid = %(pid)s AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM messages WHERE pid = %(pid)s AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM chunks WHERE pid = %(pid)s AND state != 'erased'
) AS items
WHERE btrim(text, E'\t\n\v\f\r ') != '';
-- name: alone
SELECT item_id FROM vectors AS v
WHERE pid = %(pid)s AND view = 'item' AND space = %(space)s AND NOT EXISTS (
    SELECT 1 FROM vectors AS o
    WHERE o.pid = v.pid AND o.item_id = v.item_id AND o.view = 'item' AND o.space = ANY(%(others)s::text[])
)
ORDER BY item_id DESC LIMIT 1;
-- name: known
SELECT space FROM spaces;
-- name: remove
DELETE FROM vectors WHERE pid = %(pid)s AND space = %(space)s;
-- name: remove_of_entities
DELETE FROM entity_vectors WHERE pid = %(pid)s AND space = %(space)s;
-- name: remove_all_of_entities
DELETE FROM entity_vectors WHERE space = %(space)s;
-- name: remove_all
DELETE FROM vectors WHERE space = %(space)s;
-- name: remove_space
DELETE FROM spaces WHERE space = %(space)s;
-- name: erase
DELETE FROM vectors WHERE pid = %(pid)s AND item_id = ANY(%(ids)s::text[]);
-- name: spaces
SELECT space, count(*) FROM vectors GROUP BY space ORDER BY space;
