-- What contexts put in front of models: ids and settings. `query` is empty as soon as a message of the memory holds it.

CREATE TABLE context_records (
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    door TEXT NOT NULL,
    session TEXT,
    agent TEXT,
    message_id TEXT,
    query TEXT NOT NULL,
    settings TEXT NOT NULL,
    blocks TEXT NOT NULL,
    items TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    took_ms REAL NOT NULL,
    PRIMARY KEY (pid, id)
) STRICT;
CREATE INDEX context_records_session ON context_records (pid, session);
CREATE INDEX context_records_open ON context_records (pid, at) WHERE message_id IS NULL;
CREATE INDEX context_records_at ON context_records (at);
