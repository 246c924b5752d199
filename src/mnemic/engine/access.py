"""Keys for the doors, and requests that are safe to repeat.

A key reads `mn_<id>_<secret>`. The store keeps the SHA-256 of the secret: 256 random bits need no slow hash. Every
refusal says the same.

A repeated request gets its first answer. Every writing unit of work within `claimed` stores the request beside what it
writes, so that a dying process leaves both or neither. Work that reaches outside the store, or answers from earlier
reads, is stored before it begins (`begin`). Without an answer its result is unknown, and it is not repeated.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from mnemic.engine.engine import Engine
from mnemic.engine.inputs import check_choice, check_line
from mnemic.engine.secrets import redact
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError, UnauthorisedError
from mnemic.model.health import Finding
from mnemic.model.records import ApiKey, AuditEntry, AuditPage, IssuedKey, KeptRequest, Outcome, Right
from mnemic.model.scope import Level, Partition, Scope
from mnemic.ports.store import CopyingStore, Rows, Store, StoreCapabilities, Told, UnitOfWork

PREFIX = "mn"
ID_BYTES = 9  # 18 hexadecimal digits: no two keys share an id; it is not secret
SECRET_BYTES = 32  # 256 bits: cannot be guessed, so that one SHA-256 protects it
MAX_TOKEN_CHARS = 200  # a token has about 90; longer ones are refused without hashing them
MAX_OVERLAP_S = 30 * 86_400.0  # 30 days: a longer overlap would be a second key
MAX_AUDIT_PAGE = 1000  # entries: bounds the size of one answer
MAX_PLACE = 2**63 - 1  # the largest number of a 64-bit column
_NO_HASH = "0" * 64  # compared for an unknown key, so that its refusal takes as long as any other


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """What a new key shall be; `expires_at` None: it lasts until it is revoked."""

    name: str = ""
    rights: Collection[Right | str] = (Right.READ, Right.WRITE)
    user: str | None = None
    agent: str | None = None
    expires_at: datetime | None = None


def create_key(engine: Engine, scope: Scope, asked: KeyRequest, *, actor: str) -> IssuedKey:
    """Make a key of the scope's org. The answer is the only place where its token is ever seen."""
    now = engine.clock.now()
    if asked.expires_at is not None and asked.expires_at <= now:
        raise InvalidInputError("expires_at must be in the future")
    rights = frozenset(check_choice(Right, right, "rights") for right in asked.rights)
    if not rights:
        raise InvalidInputError(f"a key needs at least one right of {', '.join(Right)}")
    if Right.ADMIN in rights and (asked.user or asked.agent):
        raise InvalidInputError("a key that is bound to a user or an agent cannot have the right 'admin'")
    Scope(org=scope.org, user=asked.user, agent=asked.agent)  # refuses ids that cannot be
    issued = _issue(
        ApiKey(
            id=_new_id(),
            org=scope.org,
            secret_hash="",
            rights=rights,
            created_at=now,
            name=check_line(asked.name, "name"),
            user=asked.user,
            agent=asked.agent,
            expires_at=asked.expires_at,
        )
    )
    with engine.store.write() as work:
        work.keys.add(issued.key)
        work.audit.add([_note(issued.key, now, actor, "keys.create")])
    return issued


def list_keys(engine: Engine, scope: Scope) -> list[ApiKey]:
    """Every key of the scope's org, in the order of making; those that ended too."""
    with engine.store.read() as work:
        return work.keys.list(scope.org)


def revoke_key(engine: Engine, scope: Scope, id: str, *, actor: str) -> ApiKey:
    """End a key now. Raises `NotFoundError` when the org has no such key; revoking it again changes nothing."""
    now = engine.clock.now()
    with engine.store.write() as work:
        if not work.keys.end(scope.org, id, revoked_at=now):
            raise _unknown(id)
        key = _own(work.keys.get(id), scope, id)
        work.audit.add([_note(key, now, actor, "keys.revoke")])
    return key


def rotate_key(engine: Engine, scope: Scope, id: str, *, overlap_s: float, actor: str) -> IssuedKey:
    """Make a key like this one, and end this one after `overlap_s` seconds. Raises `NotFoundError` when the org has no
    such key, or when it has ended.
    """
    if isinstance(overlap_s, bool) or not 0 <= overlap_s <= MAX_OVERLAP_S:
        raise InvalidInputError(f"overlap_s must be a number of seconds from 0 to {MAX_OVERLAP_S:.0f}")
    now = engine.clock.now()
    with engine.store.write() as work:
        old = _own(work.keys.get(id), scope, id)
        if not old.is_valid(now):
            raise NotFoundError(f"key {id!r} has ended; make a new one")
        issued = _issue(replace(old, id=_new_id(), created_at=now))
        work.keys.end(scope.org, id, expires_at=now + timedelta(seconds=overlap_s))
        work.keys.add(issued.key)
        work.audit.add([_note(old, now, actor, "keys.rotate"), _note(issued.key, now, actor, "keys.create")])
    return issued


def check_key(engine: Engine, token: str) -> ApiKey:
    """The key of a token that is valid now. Raises `UnauthorisedError` without details. Compares in constant time, with
    a hash of nothing for unknown ids.
    """
    prefix, _, rest = token.partition("_") if len(token) <= MAX_TOKEN_CHARS else ("", "", "")
    key_id, _, secret = rest.partition("_")
    with engine.store.read() as work:
        key = work.keys.get(key_id) if prefix == PREFIX and key_id.isascii() and key_id.isalnum() else None
    is_right = hmac.compare_digest(_hash(secret), _NO_HASH if key is None else key.secret_hash)
    if key is None or not is_right or not key.is_valid(engine.clock.now()):
        raise UnauthorisedError("this key is not accepted")
    return key


def has_keys(engine: Engine) -> bool:
    """True when the store holds any key, so that every request through a door must show one."""
    with engine.store.read() as work:
        return work.keys.has_any()


def note_audit(engine: Engine, entries: Collection[AuditEntry]) -> None:
    """Write entries of the audit log down, in one unit of work."""
    if entries:
        with engine.store.write() as work:
            work.audit.add(list(entries))


def list_audit(engine: Engine, scope: Scope, *, before: int | None, limit: int) -> AuditPage:
    """What was done in the scope's org, newest first."""
    if isinstance(limit, bool) or not 1 <= limit <= MAX_AUDIT_PAGE:
        raise InvalidInputError(f"limit must be a whole number from 1 to {MAX_AUDIT_PAGE}, not {limit!r}")
    if before is not None and not 0 <= before <= MAX_PLACE:
        raise InvalidInputError("before must be the `next` of a page")
    with engine.store.read() as work:
        found = work.audit.list(scope.org, before, limit + 1)
    page = found[:limit]
    return AuditPage(tuple(entry for _, entry in page), page[-1][0] if len(found) > limit else None)


def _issue(key: ApiKey) -> IssuedKey:
    secret = secrets.token_hex(SECRET_BYTES)
    return IssuedKey(key=replace(key, secret_hash=_hash(secret)), token=f"{PREFIX}_{key.id}_{secret}")


def _new_id() -> str:
    return secrets.token_hex(ID_BYTES)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def _own(key: ApiKey | None, scope: Scope, id: str) -> ApiKey:
    """The key, if it is one of the scope's org."""
    if key is None or key.org != scope.org:
        raise _unknown(id)
    return key


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"there is no key {id!r} in this org; `mnemic keys list` shows those there are")


def _note(key: ApiKey, at: datetime, actor: str, verb: str) -> AuditEntry:
    return AuditEntry(org=key.org, at=at, actor=actor, verb=verb, target=key.id)


KEPT = timedelta(days=1)
"""How long after it was begun a request is known."""

SWEPT = timedelta(minutes=10)
"""How often those that are older are removed, where requests are answered; the worker's schedules do it too."""

_SEPARATOR = "\x1f"  # it cannot be part of an id


@dataclass(slots=True)
class Claim:
    """One attempt at a request. `reaches_out`: it acts outside the store too. `is_put`: the request is stored.
    `is_begun`: work may be done. `is_lost`: another process has it, so nothing of this attempt counts.
    """

    request: KeptRequest
    reaches_out: bool = False
    is_put: bool = False
    is_begun: bool = False
    is_lost: bool = False

    def put(self, work: UnitOfWork) -> None:
        """Put the request beside what this unit of work writes. Raises `ConflictError` where another has it."""
        asked = self.request
        if self.is_put or work.requests.add(asked, asked.at - KEPT):
            return
        known = work.requests.get(asked.org, asked.caller, asked.key)
        if known is None or known.token != asked.token:  # else a thread of this try was quicker
            self.is_lost = True
            raise ConflictError("a request with the same key is being answered by another server")


_claim: ContextVar[Claim | None] = ContextVar("mnemic_claim", default=None)


def current() -> Claim | None:
    """The request that is worked on here."""
    return _claim.get()


def reach_out() -> None:
    """Note that what is done now is more than reading, whatever becomes of the store."""
    claim = _claim.get()
    if claim is not None:
        claim.is_begun = True


@contextmanager
def claimed(claim: Claim | None) -> Generator[None]:
    """What is written within the block, and in threads with its context, is the work of this request; None: of none."""
    before = _claim.set(claim)
    try:
        yield
    finally:
        _claim.reset(before)


def find(engine: Engine, request: KeptRequest) -> KeptRequest | None:
    """What is known of a request with the same org, caller and key, unless it was begun too long ago."""
    with engine.store.read() as work:
        known = work.requests.get(request.org, request.caller, request.key)
    return None if known is None or known.at < request.at - KEPT else known


def begin(engine: Engine, claim: Claim) -> bool:
    """Put a request into the store before its work; False where another process was quicker."""
    with claimed(None), engine.store.write() as work:
        claim.is_put = work.requests.add(claim.request, claim.request.at - KEPT)
    return claim.is_put


def keep(engine: Engine, claim: Claim, outcome: Outcome, answer: bytes, *, is_sweeping: bool = False) -> None:
    """Write what became of a request, if any of its work is there. An answer of work that reaches out, which nobody has
    looked through before, is not kept when it holds a secret.
    """
    if claim.reaches_out and outcome is Outcome.ANSWERED and redact(engine, answer.decode(errors="replace")).findings:
        outcome = Outcome.WITHHELD
    with claimed(None), engine.store.write() as work:
        work.requests.answer(claim.request, outcome, answer if outcome is Outcome.ANSWERED else b"")
        if is_sweeping:
            work.requests.forget(engine.clock.now() - KEPT)


def release(engine: Engine, claim: Claim) -> None:
    """Let go of a request of which nothing was done: it may be sent again."""
    with claimed(None), engine.store.write() as work:
        work.requests.remove(claim.request)


def forget_answers(work: UnitOfWork, partitions: Iterable[Partition]) -> None:
    """Empty every kept answer that could tell something of these partitions. Call it last in the unit of work that
    deletes there. A deletion keeps its own answer, unless it reaches out: a model may have quoted the text.
    """
    claim = _claim.get()
    but = "" if claim is None or claim.reaches_out else claim.request.token
    for org, level, named in sorted({_scope_part(partition) for partition in partitions}):
        work.requests.scrub(org, level, named, but)


def digest(*texts: str) -> str:
    """The SHA-256 of some texts in hexadecimal digits; none but the last may hold control characters."""
    return hashlib.sha256(_SEPARATOR.join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def owner(org: str, level: Level, part: str | None) -> str | None:
    """A part of a scope as a kept request has it."""
    return None if part is None else digest(org, level.value, part)


def _scope_part(partition: Partition) -> tuple[str, Level, str]:
    """The part of a scope by which it may see a partition. Of a user's session it is the user."""
    level, name = partition.level, partition.owner
    user, separator, _ = name.partition(_SEPARATOR)
    if level is Level.SESSION and separator:
        level, name = Level.USER, user
    return partition.org, level, "" if level is Level.ORG else digest(partition.org, level.value, name)


def claiming(store: Store) -> Store:
    """The same store, each unit of work of which puts the request that is worked on beside what it writes."""
    return ClaimingCopyingStore(store, store) if isinstance(store, CopyingStore) else ClaimingStore(store)


class ClaimingStore:
    """The `Store` port around another."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def capabilities(self) -> StoreCapabilities:
        """As of the store."""
        return self._store.capabilities

    def read(self) -> AbstractContextManager[UnitOfWork]:
        """As of the store."""
        return self._store.read()

    def write(self) -> AbstractContextManager[UnitOfWork]:
        """Write to the store together with the request. Raises `ConflictError` if another process runs it."""
        claim = current()
        return self._store.write() if claim is None else self._write_claimed(claim)

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        """As of the store."""
        return self._store.diagnose(is_quick=is_quick)

    def check(self) -> None:
        """As of the store."""
        self._store.check()

    def scrub(self) -> tuple[str, ...]:
        """As of the store."""
        return self._store.scrub()

    def close(self) -> None:
        """As of the store."""
        self._store.close()

    @contextmanager
    def _write_claimed(self, claim: Claim) -> Generator[UnitOfWork]:
        with self._store.write() as work:
            claim.put(work)
            yield work
            claim.is_begun = True  # before the commit, of which it may not be known whether it was
        claim.is_put = True


class ClaimingCopyingStore(ClaimingStore):
    """The same around a store that can be copied as a whole; copying is on behalf of nobody."""

    def __init__(self, store: Store, copying: CopyingStore) -> None:
        super().__init__(store)
        self._copying = copying

    @property
    def kind(self) -> str:
        """As of the store."""
        return self._copying.kind

    @property
    def room(self) -> Path | None:
        """As of the store."""
        return self._copying.room

    def write_copy(self, path: Path, told: Told) -> None:
        """As of the store."""
        self._copying.write_copy(path, told)

    def rows(self) -> AbstractContextManager[Rows]:
        """As of the store."""
        return self._copying.rows()

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        """As of the store."""
        self._copying.take_copy(path, ready, told)


_: type[Store] = ClaimingStore
__: type[CopyingStore] = ClaimingCopyingStore
