"""The PostgreSQL store with pgvector, for several machines. Needs the extra `postgres` (psycopg 3)."""

from mnemic.adapters.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
