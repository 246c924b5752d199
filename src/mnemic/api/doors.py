"""What the doors over HTTP ask before the verbs: who may come in, and was this request answered before?

Who is acting: the name that is written into the history of what the verbs change.

A memory is opened by one actor. Where it serves many, as the doors over HTTP do, `acting_as` names the one who asked
while that is worked on; a thread that is started meanwhile must be given the context of its starter.

A copy of a whole store without a store: its check, and its way from a server to a file.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path

from mnemic.build import archive, open_keyring
from mnemic.build import rescue_store as save_rows
from mnemic.config import Config
from mnemic.engine import access as keys
from mnemic.engine import access as requests
from mnemic.engine.access import Claim
from mnemic.engine.backup import check, receive
from mnemic.engine.context import is_waiting
from mnemic.engine.engine import Engine
from mnemic.model.backup import BackupReport, RescueReport
from mnemic.model.records import ApiKey, AuditEntry, KeptRequest, Outcome
from mnemic.model.scope import Level, Scope


class Admission:
    """What a door asks: is this key good, is one needed, and what should be written into the audit log."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def needs_key(self) -> bool:
        """True when the store holds any key, ended ones too; once it does, it stays so."""
        return keys.has_keys(self._engine)

    @property
    def is_waiting(self) -> bool:
        """True when answering waits for other servers (a store, an embedder), so that many threads are worth having."""
        return is_waiting(self._engine)

    @property
    def is_shared(self) -> bool:
        """True when several processes may use the store at once."""
        return self._engine.store.capabilities.is_shared

    def check(self, token: str) -> ApiKey:
        """The key of a token. Raises UnauthorisedError, which does not say what is wrong with it."""
        return keys.check_key(self._engine, token)

    def note(self, entries: Collection[AuditEntry]) -> None:
        """Write entries of the audit log down in one durable transaction."""
        keys.note_audit(self._engine, entries)

    def now(self) -> datetime:
        """The time by the injected clock, for entries of the audit log."""
        return self._engine.clock.now()


class Repeats:
    """Requests with a key of their own, of every process on the store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
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
            at=self._engine.clock.now(),
            user=requests.owner(scope.org, Level.USER, scope.user),
            agent=requests.owner(scope.org, Level.AGENT, scope.agent),
            session=requests.owner(scope.org, Level.SESSION, scope.session),
        )

    def find(self, request: KeptRequest) -> KeptRequest | None:
        """What is known of a request with the same org, caller and key; None when there was none within a day."""
        return requests.find(self._engine, request)

    def begin(self, claim: Claim) -> bool:
        """Write down that work begins which is not in the store alone; False where another process was quicker."""
        return requests.begin(self._engine, claim)

    def within(self, claim: Claim) -> AbstractContextManager[None]:
        """What is written within the block is written together with the request."""
        return requests.claimed(claim)

    def keep(self, claim: Claim, outcome: Outcome, answer: bytes = b"") -> None:
        """Write down what became of it."""
        requests.keep(self._engine, claim, outcome, answer, is_sweeping=self._is_time_to_sweep())

    def release(self, claim: Claim) -> None:
        """Forget a request of which nothing was done."""
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
def acting_as(actor: str) -> Generator[None]:
    """What is done within the block, and in what it awaits, is done by `actor`, whoever opened the memory."""
    before = _acting.set(actor)
    try:
        yield
    finally:
        _acting.reset(before)


def acting() -> str | None:
    """Who is acting here; None where nobody was named, so that it is who opened the memory."""
    return _acting.get()


class Acting:
    """What the verbs know of who calls them; a part of `Mnemic`."""

    _opened_by: str

    @property
    def _actor(self) -> str:
        """Who is acting, else who opened this memory."""
        return _acting.get() or self._opened_by


Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""


def check_backup(
    path: str | Path,
    *,
    room: str | Path | None = None,
    progress: Progress | None = None,
    config: Config | None = None,
) -> BackupReport:
    """Read a backup from end to end, unpack it in the folder `room` (that of temporary files unless told), open its
    rows and count them; no store is asked. Raises InvalidInputError when it is damaged or no backup, ConfigError when
    it is of a newer Mnemic, UnavailableError when there is no room.

    A sealed one is opened with the keyring of `config`, and nothing of it written down; without, its parts are compared
    with their checksums alone.
    """
    keyring = None if config is None else open_keyring(config)
    told = progress or ignore_backup_progress
    return check(archive(keyring), path, room=None if room is None else Path(room), told=told)


def rescue_store(store: str | Path, new: str | Path) -> RescueReport:
    """Save every readable row of a damaged store's file into a new store at `new`; the damaged one stays as it is.
    Raises `DamagedError` if not even the list of its tables can be read, `ConflictError` if there is a file at `new`.
    """
    return save_rows(Path(store), Path(new))


def receive_backup(
    path: str | Path, pieces: Iterable[bytes], *, is_replacing: bool = False, progress: Progress | None = None
) -> BackupReport:
    """Keep the bytes of a backup that a server sends, checked, whole or not at all; errors are those of `backup`."""
    told = progress or ignore_backup_progress
    return receive(archive(), path, pieces, is_replacing=is_replacing, told=told)


def ignore_backup_progress(_what: str, _done: int, _total: int) -> None:
    """For callers who need not know."""
