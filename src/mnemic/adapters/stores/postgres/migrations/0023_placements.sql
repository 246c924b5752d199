-- Where orgs are that are moving between stores, have left this one, or came from another.

CREATE TABLE placements (
    org text COLLATE "C" PRIMARY KEY,
    state text NOT NULL,
    place text NOT NULL,
    token text COLLATE "C" NOT NULL,
    at bigint NOT NULL
);
SELECT keep_orgs_apart('placements');
