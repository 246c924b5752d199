-- name: untrusted
PRAGMA trusted_schema = OFF;
-- name: checked
PRAGMA cell_size_check = ON;
-- name: is_table
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = :name AND sql NOT LIKE 'CREATE VIRTUAL%';
-- name: history
SELECT * FROM history;
-- name: messages
SELECT * FROM messages;
