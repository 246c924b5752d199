-- name: write_ahead
PRAGMA journal_mode = WAL;
-- name: set_up
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -4000;
-- name: cache_to_write
PRAGMA cache_size = -32000;
-- name: cache_to_read
PRAGMA cache_size = -4000;
-- name: wait
PRAGMA busy_timeout = {ms};
-- name: begin_read
BEGIN;
-- name: begin_write
BEGIN IMMEDIATE;
-- name: commit
COMMIT;
-- name: schema_version
PRAGMA user_version;
-- name: signature
PRAGMA application_id;
-- name: tables
SELECT count(*) FROM sqlite_schema;
-- name: mark
PRAGMA user_version = {version};
-- name: sign
PRAGMA application_id = {application_id};
-- name: glance
SELECT count(*) FROM sqlite_master;
-- name: brief_check
PRAGMA quick_check(1);
-- name: check
PRAGMA integrity_check(3);
-- name: write_back
PRAGMA wal_checkpoint(PASSIVE);
-- name: truncate_write_ahead
PRAGMA wal_checkpoint(TRUNCATE);
