-- OAuth tokens of API keys, as hashes. A token is worth nothing once its key is revoked.

CREATE TABLE oauth_tokens (
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    connection TEXT NOT NULL,
    org TEXT NOT NULL,
    key_id TEXT NOT NULL,
    client TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (hash, org)
) STRICT;
CREATE INDEX oauth_tokens_connection ON oauth_tokens (connection);
CREATE INDEX oauth_tokens_end ON oauth_tokens (expires_at);
