"""Creates the schema of a store or migrates it. Several processes may try at once."""

from collections.abc import Mapping
from functools import partial

from psycopg import Connection, errors, sql

from mnemic.adapters.stores.postgres.connections import migrations, query, statements, to_json, translated_errors
from mnemic.adapters.stores.sql.former import Mappings, part_bookkeeping
from mnemic.errors import ConfigError
from mnemic.model.columns import Row

_ADVISORY_KEY = (
    0x4D4E454D49474D  # "MNEMIGM": one migration at a time in a database, since extensions belong to all of it
)
_PARTS_METADATA = 19
"""The migration that moves bookkeeping from earlier versions' metadata to its own column."""


def migrate(connection: Connection[Row], schema: str, place: str) -> None:
    """Run missing migrations in the open transaction. Raises `ConfigError` without pgvector or permissions, and for
    another program's tables, an encoding other than UTF-8, or a newer Mnemic's schema.
    """
    newest = migrations()[-1][0]
    with translated_errors("setting up the store", place):
        version = _version(connection, schema)
        if version < newest:
            _prepare(connection, schema, place)
            connection.execute(query(statements("connection")["see_every_org"]), {"is_on": "on"})
            version = _version(connection, schema)  # again, under the lock: another process may have been faster
            for number, script in migrations():
                if number > version:
                    _run(connection, number, script, f"{place}, schema {schema}")
    if version > newest:
        raise ConfigError(
            f"{place} was written by a newer version of Mnemic (schema {version}; this one supports up to {newest}): "
            "run `pip install --upgrade mnemic`"
        )


def _version(connection: Connection[Row], schema: str) -> int:
    named = statements("connection")
    if not _value(connection, named["has_version"], {"schema": schema}):
        return 0
    return int(str(_value(connection, named["version"])))


def _prepare(connection: Connection[Row], schema: str, place: str) -> None:
    named = statements("connection")
    encoding = _value(connection, named["encoding"])
    if encoding != "UTF8":
        raise ConfigError(
            f"{place} uses the encoding {encoding}; create a UTF-8 database: "
            "CREATE DATABASE mnemic ENCODING 'UTF8' TEMPLATE template0"
        )
    connection.execute(query(named["lock_migrations"]), {"key": _ADVISORY_KEY})
    if not _value(connection, named["has_schema"], {"schema": schema}):
        connection.execute(sql.SQL(query(named["create_schema"])).format(schema=sql.Identifier(schema)))
    connection.execute(query(named["create_version"]))


def _run(connection: Connection[Row], number: int, script: str, place: str) -> None:
    try:
        connection.execute(query(script))
    except (errors.DuplicateTable, errors.DuplicateFunction) as error:
        raise ConfigError(
            f"{place} contains another program's tables ({error.diag.message_primary}); choose another schema"
        ) from error
    except (errors.FeatureNotSupported, errors.UndefinedFile, errors.InsufficientPrivilege) as error:
        raise ConfigError(
            f"{place} cannot be set up: {error.diag.message_primary}; install pgvector on the server "
            "(https://github.com/pgvector/pgvector), then run CREATE EXTENSION vector as a role that may do so"
        ) from error
    if number == _PARTS_METADATA:
        part_bookkeeping(partial(_rows, connection), statements("former"), _filterable)
    connection.execute(query(statements("connection")["mark"]), {"version": number})


def _rows(connection: Connection[Row], statement: str, parameters: Mapping[str, object]) -> list[Row]:
    cursor = connection.execute(query(statement), parameters)
    return [] if cursor.description is None else cursor.fetchall()


def _filterable(parted: Mappings) -> Mapping[str, object]:
    return {"filterable": to_json(parted[0]), "filterable_bookkeeping": to_json(parted[1])}


def _value(connection: Connection[Row], statement: str, parameters: dict[str, object] | None = None) -> object:
    row = connection.execute(query(statement), parameters).fetchone()
    return None if row is None else row[0]
