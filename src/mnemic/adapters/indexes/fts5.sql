-- name: write_ahead
PRAGMA journal_mode = WAL;
-- name: synchronous
PRAGMA synchronous = NORMAL;
-- name: cache_size
PRAGMA cache_size = -32000;
-- name: secure_delete
PRAGMA secure_delete = ON;
-- name: begin_read
BEGIN;
-- name: begin_write
BEGIN IMMEDIATE;
-- name: commit
COMMIT;
-- name: rollback
ROLLBACK;
-- name: is_new
SELECT count(*) = 0 FROM sqlite_schema;
-- name: application
PRAGMA application_id;
-- name: sign
PRAGMA application_id = {application_id};
-- name: stamp
SELECT analyser FROM stamp;
-- name: create_stamp
CREATE TABLE stamp (analyser TEXT NOT NULL);
-- name: create_partitions
CREATE TABLE partitions (
    pid INTEGER PRIMARY KEY,
    org TEXT NOT NULL,
    level TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    UNIQUE (org, level, owner)
);
-- name: create_groups
CREATE TABLE groups (
    gid INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    agent TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    items INTEGER NOT NULL DEFAULT 0,
    total_length INTEGER NOT NULL DEFAULT 0,
    UNIQUE (pid, agent, is_active)
);
-- name: create_frequencies
CREATE TABLE frequencies (
    gid INTEGER NOT NULL,
    term TEXT NOT NULL,
    items INTEGER NOT NULL,
    PRIMARY KEY (gid, term)
) WITHOUT ROWID;
-- name: create_items
CREATE TABLE items (
    seq INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    item_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    kind TEXT NOT NULL,
    importance REAL NOT NULL,
    observed_at INTEGER NOT NULL,
    expires_at INTEGER,
    is_flagged INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms TEXT NOT NULL,
    UNIQUE (pid, item_id)
);
-- name: create_expiring
CREATE INDEX items_expiring ON items (pid, expires_at) WHERE expires_at IS NOT NULL;
-- name: create_words
CREATE VIRTUAL TABLE words USING fts5 (partition, terms, content = '', tokenize = 'ascii');
-- name: write_stamp
INSERT INTO stamp (analyser) VALUES (:analyser);
-- name: partition
SELECT pid, version FROM partitions WHERE org = :org AND level = :level AND owner = :owner;
-- name: add_partition
INSERT INTO partitions (org, level, owner, version) VALUES (:org, :level, :owner, 0) RETURNING pid;
-- name: set_version
UPDATE partitions SET version = :version WHERE pid = :pid;
-- name: item
SELECT seq, agent, is_active, kind, importance, observed_at, expires_at, is_flagged, length, terms FROM items
WHERE pid = :pid AND item_id = :item_id;
-- name: item_ids
SELECT item_id FROM items WHERE pid = :pid;
-- name: add_item
INSERT INTO items (pid, item_id, agent, is_active, kind, importance, observed_at, expires_at,
    is_flagged, length, terms)
VALUES (:pid, :item_id, :agent, :is_active, :kind, :importance, :observed_at, :expires_at, :is_flagged, :length,
    :terms)
RETURNING seq;
-- name: remove_item
DELETE FROM items WHERE seq = :seq;
-- name: add_words
INSERT INTO words (rowid, partition, terms) VALUES (:seq, :partition, :tokens);
-- name: remove_words
INSERT INTO words (words, rowid, partition, terms) VALUES ('delete', :seq, :partition, :tokens);
-- name: group
SELECT gid FROM groups WHERE pid = :pid AND agent = :agent AND is_active = :is_active;
-- name: add_group
INSERT INTO groups (pid, agent, is_active) VALUES (:pid, :agent, :is_active) RETURNING gid;
-- name: count_group
UPDATE groups SET items = items + :items, total_length = total_length + :total_length WHERE gid = :gid;
-- name: count_term
INSERT INTO frequencies (gid, term, items) VALUES (:gid, :term, :items)
ON CONFLICT (gid, term) DO UPDATE SET items = items + excluded.items;
-- name: forget_unused_terms
DELETE FROM frequencies WHERE items = 0 AND gid IN (SELECT gid FROM groups WHERE pid = :pid);
-- name: remove_frequencies
DELETE FROM frequencies WHERE gid IN (SELECT gid FROM groups WHERE pid = :pid);
-- name: remove_groups
DELETE FROM groups WHERE pid = :pid;
-- name: remove_partition
DELETE FROM partitions WHERE pid = :pid;
-- name: totals
SELECT coalesce(sum(items), 0), coalesce(sum(total_length), 0) FROM groups
WHERE pid = :pid AND agent IN ('', :agent) AND (is_active OR :include_inactive);
-- name: frequencies
SELECT term, sum(items) FROM frequencies
WHERE gid IN (
    SELECT gid FROM groups WHERE pid = :pid AND agent IN ('', :agent) AND (is_active OR :include_inactive)
) AND term IN (SELECT value FROM json_each(:terms))
GROUP BY term;
-- name: expiring
SELECT length, terms FROM items
WHERE pid = :pid AND expires_at > :now AND agent IN ('', :agent) AND (is_active OR :include_inactive);
-- name: matching
SELECT i.item_id, i.length, i.importance, i.observed_at, i.is_flagged, i.terms
FROM words JOIN items AS i ON i.seq = words.rowid
WHERE words MATCH :match AND i.pid = :pid AND i.agent IN ('', :agent) AND (i.is_active OR :include_inactive)
    AND (i.expires_at IS NULL OR i.expires_at > :now)
    AND (:kinds IS NULL OR i.kind IN (SELECT value FROM json_each(:kinds)))
    AND (
        :allowed IS NULL OR i.item_id IN (SELECT value FROM json_each(:allowed))
        OR (i.kind = :message AND i.observed_at <= :messages_until)
    )
ORDER BY bm25(words, 0.0, 1.0), i.seq LIMIT :limit;
-- name: named
SELECT i.item_id, i.length, i.importance, i.observed_at, i.is_flagged, i.terms
FROM items AS i
WHERE i.pid = :pid AND i.item_id IN (SELECT value FROM json_each(:ids)) AND i.agent IN ('', :agent)
    AND (i.is_active OR :include_inactive) AND (i.expires_at IS NULL OR i.expires_at > :now)
    AND (:kinds IS NULL OR i.kind IN (SELECT value FROM json_each(:kinds)))
    AND (
        :allowed IS NULL OR i.item_id IN (SELECT value FROM json_each(:allowed))
        OR (i.kind = :message AND i.observed_at <= :messages_until)
    );
