-- What a language model said of pieces of a document while it was researched: of who asked (pid), about a document that
-- may lie in another partition of the org. Kept so that interrupted work goes on; gone with either.

CREATE TABLE research_steps (
    pid bigint NOT NULL,
    org text COLLATE "C" NOT NULL,
    document_pid bigint NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    reply text NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (pid, document_pid, document_id, key),
    FOREIGN KEY (pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (document_pid, org) REFERENCES partitions (pid, org),
    FOREIGN KEY (document_pid, document_id) REFERENCES documents (pid, id)
);
CREATE INDEX research_steps_document ON research_steps (document_pid, document_id);
CREATE INDEX research_steps_at ON research_steps (at);
SELECT keep_orgs_apart('research_steps');
