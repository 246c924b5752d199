-- name: set_up
SELECT
    set_config('search_path', quote_ident(%(schema)s) || ', ' || coalesce(
        (SELECT quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
         WHERE e.extname = 'vector'),
        'public'
    ), false),
    set_config('lock_timeout', %(lock_wait_ms)s, false),
    set_config('statement_timeout', %(statement_timeout_ms)s, false),
    CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END;
-- name: begin_read
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
-- name: begin_write
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
-- name: commit
COMMIT;
-- name: rollback
ROLLBACK;
-- name: see_orgs
SELECT set_config('mnemic.orgs', %(orgs)s::text[]::text, true);
-- name: see_every_org
SELECT set_config('mnemic.every_org', %(is_on)s, true);
-- name: encoding
SELECT current_setting('server_encoding');
-- name: has_version
SELECT to_regclass(format('%%I.schema_version', %(schema)s::text)) IS NOT NULL;
-- name: version
SELECT coalesce(max(version), 0) FROM schema_version;
-- name: lock_migrations
SELECT pg_advisory_xact_lock(%(key)s);
-- name: has_schema
SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = %(schema)s);
-- name: create_schema
CREATE SCHEMA IF NOT EXISTS {schema};
-- name: create_version
CREATE TABLE IF NOT EXISTS schema_version (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
-- name: mark
INSERT INTO schema_version (version) VALUES (%(version)s);
-- name: diagnosis
SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    pg_is_in_recovery(), (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
    (SELECT string_agg(c.relname, ', ' ORDER BY c.relname) FROM pg_class AS c
     JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'org' AND NOT a.attisdropped
     WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND NOT row_security_active(c.oid));
