-- 0.5 is to mean: somewhat related. Of the default embedder such texts have a cosine of 0.25 ("User is building Jarvis AI
-- Platform in Java" to "How is my coding project coming along?": 0.26), so its similarity is the root of the cosine. Other
-- embedders keep the cosine. The space is that of the default embedder with its default settings.
CREATE FUNCTION similarity_of(in_space text, distance double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN in_space = 'b5bcd60497a3328c' THEN sqrt(greatest(1 - distance, 0)) ELSE 1 - distance END;

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
    SELECT c.id, c.kind::varchar(20), c.text, c.importance::numeric(3, 2), c.access_count::integer,
        similarity_of(in_space, c.distance)
    FROM compared AS c
    WHERE similarity_of(in_space, c.distance) >= min_similarity
    ORDER BY c.distance, c.importance DESC, c.id
    LIMIT max_results;
    PERFORM set_config('mnemic.orgs', shown_before, true);
END
$$;
