-- What each memory was made of, a row for each id, so that what was made of one is found without reading all; and the
-- flags of memories whose sources are not believed any more (JSON; `[]` is none).

ALTER TABLE memories ADD COLUMN flags text NOT NULL DEFAULT '[]';
CREATE INDEX memories_flagged ON memories (pid) WHERE flags != '[]';

CREATE TABLE sources (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (pid, memory_id, source_id),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org)
);
CREATE INDEX sources_of ON sources (org, source_id);

INSERT INTO sources (pid, org, memory_id, source_id)
SELECT pid, org, id, source_id
FROM (
    SELECT m.pid, m.org, m.id, entry ->> 'source_id' AS source_id
    FROM memories AS m, jsonb_array_elements(m.provenance::jsonb) AS entry
    UNION ALL
    SELECT m.pid, m.org, m.id, entry #>> '{}'
    FROM memories AS m, unnest(ARRAY['merged_ids', 'chosen_ids']) AS name,
        jsonb_array_elements(
            CASE jsonb_typeof(m.filterable -> name) WHEN 'array' THEN m.filterable -> name ELSE '[]'::jsonb END
        ) AS entry
    WHERE jsonb_typeof(entry) = 'string'
) AS found
WHERE source_id != id AND length(source_id) BETWEEN 1 AND 255
ON CONFLICT DO NOTHING;
SELECT keep_orgs_apart('sources');
