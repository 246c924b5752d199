"""The PostgreSQL store: one schema, for any number of processes and machines. A reading unit of work is a REPEATABLE
READ snapshot; a writing one is READ COMMITTED and serialised by its partitions' rows (see `session`). In a deadlock,
one is rolled back with a retryable `UnavailableError`.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import Connection
from psycopg.pq import TransactionStatus

from mnemic.adapters.stores.postgres.connections import Connections, Target, query, statements, translated_errors
from mnemic.adapters.stores.postgres.copying import PostgresRows, PostgresTransfer, lock_all, replace_rows, write_rows
from mnemic.adapters.stores.postgres.migration import migrate
from mnemic.adapters.stores.postgres.session import PostgresUnitOfWork, Session
from mnemic.adapters.stores.sql.moving import find_absent_orgs, list_placements
from mnemic.errors import BackendError, ConfigError, UnavailableError
from mnemic.model.columns import Row
from mnemic.model.health import Condition, Finding
from mnemic.model.records import Placement
from mnemic.ports.moving import MovingStore, Transfer
from mnemic.ports.store import PASSING_TABLES, PLACEMENTS, Rows, Store, StoreCapabilities, Told, UnitOfWork


class PostgresStore:
    """The `Store` port over the database at `url` (a URL or libpq keywords), in `schema` (created if missing), with up
    to `pool_size` connections. Waiting for one, or for a lock, ends after `lock_wait_s` with `UnavailableError`; a
    statement beyond `statement_timeout_s` (0: no limit) raises `TimedOutError`.

    Raises `ConfigError` for a wrong URL, permissions or extension, or a foreign or newer schema, and `UnavailableError`
    after `connect_timeout_s`. Messages never show the password.
    """

    capabilities = StoreCapabilities(is_durable=True, is_shared=True, is_blocking=True)
    kind = "postgresql"

    def __init__(
        self,
        url: str,
        *,
        schema: str = "mnemic",
        pool_size: int = 10,
        connect_timeout_s: float = 10.0,
        lock_wait_s: float = 10.0,
        statement_timeout_s: float = 0.0,
    ) -> None:
        target = Target(
            url=url,
            schema=schema,
            pool_size=pool_size,
            connect_timeout_s=connect_timeout_s,
            lock_wait_s=lock_wait_s,
            statement_timeout_s=statement_timeout_s,
        )
        self.place, self.schema = target.place, schema
        self._connections = Connections(target)
        with ExitStack() as if_it_fails:
            if_it_fails.callback(self.close)
            with self._transaction("begin_write") as connection:
                migrate(connection, schema, self.place)
            if_it_fails.pop_all()

    @contextmanager
    def read(self) -> Generator[UnitOfWork]:
        with self._transaction("begin_read") as connection:
            yield PostgresUnitOfWork(Session(connection, self.place, is_writing=False))

    @contextmanager
    def write(self, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
        del is_erasing  # the server's disk is not ours
        with self._transaction("begin_write") as connection:
            yield PostgresUnitOfWork(Session(connection, self.place, is_writing=True))

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        try:
            with self._transaction("begin_read") as connection:
                row = connection.execute(query(statements("connection")["diagnosis"])).fetchone()
        except (BackendError, ConfigError) as error:
            remedy = "start the server, or check its address, user and rights"
            return [Finding("store", Condition.BROKEN, str(error), remedy)]
        server, extension, is_replica, may_bypass, unguarded = row or ("", None, False, False, None)
        if is_replica:
            message = f"{self.place} is a read-only replica"
            return [Finding("store", Condition.DEGRADED, message, "use the address of the primary server")]
        message = f"{self.place} is responding: PostgreSQL {server}, pgvector {extension}"
        findings = [Finding("store", Condition.OK, message)]
        if unguarded is not None and not is_quick:
            findings.append(_report_row_security(self.place, unguarded, may_bypass=may_bypass))
        return findings

    def check(self) -> None:
        """Nothing to do: the server checks its pages and reports damage as errors."""

    def scrub(self) -> tuple[str, ...]:
        return (f"{self.place} keeps deleted rows in its files until they are vacuumed, and in its backups for longer",)

    @property
    def room(self) -> None:
        return None

    def write_copy(self, path: Path, told: Told) -> None:
        with self._transaction("begin_read") as connection:
            self._see_every_org(connection)
            write_rows(connection, path, told)

    @contextmanager
    def rows(self, *, is_whole: bool = False) -> Generator[Rows]:
        with self._transaction("begin_read") as connection:
            work = PostgresUnitOfWork(Session(connection, self.place, is_writing=False))
            without = (PLACEMENTS,) if is_whole else PASSING_TABLES
            absent = set[str]() if is_whole else find_absent_orgs(work.transaction)
            yield PostgresRows(connection, work, self._see_every_org, without, absent)

    @property
    def address(self) -> str:
        return f"{self.place}, schema {self.schema}"

    def placements(self) -> list[Placement]:
        with self._transaction("begin_read") as connection:
            return list_placements(Session(connection, self.place, is_writing=False))

    @contextmanager
    def transfer(self, org: str) -> Generator[Transfer]:
        with self._transaction("begin_write") as connection:
            session = Session(connection, self.place, is_writing=True)
            yield PostgresTransfer(PostgresUnitOfWork(session), session, org, connection)

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        with self._transaction("begin_write") as connection:
            lock_all(connection)
            kept = ready(PostgresUnitOfWork(Session(connection, self.place, is_writing=True)))
            self._see_every_org(connection)
            replace_rows(connection, path, kept, told)

    def close(self) -> None:
        self._connections.close()

    @staticmethod
    def _see_every_org(connection: Connection[Row]) -> None:
        connection.execute(query(statements("connection")["see_every_org"]), {"is_on": "on"})

    @contextmanager
    def _transaction(self, begin: str) -> Generator[Connection[Row]]:
        connection = self._connections.begin(statements("connection")[begin])
        try:
            with translated_errors("reading or writing rows", self.place):
                yield connection
            self._commit(connection)
        finally:
            with suppress(psycopg.Error):  # the first error is the one to raise; a lost connection rolls back by itself
                if connection.info.transaction_status is not TransactionStatus.IDLE:
                    connection.execute(query(statements("connection")["rollback"]))
            self._connections.give_back(connection)

    def _commit(self, connection: Connection[Row]) -> None:
        if connection.info.transaction_status is TransactionStatus.INERROR:
            raise UnavailableError(f"{self.place}: nothing was committed because a statement failed")
        try:
            with translated_errors("committing", self.place):
                connection.execute(query(statements("connection")["commit"]))
        except UnavailableError as error:
            if connection.closed:
                raise UnavailableError(
                    f"{error}. The last write may have been committed; check before retrying"
                ) from error
            raise


def _report_row_security(place: str, tables: str, *, may_bypass: bool) -> Finding:
    """Row security does not apply to this role, or to these tables."""
    if may_bypass:
        message = f"{place}: this role is a superuser or has BYPASSRLS, so row security does not separate orgs"
        remedy = "connect as an ordinary role; Mnemic's own checks apply either way"
        return Finding("store", Condition.DEGRADED, message, remedy)
    remedy = "run SELECT keep_orgs_apart(…) for each, or ALTER TABLE … ENABLE and FORCE ROW LEVEL SECURITY"
    return Finding("store", Condition.DEGRADED, f"{place}: row security is off for {tables}", remedy)


_: type[Store] = PostgresStore
__: type[MovingStore] = PostgresStore
