-- What is erased for good leaves a receipt, and nothing else. Versions of new partitions begin above the floor: an index
-- that still holds an erased partition must not take the new rows of the same owner for those it knows.

CREATE TABLE receipts (
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    scope_hash text COLLATE "C" NOT NULL,
    counts text NOT NULL,
    hashes text NOT NULL,
    notes text NOT NULL,
    PRIMARY KEY (org, id)
);
CREATE TABLE erasing (
    one integer PRIMARY KEY CHECK (one = 1),
    floor bigint NOT NULL,
    secret bytea NOT NULL
);
INSERT INTO erasing (one, floor, secret) VALUES (1, 0, '');
CREATE INDEX memories_private ON memories (private_agent) WHERE private_agent != '';
