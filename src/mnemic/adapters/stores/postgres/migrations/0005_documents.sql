-- Documents and their passages. The text of a document stands apart, as in the embedded store: it may be millions of
-- characters, and lists and changes of status should not move it. Vectors of chunks are rows of `vectors` like all others.

CREATE TABLE documents (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    private_agent text COLLATE "C" NOT NULL DEFAULT '',
    source text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    media_type text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL
        CHECK (status IN ('pending', 'processing', 'ready', 'failed', 'erased')),
    reason text COLLATE "C" NOT NULL,
    sha256 text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    pages text NOT NULL,
    headings text NOT NULL,
    characters bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    metadata text NOT NULL,
    PRIMARY KEY (pid, id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE UNIQUE INDEX documents_source ON documents (pid, private_agent, text_sha256(source)) WHERE status != 'erased';

CREATE TABLE document_texts (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    PRIMARY KEY (pid, document_id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (pid, document_id) REFERENCES documents (pid, id)
);

CREATE TABLE chunks (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    changed bigint NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    chunk_index bigint NOT NULL DEFAULT 0,
    page_number bigint,
    span_start bigint NOT NULL,
    span_end bigint NOT NULL,
    token_count bigint NOT NULL DEFAULT 0,
    headings text NOT NULL,
    text text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL
        CHECK (state IN ('active', 'quarantined', 'superseded', 'disputed', 'archived', 'erased')),
    created_at bigint NOT NULL,
    observed_at bigint NOT NULL,
    analyser text COLLATE "C" NOT NULL,
    terms text COLLATE "C" NOT NULL,
    UNIQUE (pid, id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (pid, document_id) REFERENCES documents (pid, id)
);
CREATE UNIQUE INDEX chunks_place ON chunks (pid, document_id, chunk_index) WHERE state != 'erased';
CREATE INDEX chunks_changed ON chunks (pid, changed);
