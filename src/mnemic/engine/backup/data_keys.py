"""What an erasure does to the keys of sealed backups, and what is done where it was made without the keyring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from mnemic.engine.erasure.plan import keyed_hash
from mnemic.engine.parts import Parts
from mnemic.model.backup import LostOrg
from mnemic.model.scope import Level, Scope
from mnemic.ports.keyring import Keyring
from mnemic.ports.store import UnitOfWork


def erased_orgs(work: UnitOfWork) -> dict[str, datetime]:
    """The orgs that were erased as a whole, and when last."""
    key, found = work.erasure.key(), dict[str, datetime]()
    for org in work.erasure.orgs():
        whole = keyed_hash(key, Scope(org=org).partition(Level.ORG))
        moments = [receipt.at for receipt in work.erasure.receipts(org) if receipt.scope_hash == whole]
        if moments:
            found[org] = max(moments)
    return found


def catch_up(parts: Parts, keyring: Keyring) -> None:
    """Destroy the keys that are older than an erasure of their org: who erased it did not have the keyring at hand."""
    with parts.store.read() as work:
        erased = erased_orgs(work)
    kept = keyring.of(erased)
    late = [org for org, keys in kept.items() if any(key.secret and key.made_at <= erased[org] for key in keys)]
    if late:
        with keyring.destroying() as destroy:
            for org in late:
                destroy(org, parts.clock.now(), erased[org])


def named(lost: Sequence[LostOrg], keyring: Keyring | None, orgs: Iterable[str]) -> tuple[LostOrg, ...]:
    """The same with the names of those that are among these orgs."""
    if keyring is None or not lost:
        return tuple(lost)
    names = {key.id: org for org, keys in keyring.of([*orgs]).items() for key in keys}
    return tuple(replace(each, org=names.get(each.key)) for each in lost)
