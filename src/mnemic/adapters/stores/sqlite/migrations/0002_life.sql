-- What the life of a memory needs: cursors over conversations, schedules, what importance has faded to, and what the
-- tries of a job cost of a language model (JSON; `{}` is nothing).

CREATE TABLE cursors (
    pid INTEGER NOT NULL REFERENCES partitions,
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (pid, session, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE memories ADD COLUMN faded REAL CHECK (faded BETWEEN 0 AND 1);
ALTER TABLE jobs ADD COLUMN usage TEXT NOT NULL DEFAULT '{}';

DROP INDEX memories_important;
CREATE INDEX memories_important ON memories (pid, coalesce(faded, importance));
CREATE INDEX conversations_heard ON conversations (last_at);
