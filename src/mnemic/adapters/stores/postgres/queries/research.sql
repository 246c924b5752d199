-- name: put
INSERT INTO research_steps (pid, org, document_pid, document_id, key, reply, prompt_tokens, completion_tokens, at)
SELECT %(pid)s, %(org)s, %(document_pid)s, %(document_id)s, %(key)s, %(reply)s, %(prompt_tokens)s,
    %(completion_tokens)s, %(at)s
WHERE EXISTS (
    SELECT 1 FROM documents
    WHERE pid = %(document_pid)s AND id = %(document_id)s AND status != 'erased' AND updated_at = %(updated_at)s
)
ON CONFLICT (pid, document_pid, document_id, key) DO UPDATE SET reply = excluded.reply,
    prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens, at = excluded.at
RETURNING 1;
-- name: get
SELECT key, reply, prompt_tokens, completion_tokens, at FROM research_steps
WHERE pid = %(pid)s AND document_pid = %(document_pid)s AND document_id = %(document_id)s
    AND key = ANY(%(keys)s::text[]);
-- name: cut
DELETE FROM research_steps WHERE document_pid = %(pid)s AND document_id = ANY(%(ids)s::text[]);
-- name: forget
DELETE FROM research_steps WHERE at < %(before)s::bigint;
