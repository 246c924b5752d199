-- name: put
INSERT INTO research_steps (pid+org, document_pid, document_id, $step)
SELECT :pid+org, :document_pid, :document_id, $:step
WHERE EXISTS (
    SELECT 1 FROM documents
    WHERE pid = :document_pid AND id = :document_id AND status != 'erased' AND updated_at = :updated_at
)
ON CONFLICT (pid, document_pid, document_id, key) DO UPDATE SET reply = excluded.reply,
    prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens, at = excluded.at;
-- name: get
SELECT $step FROM research_steps
WHERE pid = :pid AND document_pid = :document_pid AND document_id = :document_id
    AND key = ANY(:keys);
-- name: cut
DELETE FROM research_steps WHERE document_pid = :pid AND document_id = ANY(:ids);
-- name: forget
DELETE FROM research_steps WHERE at < :before;
