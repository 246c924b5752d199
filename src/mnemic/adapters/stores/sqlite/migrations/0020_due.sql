-- Memories by the last day on which they are due, so that a context finds what is due soon without reading all of them.

CREATE INDEX memories_due ON memories (pid, json_extract(bookkeeping, '$.due_until'))
    WHERE json_extract(bookkeeping, '$.due_until') IS NOT NULL;
