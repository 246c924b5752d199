-- Everything Mnemic keeps. Times are microseconds since 1970-01-01 UTC; JSON columns hold UTF-8 JSON text.
-- Every key begins with its partition. `changed` is the partition version at which a row was last written.

CREATE TABLE partitions (
    pid INTEGER PRIMARY KEY AUTOINCREMENT,
    org TEXT NOT NULL,
    level TEXT NOT NULL CHECK (level IN ('session', 'user', 'agent', 'org')),
    owner TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    UNIQUE (org, level, owner)
) STRICT;

CREATE TABLE conversations (
    pid INTEGER NOT NULL REFERENCES partitions,
    session TEXT NOT NULL,
    turns INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (pid, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    changed INTEGER NOT NULL,
    session TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    name TEXT,
    text TEXT NOT NULL,
    observed_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    agent TEXT,
    external_id TEXT,
    trust TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'quarantined', 'archived', 'erased')),
    metadata TEXT NOT NULL,
    analyser TEXT NOT NULL,
    terms TEXT NOT NULL,
    UNIQUE (pid, id),
    UNIQUE (pid, session, position)
) STRICT;
CREATE UNIQUE INDEX messages_external ON messages (pid, session, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX messages_changed ON messages (pid, changed);
CREATE INDEX messages_turn ON messages (pid, turn_id);

CREATE TABLE memories (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    changed INTEGER NOT NULL,
    private_agent TEXT NOT NULL DEFAULT '',
    dedup_key TEXT NOT NULL,
    text TEXT NOT NULL,
    kind TEXT NOT NULL,
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    categories TEXT NOT NULL,
    context TEXT NOT NULL,
    snippet TEXT NOT NULL,
    source TEXT NOT NULL,
    agent TEXT,
    observed_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    retired_at INTEGER,
    expires_at INTEGER,
    last_accessed_at INTEGER,
    access_count INTEGER NOT NULL DEFAULT 0,
    is_pinned INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL
        CHECK (state IN ('active', 'quarantined', 'superseded', 'disputed', 'archived', 'erased')),
    other_id TEXT,
    trust TEXT NOT NULL,
    provenance TEXT NOT NULL,
    metadata TEXT NOT NULL,
    analyser TEXT NOT NULL,
    terms TEXT NOT NULL,
    UNIQUE (pid, id)
) STRICT;
CREATE UNIQUE INDEX memories_dedup ON memories (pid, private_agent, dedup_key)
    WHERE state IN ('active', 'quarantined');
CREATE INDEX memories_changed ON memories (pid, changed);
CREATE INDEX memories_newest ON memories (pid, created_at);
CREATE INDEX memories_important ON memories (pid, importance);

CREATE TABLE spaces (
    space TEXT PRIMARY KEY,
    dims INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL REFERENCES partitions,
    item_id TEXT NOT NULL,
    view TEXT NOT NULL,
    space TEXT NOT NULL REFERENCES spaces,
    vector BLOB NOT NULL,
    UNIQUE (pid, item_id, view, space)
) STRICT;

CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'done', 'dead')),
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    worker TEXT,
    leased_until INTEGER,
    error TEXT NOT NULL,
    UNIQUE (pid, id)
) STRICT;
CREATE UNIQUE INDEX jobs_open ON jobs (pid, kind, key) WHERE state IN ('pending', 'running');
CREATE INDEX jobs_due ON jobs (state, run_at);

CREATE TABLE history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    item_id TEXT NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    UNIQUE (pid, id)
) STRICT;
CREATE INDEX history_item ON history (pid, item_id);

CREATE TABLE profiles (
    pid INTEGER NOT NULL REFERENCES partitions,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (pid, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    changed INTEGER NOT NULL,
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    media_type TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    text TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'ready', 'failed', 'erased')),
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (pid, id)
) STRICT;

CREATE TABLE chunks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    changed INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    chunk_index INTEGER NOT NULL DEFAULT 0,
    page_number INTEGER,
    span_start INTEGER NOT NULL,
    span_end INTEGER NOT NULL,
    token_count INTEGER NOT NULL DEFAULT 0,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'quarantined', 'archived', 'erased')),
    created_at INTEGER NOT NULL,
    analyser TEXT NOT NULL,
    terms TEXT NOT NULL,
    UNIQUE (pid, id),
    FOREIGN KEY (pid, document_id) REFERENCES documents (pid, id)
) STRICT;
CREATE INDEX chunks_changed ON chunks (pid, changed);

CREATE TABLE entities (
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    type TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (pid, id),
    UNIQUE (pid, name_key, type)
) STRICT;

CREATE TABLE relations (
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    type TEXT NOT NULL,
    description TEXT NOT NULL,
    weight REAL NOT NULL DEFAULT 1.0,
    valid_from INTEGER,
    valid_to INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (pid, id),
    UNIQUE (pid, source_id, target_id, type)
) STRICT;

CREATE TABLE mentions (
    pid INTEGER NOT NULL REFERENCES partitions,
    item_id TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    PRIMARY KEY (pid, item_id, entity_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    rights TEXT NOT NULL,
    bound_user TEXT,
    bound_agent TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (org, id)
) STRICT;

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    org TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    target TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;

CREATE TABLE receipts (
    org TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    scope_hash TEXT NOT NULL,
    counts TEXT NOT NULL,
    hashes TEXT NOT NULL,
    PRIMARY KEY (org, id)
) STRICT;
