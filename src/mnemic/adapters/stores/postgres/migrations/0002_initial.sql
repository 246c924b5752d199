-- Everything Mnemic keeps. Times are microseconds since 1970-01-01 UTC. Every key begins with its partition, and every
-- row carries the org of its partition, which the foreign key keeps true: row-level security can test it in place.
-- `changed` is the partition version at which a row was last written. Texts sort by code point (COLLATE "C").
-- Metadata is kept verbatim, as JSON text; `filterable` is what conditions look at (jsonb forgets the order of keys).

-- Long texts are made unique by digest: a B-tree row holds at most 2,704 bytes. Immutable, since the database is UTF-8.
CREATE FUNCTION text_sha256(value text) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT pg_catalog.sha256(pg_catalog.convert_to(value, 'UTF8')) $$;

CREATE TABLE partitions (
    pid bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org text COLLATE "C" NOT NULL,
    level text COLLATE "C" NOT NULL CHECK (level IN ('session', 'user', 'agent', 'org')),
    owner text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    UNIQUE (pid, org)
);
CREATE UNIQUE INDEX partitions_key ON partitions (org, level, text_sha256(owner));

CREATE TABLE conversations (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    turns bigint NOT NULL,
    messages bigint NOT NULL,
    started_at bigint NOT NULL,
    last_at bigint NOT NULL,
    PRIMARY KEY (pid, session),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);

CREATE TABLE messages (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    changed bigint NOT NULL,
    session text COLLATE "C" NOT NULL,
    turn_id text COLLATE "C" NOT NULL,
    turn bigint NOT NULL,
    position bigint NOT NULL,
    role text COLLATE "C" NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    name text COLLATE "C",
    text text COLLATE "C" NOT NULL,
    observed_at bigint NOT NULL,
    created_at bigint NOT NULL,
    agent text COLLATE "C",
    external_id text COLLATE "C",
    trust text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'quarantined', 'archived', 'erased')),
    metadata text NOT NULL,
    analyser text COLLATE "C" NOT NULL,
    terms text COLLATE "C" NOT NULL,
    UNIQUE (pid, id),
    UNIQUE (pid, session, position),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE UNIQUE INDEX messages_external ON messages (pid, session, text_sha256(external_id))
    WHERE external_id IS NOT NULL;
CREATE INDEX messages_changed ON messages (pid, changed);
CREATE INDEX messages_turn ON messages (pid, turn_id);

CREATE TABLE memories (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    changed bigint NOT NULL,
    private_agent text COLLATE "C" NOT NULL DEFAULT '',
    dedup_key text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    importance double precision NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    categories text[] COLLATE "C" NOT NULL,
    context text COLLATE "C" NOT NULL,
    snippet text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    agent text COLLATE "C",
    observed_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    valid_from bigint,
    valid_to bigint,
    retired_at bigint,
    expires_at bigint,
    last_accessed_at bigint,
    access_count bigint NOT NULL DEFAULT 0,
    is_pinned boolean NOT NULL DEFAULT false,
    state text COLLATE "C" NOT NULL
        CHECK (state IN ('active', 'quarantined', 'superseded', 'disputed', 'archived', 'erased')),
    other_id text COLLATE "C",
    trust text COLLATE "C" NOT NULL,
    provenance text NOT NULL,
    metadata text NOT NULL,
    filterable jsonb NOT NULL,
    analyser text COLLATE "C" NOT NULL,
    terms text COLLATE "C" NOT NULL,
    UNIQUE (pid, id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE UNIQUE INDEX memories_dedup ON memories (pid, private_agent, text_sha256(dedup_key))
    WHERE state IN ('active', 'quarantined');
CREATE INDEX memories_changed ON memories (pid, changed);
CREATE INDEX memories_newest ON memories (pid, created_at);
CREATE INDEX memories_important ON memories (pid, importance);
CREATE INDEX memories_filterable ON memories USING gin (filterable jsonb_path_ops);

CREATE TABLE spaces (
    space text COLLATE "C" PRIMARY KEY,
    dims integer NOT NULL
);

-- The column is of no fixed dimension: a space is (see docs/decisions/0005-postgresql.md). A row means: has a vector.
CREATE TABLE vectors (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    view text COLLATE "C" NOT NULL,
    space text COLLATE "C" NOT NULL REFERENCES spaces,
    vector vector NOT NULL,
    PRIMARY KEY (pid, item_id, view, space),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);

CREATE TABLE jobs (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'running', 'done', 'dead')),
    attempts bigint NOT NULL,
    created_at bigint NOT NULL,
    run_at bigint NOT NULL,
    worker text COLLATE "C",
    leased_until bigint,
    error text COLLATE "C" NOT NULL,
    UNIQUE (pid, id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE UNIQUE INDEX jobs_open ON jobs (pid, kind, text_sha256(key)) WHERE state IN ('pending', 'running');
CREATE INDEX jobs_due ON jobs (state, run_at);

CREATE TABLE history (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    before text NOT NULL,
    after text NOT NULL,
    UNIQUE (pid, id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE INDEX history_item ON history (pid, item_id);

CREATE TABLE profiles (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE UNIQUE INDEX profiles_key ON profiles (pid, text_sha256(key));
