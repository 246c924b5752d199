"""Requests that may be sent again, of the reference store."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from mnemic.adapters.stores.memory.transaction import Transaction
from mnemic.model.records import KeptRequest, Outcome
from mnemic.model.scope import Level


class MemoryRequests:
    """The `Requests` port."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def add(self, request: KeptRequest, since: datetime) -> bool:
        requests = self._transaction.writable.requests
        known = requests.get(_place(request))
        if known is not None and known.at >= since:
            return False
        requests[_place(request)] = request
        return True

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        return self._transaction.tables.requests.get((org, caller, key))

    def answer(self, request: KeptRequest, outcome: Outcome, answer: bytes) -> bool:
        requests = self._transaction.writable.requests
        known = self._own(request)
        if known is None:
            return False
        if not known.fingerprint:
            outcome, answer = Outcome.FORGOTTEN if outcome is Outcome.ANSWERED else outcome, b""
        requests[_place(request)] = replace(known, outcome=outcome, answer=answer)
        return True

    def remove(self, request: KeptRequest) -> bool:
        requests = self._transaction.writable.requests
        return self._own(request) is not None and requests.pop(_place(request), None) is not None

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        requests = self._transaction.writable.requests
        found = [
            (place, each)
            for place, each in requests.items()
            if each.org == org and each.token != but and each.fingerprint and _names(each, level, owner)
        ]
        for place, each in found:
            outcome = Outcome.FORGOTTEN if each.outcome is Outcome.ANSWERED else each.outcome
            requests[place] = replace(
                each, outcome=outcome, answer=b"", fingerprint="", user=None, agent=None, session=None
            )
        return len(found)

    def forget(self, before: datetime) -> int:
        requests = self._transaction.writable.requests
        old = [place for place, each in requests.items() if each.at < before]
        for place in old:
            del requests[place]
        return len(old)

    def _own(self, request: KeptRequest) -> KeptRequest | None:
        known = self._transaction.tables.requests.get(_place(request))
        is_own = known is not None and known.token == request.token and known.outcome is Outcome.OPEN
        return known if is_own else None


def _place(request: KeptRequest) -> tuple[str, str, str]:
    return request.org, request.caller, request.key


def _names(request: KeptRequest, level: Level, owner: str) -> bool:
    named = {Level.USER: request.user, Level.AGENT: request.agent, Level.SESSION: request.session}
    return level is Level.ORG or named[level] == owner
