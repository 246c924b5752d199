"""What every door must do alike: erasure for good."""

from __future__ import annotations

from mnemic.errors import InvalidInputError, NotFoundError
from tests.doors.scenarios import ANA_TODAY, BORIS, KEEP_TEA, TALK, Ref, Scenario, Step

ERASURE = (
    Scenario(
        "what is erased is what the plan said, and nobody else's",
        (
            KEEP_TEA,
            TALK,
            Step("profile.set", {"facts": {"name": "Ana"}}),
            Step("remember", {"text": "Boris drinks beer"}, scope=BORIS, save="beer"),
            Step("erase", {"is_dry_run": True}, expect={"is_plan": True, "id": "", "counts.memories": 1}),
            Step("get", {"id": Ref("tea")}, expect={"id": Ref("tea")}),
            Step("erase", expect={"is_plan": False, "counts.memories": 1, "counts.profiles": 1}),
            Step("get", {"id": Ref("tea")}, fails=NotFoundError),
            Step("recall", {"query": "what does she drink?"}, expect={"hits.#": 0}),
            Step("profile.all", expect={"static.#": 0, "dynamic.#": 0}),
            Step("get", {"id": Ref("beer")}, scope=BORIS, expect={"id": Ref("beer")}),
            Step("receipts", expect={"#": 1, "0.counts.memories": 1, "0.is_plan": False}),
            Step("erase", expect={"counts": {}}),
        ),
    ),
    Scenario(
        "of a level that the scope does not name nothing is erased",
        (
            KEEP_TEA,
            Step("erase", {"level": "session"}, fails=InvalidInputError),
            Step("erase", {"level": "planet"}, fails=InvalidInputError),
            Step("erase", {"level": "session"}, scope=ANA_TODAY, expect={"is_plan": False}),
            Step("get", {"id": Ref("tea")}, expect={"id": Ref("tea")}),
        ),
    ),
)
