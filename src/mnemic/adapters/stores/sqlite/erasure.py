"""What is removed for good, and the receipts."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Collection, Sequence

from mnemic.adapters.stores.erasure_rows import KEY_BYTES, TABLES, receipt_columns, to_receipt
from mnemic.adapters.stores.rows import partition_of
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.errors import ConflictError
from mnemic.model.records import Receipt
from mnemic.model.scope import Partition


class SqliteErasure:
    """The `Erasure` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("erasure")

    def count(self, partition: Partition) -> dict[str, int]:
        key = {"pid": self._session.pid(partition)}
        counts = {name: int(self._session.run(self._sql[f"count_{name}"], key).fetchone()[0]) for name in TABLES}
        return {name: count for name, count in counts.items() if count}

    def wipe(self, partition: Partition) -> dict[str, int]:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition)}
        counts = {name: self._session.write(self._sql[f"wipe_{name}"], key).rowcount for name in TABLES}
        if key["pid"] is not None:
            self._session.write(self._sql["wipe_sources"], key)
            self._session.write(self._sql["raise_floor"], key)
            self._session.write(self._sql["wipe_partition"], key)
            self._session.forget(partition)
        return {name: count for name, count in counts.items() if count}

    def derived(self, org: str, partitions: Sequence[Partition], ids: Collection[str]) -> list[tuple[Partition, str]]:
        pids = self._session.pids(partitions)
        asked = {"org": org, "pids": pids, "ids": self._session.listed([*ids])}
        rows = self._session.run(self._sql["derived"], asked)
        return [(partition_of(org, level, owner), item_id) for org, level, owner, item_id in rows]

    def private(self, org: str, agent: str) -> list[tuple[Partition, str]]:
        rows = self._session.run(self._sql["private"], {"org": org, "agent": agent})
        return [(partition_of(org, level, owner), item_id) for org, level, owner, item_id in rows]

    def key(self, inherited: bytes = b"") -> bytes:
        secret = bytes(self._session.run(self._sql["key"]).fetchone()[0])
        if not secret and self._session.is_writing:
            secret = inherited or secrets.token_bytes(KEY_BYTES)
            self._session.write(self._sql["put_key"], {"secret": secret})
        return secret

    def add(self, receipt: Receipt) -> None:
        try:
            self._session.write(self._sql["add"], receipt_columns(receipt))
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"receipt {receipt.id} is there already") from error

    def receipts(self, org: str) -> list[Receipt]:
        return [to_receipt(row) for row in self._session.run(self._sql["receipts"], {"org": org})]

    def orgs(self) -> list[str]:
        return [str(row[0]) for row in self._session.run(self._sql["orgs"])]
