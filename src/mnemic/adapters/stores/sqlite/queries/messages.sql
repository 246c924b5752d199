-- name: conversation
SELECT turns, messages, started_at, last_at FROM conversations WHERE pid = :pid AND session = :session;
-- name: begin_conversation
INSERT INTO conversations (pid, session, turns, messages, started_at, last_at)
VALUES (:pid, :session, 0, 0, :at, :at);
-- name: advance_conversation
UPDATE conversations SET turns = max(turns, :turn), messages = max(messages, :position), last_at = max(last_at, :at)
WHERE pid = :pid AND session = :session;
-- name: insert
INSERT INTO messages (pid, id, changed, session, turn_id, turn, position, role, name, text, observed_at, created_at,
    agent, external_id, trust, state, metadata, bookkeeping, analyser, terms)
VALUES (:pid, :id, :changed, :session, :turn_id, :turn, :position, :role, :name, :text, :observed_at, :created_at,
    :agent, :external_id, :trust, :state, :metadata, :bookkeeping, :analyser, :terms);
-- name: get
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid IN (SELECT value FROM json_each(:pids)) AND m.id IN (SELECT value FROM json_each(:ids))
    AND m.state != 'erased';
-- name: of_turn
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid IN (SELECT value FROM json_each(:pids)) AND m.turn_id = :turn_id AND m.state != 'erased'
ORDER BY m.position, m.id;
-- name: by_external_id
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid = :pid AND m.session = :session AND m.external_id IN (SELECT value FROM json_each(:external_ids));
-- name: latest
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid IN (SELECT value FROM json_each(:pids)) AND m.session = :session AND m.state != 'erased'
ORDER BY m.position DESC, m.id DESC LIMIT :limit;
-- name: page
SELECT p.org, p.level, p.owner, m.id, m.session, m.turn_id, m.turn, m.position, m.role, m.name, m.text, m.observed_at,
    m.created_at, m.agent, m.external_id, m.trust, m.state, m.metadata, m.bookkeeping
FROM messages AS m JOIN partitions AS p USING (pid)
WHERE m.pid IN (SELECT value FROM json_each(:pids)) AND m.id > :after AND m.state != 'erased'
ORDER BY m.id LIMIT :limit;
-- name: erase
UPDATE messages SET state = 'erased', text = '', name = NULL, metadata = '{}', bookkeeping = '{}', terms = '', changed = :changed
WHERE pid = :pid AND state != 'erased' AND id IN (SELECT value FROM json_each(:ids))
RETURNING id;
