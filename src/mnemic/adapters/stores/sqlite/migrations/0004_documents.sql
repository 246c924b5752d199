-- Documents and their passages, in tables that take the place of those which the first version made and never wrote.
-- The text stands apart: it may be millions of characters, and lists and changes of status should not move it.

DROP TABLE chunks;
DROP TABLE documents;

CREATE TABLE documents (
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    private_agent TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    media_type TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'ready', 'failed', 'erased')),
    reason TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    pages TEXT NOT NULL,
    headings TEXT NOT NULL,
    characters INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    metadata TEXT NOT NULL,
    PRIMARY KEY (pid, id)
) STRICT;
CREATE UNIQUE INDEX documents_source ON documents (pid, private_agent, source) WHERE status != 'erased';

CREATE TABLE document_texts (
    pid INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (pid, document_id),
    FOREIGN KEY (pid, document_id) REFERENCES documents (pid, id)
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
    headings TEXT NOT NULL,
    text TEXT NOT NULL,
    trust TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('active', 'quarantined', 'superseded', 'disputed', 'archived', 'erased')),
    created_at INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    analyser TEXT NOT NULL,
    terms TEXT NOT NULL,
    UNIQUE (pid, id),
    FOREIGN KEY (pid, document_id) REFERENCES documents (pid, id)
) STRICT;
CREATE UNIQUE INDEX chunks_place ON chunks (pid, document_id, chunk_index) WHERE state != 'erased';
CREATE INDEX chunks_changed ON chunks (pid, changed);
