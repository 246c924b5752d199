-- What is erased for good leaves a receipt, and nothing else. Versions of new partitions begin above the floor: an index
-- that still holds an erased partition must not take the new rows of the same owner for those it knows.

ALTER TABLE receipts ADD COLUMN notes TEXT NOT NULL DEFAULT '[]';
CREATE TABLE erasing (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    floor INTEGER NOT NULL,
    secret BLOB NOT NULL
) STRICT;
INSERT INTO erasing (one, floor, secret) VALUES (1, 0, x'');
CREATE INDEX memories_private ON memories (private_agent) WHERE private_agent != '';
