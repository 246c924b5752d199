-- What a language model said of pieces of a document while it was researched: of who asked (pid), about a document that
-- may lie in another partition of the org. Kept so that interrupted work goes on; gone with either.

CREATE TABLE research_steps (
    pid INTEGER NOT NULL REFERENCES partitions,
    document_pid INTEGER NOT NULL REFERENCES partitions,
    document_id TEXT NOT NULL,
    key TEXT NOT NULL,
    reply TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (pid, document_pid, document_id, key),
    FOREIGN KEY (document_pid, document_id) REFERENCES documents (pid, id)
) STRICT;
CREATE INDEX research_steps_document ON research_steps (document_pid, document_id);
CREATE INDEX research_steps_at ON research_steps (at);
