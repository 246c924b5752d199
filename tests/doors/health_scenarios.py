"""What every door must do alike: how well what is remembered is."""

from __future__ import annotations

from mnemic.errors import InvalidInputError, NotFoundError
from tests.doors.scenarios import BORIS, KEEP_TEA, Ref, Scenario, Step

HEALTH = (
    Scenario(
        "what is wrong with memories is told, with what ends it, and ended when asked",
        (
            KEEP_TEA,
            Step("remember", {"text": "Thank you so much!"}, save="junk"),
            Step("remember", {"text": "The Ana drinks smoked tea", "kind": "preference"}),
            Step(
                "health",
                {"is_dry_run": True, "fix": ["junk"]},
                expect={
                    "score.score": 56.7,
                    "score.memories": 3,
                    "score.counts": {"junk": 1, "duplicate": 1},
                    "findings.0.ailment": "junk",
                    "findings.0.ids": [Ref("junk")],
                    "findings.0.reason": "it is a courtesy",
                    "findings.0.remedy.verb": "delete",
                    "findings.1.remedy.verb": "merge",
                    "fixed.#": 1,
                    "scores": [],
                },
            ),
            Step("get", {"id": Ref("junk")}, expect={"state": "active"}),
            Step("health", {"only": ["duplicate"], "limit": 1}, expect={"findings.#": 1, "scores": []}),
            Step("health", {"fix": ["junk", "duplicate"]}, expect={"score.score": 100.0, "findings": [], "fixed.#": 2}),
            Step("get", {"id": Ref("junk")}, expect={"state": "archived"}),
            Step("undo", {"id": Ref("junk")}, expect={"state": "active"}),
            Step("health", {"levels": ["user"]}, expect={"score.counts": {"junk": 1}, "scores.0.score": 100.0}),
        ),
    ),
    Scenario(
        "nobody else's memories are looked at, and only kinds that there are",
        (
            Step("remember", {"text": "Thank you so much!"}, save="junk"),
            Step("health", {"fix": ["junk"]}, scope=BORIS, expect={"score.score": 100.0, "examined": 0, "fixed": []}),
            Step("undo", {"id": Ref("junk")}, scope=BORIS, fails=NotFoundError),
            Step("get", {"id": Ref("junk")}, expect={"state": "active"}),
            Step("health", {"fix": ["rust"]}, fails=InvalidInputError),
            Step("health", {"limit": 0}, fails=InvalidInputError),
            Step("doctor", {"is_quick": True}, expect={"findings.0.condition": "ok", "findings.#": 1}),
        ),
    ),
)
