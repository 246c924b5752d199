"""Stories of a life with an assistant: one decision told twice, a year of choices, and thirty short talks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.doors.scenarios import ANA, Scenario, Step

SAID = (
    "I live in Porto.",
    "I work as a potter.",
    "I'm vegetarian.",
    "I prefer trains to planes.",
    "I run every morning before work.",
)
CHOICES = (
    "decided to host Forgejo herself instead of using GitHub",
    "chose Vaultwarden, self-hosted, over 1Password",
    "went with self-hosted Immich for the photos",
    "chose a self-hosted PostgreSQL over RDS",
    "picked a self-hosted Prefect instead of the cloud",
    "decided to use self-hosted Radicale for calendars",
    "chose self-hosted Jellyfin over Netflix",
    "went with self-hosted Plausible instead of Google Analytics",
)
TALKS = 30


def _live(day: int) -> tuple[Step, ...]:
    """A short talk, what is read of it, and its summary."""
    scope, text = replace(ANA, session=f"talk {day}"), SAID[day % len(SAID)]
    said_at = (datetime(2026, 1, 5, 18, tzinfo=UTC) + timedelta(days=day)).isoformat()
    talk = Step("capture", {"user": text, "assistant": "Noted.", "observed_at": said_at}, scope=scope)
    return talk, Step("extract", scope=scope), Step("summarise", {"is_flush": True}, scope=scope)


STORIES = (
    Scenario(
        "one decision in two wordings becomes one gem in a night",
        (
            *(
                Step(
                    "capture",
                    {"user": text, "observed_at": f"2026-04-03T{hour}:00:00Z"},
                    scope=replace(ANA, session=hour),
                )
                for hour, text in (
                    ("10", "We decided to use pgvector because backups exist."),
                    ("16", "So it is settled: we're going with pgvector, since backups exist."),
                )
            ),
            Step("curate", expect={"days.#": 1, "days.0.gems.#": 1}),
            Step(
                "list",
                {"kinds": ["gem"]},
                expect={"memories.#": 1, "memories.0.text": "User decided to use pgvector because backups exist."},
            ),
        ),
    ),
    Scenario(
        "a year of self-hosted choices becomes one preference beside them",
        (
            *(
                Step(
                    "remember",
                    {
                        "text": f"User {choice}",
                        "kind": "gem",
                        "observed_at": (datetime(2025, 1, 5, tzinfo=UTC) + timedelta(days=40 * place)).isoformat(),
                    },
                )
                for place, choice in enumerate(CHOICES)
            ),
            Step("consolidate", expect={"entries.#": 1, "entries.0.merged.#": len(CHOICES)}),
            Step(
                "list",
                {"kinds": ["preference"]},
                expect={
                    "memories.#": 1,
                    "memories.0.text": "User prefers self-hosted tools (8 choices from 2025-01-05 to 2025-10-12)",
                },
            ),
        ),
    ),
    Scenario(
        "thirty short talks give one reflection of what lasts, and each fact once",
        (
            *(step for day in range(TALKS) for step in _live(day)),
            Step("reflect", expect={"skipped": ""}),
            Step("list", {"kinds": ["reflection"]}, expect={"memories.#": 1}),
            Step(
                "list", {"kinds": ["fact", "preference", "context", "event", "goal"]}, expect={"memories.#": len(SAID)}
            ),
        ),
    ),
)
