"""What came through the doors, written into the audit log by a thread of its own, many entries in one transaction.

What concerns keys is not written here but in the transaction of its cause. Entries hold ids, never texts.
"""

from __future__ import annotations

import logging
import threading

from mnemic.api.keys import Admission
from mnemic.errors import MnemicError
from mnemic.model.records import AuditEntry
from mnemic.web.scopes import Caller

WITHIN_S = 0.5
"""How long an entry may wait before it is written; what waits is lost when the process is killed."""

MOST_WAITING = 10_000
_log = logging.getLogger("mnemic.web")


class AuditLog:
    """Takes entries at once and writes them soon; `close` writes what waits."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._waiting: list[AuditEntry] = []
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="mnemic-audit", daemon=True)
        self._thread.start()

    def note(self, caller: Caller, verb: str, target: str = "", outcome: str = "ok") -> None:
        """Note what a caller did, or was refused."""
        entry = AuditEntry(
            org=caller.org, at=self._admission.now(), actor=caller.actor, verb=verb, target=target, outcome=outcome
        )
        with self._guard:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(entry)
                return
        _log.error("the audit log cannot be written: an entry was left out")

    def flush(self) -> None:
        """Write what waits now; afterwards what was noted before is written, or waits because the store failed."""
        with self._writing:
            with self._guard:
                entries, self._waiting = self._waiting, []
            try:
                self._admission.note(entries)
            except MnemicError as error:
                _log.warning("the audit log waits: %s", type(error).__name__)
                with self._guard:
                    self._waiting = [*entries, *self._waiting][:MOST_WAITING]

    def close(self) -> None:
        """Write what waits and end; nothing may be noted afterwards."""
        self._is_closing.set()
        self._thread.join()
        self.flush()

    def _loop(self) -> None:
        while not self._is_closing.wait(WITHIN_S):
            self.flush()
