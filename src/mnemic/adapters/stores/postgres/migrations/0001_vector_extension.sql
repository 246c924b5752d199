-- pgvector, in the schema that every role finds; a server where it is there already, wherever, is left as it is.
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
