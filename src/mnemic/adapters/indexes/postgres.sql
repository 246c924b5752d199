-- name: see
SELECT set_config('mnemic.orgs', %(orgs)s::text[]::text, true), set_config('hnsw.ef_search', '100', true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('plan_cache_mode', 'force_custom_plan', true),
    set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true);
-- name: version
SELECT s.version FROM partitions AS p JOIN search_partitions AS s ON s.pid = p.pid
WHERE p.org = %(org)s AND p.level = %(level)s AND p.owner_sha256 = text_sha256(%(owner)s) AND p.owner = %(owner)s
    AND s.is_of_passages = %(side)s AND s.analyser = %(analyser)s;
-- name: begin
INSERT INTO search_partitions (pid, org, is_of_passages, analyser)
SELECT p.pid, p.org, %(side)s, %(analyser)s FROM partitions AS p
WHERE p.org = %(org)s AND p.level = %(level)s AND p.owner_sha256 = text_sha256(%(owner)s) AND p.owner = %(owner)s
ON CONFLICT DO NOTHING;
-- name: lock
SELECT s.pid, s.version, s.next_slot, s.analyser
FROM partitions AS p JOIN search_partitions AS s ON s.pid = p.pid
WHERE p.org = %(org)s AND p.level = %(level)s AND p.owner_sha256 = text_sha256(%(owner)s) AND p.owner = %(owner)s
    AND s.is_of_passages = %(side)s
FOR UPDATE OF s;
-- name: drop
DELETE FROM search_partitions AS s USING partitions AS p
WHERE s.pid = p.pid AND p.org = %(org)s AND p.level = %(level)s AND p.owner_sha256 = text_sha256(%(owner)s)
    AND p.owner = %(owner)s AND s.is_of_passages = %(side)s;
-- name: advance
UPDATE search_partitions SET version = %(version)s, next_slot = %(next_slot)s
WHERE pid = %(pid)s AND is_of_passages = %(side)s;
-- name: analyse
ANALYZE search_partitions, search_groups, search_rows, search_postings;
-- name: groups
SELECT number, agent, is_active, kind, items, total_length FROM search_groups
WHERE pid = %(pid)s AND is_of_passages = %(side)s;
-- name: count_group
INSERT INTO search_groups (pid, org, is_of_passages, number, agent, is_active, kind, items, total_length)
VALUES (%(pid)s, %(org)s, %(side)s, %(number)s, %(agent)s, %(is_active)s, %(kind)s, %(items)s, %(total_length)s)
ON CONFLICT (pid, is_of_passages, number) DO UPDATE
SET items = search_groups.items + excluded.items, total_length = search_groups.total_length + excluded.total_length;
-- name: held_rows
SELECT item_id, slot, group_number, record, terms FROM search_rows
WHERE pid = %(pid)s AND is_of_passages = %(side)s AND item_id = ANY(%(ids)s);
-- name: remove_rows
DELETE FROM search_rows WHERE pid = %(pid)s AND is_of_passages = %(side)s AND slot = ANY(%(slots)b::integer[]);
-- name: put_rows
INSERT INTO search_rows (
    pid, org, is_of_passages, slot, item_id, group_number, expires_at, observed_at, session, position, author, sample,
    record, terms
)
SELECT %(pid)s, %(org)s, %(side)s, new.* FROM unnest(
    %(slot)s::integer[], %(item_id)s::text[], %(group_number)s::integer[], %(expires_at)s::bigint[],
    %(observed_at)s::bigint[], %(session)s::bigint[], %(position)s::bigint[], %(author)s::text[],
    %(sample)s::integer[], %(record)b::bytea[], %(terms)b::bytea[]
) AS new
ON CONFLICT (pid, is_of_passages, slot) DO UPDATE SET expires_at = excluded.expires_at,
    observed_at = excluded.observed_at, session = excluded.session, position = excluded.position,
    author = excluded.author, record = excluded.record;
-- name: held_postings
SELECT h.term, h.block, h.entries
FROM unnest(%(term)s::bigint[], %(block)s::integer[]) AS key (term, block)
JOIN search_postings AS h ON h.pid = %(pid)s AND h.is_of_passages = %(side)s AND h.term = key.term
    AND h.block = key.block;
-- name: cut_postings
UPDATE search_postings AS h SET entries = new.entries
FROM unnest(%(term)s::bigint[], %(block)s::integer[], %(entries)b::bytea[]) AS new (term, block, entries)
WHERE h.pid = %(pid)s AND h.is_of_passages = %(side)s AND h.term = new.term AND h.block = new.block;
-- name: remove_empty_postings
DELETE FROM search_postings AS h USING unnest(%(term)s::bigint[], %(block)s::integer[]) AS key (term, block)
WHERE h.pid = %(pid)s AND h.is_of_passages = %(side)s AND h.term = key.term AND h.block = key.block
    AND length(h.entries) = 0;
-- name: add_postings
INSERT INTO search_postings (pid, org, is_of_passages, term, block, entries)
SELECT %(pid)s, %(org)s, %(side)s, new.*
FROM unnest(%(term)s::bigint[], %(block)s::integer[], %(entries)b::bytea[]) AS new
ON CONFLICT (pid, is_of_passages, term, block) DO UPDATE SET entries = search_postings.entries || excluded.entries;
-- name: opened
SELECT s.pid, s.version, g.number, g.agent, g.is_active, g.kind, g.items, g.total_length
FROM partitions AS p JOIN search_partitions AS s ON s.pid = p.pid
LEFT JOIN search_groups AS g ON g.pid = s.pid AND g.is_of_passages = s.is_of_passages
WHERE p.org = %(org)s AND p.level = %(level)s AND p.owner_sha256 = text_sha256(%(owner)s) AND p.owner = %(owner)s
    AND s.is_of_passages = %(side)s AND s.analyser = %(analyser)s;
-- name: expired
SELECT slot, group_number, record FROM search_rows
WHERE pid = %(pid)s AND is_of_passages = %(side)s AND expires_at <= %(now)s;
-- name: postings
SELECT term, string_agg(entries, ''::bytea) FROM search_postings
WHERE pid = %(pid)s AND is_of_passages = %(side)s AND term = ANY(%(terms)s::bigint[]) GROUP BY term;
-- name: admitted
SELECT string_agg(int4send(slot), ''::bytea ORDER BY slot) FROM search_rows
WHERE pid = %(pid)s AND is_of_passages = %(side)s AND (
    item_id = ANY(%(allowed)s::text[])
    OR (group_number = ANY(%(messages)s::integer[]) AND observed_at <= %(messages_until)s)
);
-- name: dims
SELECT dims FROM spaces WHERE space = %(space)s;
-- name: compared
WITH seen AS MATERIALIZED (
    SELECT r.slot, -(v.vector <#> %(vector)b::vector) AS cosine,
        r.group_number = ANY(%(wanted)s::integer[])
            AND (%(admitted)s::integer[] IS NULL OR r.slot = ANY(%(admitted)s::integer[])) AS is_wanted
    FROM search_rows AS r
    JOIN vectors AS v ON v.pid = r.pid AND v.item_id = r.item_id AND v.view = 'item' AND v.space = %(space)s
    WHERE r.pid = %(pid)s AND r.is_of_passages = %(side)s AND r.group_number = ANY(%(seen)s::integer[])
        AND (r.expires_at IS NULL OR r.expires_at > %(now)s)
)
SELECT count(*), coalesce(sum(cosine), 0), coalesce(sum(cosine * cosine), 0), (
    SELECT string_agg(int4send(slot), ''::bytea) FROM (
        SELECT slot FROM seen WHERE is_wanted ORDER BY cosine DESC, slot LIMIT %(limit)s
    ) AS best
)
FROM seen;
-- name: wanted_near
SELECT string_agg(int4send(best.slot), ''::bytea) FROM (
    SELECT r.slot FROM search_rows AS r
    JOIN vectors AS v ON v.pid = r.pid AND v.item_id = r.item_id AND v.view = 'item' AND v.space = %(space)s
    WHERE r.pid = %(pid)s AND r.is_of_passages = %(side)s
        AND (%(admitted)s::integer[] IS NULL OR r.slot = ANY(%(admitted)s::integer[]))
        AND r.group_number = ANY(%(wanted)s::integer[]) AND (r.expires_at IS NULL OR r.expires_at > %(now)s)
    ORDER BY v.vector <#> %(vector)b::vector, r.slot LIMIT %(limit)s
) AS best;
-- name: sample
SELECT string_agg(vector_send(v.vector), ''::bytea) FROM search_rows AS r
JOIN vectors AS v ON v.pid = r.pid AND v.item_id = r.item_id AND v.view = 'item' AND v.space = %(space)s
WHERE r.pid = %(pid)s AND r.is_of_passages = %(side)s AND r.group_number = ANY(%(seen)s::integer[])
    AND (r.expires_at IS NULL OR r.expires_at > %(now)s) AND r.sample < %(below)s;
-- name: near
SELECT string_agg(int4send(best.slot), ''::bytea) FROM (
    SELECT r.slot FROM vectors AS v
    JOIN search_rows AS r ON r.pid = v.pid AND r.is_of_passages = %(side)s AND r.item_id = v.item_id
    WHERE v.pid = {pid} AND v.space = {space} AND v.view = 'item'
        AND r.group_number = ANY(%(wanted)s::integer[]) AND (r.expires_at IS NULL OR r.expires_at > %(now)s)
        AND (%(admitted)s::integer[] IS NULL OR r.slot = ANY(%(admitted)s::integer[]))
    ORDER BY v.vector::halfvec({dims}) <#> %(vector)b::vector::halfvec({dims}) LIMIT %(limit)s
) AS best;
-- name: beside
SELECT string_agg(int4send(slot), ''::bytea) FROM (
    SELECT DISTINCT b.slot
    FROM search_rows AS r JOIN search_rows AS b ON b.pid = r.pid AND b.is_of_passages = r.is_of_passages
        AND b.session = r.session AND b.position BETWEEN r.position - %(steps)s AND r.position + %(steps)s
    WHERE r.pid = %(pid)s AND r.is_of_passages = %(side)s AND r.slot = ANY(%(slots)s::integer[])
        AND b.group_number = ANY(%(wanted)s::integer[]) AND (b.expires_at IS NULL OR b.expires_at > %(now)s)
        AND (%(admitted)s::integer[] IS NULL OR b.slot = ANY(%(admitted)s::integer[]))
) AS found;
-- name: rows
SELECT string_agg(record, ''::bytea ORDER BY slot), array_agg(item_id ORDER BY slot), string_agg(
    CASE WHEN author != '' AND string_to_array(author, ' ') && %(words)s::text[] THEN '\x01'::bytea ELSE '\x00'::bytea END,
    ''::bytea ORDER BY slot
), string_agg(coalesce(float4send(cosine), float4send('NaN')), ''::bytea ORDER BY slot) FROM (
    SELECT r.slot, r.record, r.item_id, r.author, (-(v.vector <#> %(vector)b::vector))::real AS cosine
    FROM search_rows AS r
    LEFT JOIN vectors AS v ON v.pid = r.pid AND v.item_id = r.item_id AND v.view = 'item' AND v.space = %(space)s
    WHERE r.pid = %(pid)s AND r.is_of_passages = %(side)s AND r.slot = ANY(%(slots)s::integer[])
    OFFSET 0
) AS compared;
-- name: cosines
SELECT string_agg(coalesce(float4send(cosine), float4send('NaN')), ''::bytea ORDER BY slot) FROM (
    SELECT r.slot, (-(v.vector <#> %(vector)b::vector))::real AS cosine
    FROM search_rows AS r
    LEFT JOIN vectors AS v ON v.pid = r.pid AND v.item_id = r.item_id AND v.view = 'item' AND v.space = %(space)s
    WHERE r.pid = %(pid)s AND r.is_of_passages = %(side)s AND r.slot = ANY(%(slots)s::integer[])
    OFFSET 0
) AS compared;
-- name: graphs
SELECT c.relname FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND i.indisvalid AND c.relname = ANY(%(names)s::text[]);
-- name: claim_graphs
SELECT pg_try_advisory_lock(hashtextextended('search_hnsw ' || current_schema(), 0));
-- name: idle_graphs
SELECT c.relname
FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid,
    LATERAL (SELECT split_part(c.relname, '_', 3)::bigint AS pid, right(c.relname, 16) AS space_hash) AS graph
WHERE c.relnamespace = current_schema()::regnamespace AND starts_with(c.relname, 'search_hnsw_') AND NOT (
    i.indisvalid
    AND EXISTS (SELECT 1 FROM partitions AS p WHERE p.pid = graph.pid)
    AND EXISTS (
        SELECT 1 FROM spaces
        WHERE left(encode(sha256(convert_to(space, 'UTF8')), 'hex'), 16) = graph.space_hash
    )
    -- NULL: the rows are not indexed now. The next search indexes them again.
    AND coalesce((
        SELECT max(side.items) FROM (
            SELECT sum(g.items) AS items FROM search_groups AS g WHERE g.pid = graph.pid GROUP BY g.is_of_passages
        ) AS side
    ) > %(least_rows)s, true)
);
-- name: remove_graph
DROP INDEX CONCURRENTLY IF EXISTS {name};
-- name: room
SELECT set_config('maintenance_work_mem', '512MB', false), set_config('lock_timeout', '0', false),
    set_config('mnemic.every_org', 'on', false);
-- name: make_graph
CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON vectors USING hnsw ((vector::halfvec({dims})) halfvec_ip_ops)
WITH (m = 16, ef_construction = 64) WHERE pid = {pid} AND space = {space} AND view = 'item';
-- name: summary
SELECT count(*), (SELECT count(*) FROM search_rows), (
    SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace
        AND starts_with(relname, 'search_hnsw_')
) FROM search_partitions;
-- name: see_all
SELECT set_config('mnemic.every_org', 'on', true);
