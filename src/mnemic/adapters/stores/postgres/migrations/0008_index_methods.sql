-- An approximate index on the vectors of one space, by cosine: `hnsw` (m = 16, ef_construction = 64), or `ivfflat`
-- (lists = 100), which is made quicker, is smaller and finds less. A row of `vectors` means that there is one, so that
-- messages, memories and chunks without a vector are in no index. Making one takes the place of the other.
-- ivfflat learns its lists from the rows that are there, therefore it is refused where there are none.
DROP FUNCTION index_space(text);
CREATE FUNCTION index_space(in_space text, in_method text DEFAULT 'hnsw') RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    in_dims integer := (SELECT dims FROM spaces WHERE space = in_space);
    suffix text := left(md5(in_space), 16);
BEGIN
    IF in_dims IS NULL THEN
        RAISE EXCEPTION 'there is no space %', in_space;
    END IF;
    IF in_method NOT IN ('hnsw', 'ivfflat') THEN
        RAISE EXCEPTION 'an index is hnsw or ivfflat, not %', in_method;
    END IF;
    IF in_method = 'ivfflat' AND NOT EXISTS (SELECT 1 FROM vectors WHERE space = in_space) THEN
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

-- Similarity search over the passages of one user's documents, as `search_memories` is over memories: private documents,
-- passages that are not active, and those without a vector of the space are left out.
CREATE FUNCTION search_chunks(
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
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $$
    WITH visible AS MATERIALIZED (
        SELECT c.id, c.document_id, d.source, d.title, c.chunk_index, c.page_number, c.text, v.vector
        FROM partitions AS p
        JOIN documents AS d ON d.pid = p.pid
        JOIN chunks AS c ON c.pid = d.pid AND c.document_id = d.id
        JOIN vectors AS v ON v.pid = c.pid AND v.item_id = c.id AND v.view = 'item' AND v.space = in_space
        WHERE p.org = in_org AND p.level = 'user'
            AND text_sha256(p.owner) = text_sha256(in_user) AND p.owner = in_user
            AND d.status != 'erased' AND d.private_agent = '' AND c.state = 'active'
    ), compared AS (
        SELECT visible.*, visible.vector <=> query AS distance FROM visible
    )
    SELECT f.id, f.document_id, f.source, f.title, f.chunk_index, f.page_number, f.text, 1 - f.distance
    FROM compared AS f
    WHERE 1 - f.distance >= min_similarity
    ORDER BY f.distance, f.id
    LIMIT max_results
$$;
