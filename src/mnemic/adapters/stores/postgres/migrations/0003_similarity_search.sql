-- Similarity search over the memories of one user, for programs that talk to the database themselves. Vectors of the
-- space named only; private, inactive and expired memories, and those without a vector, are left out. Similarity is
-- 1 - cosine distance, the minimum is inclusive; nearest first, ties by importance, then by id.
-- The space is applied before any distance is computed (MATERIALIZED): vectors of other spaces have other dimensions.
CREATE FUNCTION search_memories(
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
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $$
    WITH visible AS MATERIALIZED (
        SELECT m.id, m.kind, m.text, m.importance, m.access_count, v.vector
        FROM partitions AS p
        JOIN memories AS m ON m.pid = p.pid
        JOIN vectors AS v ON v.pid = m.pid AND v.item_id = m.id AND v.view = 'item' AND v.space = in_space
        WHERE p.org = in_org AND p.level = 'user'
            AND text_sha256(p.owner) = text_sha256(in_user) AND p.owner = in_user
            AND m.state = 'active' AND m.private_agent = ''
            AND (m.expires_at IS NULL OR m.expires_at > extract(epoch FROM now()) * 1000000)
    ), compared AS (
        SELECT visible.*, visible.vector <=> query AS distance FROM visible
    )
    SELECT c.id, c.kind::varchar(20), c.text, c.importance::numeric(3, 2), c.access_count::integer, 1 - c.distance
    FROM compared AS c
    WHERE 1 - c.distance >= min_similarity
    ORDER BY c.distance, c.importance DESC, c.id
    LIMIT max_results
$$;

-- An approximate index (HNSW, cosine) on the vectors of one space. It helps queries that name the space and cast to its
-- dimension: ORDER BY vector::vector(dims) <=> query. At most 2,000 dimensions.
CREATE FUNCTION index_space(in_space text) RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    in_dims integer := (SELECT dims FROM spaces WHERE space = in_space);
BEGIN
    IF in_dims IS NULL THEN
        RAISE EXCEPTION 'there is no space %', in_space;
    END IF;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON vectors USING hnsw ((vector::vector(%s)) vector_cosine_ops) '
        'WITH (m = 16, ef_construction = 64) WHERE space = %L',
        'vectors_hnsw_' || left(md5(in_space), 16), in_dims, in_space
    );
END
$$;
