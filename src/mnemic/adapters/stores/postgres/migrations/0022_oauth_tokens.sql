-- OAuth tokens of API keys, as hashes. A token is worth nothing once its key is revoked.

CREATE TABLE oauth_tokens (
    hash text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    connection text COLLATE "C" NOT NULL,
    org text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    client text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    details text NOT NULL,
    PRIMARY KEY (hash, org)
);
CREATE INDEX oauth_tokens_connection ON oauth_tokens (connection);
CREATE INDEX oauth_tokens_end ON oauth_tokens (expires_at);
SELECT keep_orgs_apart('oauth_tokens');
