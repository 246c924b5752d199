"""What is removed for good, and the receipts."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from mnemic.adapters.stores.erasure_rows import KEY_BYTES, TABLES, receipt_columns, to_receipt
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.rows import partition_of
from mnemic.errors import ConflictError
from mnemic.model.records import Receipt
from mnemic.model.scope import Partition


class PostgresErasure:
    """The `Erasure` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("erasure")

    def count(self, partition: Partition) -> dict[str, int]:
        key = {"pid": self._session.pid(partition)}
        counts = {name: self._number(f"count_{name}", key) for name in TABLES}
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

    def _number(self, statement: str, key: dict[str, int | None]) -> int:
        row = self._session.run(self._sql[statement], key).fetchone()
        return int(row[0]) if row else 0

    def derived(self, org: str, partitions: Sequence[Partition], ids: Collection[str]) -> list[tuple[Partition, str]]:
        pids = self._session.pids(partitions)
        asked = {"org": org, "pids": pids, "ids": self._session.listed([*ids])}
        self._session.see(org)
        rows = self._session.run(self._sql["derived"], asked)
        return [(partition_of(org, level, owner), item_id) for org, level, owner, item_id in rows]

    def private(self, org: str, agent: str) -> list[tuple[Partition, str]]:
        self._session.see(org)
        rows = self._session.run(self._sql["private"], {"org": org, "agent": agent})
        return [(partition_of(org, level, owner), item_id) for org, level, owner, item_id in rows]

    def key(self, inherited: bytes = b"") -> bytes:
        row = self._session.run(self._sql["key"]).fetchone()
        secret = bytes(row[0]) if row else b""
        if not secret and self._session.is_writing:
            secret = inherited or secrets.token_bytes(KEY_BYTES)
            self._session.write(self._sql["put_key"], {"secret": secret})
        return secret

    def add(self, receipt: Receipt) -> None:
        self._session.see(receipt.org)
        if self._session.write(self._sql["add"], receipt_columns(receipt)).fetchone() is None:
            raise ConflictError(f"receipt {receipt.id} is there already")

    def receipts(self, org: str) -> list[Receipt]:
        self._session.see(org)
        return [to_receipt(row) for row in self._session.run(self._sql["receipts"], {"org": org})]

    def orgs(self) -> list[str]:
        return [str(row[0]) for row in self._session.run_across(self._sql["orgs"])]
