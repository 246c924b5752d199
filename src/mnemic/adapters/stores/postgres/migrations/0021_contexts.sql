-- What contexts put in front of models: ids and settings. `query` is empty as soon as a message of the memory holds it.

CREATE TABLE context_records (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    door text COLLATE "C" NOT NULL,
    session text COLLATE "C",
    agent text COLLATE "C",
    message_id text COLLATE "C",
    query text NOT NULL,
    settings text NOT NULL,
    blocks text NOT NULL,
    items text NOT NULL,
    tokens bigint NOT NULL,
    took_ms double precision NOT NULL,
    PRIMARY KEY (pid, id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE INDEX context_records_session ON context_records (pid, session);
CREATE INDEX context_records_open ON context_records (pid, at) WHERE message_id IS NULL;
CREATE INDEX context_records_at ON context_records (at);
SELECT keep_orgs_apart('context_records');
