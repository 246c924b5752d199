-- name: conversation
SELECT turns, messages, started_at, last_at FROM conversations WHERE pid = :pid AND session = :session;
-- name: begin_conversation
INSERT INTO conversations (pid+org, session, turns, messages, started_at, last_at)
VALUES (:pid+org, :session, 0, 0, :at, :at);
-- name: advance_conversation
UPDATE conversations SET turns = greatest(turns, :turn), messages = greatest(messages, :position),
    last_at = greatest(last_at, :observed_at)
WHERE pid = :pid AND session = :session;
-- name: insert
INSERT INTO messages (pid+org, changed, analyser, terms, $message)
VALUES (:pid+org, :changed, :analyser, :terms, $:message)
ON CONFLICT DO NOTHING;
-- name: select
SELECT p.org, p.level, p.owner, $m.message FROM messages AS m JOIN partitions AS p USING (pid)
-- name: where_ids
WHERE m.pid = ANY(:pids) AND m.id = ANY(:ids) AND m.state != 'erased';
-- name: where_turn
WHERE m.pid = ANY(:pids) AND m.turn_id = :turn_id AND m.state != 'erased'
ORDER BY m.position, m.id;
-- name: where_external_id
WHERE m.pid = :pid AND m.session = :session AND [[m.external_id = ANY(:external_ids)|m.external_id IS NOT NULL
    AND m.external_sha256 IN (SELECT text_sha256(asked) FROM unnest(:external_ids::text[]) AS asked)]];
-- name: where_latest
WHERE m.pid = ANY(:pids) AND m.session = :session AND m.state != 'erased'
ORDER BY m.position DESC, m.id DESC LIMIT greatest(:limit, 0);
-- name: where_page
WHERE m.pid = ANY(:pids) AND m.id > :after AND m.state != 'erased'
ORDER BY m.id LIMIT greatest(:limit, 0);
-- name: erase
UPDATE messages SET state = 'erased', text = '', name = NULL, metadata = '{}', bookkeeping = '{}', terms = '', changed = :changed
WHERE pid = :pid AND state != 'erased' AND id = ANY(:ids)
RETURNING id;
