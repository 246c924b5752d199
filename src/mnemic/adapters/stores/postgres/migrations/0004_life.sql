-- What the life of a memory needs: cursors over conversations, schedules, what importance has faded to, and what the
-- tries of a job cost of a language model (JSON; `{}` is nothing). Schedules belong to the whole store, not to an org.

CREATE TABLE cursors (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (pid, session, name),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);

CREATE TABLE schedules (
    name text COLLATE "C" PRIMARY KEY,
    at bigint NOT NULL
);

ALTER TABLE memories ADD COLUMN faded double precision CHECK (faded BETWEEN 0 AND 1);
ALTER TABLE jobs ADD COLUMN usage text NOT NULL DEFAULT '{}';

DROP INDEX memories_important;
CREATE INDEX memories_important ON memories (pid, coalesce(faded, importance));
CREATE INDEX conversations_heard ON conversations (last_at);
