-- Row security: a second line behind our own visibility. A transaction sees and writes the rows of the orgs that
-- `mnemic.orgs` names (an array of text as a literal, set for this transaction alone), so that a statement which forgets
-- its partition finds nothing of another org. Maintenance, which goes through all orgs, sets `mnemic.every_org` to `on`.
-- FORCE, since Mnemic may be the owner; superusers and roles with BYPASSRLS pass by all the same, and the doctor says so.
-- It guards against mistakes of ours, not against who may send SQL of his own: he can set these too.

-- Under a policy only what cannot leak may be looked up in an index, and convert_to may. So digests become columns.
ALTER TABLE partitions ADD COLUMN owner_sha256 bytea GENERATED ALWAYS AS (text_sha256(owner)) STORED;
DROP INDEX partitions_key;
CREATE UNIQUE INDEX partitions_key ON partitions (org, level, owner_sha256);

ALTER TABLE messages ADD COLUMN external_sha256 bytea GENERATED ALWAYS AS (text_sha256(external_id)) STORED;
DROP INDEX messages_external;
CREATE UNIQUE INDEX messages_external ON messages (pid, session, external_sha256) WHERE external_id IS NOT NULL;

ALTER TABLE memories ADD COLUMN dedup_sha256 bytea GENERATED ALWAYS AS (text_sha256(dedup_key)) STORED;
DROP INDEX memories_dedup;
CREATE UNIQUE INDEX memories_dedup ON memories (pid, private_agent, dedup_sha256)
    WHERE state IN ('active', 'quarantined');

ALTER TABLE jobs ADD COLUMN key_sha256 bytea GENERATED ALWAYS AS (text_sha256(key)) STORED;
DROP INDEX jobs_open;
CREATE UNIQUE INDEX jobs_open ON jobs (pid, kind, key_sha256) WHERE state IN ('pending', 'running');

ALTER TABLE profiles ADD COLUMN key_sha256 bytea GENERATED ALWAYS AS (text_sha256(key)) STORED;
DROP INDEX profiles_key;
CREATE UNIQUE INDEX profiles_key ON profiles (pid, key_sha256);

ALTER TABLE documents ADD COLUMN source_sha256 bytea GENERATED ALWAYS AS (text_sha256(source)) STORED;
DROP INDEX documents_source;
CREATE UNIQUE INDEX documents_source ON documents (pid, private_agent, source_sha256) WHERE status != 'erased';

-- For every table with the rows of orgs, those of later migrations too. The settings are read once in a statement (each
-- is a subselect), and are empty, not missing, where an earlier transaction of the connection had set them.
CREATE FUNCTION keep_orgs_apart(in_table regclass) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', in_table);
    EXECUTE format(
        $policy$
            CREATE POLICY orgs ON %s USING (
                org = ANY ((SELECT nullif(current_setting('mnemic.orgs', true), '')::text[])::text[])
                OR (SELECT current_setting('mnemic.every_org', true) = 'on')
            )
        $policy$,
        in_table
    );
END
$$;
SELECT keep_orgs_apart(name::regclass) FROM unnest(ARRAY[
    'partitions', 'conversations', 'messages', 'memories', 'vectors', 'jobs', 'history', 'profiles', 'cursors',
    'documents', 'document_texts', 'chunks', 'api_keys', 'audit', 'receipts'
]) AS name;

-- The functions for SQL of one's own show the org that they are asked for, and afterwards what was shown before.
CREATE OR REPLACE FUNCTION search_memories(
    in_org text,
    in_user text,
    in_space text,
    query vector,
    max_results integer DEFAULT 5,
    min_similarity double precision DEFAULT 0.5
)
RETURNS TABLE (
    id text, type varchar, content text, importance numeric, access_count integer, similarity double precision
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    shown_before text := coalesce(current_setting('mnemic.orgs', true), '');
BEGIN
    PERFORM set_config('mnemic.orgs', ARRAY[in_org]::text, true);
    RETURN QUERY
    WITH visible AS MATERIALIZED (
        SELECT m.id, m.kind, m.text, m.importance, m.access_count, v.vector
        FROM partitions AS p
        JOIN memories AS m ON m.pid = p.pid
        JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = in_space
        WHERE p.org = in_org AND p.level = 'user' AND p.owner_sha256 = text_sha256(in_user) AND p.owner = in_user
            AND m.state = 'active' AND m.private_agent = ''
            AND (m.expires_at IS NULL OR m.expires_at > extract(epoch FROM now()) * 1000000)
    ), compared AS (
        SELECT visible.*, visible.vector <=> query AS distance FROM visible
    )
    SELECT c.id, c.kind::varchar(20), c.text, c.importance::numeric(3, 2), c.access_count::integer, 1 - c.distance
    FROM compared AS c
    WHERE 1 - c.distance >= min_similarity
    ORDER BY c.distance, c.importance DESC, c.id
    LIMIT max_results;
    PERFORM set_config('mnemic.orgs', shown_before, true);
END
$$;

CREATE OR REPLACE FUNCTION search_chunks(
    in_org text,
    in_user text,
    in_space text,
    query vector,
    max_results integer DEFAULT 5,
    min_similarity double precision DEFAULT 0.5
)
RETURNS TABLE (
    id text, document_id text, source text, title text, chunk_index bigint, page_number bigint, content text,
    similarity double precision
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    shown_before text := coalesce(current_setting('mnemic.orgs', true), '');
BEGIN
    PERFORM set_config('mnemic.orgs', ARRAY[in_org]::text, true);
    RETURN QUERY
    WITH visible AS MATERIALIZED (
        SELECT c.id, c.document_id, d.source, d.title, c.chunk_index, c.page_number, c.text, v.vector
        FROM partitions AS p
        JOIN documents AS d ON d.pid = p.pid
        JOIN chunks AS c ON c.pid = d.pid AND c.document_id = d.id
        JOIN vectors AS v ON v.pid = c.pid AND v.item_id = c.id AND v.view = 'item' AND v.space = in_space
        WHERE p.org = in_org AND p.level = 'user' AND p.owner_sha256 = text_sha256(in_user) AND p.owner = in_user
            AND d.status != 'erased' AND d.private_agent = '' AND c.state = 'active'
    ), compared AS (
        SELECT visible.*, visible.vector <=> query AS distance FROM visible
    )
    SELECT f.id, f.document_id, f.source, f.title, f.chunk_index, f.page_number, f.text, 1 - f.distance
    FROM compared AS f
    WHERE 1 - f.distance >= min_similarity
    ORDER BY f.distance, f.id
    LIMIT max_results;
    PERFORM set_config('mnemic.orgs', shown_before, true);
END
$$;

CREATE OR REPLACE FUNCTION index_space(in_space text, in_method text DEFAULT 'hnsw') RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    in_dims integer := (SELECT dims FROM spaces WHERE space = in_space);
    suffix text := left(md5(in_space), 16);
    shown_before text := coalesce(current_setting('mnemic.every_org', true), '');
    is_empty boolean;
BEGIN
    IF in_dims IS NULL THEN
        RAISE EXCEPTION 'there is no space %', in_space;
    END IF;
    IF in_method NOT IN ('hnsw', 'ivfflat') THEN
        RAISE EXCEPTION 'an index is hnsw or ivfflat, not %', in_method;
    END IF;
    PERFORM set_config('mnemic.every_org', 'on', true);
    is_empty := NOT EXISTS (SELECT 1 FROM vectors WHERE space = in_space);
    PERFORM set_config('mnemic.every_org', shown_before, true);
    IF in_method = 'ivfflat' AND is_empty THEN
        RAISE EXCEPTION 'space % has no vectors yet, from which ivfflat could learn', in_space;
    END IF;
    EXECUTE format('DROP INDEX IF EXISTS %I',
        'vectors_' || CASE in_method WHEN 'hnsw' THEN 'ivfflat' ELSE 'hnsw' END || '_' || suffix);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON vectors USING %s ((vector::vector(%s)) vector_cosine_ops) '
        'WITH (%s) WHERE space = %L',
        'vectors_' || in_method || '_' || suffix, in_method, in_dims,
        CASE in_method WHEN 'hnsw' THEN 'm = 16, ef_construction = 64' ELSE 'lists = 100' END, in_space
    );
END
$$;
