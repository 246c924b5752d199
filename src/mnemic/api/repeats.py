"""What a door asks that lets requests be sent again: was this one done before, and what was the answer?"""

from __future__ import annotations

import threading
import uuid
from contextlib import AbstractContextManager
from datetime import datetime

from mnemic.engine import access as requests
from mnemic.engine.access import Claim
from mnemic.engine.engine import Parts
from mnemic.model.records import KeptRequest, Outcome
from mnemic.model.scope import Level, Scope


class Repeats:
    """Requests with a key of their own, of every process on the store."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._guard = threading.Lock()
        self._swept: datetime | None = None

    def request(self, scope: Scope, caller: str, key: str, fingerprint: str) -> KeptRequest:
        """A try that begins now, of what was asked in a scope; `fingerprint` is a digest of all that was asked."""
        return KeptRequest(
            org=scope.org,
            caller=caller,
            key=requests.digest(scope.org, caller, key),
            token=uuid.uuid4().hex,
            fingerprint=fingerprint,
            at=self._parts.clock.now(),
            user=requests.owner(scope.org, Level.USER, scope.user),
            agent=requests.owner(scope.org, Level.AGENT, scope.agent),
            session=requests.owner(scope.org, Level.SESSION, scope.session),
        )

    def find(self, request: KeptRequest) -> KeptRequest | None:
        """What is known of a request with the same org, caller and key; None when there was none within a day."""
        return requests.find(self._parts, request)

    def begin(self, claim: Claim) -> bool:
        """Write down that work begins which is not in the store alone; False where another process was quicker."""
        return requests.begin(self._parts, claim)

    def within(self, claim: Claim) -> AbstractContextManager[None]:
        """What is written within the block is written together with the request."""
        return requests.claimed(claim)

    def keep(self, claim: Claim, outcome: Outcome, answer: bytes = b"") -> None:
        """Write down what became of it."""
        requests.keep(self._parts, claim, outcome, answer, is_sweeping=self._is_time_to_sweep())

    def release(self, claim: Claim) -> None:
        """Forget a request of which nothing was done."""
        requests.release(self._parts, claim)

    def _is_time_to_sweep(self) -> bool:
        now = self._parts.clock.now()
        with self._guard:
            is_time = self._swept is None or abs(now - self._swept) >= requests.SWEPT
            if is_time:
                self._swept = now
            return is_time
