"""The port of requests that may be sent again, one of those that a unit of work exposes (see `ports.store`).

They belong to orgs, not to partitions: each is known by its org, its caller and the digest of its key.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from mnemic.model.request import KeptRequest, Outcome
from mnemic.model.scope import Level


class Requests(Protocol):
    """What is known of each request that came with a key of its own."""

    def add(self, request: KeptRequest, since: datetime) -> bool:
        """Insert a request, True when it was; one with its org, caller and key that was begun before `since` is
        replaced. False when there is one begun then or later. Two writers at once: one of them inserts.
        """
        ...

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        """The request, whenever it was begun."""
        ...

    def answer(self, request: KeptRequest, outcome: Outcome, answer: bytes) -> bool:
        """Write what became of an open request, if it has the token of this one; False when not. Of one without a
        fingerprint no answer is kept: an answered one is forgotten at once.
        """
        ...

    def remove(self, request: KeptRequest) -> bool:
        """Remove an open request that has the token of this one; False when there is none."""
        ...

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        """Empty answer, fingerprint and scope of the requests of an org whose scope names the owner of the level (a
        digest; at the level of the org: of all), except of the one with the token `but`; those answered become
        forgotten. Returns how many requests it found, emptied ones left out.
        """
        ...

    def forget(self, before: datetime) -> int:
        """Remove the requests of every org that were begun earlier; returns how many."""
        ...
