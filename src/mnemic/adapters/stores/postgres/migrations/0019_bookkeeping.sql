-- What Mnemic notes for its own use, apart from the caller's metadata, and the form of it that conditions look at. What
-- stands in metadata from before is parted by the program, with this migration (`former.py` beside the stores).

ALTER TABLE memories ADD COLUMN bookkeeping text NOT NULL DEFAULT '{}';
ALTER TABLE memories ADD COLUMN filterable_bookkeeping jsonb NOT NULL DEFAULT '{}';
ALTER TABLE messages ADD COLUMN bookkeeping text NOT NULL DEFAULT '{}';
ALTER TABLE documents ADD COLUMN bookkeeping text NOT NULL DEFAULT '{}';
CREATE INDEX memories_filterable_bookkeeping ON memories USING gin (filterable_bookkeeping jsonb_path_ops);
