-- The search index of partitions that PostgreSQL searches (docs/decisions/0037-postgresql-search.md). It holds copies and
-- may be emptied at any time. Rows have slots, and postings name slots. Terms are hashes, so no word of a text is here.
CREATE TABLE search_partitions (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    is_of_passages boolean NOT NULL,
    analyser text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    next_slot integer NOT NULL DEFAULT 0,
    PRIMARY KEY (pid, is_of_passages),
    UNIQUE (pid, is_of_passages, org),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org) ON DELETE CASCADE
);

-- Rows that the same readers see: how many, and their total length.
CREATE TABLE search_groups (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    is_of_passages boolean NOT NULL,
    number integer NOT NULL,
    agent text COLLATE "C" NOT NULL,
    is_active boolean NOT NULL,
    kind text COLLATE "C" NOT NULL,
    items bigint NOT NULL,
    total_length bigint NOT NULL,
    PRIMARY KEY (pid, is_of_passages, number),
    FOREIGN KEY (pid, is_of_passages, org) REFERENCES search_partitions (pid, is_of_passages, org) ON DELETE CASCADE
);

-- `record` is what scoring needs, packed, and `terms` what leads to the row's postings.
CREATE TABLE search_rows (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    is_of_passages boolean NOT NULL,
    slot integer NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    group_number integer NOT NULL,
    expires_at bigint,
    observed_at bigint NOT NULL,
    session bigint,
    position bigint NOT NULL,
    author text COLLATE "C" NOT NULL,
    sample integer NOT NULL,
    record bytea NOT NULL,
    terms bytea NOT NULL,
    PRIMARY KEY (pid, is_of_passages, slot),
    UNIQUE (pid, is_of_passages, item_id),
    FOREIGN KEY (pid, is_of_passages, org) REFERENCES search_partitions (pid, is_of_passages, org) ON DELETE CASCADE
);
CREATE INDEX search_rows_session ON search_rows (pid, is_of_passages, session, position) WHERE session IS NOT NULL;
CREATE INDEX search_rows_expiring ON search_rows (pid, is_of_passages, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX search_rows_sample ON search_rows (pid, is_of_passages, sample);

-- The rows of a term, in blocks of 512 slots: few pages per term, and a write rewrites little.
CREATE TABLE search_postings (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    is_of_passages boolean NOT NULL,
    term bigint NOT NULL,
    block integer NOT NULL,
    entries bytea NOT NULL,
    PRIMARY KEY (pid, is_of_passages, term, block),
    FOREIGN KEY (pid, is_of_passages, org) REFERENCES search_partitions (pid, is_of_passages, org) ON DELETE CASCADE
);
ALTER TABLE search_postings ALTER COLUMN entries SET STORAGE PLAIN;

SELECT keep_orgs_apart(name::regclass)
FROM unnest(ARRAY['search_partitions', 'search_groups', 'search_rows', 'search_postings']) AS name;
