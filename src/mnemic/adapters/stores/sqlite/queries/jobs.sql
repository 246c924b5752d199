-- name: insert
INSERT INTO jobs (pid, id, kind, key, payload, state, attempts, created_at, run_at, worker, leased_until, error, usage)
VALUES (:pid, :id, :kind, :key, :payload, :state, :attempts, :created_at, :run_at, :worker, :leased_until, :error,
    :usage)
ON CONFLICT (pid, kind, key) WHERE state IN ('pending', 'running') DO NOTHING;
-- name: claim
UPDATE jobs SET state = 'running', worker = :worker, leased_until = :leased_until, attempts = attempts + 1
WHERE seq = (
    SELECT seq FROM jobs
    WHERE kind IN (SELECT value FROM json_each(:kinds))
        AND ((state = 'pending' AND run_at <= :now) OR (state = 'running' AND leased_until <= :now))
    ORDER BY run_at, seq LIMIT 1
)
RETURNING seq;
-- name: select
SELECT p.org, p.level, p.owner, j.id, j.kind, j.key, j.payload, j.state, j.attempts, j.created_at, j.run_at, j.worker,
    j.leased_until, j.error, j.usage
FROM jobs AS j JOIN partitions AS p USING (pid)
-- name: where_seq
WHERE j.seq = :seq
-- name: where_listed
WHERE (:pids IS NULL OR j.pid IN (SELECT value FROM json_each(:pids)))
    AND j.state IN (SELECT value FROM json_each(:states))
ORDER BY j.seq LIMIT :limit
-- name: finish
UPDATE jobs SET state = 'done', leased_until = NULL, error = '', usage = :usage
WHERE pid = :pid AND id = :id AND state = 'running' AND worker = :worker AND attempts = :attempts;
-- name: fail
UPDATE jobs SET state = :state, run_at = coalesce(:retry_at, run_at), leased_until = NULL, error = :error,
    usage = :usage
WHERE pid = :pid AND id = :id AND state = 'running' AND worker = :worker AND attempts = :attempts;
-- name: retry
UPDATE OR IGNORE jobs SET state = 'pending', attempts = 0, run_at = :now, worker = NULL
WHERE seq IN (
    SELECT min(seq) FROM jobs
    WHERE state = 'dead' AND (:pids IS NULL OR pid IN (SELECT value FROM json_each(:pids)))
        AND id IN (SELECT value FROM json_each(:ids))
    GROUP BY pid, kind, key
);
