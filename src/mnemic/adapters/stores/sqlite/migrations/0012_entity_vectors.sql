-- Vectors of entities. `said` is the text that a vector was made of: one that an entity says no more is removed.

CREATE TABLE entity_vectors (
    pid INTEGER NOT NULL,
    entity_id TEXT NOT NULL,
    space TEXT NOT NULL REFERENCES spaces,
    said TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (pid, entity_id, space),
    FOREIGN KEY (pid, entity_id) REFERENCES entities (pid, id) ON DELETE CASCADE
) STRICT;
