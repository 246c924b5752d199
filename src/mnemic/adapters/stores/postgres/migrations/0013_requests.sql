-- Requests that came with an Idempotency-Key, and their answers, for a day: digests, and texts in `answer` alone.

CREATE TABLE requests (
    org text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    for_user text COLLATE "C",
    for_agent text COLLATE "C",
    for_session text COLLATE "C",
    outcome text COLLATE "C" NOT NULL,
    answer bytea NOT NULL,
    PRIMARY KEY (org, caller, key)
);
CREATE INDEX requests_at ON requests (at);
CREATE INDEX requests_user ON requests (org, for_user) WHERE for_user IS NOT NULL;
CREATE INDEX requests_agent ON requests (org, for_agent) WHERE for_agent IS NOT NULL;
CREATE INDEX requests_session ON requests (org, for_session) WHERE for_session IS NOT NULL;
SELECT keep_orgs_apart('requests');
