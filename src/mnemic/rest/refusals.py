"""What is told of a request that may not be done again, and whose answer is not there to be given again."""

from __future__ import annotations

from collections.abc import Mapping

from mnemic.model.records import KeptRequest, Outcome
from mnemic.web.problems import Problem

UNDER_WAY = Problem(
    409,
    "under_way",
    "The same request is being answered",
    "the request with this Idempotency-Key is still being answered",
    "ask again with the same key in a moment",
    headers={"Retry-After": "1"},
)
LOOK = "look whether it was done, and only where it was not send it with a new key"
DONE = "read what you need anew; do not send it again"
UNFINISHED = Problem(
    409,
    "unfinished",
    "A part of this may have been done",
    "the request with this Idempotency-Key failed, or was broken off, when it had begun to write",
    LOOK,
)
GONE: Mapping[Outcome, str] = {
    Outcome.TOO_LARGE: "its answer was too large to be kept",
    Outcome.WITHHELD: "its answer held a secret, and was not kept",
    Outcome.FORGOTTEN: "its answer was removed, since something that it may have told was deleted",
}


def refusal(known: KeptRequest) -> Problem:
    """The problem of a request that has no answer to give again."""
    if known.outcome is Outcome.UNFINISHED:
        return UNFINISHED
    if known.outcome is Outcome.OPEN:
        begun = known.at.isoformat(timespec="seconds")
        return Problem(
            409,
            "outcome_unknown",
            "It is not known whether this was done",
            f"a request with this Idempotency-Key, begun at {begun}, was not answered: another server still works on "
            "it, or was ended in the middle",
            f"ask again with the same key in a moment; while there is no answer, {LOOK}",
        )
    detail = f"the request with this Idempotency-Key was done; {GONE[known.outcome]}"
    return Problem(409, "answer_gone", "This was done before", detail, DONE)
