"""Finds what is still readable in a damaged store, row by row, and saves it into a new one."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic.adapters.stores.sqlite import copying
from mnemic.adapters.stores.sqlite.file import PRIVATE_FOLDER, make_folder
from mnemic.adapters.stores.sqlite.session import APPLICATION_ID, migrations, statements, translated_errors
from mnemic.errors import ConflictError, DamagedError, InvalidInputError
from mnemic.model.backup import RescueReport

_MOST_PROBLEMS = 3  # a few show the damage; a broken file has thousands
_PROBED = 200_000
"""Row numbers tried one by one in a hole of a table. The rest of a larger hole is skipped."""

RawRow = tuple[object, ...]


@dataclass(slots=True)
class _Rescued:
    """The outcome per table so far."""

    rows: dict[str, int] = field(default_factory=dict[str, int])
    lost: list[str] = field(default_factory=list[str])


def find_unreadable(connection: sqlite3.Connection) -> list[str]:
    """Texts that are not UTF-8, which SQLite does not check: the first three places, in words."""
    found: list[str] = []
    former, tables = connection.text_factory, copying.list_tables(connection)
    connection.text_factory = _Text
    try:
        for table, columns in tables.items():
            for row in connection.execute(copying.name_table("scan", "main", table)):
                found += [f"{table} holds {problem}" for problem in _problems(row, columns)]
                if len(found) >= _MOST_PROBLEMS:
                    return found[:_MOST_PROBLEMS]
    finally:
        connection.text_factory = former
    return found


def rescue(source: Path, target: Path) -> RescueReport:
    """Save every readable row of the store at `source` into a new store at `target`. The source is copied first and
    never written. Raises `DamagedError` if not even its tables can be found.
    """
    if not source.is_file():
        raise InvalidInputError(f"{source} is not a file; give the path of the damaged store")
    if target.exists():
        raise ConflictError(f"{target} already exists; give the path of a new file")
    make_folder(target.parent)
    with TemporaryDirectory(dir=target.parent, prefix=".rescue-") as folder:
        Path(folder).chmod(PRIVATE_FOLDER)
        damaged, fresh = Path(folder, "damaged.db"), Path(folder, "fresh.db")
        for suffix in ("", "-wal"):
            if Path(f"{source}{suffix}").exists():
                shutil.copyfile(f"{source}{suffix}", f"{damaged}{suffix}")
        rescued = _copy_rows(damaged, fresh)
        fresh.chmod(0o600)
        fresh.replace(target)
    return RescueReport(str(target), rescued.rows, tuple(rescued.lost))


def _copy_rows(damaged: Path, fresh: Path) -> _Rescued:
    rescued = _Rescued()
    with closing(sqlite3.connect(damaged, isolation_level=None)) as old:
        try:
            tables, version = copying.list_tables(old), _version(old)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            message = "the first pages of the store are lost, and with them the list of its tables"
            raise DamagedError(f"{message}; restore a backup") from error
        copying.make_empty(fresh, version)
        with translated_errors("writing what is saved"), closing(sqlite3.connect(fresh, isolation_level=None)) as new:
            new.executescript(statements("copying")["references_unchecked"])
            new.execute(statements("connection")["begin_write"])
            known = copying.list_tables(new)
            old.text_factory = _Text
            for table, columns in tables.items():
                if table in known and {*columns} <= {*known[table]}:
                    _copy_table(old, new, table, columns, rescued)
            _drop_orphans(new, rescued)
            new.execute(statements("connection")["commit"])
    return rescued


def _version(connection: sqlite3.Connection) -> int:
    sql = statements("connection")
    signature = int(connection.execute(sql["signature"]).fetchone()[0])
    version = int(connection.execute(sql["schema_version"]).fetchone()[0])
    if signature != APPLICATION_ID or not 0 < version <= migrations()[-1][0]:
        raise InvalidInputError("this version of Mnemic cannot read the store; try a newer version")
    return version


def _copy_table(
    old: sqlite3.Connection, new: sqlite3.Connection, table: str, columns: tuple[str, ...], rescued: _Rescued
) -> None:
    add = copying.add_statement(table, columns)
    rescued.rows[table] = 0
    new.execute(copying.name_table("empty", "main", table))
    for row in _read_rows(old, table, rescued):
        problems = list(_problems(row, columns))
        if not problems:
            try:
                new.execute(add, [part.decode() if isinstance(part, _Text) else part for part in row])
                rescued.rows[table] += 1
            except sqlite3.IntegrityError as error:
                problems = [f"a row that conflicts with another ({error})"]
        rescued.lost += [f"{table}: {problem}" for problem in problems[:1]]


def _read_rows(old: sqlite3.Connection, table: str, rescued: _Rescued) -> Iterator[RawRow]:
    """The rows of a table: from its start to the first hole, from its end to the last, and between them one by one."""
    old.text_factory = _Text
    if table.encode() in {row[0] for row in old.execute(statements("copying")["by_key"])}:
        yield from _read_by_key(old, table, rescued)
        return
    low: int | None = None
    try:
        for rowid, *row in old.execute(copying.name_table("rows_up", "main", table)):
            low = rowid
            yield tuple(row)
        return
    except sqlite3.Error:
        pass
    tail: list[RawRow] = []
    high: int | None = None
    with suppress(sqlite3.Error):
        for rowid, *row in old.execute(copying.name_table("rows_down", "main", table)):
            if low is not None and rowid <= low:
                break
            high = rowid
            tail.append(tuple(row))
    yield from _probe(old, table, (low or 0, high or (low or 0) + _PROBED), rescued)
    yield from reversed(tail)


def _probe(old: sqlite3.Connection, table: str, hole: tuple[int, int], rescued: _Rescued) -> Iterator[RawRow]:
    low, high = hole
    missing = 0
    sql = copying.name_table("row_at", "main", table)
    for rowid in range(low + 1, min(high, low + 1 + _PROBED)):
        try:
            found = old.execute(sql, {"rowid": rowid}).fetchone()
        except sqlite3.Error:
            missing += 1
            continue
        if found is not None:
            yield tuple(found)
    if missing or high - low > _PROBED:
        rescued.lost.append(f"{table}: up to {max(missing, high - low - _PROBED)} rows on pages that cannot be read")


def _read_by_key(old: sqlite3.Connection, table: str, rescued: _Rescued) -> Iterator[RawRow]:
    """The rows of a table without row numbers: from its start to the first hole, and from its end to the last."""
    last: RawRow | None = None
    try:
        for row in old.execute(copying.name_table("scan", "main", table)):
            last = row
            yield row
        return
    except sqlite3.Error:
        rescued.lost.append(f"{table}: the rows around a page that cannot be read")
    key = [str(row[0], "utf-8") for row in old.execute(statements("copying")["key"], {"table": table})]
    order = ", ".join(f'"{name}" DESC' for name in key)
    sql = statements("copying")["keys_down"].format(schema="main", table=f'"{table}"', order=order)
    with suppress(sqlite3.Error):
        for row in old.execute(sql):
            if row == last:
                break
            yield row


def _drop_orphans(new: sqlite3.Connection, rescued: _Rescued) -> None:
    """Remove rows that refer to lost ones, until every reference is valid."""
    sql = statements("copying")
    while broken := new.execute(sql["orphans"]).fetchall():
        for table, rowid in broken:
            new.execute(copying.name_table("drop_row", "main", table), {"rowid": rowid})
            rescued.lost.append(f"{table}: a row that refers to a lost one")
            rescued.rows[table] -= 1


class _Text(bytes):
    """A stored text, to distinguish it from a blob."""


def _problems(row: RawRow, columns: tuple[str, ...]) -> Iterator[str]:
    for value, column in zip(row, columns, strict=True):
        if isinstance(value, _Text):
            try:
                value.decode()
            except UnicodeDecodeError:
                yield f"a row whose {column} cannot be read"
