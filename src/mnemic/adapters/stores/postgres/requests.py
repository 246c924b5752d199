"""Requests that may be sent again."""

from __future__ import annotations

from datetime import datetime

from mnemic.adapters.stores.access_rows import request_columns, to_request
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.model.records import KeptRequest, Outcome
from mnemic.model.scope import Level
from mnemic.model.values import to_microseconds


class PostgresRequests:
    """The `Requests` port."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sql = statements("requests")

    def add(self, request: KeptRequest, since: datetime) -> bool:
        self._session.see(request.org)
        asked = {**request_columns(request), "since": to_microseconds(since)}
        return self._session.write(self._sql["add"], asked).fetchone() is not None

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        self._session.see(org)
        row = self._session.run(self._sql["get"], {"org": org, "caller": caller, "key": key}).fetchone()
        return None if row is None else to_request(row)

    def answer(self, request: KeptRequest, outcome: Outcome, answer: bytes) -> bool:
        self._session.see(request.org)
        told = {**request_columns(request), "outcome": outcome.value, "answer": answer}
        return self._session.write(self._sql["answer"], told).rowcount == 1

    def remove(self, request: KeptRequest) -> bool:
        self._session.see(request.org)
        return self._session.write(self._sql["remove"], request_columns(request)).rowcount == 1

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        self._session.see(org)
        asked = {"org": org, "owner": owner, "but": but}
        return self._session.write(self._sql[f"scrub_{level.value}"], asked).rowcount

    def forget(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget"], {"before": to_microseconds(before)}).rowcount
