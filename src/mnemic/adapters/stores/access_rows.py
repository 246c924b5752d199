"""Between rows and the nouns of access, for both SQL stores: columns in, frozen dataclasses out, and back."""

from __future__ import annotations

from collections.abc import Mapping

from mnemic.adapters.stores.rows import Row, micros, moment
from mnemic.model.records import ApiKey, AuditEntry, KeptRequest, Outcome, Right
from mnemic.model.values import from_microseconds, to_microseconds


def key_columns(key: ApiKey) -> Mapping[str, object]:
    """The columns of a key; its rights as one text with blanks between."""
    return {
        "org": key.org,
        "id": key.id,
        "secret_hash": key.secret_hash,
        "rights": " ".join(sorted(key.rights)),
        "name": key.name,
        "bound_user": key.user,
        "bound_agent": key.agent,
        "created_at": to_microseconds(key.created_at),
        "expires_at": micros(key.expires_at),
        "revoked_at": micros(key.revoked_at),
    }


def to_key(row: Row) -> ApiKey:
    """The key of a row selected by `access.sql`."""
    return ApiKey(
        org=row[0],
        id=row[1],
        secret_hash=row[2],
        rights=frozenset(Right(right) for right in row[3].split()),
        name=row[4],
        user=row[5],
        agent=row[6],
        created_at=from_microseconds(row[7]),
        expires_at=moment(row[8]),
        revoked_at=moment(row[9]),
    )


def audit_columns(entry: AuditEntry) -> Mapping[str, object]:
    """The columns of an entry of the audit log."""
    return {
        "org": entry.org,
        "at": to_microseconds(entry.at),
        "actor": entry.actor,
        "verb": entry.verb,
        "target": entry.target,
        "outcome": entry.outcome,
    }


def to_numbered_entry(row: Row) -> tuple[int, AuditEntry]:
    """The number and the entry of a row selected by `access.sql`."""
    number, org, at, actor, verb, target, outcome = row
    return number, AuditEntry(org=org, at=from_microseconds(at), actor=actor, verb=verb, target=target, outcome=outcome)


def request_columns(request: KeptRequest) -> Mapping[str, object]:
    """The columns of a request that may be sent again."""
    return {
        "org": request.org,
        "caller": request.caller,
        "key": request.key,
        "token": request.token,
        "fingerprint": request.fingerprint,
        "at": to_microseconds(request.at),
        "for_user": request.user,
        "for_agent": request.agent,
        "for_session": request.session,
        "outcome": request.outcome.value,
        "answer": request.answer,
    }


def to_request(row: Row) -> KeptRequest:
    """The request of a row selected by `requests.sql`."""
    org, caller, key, token, fingerprint, at, user, agent, session, outcome, answer = row
    return KeptRequest(
        org=org,
        caller=caller,
        key=key,
        token=token,
        fingerprint=fingerprint,
        at=from_microseconds(at),
        user=user,
        agent=agent,
        session=session,
        outcome=Outcome(outcome),
        answer=bytes(answer),
    )
