-- name: dims
SELECT dims FROM spaces WHERE space = :space;
-- name: add_space
INSERT INTO spaces (space, dims) VALUES (:space, :dims) ON CONFLICT DO NOTHING;
-- name: touch_memories
UPDATE memories SET updated_at = :at, changed = :changed
WHERE pid = :pid AND id = ANY(:ids) AND state != 'erased'
RETURNING id;
-- name: touch_messages
UPDATE messages SET changed = :changed
WHERE pid = :pid AND id = ANY(:ids) AND state != 'erased'
RETURNING id;
-- name: touch_chunks
UPDATE chunks SET changed = :changed
WHERE pid = :pid AND id = ANY(:ids) AND state != 'erased'
RETURNING id;
-- name: put
INSERT INTO vectors (pid+org, item_id, view, space, vector)
[[VALUES (:pid, :item_id, :view, :space, :vector)|SELECT pid, org, item_id, view, space, vector::vector
FROM unnest(:pid::bigint[], :org::text[], :item_id::text[], :view::text[], :space::text[], :vector::text[])
    AS row (pid, org, item_id, view, space, vector)]]
ON CONFLICT (pid, item_id, view, space) DO UPDATE SET vector = excluded.vector;
-- name: get
SELECT item_id, vector::text FROM vectors
WHERE pid = :pid AND view = :view AND space = :space AND item_id = ANY(:ids);
-- name: missing
SELECT id, text FROM (
    SELECT pid, id, text FROM memories WHERE pid = :pid AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM messages WHERE pid = :pid AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM chunks WHERE pid = :pid AND state != 'erased'
) AS items
WHERE NOT EXISTS (
    SELECT 1 FROM vectors AS v
    WHERE v.pid = items.pid AND v.item_id = items.id AND v.view = 'item' AND v.space = :space
)
AND [[trim(text, char(9, 10, 11, 12, 13, 32))|btrim(text, E'\t\n\v\f\r ')]] != ''
ORDER BY id LIMIT greatest(:limit, 0);
-- name: coverage
SELECT count(*), count(*) FILTER (WHERE EXISTS (
    SELECT 1 FROM vectors AS v
    WHERE v.pid = items.pid AND v.item_id = items.id AND v.view = 'item' AND v.space = :space
)) FROM (
    SELECT pid, id, text FROM memories WHERE pid = :pid AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM messages WHERE pid = :pid AND state != 'erased'
    UNION ALL
    SELECT pid, id, text FROM chunks WHERE pid = :pid AND state != 'erased'
) AS items
WHERE [[trim(text, char(9, 10, 11, 12, 13, 32))|btrim(text, E'\t\n\v\f\r ')]] != '';
-- name: alone
SELECT item_id FROM vectors AS v
WHERE pid = :pid AND view = 'item' AND space = :space AND NOT EXISTS (
    SELECT 1 FROM vectors AS o
    WHERE o.pid = v.pid AND o.item_id = v.item_id AND o.view = 'item'
    AND o.space = ANY(:others)
)
ORDER BY item_id DESC LIMIT 1;
-- name: known
SELECT space FROM spaces;
-- name: remove
DELETE FROM vectors WHERE pid = :pid AND space = :space;
-- name: remove_of_entities
DELETE FROM entity_vectors WHERE pid = :pid AND space = :space;
-- name: remove_all_of_entities
DELETE FROM entity_vectors WHERE space = :space;
-- name: remove_all
DELETE FROM vectors WHERE space = :space;
-- name: remove_space
DELETE FROM spaces WHERE space = :space;
-- name: erase
DELETE FROM vectors WHERE pid = :pid AND item_id = ANY(:ids);
-- name: spaces
SELECT space, count(*) FROM vectors GROUP BY space ORDER BY space;
