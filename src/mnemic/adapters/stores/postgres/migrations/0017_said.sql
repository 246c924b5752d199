-- The messages of a partition by when they were said.

CREATE INDEX messages_said ON messages (pid, observed_at, position, id);
