-- Memories by the slot that they fill, so that what a new one contradicts is found without reading all of them.

CREATE INDEX memories_slot ON memories (pid, json_extract(metadata, '$.slot'));
