-- The graph, in tables that take the place of those which the first version made and never wrote. Links say which item
-- supports what; entities and relations hold what their links amount to. `read_items`: what was read, and by whom.

DROP TABLE mentions;
DROP TABLE relations;
DROP TABLE entities;

CREATE TABLE entities (
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    private_agent TEXT NOT NULL DEFAULT '',
    name_key TEXT NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    other_names TEXT NOT NULL DEFAULT '[]',
    description TEXT NOT NULL DEFAULT '',
    mentions INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (pid, id),
    UNIQUE (pid, name_key, type, private_agent)
) STRICT;

CREATE TABLE relations (
    pid INTEGER NOT NULL REFERENCES partitions,
    id TEXT NOT NULL,
    private_agent TEXT NOT NULL DEFAULT '',
    source_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    type TEXT NOT NULL,
    weight REAL NOT NULL DEFAULT 1.0,
    valid_from INTEGER,
    valid_to INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (pid, id),
    UNIQUE (pid, source_id, target_id, type),
    FOREIGN KEY (pid, source_id) REFERENCES entities (pid, id),
    FOREIGN KEY (pid, target_id) REFERENCES entities (pid, id)
) STRICT;
CREATE INDEX relations_from ON relations (pid, source_id, weight DESC, id);
CREATE INDEX relations_to ON relations (pid, target_id, weight DESC, id);

CREATE TABLE mentions (
    pid INTEGER NOT NULL REFERENCES partitions,
    item_id TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    span_start INTEGER NOT NULL,
    span_end INTEGER NOT NULL,
    extractor TEXT NOT NULL,
    PRIMARY KEY (pid, item_id, entity_id),
    FOREIGN KEY (pid, entity_id) REFERENCES entities (pid, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (pid, entity_id, item_id);

CREATE TABLE supports (
    pid INTEGER NOT NULL REFERENCES partitions,
    item_id TEXT NOT NULL,
    relation_id TEXT NOT NULL,
    span_start INTEGER NOT NULL,
    span_end INTEGER NOT NULL,
    extractor TEXT NOT NULL,
    is_dated INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    PRIMARY KEY (pid, item_id, relation_id),
    FOREIGN KEY (pid, relation_id) REFERENCES relations (pid, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX supports_relation ON supports (pid, relation_id, item_id);

CREATE TABLE read_items (
    pid INTEGER NOT NULL REFERENCES partitions,
    item_id TEXT NOT NULL,
    extractor TEXT NOT NULL,
    PRIMARY KEY (pid, item_id)
) STRICT, WITHOUT ROWID;
