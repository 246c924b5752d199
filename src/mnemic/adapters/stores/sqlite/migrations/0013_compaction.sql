-- Rows written before the version `horizon` of a partition may be gone without a tombstone.

ALTER TABLE partitions ADD COLUMN horizon INTEGER NOT NULL DEFAULT 0;
CREATE INDEX chunks_erased ON chunks (pid, changed) WHERE state = 'erased';
