-- name: put
INSERT INTO entity_vectors (pid, entity_id, space, said, vector)
SELECT e.pid, e.id, :space, :said, :vector FROM entities AS e
WHERE e.pid = :pid AND e.id = :entity_id
    AND e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END = :said
ON CONFLICT (pid, entity_id, space) DO UPDATE SET said = excluded.said, vector = excluded.vector;
-- name: missing
SELECT e.id, e.name || CASE WHEN e.description = '' THEN '' ELSE ': ' || e.description END
FROM entities AS e
WHERE e.pid = :pid AND e.id > :after AND NOT EXISTS (
    SELECT 1 FROM entity_vectors AS v WHERE v.pid = e.pid AND v.entity_id = e.id AND v.space = :space)
ORDER BY e.id LIMIT :limit;
-- name: visible
SELECT v.entity_id, v.vector FROM entity_vectors AS v
JOIN entities AS e ON e.pid = v.pid AND e.id = v.entity_id AND e.private_agent IN ('', :agent)
WHERE v.pid IN (SELECT value FROM json_each(:pids)) AND v.space = :space
ORDER BY v.entity_id;
-- name: coverage
SELECT count(*), coalesce(sum(EXISTS (
    SELECT 1 FROM entity_vectors AS v WHERE v.pid = e.pid AND v.entity_id = e.id AND v.space = :space)), 0)
FROM entities AS e WHERE e.pid = :pid;
