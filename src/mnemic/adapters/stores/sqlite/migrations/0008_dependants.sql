-- What each memory was made of, a row for each id, so that what was made of one is found without reading all; and the
-- flags of memories whose sources are not believed any more (JSON; `[]` is none).

ALTER TABLE memories ADD COLUMN flags TEXT NOT NULL DEFAULT '[]';
CREATE INDEX memories_flagged ON memories (pid) WHERE flags != '[]';

CREATE TABLE sources (
    pid INTEGER NOT NULL REFERENCES partitions,
    memory_id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    PRIMARY KEY (pid, memory_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_of ON sources (source_id);

INSERT OR IGNORE INTO sources (pid, memory_id, source_id)
SELECT pid, id, source_id
FROM (
    SELECT m.pid, m.id, json_extract(entry.value, '$.source_id') AS source_id
    FROM memories AS m, json_each(m.provenance) AS entry
    UNION ALL
    SELECT m.pid, m.id, entry.value
    FROM memories AS m, json_each(m.metadata, '$.merged_ids') AS entry
    WHERE json_type(m.metadata, '$.merged_ids') = 'array' AND entry.type = 'text'
    UNION ALL
    SELECT m.pid, m.id, entry.value
    FROM memories AS m, json_each(m.metadata, '$.chosen_ids') AS entry
    WHERE json_type(m.metadata, '$.chosen_ids') = 'array' AND entry.type = 'text'
)
WHERE source_id != id AND length(source_id) BETWEEN 1 AND 255;
