"""Services for HTTP servers: API keys, repeated requests, the acting caller, and backups without a store.

One Mnemic is opened by one actor. A server that works for many callers wraps each request in `acting_as`, so that the
history names the caller. A thread started meanwhile needs the context of its starter.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.build import archive, open_keyring
from mnemic.build import rescue_store as save_rows
from mnemic.config import Config
from mnemic.engine import access as keys
from mnemic.engine import access as requests
from mnemic.engine.access import Claim
from mnemic.engine.backup import check, receive
from mnemic.engine.context import is_waiting
from mnemic.engine.context_records import LIBRARY, through
from mnemic.engine.engine import Engine
from mnemic.model.backup import BackupReport, RescueReport
from mnemic.model.records import ApiKey, AuditEntry, KeptRequest, Outcome
from mnemic.model.scope import Level, Scope

if TYPE_CHECKING:
    from mnemic.engine.tokens import Tokens


class Admission:
    """Checks keys and writes the audit log."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def needs_key(self) -> bool:
        """True if the store has any key, even an expired one."""
        return keys.has_keys(self._engine)

    @property
    def is_waiting(self) -> bool:
        """True if answering waits for other servers (a store, an embedder), so that more threads help."""
        return is_waiting(self._engine)

    @property
    def is_shared(self) -> bool:
        """True if several processes can use the store at once."""
        return self._engine.store.capabilities.is_shared

    def check(self, token: str) -> ApiKey:
        """Return the key of a token. Raises `UnauthorisedError`, which does not say what is wrong with it."""
        return keys.check_key(self._engine, token)

    @property
    def tokens(self) -> Tokens:
        """OAuth tokens of keys."""
        from mnemic.engine.tokens import Tokens

        return Tokens(self._engine)

    def note(self, entries: Collection[AuditEntry]) -> None:
        """Write entries of the audit log in one durable transaction."""
        keys.note_audit(self._engine, entries)

    def now(self) -> datetime:
        """The current time by the injected clock, for the audit log."""
        return self._engine.clock.now()


class Repeats:
    """Requests with an idempotency key, shared by all processes of the store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._swept: datetime | None = None

    def request(self, scope: Scope, caller: str, key: str, fingerprint: str) -> KeptRequest:
        """Describe a request that starts now. `fingerprint` is a digest of its full content."""
        return KeptRequest(
            org=scope.org,
            caller=caller,
            key=requests.digest(scope.org, caller, key),
            token=uuid.uuid4().hex,
            fingerprint=fingerprint,
            at=self._engine.clock.now(),
            user=requests.owner(scope.org, Level.USER, scope.user),
            agent=requests.owner(scope.org, Level.AGENT, scope.agent),
            session=requests.owner(scope.org, Level.SESSION, scope.session),
        )

    def find(self, request: KeptRequest) -> KeptRequest | None:
        """Look up an earlier request by org, caller and idempotency key. None if there was none within a day."""
        return requests.find(self._engine, request)

    def begin(self, claim: Claim) -> bool:
        """Record the start of work that is not in the store alone. False if another process was first."""
        return requests.begin(self._engine, claim)

    def within(self, claim: Claim) -> AbstractContextManager[None]:
        """Everything written inside the block is committed together with the request."""
        return requests.claimed(claim)

    def keep(self, claim: Claim, outcome: Outcome, answer: bytes = b"") -> None:
        """Record the outcome of a request."""
        requests.keep(self._engine, claim, outcome, answer, is_sweeping=self._is_time_to_sweep())

    def release(self, claim: Claim) -> None:
        """Forget a request that did nothing."""
        requests.release(self._engine, claim)

    def _is_time_to_sweep(self) -> bool:
        now = self._engine.clock.now()
        with self._guard:
            is_time = self._swept is None or abs(now - self._swept) >= requests.SWEPT
            if is_time:
                self._swept = now
            return is_time


_acting: ContextVar[str | None] = ContextVar("mnemic_acting", default=None)


@contextmanager
def acting_as(actor: str, door: str = LIBRARY) -> Generator[None]:
    """Attribute everything done in the block, and in what it awaits, to `actor`, who came through `door`."""
    before = _acting.set(actor)
    try:
        with through(door):
            yield
    finally:
        _acting.reset(before)


def acting() -> str | None:
    """The current actor, or None to use the one who opened the memory."""
    return _acting.get()


class Acting:
    """Knows the current actor. A part of `Mnemic`."""

    _opened_by: str

    @property
    def _actor(self) -> str:
        """The current actor, else the one who opened this memory."""
        return _acting.get() or self._opened_by


Progress = Callable[[str, int, int], object]
"""Progress callback: `(step, done, total)`."""


def check_backup(
    path: str | Path, *, room: str | Path | None = None, progress: Progress | None = None, config: Config | None = None
) -> BackupReport:
    """Check a backup without a store: read it from end to end, unpack it in the folder `room` (default: the
    temporary folder), open its rows and count them.

    With `config`, a sealed backup is opened with its keyring. Without, only checksums are compared. Raises
    `InvalidInputError` if it is damaged or not a backup, `ConfigError` if a newer Mnemic wrote it, `UnavailableError`
    if the disk is full.
    """
    keyring = None if config is None else open_keyring(config)
    told = progress or ignore_backup_progress
    return check(archive(keyring), path, room=None if room is None else Path(room), told=told)


def rescue_store(store: str | Path, new: str | Path) -> RescueReport:
    """Save every readable row of a damaged store's file to a new store at `new`. The damaged store is not changed.
    Raises `DamagedError` if not even the list of its tables can be read, `ConflictError` if a file exists at `new`.
    """
    return save_rows(Path(store), Path(new))


def receive_backup(
    path: str | Path, pieces: Iterable[bytes], *, is_replacing: bool = False, progress: Progress | None = None
) -> BackupReport:
    """Save and verify a backup sent by a server. The file is never left incomplete. Raises the errors of `backup`."""
    told = progress or ignore_backup_progress
    return receive(archive(), path, pieces, is_replacing=is_replacing, told=told)


def ignore_backup_progress(_what: str, _done: int, _total: int) -> None:
    """The default callback."""
