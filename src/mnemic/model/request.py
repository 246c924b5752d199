"""Requests that may be sent again: what is kept of each, so that it is done once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Outcome(StrEnum):
    """What became of a request. Only of an answered one is the answer kept; for the others it says why not."""

    OPEN = "open"  # nobody has answered it: it is under way, or was ended in the middle
    ANSWERED = "answered"
    UNFINISHED = "unfinished"  # it failed, or was broken off, when a part of it may have been done
    TOO_LARGE = "too_large"
    WITHHELD = "withheld"  # it holds a secret
    FORGOTTEN = "forgotten"  # something that its answer may have told was deleted since


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRequest:
    """One request that came with a key of its own, begun at `at`. It is known by org, caller and `key`.

    `key` and `fingerprint` are digests of the key and of what was asked, and `user`, `agent` and `session` of the parts
    of its scope, so that no name and no text is kept but in `answer`. `token` is of this one try: whoever holds it may
    answer. An empty `fingerprint`: something was deleted that an answer could tell, so that none is kept.
    """

    org: str
    caller: str
    key: str
    token: str
    fingerprint: str
    at: datetime
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    outcome: Outcome = Outcome.OPEN
    answer: bytes = field(default=b"", repr=False)
