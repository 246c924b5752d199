-- name: write_ahead
PRAGMA journal_mode = WAL;
-- name: synchronous
PRAGMA synchronous = FULL;
-- name: secure_delete
PRAGMA secure_delete = ON;
-- name: begin_read
BEGIN;
-- name: begin_write
BEGIN IMMEDIATE;
-- name: commit
COMMIT;
-- name: is_new
SELECT count(*) = 0 FROM sqlite_schema;
-- name: application
PRAGMA application_id;
-- name: sign
PRAGMA application_id = {application_id};
-- name: create_documents
CREATE TABLE documents (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    source TEXT NOT NULL,
    metadata TEXT NOT NULL,
    terms TEXT NOT NULL
);
-- name: create_index
CREATE VIRTUAL TABLE documents_index USING fts5 (
    terms, content = 'documents', content_rowid = 'seq', tokenize = 'ascii'
);
-- name: create_vocabulary
CREATE VIRTUAL TABLE documents_vocabulary USING fts5vocab (documents_index, 'row');
-- name: create_inserted
CREATE TRIGGER documents_inserted AFTER INSERT ON documents BEGIN
    INSERT INTO documents_index (rowid, terms) VALUES (new.seq, new.terms);
END;
-- name: create_deleted
CREATE TRIGGER documents_deleted AFTER DELETE ON documents BEGIN
    INSERT INTO documents_index (documents_index, rowid, terms) VALUES ('delete', old.seq, old.terms);
END;
-- name: create_updated
CREATE TRIGGER documents_updated AFTER UPDATE ON documents BEGIN
    INSERT INTO documents_index (documents_index, rowid, terms) VALUES ('delete', old.seq, old.terms);
    INSERT INTO documents_index (rowid, terms) VALUES (new.seq, new.terms);
END;
-- name: create_stamp
CREATE TABLE stamp (analyser TEXT NOT NULL);
-- name: write_stamp
INSERT INTO stamp (analyser) VALUES (:analyser);
-- name: stamp
SELECT analyser FROM stamp;
-- name: renew_stamp
UPDATE stamp SET analyser = :analyser;
-- name: contents
SELECT seq, content FROM documents;
-- name: renew_terms
UPDATE documents SET terms = :terms WHERE seq = :seq;
-- name: store
INSERT INTO documents (id, content, source, metadata, terms) VALUES (:id, :content, :source, :metadata, :terms);
-- name: rarest
SELECT term FROM documents_vocabulary WHERE term IN (SELECT value FROM json_each(:tokens)) ORDER BY doc LIMIT :limit;
-- name: retrieve
SELECT d.content, d.source, d.metadata, -f.rank
FROM documents_index AS f JOIN documents AS d ON d.seq = f.rowid
WHERE f.documents_index MATCH :match AND -f.rank >= :min_score
ORDER BY f.rank, d.seq LIMIT :limit;
-- name: delete
DELETE FROM documents WHERE id = :id;
-- name: clear
DELETE FROM documents;
