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
-- name: erase
DELETE FROM vectors WHERE pid = %(pid)s AND item_id = ANY(%(ids)s::text[]);
-- name: spaces
SELECT space, count(*) FROM vectors GROUP BY space ORDER BY space;
