-- name: insert
INSERT INTO jobs (pid, org, id, kind, key, payload, state, attempts, created_at, run_at, worker, leased_until, error,
    usage)
VALUES (%(pid)s, %(org)s, %(id)s, %(kind)s, %(key)s, %(payload)s, %(state)s, %(attempts)s, %(created_at)s,
    %(run_at)s, %(worker)s, %(leased_until)s, %(error)s, %(usage)s)
ON CONFLICT DO NOTHING RETURNING 1;
-- name: is_open
SELECT 1 FROM jobs
WHERE pid = %(pid)s AND kind = %(kind)s AND key_sha256 = text_sha256(%(key)s)
    AND state IN ('pending', 'running');
-- name: claim
UPDATE jobs SET state = 'running', worker = %(worker)s, leased_until = %(leased_until)s, attempts = attempts + 1
WHERE seq = (
    SELECT seq FROM jobs
    WHERE kind = ANY(%(kinds)s::text[])
        AND ((state = 'pending' AND run_at <= %(now)s) OR (state = 'running' AND leased_until <= %(now)s))
    ORDER BY run_at, seq LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING seq;
-- name: select
SELECT p.org, p.level, p.owner, j.id, j.kind, j.key, j.payload, j.state, j.attempts, j.created_at, j.run_at, j.worker,
    j.leased_until, j.error, j.usage
FROM jobs AS j JOIN partitions AS p USING (pid)
-- name: where_seq
WHERE j.seq = %(seq)s
-- name: where_listed
WHERE (%(pids)s::bigint[] IS NULL OR j.pid = ANY(%(pids)s::bigint[])) AND j.state = ANY(%(states)s::text[])
ORDER BY j.seq LIMIT greatest(%(limit)s, 0)
-- name: finish
UPDATE jobs SET state = 'done', leased_until = NULL, error = '', usage = %(usage)s
WHERE pid = %(pid)s AND id = %(id)s AND state = 'running' AND worker = %(worker)s AND attempts = %(attempts)s;
-- name: fail
UPDATE jobs SET state = %(state)s, run_at = coalesce(%(retry_at)s::bigint, run_at), leased_until = NULL,
    error = %(error)s, usage = %(usage)s
WHERE pid = %(pid)s AND id = %(id)s AND state = 'running' AND worker = %(worker)s AND attempts = %(attempts)s;
-- name: retry
UPDATE jobs SET state = 'pending', attempts = 0, run_at = %(now)s, worker = NULL
WHERE seq IN (
    SELECT min(j.seq) FROM jobs AS j
    WHERE j.state = 'dead' AND j.pid = ANY(%(pids)s::bigint[]) AND j.id = ANY(%(ids)s::text[])
        AND NOT EXISTS (
            SELECT 1 FROM jobs AS o
            WHERE o.pid = j.pid AND o.kind = j.kind AND o.key_sha256 = j.key_sha256
                AND o.state IN ('pending', 'running')
        )
    GROUP BY j.pid, j.kind, j.key
);
