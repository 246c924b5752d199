-- name: insert
INSERT INTO jobs (pid+org, $job) VALUES (:pid+org, $:job)
ON CONFLICT [[(pid, kind, key) WHERE state IN ('pending', 'running')|]] DO NOTHING;
-- name: is_open (postgres)
SELECT 1 FROM jobs
WHERE pid = :pid AND kind = :kind AND key_sha256 = text_sha256(:key) AND state IN ('pending', 'running');
-- name: claim
UPDATE jobs SET state = 'running', worker = :worker, leased_until = :leased_until, attempts = attempts + 1
WHERE seq = (
    SELECT seq FROM jobs
    WHERE kind = ANY(:kinds) AND pid NOT IN (
            SELECT pid FROM partitions AS p JOIN placements AS o USING (org)
            WHERE o.state IN ('stopped', 'moved', 'arriving')
        )
        AND ((state = 'pending' AND run_at <= :now) OR (state = 'running' AND leased_until <= :now))
    ORDER BY run_at, seq LIMIT 1[[|
    FOR UPDATE SKIP LOCKED]]
)
RETURNING seq;
-- name: select
SELECT p.org, p.level, p.owner, $j.job
FROM jobs AS j JOIN partitions AS p USING (pid)
-- name: where_seq
WHERE j.seq = :seq
-- name: where_listed
WHERE (:pids::bigint[] IS NULL OR j.pid = ANY(:pids)) AND j.state = ANY(:states)
ORDER BY j.seq LIMIT greatest(:limit, 0)
-- name: finish
UPDATE jobs SET state = 'done', leased_until = NULL, error = '', usage = :usage
WHERE pid = :pid AND id = :id AND state = 'running' AND worker = :worker AND attempts = :attempts;
-- name: fail
UPDATE jobs SET state = :state, run_at = coalesce(:retry_at::bigint, run_at), leased_until = NULL, error = :error,
    usage = :usage
WHERE pid = :pid AND id = :id AND state = 'running' AND worker = :worker AND attempts = :attempts;
-- name: retry
UPDATE jobs SET state = 'pending', attempts = 0, run_at = :now, worker = NULL
WHERE seq IN (
    SELECT min(j.seq) FROM jobs AS j
    WHERE j.state = 'dead' AND (:pids::bigint[] IS NULL OR j.pid = ANY(:pids)) AND j.id = ANY(:ids)
        AND NOT EXISTS (
            SELECT 1 FROM jobs AS o
            WHERE o.pid = j.pid AND o.kind = j.kind AND [[o.key = j.key|o.key_sha256 = j.key_sha256]]
                AND o.state IN ('pending', 'running')
        )
    GROUP BY j.pid, j.kind, j.key
);
