-- The graph. Links say which item supports what; entities and relations hold what their links amount to. `read_items`:
-- what was read, and by whom.

CREATE TABLE entities (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    private_agent text COLLATE "C" NOT NULL DEFAULT '',
    name_key text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    other_names text NOT NULL DEFAULT '[]',
    description text COLLATE "C" NOT NULL DEFAULT '',
    mentions bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    PRIMARY KEY (pid, id),
    UNIQUE (pid, name_key, type, private_agent),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);

CREATE TABLE relations (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    private_agent text COLLATE "C" NOT NULL DEFAULT '',
    source_id text COLLATE "C" NOT NULL,
    target_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    weight double precision NOT NULL DEFAULT 1.0,
    valid_from bigint,
    valid_to bigint,
    created_at bigint NOT NULL,
    PRIMARY KEY (pid, id),
    UNIQUE (pid, source_id, target_id, type),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (pid, source_id) REFERENCES entities (pid, id),
    FOREIGN KEY (pid, target_id) REFERENCES entities (pid, id)
);
CREATE INDEX relations_from ON relations (pid, source_id, weight DESC, id);
CREATE INDEX relations_to ON relations (pid, target_id, weight DESC, id);

CREATE TABLE mentions (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    entity_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL,
    span_start bigint NOT NULL,
    span_end bigint NOT NULL,
    extractor text COLLATE "C" NOT NULL,
    PRIMARY KEY (pid, item_id, entity_id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (pid, entity_id) REFERENCES entities (pid, id)
);
CREATE INDEX mentions_entity ON mentions (pid, entity_id, item_id);

CREATE TABLE supports (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    relation_id text COLLATE "C" NOT NULL,
    span_start bigint NOT NULL,
    span_end bigint NOT NULL,
    extractor text COLLATE "C" NOT NULL,
    is_dated bigint NOT NULL,
    valid_from bigint,
    valid_to bigint,
    PRIMARY KEY (pid, item_id, relation_id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (pid, relation_id) REFERENCES relations (pid, id)
);
CREATE INDEX supports_relation ON supports (pid, relation_id, item_id);

CREATE TABLE read_items (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    extractor text COLLATE "C" NOT NULL,
    PRIMARY KEY (pid, item_id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
SELECT keep_orgs_apart(name::regclass) FROM unnest(ARRAY[
    'entities', 'relations', 'mentions', 'supports', 'read_items'
]) AS name;
