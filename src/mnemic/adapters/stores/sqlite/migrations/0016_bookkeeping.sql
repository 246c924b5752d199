-- What Mnemic notes for its own use, apart from the caller's metadata. What stands in metadata from before is parted by the
-- program, with this migration (`former.py` beside the stores).

ALTER TABLE memories ADD COLUMN bookkeeping TEXT NOT NULL DEFAULT '{}';
ALTER TABLE messages ADD COLUMN bookkeeping TEXT NOT NULL DEFAULT '{}';
ALTER TABLE documents ADD COLUMN bookkeeping TEXT NOT NULL DEFAULT '{}';
DROP INDEX memories_slot;
CREATE INDEX memories_slot ON memories (pid, json_extract(bookkeeping, '$.slot'));
