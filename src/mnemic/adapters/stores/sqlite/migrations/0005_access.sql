-- Keys are found by what is presented, whichever their org; the name is for people. Keys list in the order of adding,
-- which rowid keeps.

ALTER TABLE api_keys ADD COLUMN name TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX api_keys_id ON api_keys (id);
CREATE INDEX audit_org ON audit (org, seq);
