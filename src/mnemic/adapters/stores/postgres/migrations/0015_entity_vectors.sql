-- Vectors of entities. `said` is the text that a vector was made of: one that an entity says no more is removed.

CREATE TABLE entity_vectors (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    entity_id text COLLATE "C" NOT NULL,
    space text COLLATE "C" NOT NULL REFERENCES spaces,
    said text COLLATE "C" NOT NULL,
    vector vector NOT NULL,
    PRIMARY KEY (pid, entity_id, space),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (pid, entity_id) REFERENCES entities (pid, id) ON DELETE CASCADE
);
SELECT keep_orgs_apart('entity_vectors'::regclass);
