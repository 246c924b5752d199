-- Requests that came with an Idempotency-Key, and their answers, for a day: digests, and texts in `answer` alone.

CREATE TABLE requests (
    org TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    token TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    at INTEGER NOT NULL,
    for_user TEXT,
    for_agent TEXT,
    for_session TEXT,
    outcome TEXT NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (org, caller, key)
) STRICT;
CREATE INDEX requests_at ON requests (at);
CREATE INDEX requests_user ON requests (org, for_user) WHERE for_user IS NOT NULL;
CREATE INDEX requests_agent ON requests (org, for_agent) WHERE for_agent IS NOT NULL;
CREATE INDEX requests_session ON requests (org, for_session) WHERE for_session IS NOT NULL;
