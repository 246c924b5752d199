"""The store for several machines: PostgreSQL with pgvector. Needs the extra `postgres` (psycopg 3)."""

from mnemic.adapters.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
