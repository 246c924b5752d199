"""What every door must do alike, the curator's part."""

from __future__ import annotations

from mnemic.errors import InvalidInputError
from tests.doors.scenarios import ANA_TODAY, BORIS, Ref, Scenario, Step

CURATION = (
    Scenario(
        "days are curated once, and the gems are found",
        (
            Step(
                "capture",
                {
                    "messages": [
                        {"role": "user", "content": "We decided to use pgvector because backups exist."},
                        {"role": "assistant", "content": "Good."},
                    ],
                    "observed_at": "2026-04-03T10:00:00Z",
                },
                scope=ANA_TODAY,
            ),
            Step("curate", {"day": "2026-04-02"}, expect={"days.#": 0, "held": [], "is_dry_run": False}),
            Step("curate", {"is_dry_run": True}, expect={"days.0.gems.#": 1, "is_dry_run": True}),
            Step("list", {"kinds": ["gem"]}, expect={"memories.#": 0}),
            Step(
                "curate",
                save="curated",
                expect={
                    "days.#": 1,
                    "days.0.day": "2026-04-03",
                    "days.0.turns": 1,
                    "days.0.model": "rules",
                    "days.0.refused": [],
                    "days.0.gems.0.verdict": "add",
                    "days.0.gems.0.gem.gem": "User decided to use pgvector because backups exist.",
                    "days.0.gems.0.gem.conversation_id": "today",
                    "days.0.gems.0.gem.source_turns": [1],
                },
            ),
            Step("curate", expect={"days.#": 0}),
            Step("get", {"id": Ref("curated", "days.0.gems.0.memory_id")}, expect={"kind": "gem", "importance": 0.9}),
            Step("curate", scope=BORIS, expect={"days.#": 0}),
            Step("curate", {"day": "soon"}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "what was chosen again and again becomes one preference, and comes back",
        (
            *(
                Step(
                    "remember",
                    {"text": f"User chose green tea {where}", "kind": "gem", "observed_at": f"{day}T10:00:00Z"},
                    save=day,
                )
                for day, where in (
                    ("2025-01-04", "for the guests"),
                    ("2025-02-11", "over coffee"),
                    ("2025-04-20", "after lunch"),
                )
            ),
            Step(
                "consolidate",
                {"is_dry_run": True},
                expect={"entries.#": 1, "entries.0.memory_id": None, "entries.0.is_new": True, "is_dry_run": True},
            ),
            Step("list", {"kinds": ["preference"]}, expect={"memories.#": 0}),
            Step("consolidate", scope=BORIS, expect={"entries.#": 0}),
            Step(
                "consolidate",
                save="made",
                expect={
                    "entries.#": 1,
                    "entries.0.text": "User usually chooses green tea (3 times from 2025-01-04 to 2025-04-20)",
                    "entries.0.merged.#": 3,
                    "entries.0.is_new": True,
                    "is_dry_run": False,
                },
            ),
            Step("consolidate", expect={"entries.#": 0}),
            Step("list", expect={"memories.#": 1, "memories.0.kind": "preference"}),
            Step("get", {"id": Ref("2025-01-04")}, expect={"state": "superseded"}),
            Step("undo", {"id": Ref("made", "entries.0.memory_id")}),
            Step("get", {"id": Ref("2025-01-04")}, expect={"state": "active"}),
            Step("consolidate", expect={"entries.#": 0}),
        ),
    ),
)
