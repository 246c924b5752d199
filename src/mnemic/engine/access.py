"""API keys, the audit log, and idempotent requests.

A key reads `mn_<id>_<secret>`. The store keeps the SHA-256 of the secret: 256 random bits need no slow hash. All
refusals read alike.

A repeated request gets its first answer. Each writing unit of work within `claimed` stores the request with its rows,
so a crash leaves both or neither. Work that reaches outside the store, or answers from earlier reads, is stored before
it begins (`begin`). If it left no answer, its outcome is unknown and it is not run again.
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
ID_BYTES = 9  # 18 hexadecimal digits: unique, not secret
SECRET_BYTES = 32  # 256 bits: cannot be guessed, so one SHA-256 is enough
MAX_TOKEN_CHARS = 200  # a token has about 90; longer ones are refused before hashing
MAX_OVERLAP_S = 30 * 86_400.0  # 30 days: with a longer overlap the old key would be a second key
MAX_AUDIT_PAGE = 1000  # entries: bounds the size of one answer
MAX_PLACE = 2**63 - 1  # the largest value of a 64-bit column
_NO_HASH = "0" * 64  # compared for an unknown key, so that its refusal takes as long as any other


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """A new key's properties. `expires_at` None: valid until revoked."""

    name: str = ""
    rights: Collection[Right | str] = (Right.READ, Right.WRITE)
    user: str | None = None
    agent: str | None = None
    expires_at: datetime | None = None


def create_key(engine: Engine, scope: Scope, asked: KeyRequest, *, actor: str) -> IssuedKey:
    """Create a key for the scope's org. The token is returned only here."""
    now = engine.clock.now()
    if asked.expires_at is not None and asked.expires_at <= now:
        raise InvalidInputError("expires_at must be in the future")
    rights = frozenset(check_choice(Right, right, "rights") for right in asked.rights)
    if not rights:
        raise InvalidInputError(f"a key requires at least one of the rights {', '.join(Right)}")
    if Right.ADMIN in rights and (asked.user or asked.agent):
        raise InvalidInputError("a key that is restricted to a user or an agent cannot have the 'admin' right")
    Scope(org=scope.org, user=asked.user, agent=asked.agent)  # refuses invalid ids
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
        work.audit.add([_make_audit_entry(issued.key, now, actor, "keys.create")])
    return issued


def list_keys(engine: Engine, scope: Scope) -> list[ApiKey]:
    """Every key of the scope's org in order of creation, including revoked and expired ones."""
    with engine.store.read() as work:
        return work.keys.list(scope.org)


def revoke_key(engine: Engine, scope: Scope, id: str, *, actor: str) -> ApiKey:
    """Revoke a key now. Idempotent. Raises `NotFoundError` if the org has no such key."""
    now = engine.clock.now()
    with engine.store.write() as work:
        if not work.keys.end(scope.org, id, revoked_at=now):
            raise _unknown(id)
        key = _require_own(work.keys.get(id), scope, id)
        work.audit.add([_make_audit_entry(key, now, actor, "keys.revoke")])
    return key


def rotate_key(engine: Engine, scope: Scope, id: str, *, overlap_s: float, actor: str) -> IssuedKey:
    """Copy a key and expire the old one after `overlap_s` seconds. Raises `NotFoundError` also for an ended key."""
    if isinstance(overlap_s, bool) or not 0 <= overlap_s <= MAX_OVERLAP_S:
        raise InvalidInputError(f"overlap_s must be a number of seconds from 0 to {MAX_OVERLAP_S:.0f}")
    now = engine.clock.now()
    with engine.store.write() as work:
        old = _require_own(work.keys.get(id), scope, id)
        if not old.is_valid(now):
            raise NotFoundError(f"key {id!r} has expired or been revoked; create a new one")
        issued = _issue(replace(old, id=_new_id(), created_at=now))
        work.keys.end(scope.org, id, expires_at=now + timedelta(seconds=overlap_s))
        work.keys.add(issued.key)
        work.audit.add(
            [
                _make_audit_entry(old, now, actor, "keys.rotate"),
                _make_audit_entry(issued.key, now, actor, "keys.create"),
            ]
        )
    return issued


def check_key(engine: Engine, token: str) -> ApiKey:
    """The valid key of a token. Compares in constant time. Raises `UnauthorisedError` without details."""
    prefix, _, rest = token.partition("_") if len(token) <= MAX_TOKEN_CHARS else ("", "", "")
    key_id, _, secret = rest.partition("_")
    with engine.store.read() as work:
        key = work.keys.get(key_id) if prefix == PREFIX and key_id.isascii() and key_id.isalnum() else None
    is_right = hmac.compare_digest(_hash(secret), _NO_HASH if key is None else key.secret_hash)
    if key is None or not is_right or not key.is_valid(engine.clock.now()):
        raise UnauthorisedError("the API key is invalid, expired or revoked")
    return key


def has_keys(engine: Engine) -> bool:
    """True if the store holds any key. Then every request through a door needs one."""
    with engine.store.read() as work:
        return work.keys.has_any()


def note_audit(engine: Engine, entries: Collection[AuditEntry]) -> None:
    """Write audit entries in one unit of work."""
    if entries:
        with engine.store.write() as work:
            work.audit.add(list(entries))


def list_audit(engine: Engine, scope: Scope, *, before: int | None, limit: int) -> AuditPage:
    """A page of the org's audit log, newest first."""
    if isinstance(limit, bool) or not 1 <= limit <= MAX_AUDIT_PAGE:
        raise InvalidInputError(f"limit must be a whole number from 1 to {MAX_AUDIT_PAGE}, not {limit!r}")
    if before is not None and not 0 <= before <= MAX_PLACE:
        raise InvalidInputError("before must be the `next` value of the previous page")
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


def _require_own(key: ApiKey | None, scope: Scope, id: str) -> ApiKey:
    """The key, if it belongs to the scope's org."""
    if key is None or key.org != scope.org:
        raise _unknown(id)
    return key


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"there is no key {id!r} in this org; `mnemic keys list` lists the keys")


def _make_audit_entry(key: ApiKey, at: datetime, actor: str, verb: str) -> AuditEntry:
    return AuditEntry(org=key.org, at=at, actor=actor, verb=verb, target=key.id)


KEPT = timedelta(days=1)  # how long a request is known, from its start
SWEPT = timedelta(minutes=10)
"""How often expired requests are removed while requests are answered. The worker's schedules remove them too."""

_SEPARATOR = "\x1f"  # cannot occur in an id


@dataclass(slots=True)
class Claim:
    """One attempt at a request. `reaches_out`: it acts outside the store too. `is_put`: the request is stored.
    `is_begun`: work may have been done. `is_lost`: another process has the request, so this attempt does not count.
    """

    request: KeptRequest
    reaches_out: bool = False
    is_put: bool = False
    is_begun: bool = False
    is_lost: bool = False

    def put(self, work: UnitOfWork) -> None:
        """Store the request in this unit of work. Raises `ConflictError` if another process has it."""
        asked = self.request
        if self.is_put or work.requests.add(asked, asked.at - KEPT):
            return
        known = work.requests.get(asked.org, asked.caller, asked.key)
        if known is None or known.token != asked.token:  # else another thread of this attempt was first
            self.is_lost = True
            raise ConflictError("another server is already processing a request with the same idempotency key")


_claim: ContextVar[Claim | None] = ContextVar("mnemic_claim", default=None)


def current() -> Claim | None:
    """The request of this context, if any."""
    return _claim.get()


def reach_out() -> None:
    """Note that this request may have effects, whether or not the store commits."""
    claim = _claim.get()
    if claim is not None:
        claim.is_begun = True


@contextmanager
def claimed(claim: Claim | None) -> Generator[None]:
    """Attribute all writes of the block, and of threads with its context, to this request. None: to no request."""
    before = _claim.set(claim)
    try:
        yield
    finally:
        _claim.reset(before)


def find(engine: Engine, request: KeptRequest) -> KeptRequest | None:
    """Look up an earlier request by org, caller and idempotency key. Expired requests are ignored."""
    with engine.store.read() as work:
        known = work.requests.get(request.org, request.caller, request.key)
    return None if known is None or known.at < request.at - KEPT else known


def begin(engine: Engine, claim: Claim) -> bool:
    """Store a request before its work. False if another process was first."""
    with claimed(None), engine.store.write() as work:
        claim.is_put = work.requests.add(claim.request, claim.request.at - KEPT)
    return claim.is_put


def keep(engine: Engine, claim: Claim, outcome: Outcome, answer: bytes, *, is_sweeping: bool = False) -> None:
    """Store a request's outcome if any of its work is there. An answer that reached outside the store is withheld if it
    holds a secret: no earlier step redacted it.
    """
    if claim.reaches_out and outcome is Outcome.ANSWERED and redact(engine, answer.decode(errors="replace")).findings:
        outcome = Outcome.WITHHELD
    with claimed(None), engine.store.write() as work:
        work.requests.answer(claim.request, outcome, answer if outcome is Outcome.ANSWERED else b"")
        if is_sweeping:
            work.requests.forget(engine.clock.now() - KEPT)


def release(engine: Engine, claim: Claim) -> None:
    """Remove a request that had no effect, so that it may be sent again."""
    with claimed(None), engine.store.write() as work:
        work.requests.remove(claim.request)


def forget_answers(work: UnitOfWork, partitions: Iterable[Partition]) -> None:
    """Empty every kept answer that may quote these partitions. Call it last in the unit of work that deletes there. The
    deletion keeps its own answer, unless it reaches out: a model may have quoted the text.
    """
    claim = _claim.get()
    but = "" if claim is None or claim.reaches_out else claim.request.token
    for org, level, named in sorted({_scope_part(partition) for partition in partitions}):
        work.requests.scrub(org, level, named, but)


def digest(*texts: str) -> str:
    """SHA-256 of some texts, hexadecimal. Only the last may hold control characters."""
    return hashlib.sha256(_SEPARATOR.join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def owner(org: str, level: Level, part: str | None) -> str | None:
    """Hash of one part of a scope, as kept requests store it."""
    return None if part is None else digest(org, level.value, part)


def _scope_part(partition: Partition) -> tuple[str, Level, str]:
    """The part of a scope that gives access to a partition. For a user's session it is the user."""
    level, name = partition.level, partition.owner
    user, separator, _ = name.partition(_SEPARATOR)
    if level is Level.SESSION and separator:
        level, name = Level.USER, user
    return partition.org, level, "" if level is Level.ORG else digest(partition.org, level.value, name)


def claiming(store: Store) -> Store:
    """Wrap a store so that each unit of work also stores the current request."""
    return ClaimingCopyingStore(store, store) if isinstance(store, CopyingStore) else ClaimingStore(store)


class ClaimingStore:
    """A `Store` that stores the current request with its writes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def capabilities(self) -> StoreCapabilities:
        """The store's capabilities."""
        return self._store.capabilities

    def read(self) -> AbstractContextManager[UnitOfWork]:
        """Read from the store."""
        return self._store.read()

    def write(self, *, is_erasing: bool = False) -> AbstractContextManager[UnitOfWork]:
        """Write to the store together with the request. Raises `ConflictError` if another process runs it."""
        claim, write = current(), self._store.write(is_erasing=is_erasing)
        return write if claim is None else self._write_claimed(claim, write)

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        """The store's findings."""
        return self._store.diagnose(is_quick=is_quick)

    def check(self) -> None:
        """Check the wrapped store."""
        self._store.check()

    def scrub(self) -> tuple[str, ...]:
        """Scrub the wrapped store."""
        return self._store.scrub()

    def close(self) -> None:
        """Close the wrapped store."""
        self._store.close()

    @contextmanager
    def _write_claimed(self, claim: Claim, write: AbstractContextManager[UnitOfWork]) -> Generator[UnitOfWork]:
        with write as work:
            claim.put(work)
            yield work
            claim.is_begun = True  # before the commit, whose outcome may stay unknown
        claim.is_put = True


class ClaimingCopyingStore(ClaimingStore):
    """A `ClaimingStore` around a store that can be copied. Copies belong to no request."""

    def __init__(self, store: Store, copying: CopyingStore) -> None:
        super().__init__(store)
        self.copying = copying

    @property
    def kind(self) -> str:
        """The store's kind."""
        return self.copying.kind

    @property
    def room(self) -> Path | None:
        """The store's folder for temporary copies."""
        return self.copying.room

    def write_copy(self, path: Path, told: Told) -> None:
        """Copy the store to `path`."""
        self.copying.write_copy(path, told)

    def rows(self, *, is_whole: bool = False) -> AbstractContextManager[Rows]:
        """All rows of one moment."""
        return self.copying.rows(is_whole=is_whole)

    def take_copy(self, path: Path, ready: Callable[[UnitOfWork], Collection[str]], told: Told) -> None:
        """Replace the store's rows by those at `path`."""
        self.copying.take_copy(path, ready, told)


_: type[Store] = ClaimingStore
__: type[CopyingStore] = ClaimingCopyingStore
