-- name: put
INSERT INTO entity_vectors (pid+org, entity_id, space, said, vector)
SELECT e.pid+org, e.id, :space, :said, :vector[[|::vector]] FROM entities AS e
WHERE e.pid = :pid AND [[|e.org = :org AND ]]e.id = :entity_id
    AND e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END = :said
ON CONFLICT (pid, entity_id, space) DO UPDATE SET said = excluded.said, vector = excluded.vector;
-- name: missing
SELECT e.id, e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END
FROM entities AS e
WHERE e.pid = :pid AND e.id > :after AND NOT EXISTS (
    SELECT 1 FROM entity_vectors AS v WHERE v.pid = e.pid AND v.entity_id = e.id AND v.space = :space)
ORDER BY e.id LIMIT :limit;
-- name: visible (sqlite)
SELECT v.entity_id, v.vector FROM entity_vectors AS v
JOIN entities AS e ON e.pid = v.pid AND e.id = v.entity_id AND e.private_agent IN ('', :agent)
WHERE v.pid = ANY(:pids) AND v.space = :space
ORDER BY v.entity_id;
-- name: nearest (postgres)
-- Compared after the rows of the space are chosen: the column is of no fixed dimension.
WITH seen AS MATERIALIZED (
    SELECT v.entity_id, v.vector FROM entity_vectors AS v
    JOIN entities AS e ON e.pid = v.pid AND e.id = v.entity_id AND e.private_agent IN ('', :agent)
    WHERE v.pid = ANY(:pids) AND v.space = :space
)
SELECT entity_id, max(-(vector <#> :vector::vector)) AS cosine FROM seen
GROUP BY entity_id ORDER BY cosine DESC, entity_id LIMIT :limit;
-- name: coverage
SELECT count(*), count(*) FILTER (WHERE EXISTS (
    SELECT 1 FROM entity_vectors AS v WHERE v.pid = e.pid AND v.entity_id = e.id AND v.space = :space))
FROM entities AS e WHERE e.pid = :pid;
