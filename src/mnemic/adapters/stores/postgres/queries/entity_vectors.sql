-- name: put
INSERT INTO entity_vectors (pid, org, entity_id, space, said, vector)
SELECT e.pid, e.org, e.id, %(space)s, %(said)s, %(vector)s::vector FROM entities AS e
WHERE e.pid = %(pid)s AND e.org = %(org)s AND e.id = %(entity_id)s
    AND e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END = %(said)s
ON CONFLICT (pid, entity_id, space) DO UPDATE SET said = excluded.said, vector = excluded.vector
RETURNING 1;
-- name: missing
SELECT e.id, e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END
FROM entities AS e
WHERE e.pid = %(pid)s AND e.id > %(after)s AND NOT EXISTS (
    SELECT 1 FROM entity_vectors AS v WHERE v.pid = e.pid AND v.entity_id = e.id AND v.space = %(space)s)
ORDER BY e.id LIMIT %(limit)s;
-- name: nearest
-- Compared after the rows of the space are chosen: the column is of no fixed dimension.
WITH seen AS MATERIALIZED (
    SELECT v.entity_id, v.vector FROM entity_vectors AS v
    JOIN entities AS e ON e.pid = v.pid AND e.id = v.entity_id AND e.private_agent IN ('', %(agent)s)
    WHERE v.pid = ANY(%(pids)s::bigint[]) AND v.space = %(space)s
)
SELECT entity_id, max(-(vector <#> %(vector)s::vector)) AS cosine FROM seen
GROUP BY entity_id ORDER BY cosine DESC, entity_id LIMIT %(limit)s;
-- name: coverage
SELECT count(*), count(*) FILTER (WHERE EXISTS (
    SELECT 1 FROM entity_vectors AS v WHERE v.pid = e.pid AND v.entity_id = e.id AND v.space = %(space)s))
FROM entities AS e WHERE e.pid = %(pid)s;
