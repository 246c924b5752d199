-- Where orgs are that are moving between stores, have left this one, or came from another.

CREATE TABLE placements (
    org TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    place TEXT NOT NULL,
    token TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
