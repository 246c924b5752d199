-- Keys of orgs and the audit log. The id of a key is unique whichever its org: it is found by what is presented.

CREATE TABLE api_keys (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE,
    secret_hash text COLLATE "C" NOT NULL,
    rights text COLLATE "C" NOT NULL,
    name text NOT NULL,
    bound_user text COLLATE "C",
    bound_agent text COLLATE "C",
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);
CREATE INDEX api_keys_org ON api_keys (org, seq);

CREATE TABLE audit (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    verb text COLLATE "C" NOT NULL,
    target text NOT NULL,
    outcome text COLLATE "C" NOT NULL
);
CREATE INDEX audit_org ON audit (org, seq);
CREATE INDEX audit_at ON audit (at);
