"""Keys for the doors: making, changing and ending them, and the check of one that somebody presents.

A key reads `mn_<id>_<secret>`. The store keeps the SHA-256 of the secret: it has 256 random bits, so that a slow hash
would protect nothing more. Whatever is wrong with a key, its holder is told the same.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mnemic.engine.inputs import check_choice, check_line
from mnemic.engine.parts import Parts
from mnemic.errors import InvalidInputError, NotFoundError, UnauthorisedError
from mnemic.model.access import ApiKey, AuditEntry, AuditPage, IssuedKey, Right
from mnemic.model.scope import Scope

PREFIX = "mn"
ID_BYTES = 9
SECRET_BYTES = 32
MAX_TOKEN_CHARS = 200
MAX_OVERLAP_S = 30 * 86_400.0
MAX_AUDIT_PAGE = 1000
MAX_PLACE = 2**63 - 1
_NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """What a new key shall be; `expires_at` None: it lasts until it is revoked."""

    name: str = ""
    rights: Collection[Right | str] = (Right.READ, Right.WRITE)
    user: str | None = None
    agent: str | None = None
    expires_at: datetime | None = None


def create_key(parts: Parts, scope: Scope, asked: KeyRequest, *, actor: str) -> IssuedKey:
    """Make a key of the scope's org. The answer is the only place where its token is ever seen."""
    now = parts.clock.now()
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
    with parts.store.write() as work:
        work.keys.add(issued.key)
        work.audit.add([_note(issued.key, now, actor, "keys.create")])
    return issued


def list_keys(parts: Parts, scope: Scope) -> list[ApiKey]:
    """Every key of the scope's org, in the order of making; those that ended too."""
    with parts.store.read() as work:
        return work.keys.list(scope.org)


def revoke_key(parts: Parts, scope: Scope, id: str, *, actor: str) -> ApiKey:
    """End a key now. Raises `NotFoundError` when the org has no such key; revoking it again changes nothing."""
    now = parts.clock.now()
    with parts.store.write() as work:
        if not work.keys.end(scope.org, id, revoked_at=now):
            raise _unknown(id)
        key = _own(work.keys.get(id), scope, id)
        work.audit.add([_note(key, now, actor, "keys.revoke")])
    return key


def rotate_key(parts: Parts, scope: Scope, id: str, *, overlap_s: float, actor: str) -> IssuedKey:
    """Make a key like this one, and end this one after `overlap_s` seconds. Raises `NotFoundError` when the org has no
    such key, or when it has ended.
    """
    if isinstance(overlap_s, bool) or not 0 <= overlap_s <= MAX_OVERLAP_S:
        raise InvalidInputError(f"overlap_s must be a number of seconds from 0 to {MAX_OVERLAP_S:.0f}")
    now = parts.clock.now()
    with parts.store.write() as work:
        old = _own(work.keys.get(id), scope, id)
        if not old.is_valid(now):
            raise NotFoundError(f"key {id!r} has ended; make a new one")
        issued = _issue(replace(old, id=_new_id(), created_at=now))
        work.keys.end(scope.org, id, expires_at=now + timedelta(seconds=overlap_s))
        work.keys.add(issued.key)
        work.audit.add([_note(old, now, actor, "keys.rotate"), _note(issued.key, now, actor, "keys.create")])
    return issued


def check_key(parts: Parts, token: str) -> ApiKey:
    """The key of a token that is accepted now. Raises `UnauthorisedError`, which does not say what is wrong with it.

    The secret is compared in constant time, with a hash of nothing where the id is unknown.
    """
    prefix, _, rest = token.partition("_") if len(token) <= MAX_TOKEN_CHARS else ("", "", "")
    key_id, _, secret = rest.partition("_")
    with parts.store.read() as work:
        key = work.keys.get(key_id) if prefix == PREFIX and key_id.isascii() and key_id.isalnum() else None
    is_right = hmac.compare_digest(_hash(secret), _NO_HASH if key is None else key.secret_hash)
    if key is None or not is_right or not key.is_valid(parts.clock.now()):
        raise UnauthorisedError("this key is not accepted")
    return key


def has_keys(parts: Parts) -> bool:
    """True when the store holds any key, so that every request through a door must show one."""
    with parts.store.read() as work:
        return work.keys.has_any()


def note_audit(parts: Parts, entries: Collection[AuditEntry]) -> None:
    """Write entries of the audit log down, in one unit of work."""
    if entries:
        with parts.store.write() as work:
            work.audit.add(list(entries))


def list_audit(parts: Parts, scope: Scope, *, before: int | None, limit: int) -> AuditPage:
    """What was done in the scope's org, newest first."""
    if isinstance(limit, bool) or not 1 <= limit <= MAX_AUDIT_PAGE:
        raise InvalidInputError(f"limit must be a whole number from 1 to {MAX_AUDIT_PAGE}, not {limit!r}")
    if before is not None and not 0 <= before <= MAX_PLACE:
        raise InvalidInputError("before must be the `next` of a page")
    with parts.store.read() as work:
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
