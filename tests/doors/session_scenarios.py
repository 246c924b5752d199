"""What every door must do alike, the third part: sessions, their windows, summaries, reflections and ends."""

from __future__ import annotations

from mnemic.errors import InvalidInputError
from tests.doors.scenarios import ANA, ANA_TODAY, BORIS_TODAY, TALK, Ref, Scenario, Step

SESSION_SCENARIOS = (
    Scenario(
        "the window of a session shows its last messages to its user alone",
        (
            TALK,
            Step("capture", {"user": "Make it ten"}, scope=ANA_TODAY),
            Step(
                "window",
                scope=ANA_TODAY,
                expect={"#": 3, "0.role": "user", "0.text": "My flight to Oslo leaves at noon", "2.position": 3},
            ),
            Step("window", {"limit": 1}, scope=ANA_TODAY, expect={"#": 1, "0.text": "Make it ten"}),
            Step("window", {"include_closed": True}, scope=ANA_TODAY, expect={"#": 3, "2.text": "Make it ten"}),
            Step("window", {"include_closed": True}, scope=BORIS_TODAY, expect={"#": 0}),
            Step("window", scope=BORIS_TODAY, expect={"#": 0}),
            Step("window", {"limit": 0}, scope=ANA_TODAY, fails=InvalidInputError),
            Step("window", fails=InvalidInputError),
        ),
    ),
    Scenario(
        "what was said is listed by time, the newest first, page by page, to its user alone",
        (
            TALK,
            Step("capture", {"user": "Make it ten", "observed_at": "2020-01-01T10:00:00Z"}, scope=ANA_TODAY),
            Step("messages", expect={"messages.#": 3, "messages.2.text": "Make it ten", "next": None}),
            Step(
                "messages",
                {"limit": 2},
                save="page",
                expect={"messages.#": 2, "messages.1.text": "My flight to Oslo leaves at noon"},
            ),
            Step(
                "messages", {"after": Ref("page", "next")}, expect={"messages.#": 1, "messages.0.text": "Make it ten"}
            ),
            Step("messages", {"before": "2021-01-01T00:00:00Z"}, expect={"messages.#": 1}),
            Step("messages", {"since": "2021-01-01T00:00:00Z"}, expect={"messages.#": 2}),
            Step("messages", {"in_session": True}, scope=ANA_TODAY, expect={"messages.#": 3}),
            Step("messages", {"after": "unknown"}, expect={"messages.#": 0, "next": None}),
            Step("messages", scope=BORIS_TODAY, expect={"messages.#": 0}),
            Step("messages", {"limit": 0}, fails=InvalidInputError),
            Step("messages", {"in_session": True}, fails=InvalidInputError),
            Step("messages", {"since": "yesterday"}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "an ephemeral session is seen by itself alone, leaves nothing behind, and ends",
        (
            Step("capture", {"user": "I live in Lyon with a cat", "is_ephemeral": True}, scope=ANA_TODAY),
            Step("capture", {"user": "The cat is called Miso"}, scope=ANA_TODAY, expect={"number": 2}),
            Step("window", scope=ANA_TODAY, expect={"#": 2, "0.level": "session", "1.level": "session"}),
            Step("recall", {"query": "cat"}, scope=ANA_TODAY, expect={"hits.0.item.text": "The cat is called Miso"}),
            Step("recall", {"query": "cat"}, expect={"hits.#": 0}),
            Step("messages", expect={"messages.#": 0}),
            Step("extract", scope=ANA_TODAY, expect={"messages": 0, "entries.#": 0}),
            Step("summarise", {"is_flush": True}, scope=ANA_TODAY, expect={"entries.#": 0}),
            Step("end", scope=ANA_TODAY, expect={"pending": 0}),
            Step("work", expect={"dead": 0}),
            Step("window", {"include_closed": True}, scope=ANA_TODAY, expect={"#": 0}),
            Step("list", expect={"memories.#": 0}),
            Step("capture", {"user": "Hello"}, scope=BORIS_TODAY),
            Step("capture", {"user": "Hello", "is_ephemeral": True}, scope=BORIS_TODAY, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "what was said is summarised when somebody asks for it, once",
        (
            TALK,
            Step("summarise", scope=ANA_TODAY, expect={"entries.#": 0, "left": 0, "is_dry_run": False}),
            Step(
                "summarise",
                {"is_flush": True, "is_dry_run": True},
                scope=ANA_TODAY,
                expect={"entries.#": 1, "entries.0.last": 2, "entries.0.memory_id": None, "is_dry_run": True},
            ),
            Step(
                "summarise",
                {"is_flush": True},
                scope=ANA_TODAY,
                save="report",
                expect={"session": "today", "entries.#": 1, "entries.0.first": 1, "entries.0.fallback": "", "left": 0},
            ),
            Step(
                "get",
                {"id": Ref("report", "entries.0.memory_id")},
                expect={"kind": "summary", "level": "user", "text": "user: My flight to Oslo leaves at noon"},
            ),
            Step("summarise", {"is_flush": True}, scope=ANA_TODAY, expect={"entries.#": 0}),
            Step("summarise", fails=InvalidInputError),
        ),
    ),
    Scenario(
        "facts are found in what was said when somebody asks for it, once",
        (
            Step("capture", {"user": "I prefer dark mode and I use Windows 11"}, scope=ANA_TODAY),
            Step(
                "extract",
                {"is_dry_run": True},
                scope=ANA_TODAY,
                expect={"entries.#": 2, "entries.0.verdict": None, "messages": 1, "left": 1, "is_dry_run": True},
            ),
            Step(
                "extract",
                scope=ANA_TODAY,
                save="report",
                expect={
                    "session": "today",
                    "entries.#": 2,
                    "entries.0.text": "User prefers dark mode",
                    "entries.0.kind": "preference",
                    "entries.0.verdict": "add",
                    "entries.1.kind": "context",
                    "left": 0,
                },
            ),
            Step(
                "get",
                {"id": Ref("report", "entries.1.memory_id")},
                expect={"text": "User uses Windows 11", "level": "user", "trust": "user"},
            ),
            Step("extract", scope=ANA_TODAY, expect={"entries.#": 0, "messages": 0}),
            Step("extract", fails=InvalidInputError),
        ),
    ),
    Scenario(
        "a session ends once, and what was kept for it alone with it",
        (
            TALK,
            Step("remember", {"text": "She is at the gate", "level": "session"}, scope=ANA_TODAY, save="gate"),
            Step("end", scope=ANA_TODAY, expect={"session": "today", "expired": [Ref("gate")], "pending": 2}),
            Step("end", scope=ANA_TODAY, expect={"expired": [], "pending": 2}),
            Step("jobs.list", scope=ANA_TODAY, expect={"1.kind": "summarise", "1.payload.session": "today"}),
            Step("list", {"levels": ["session"]}, scope=ANA_TODAY, expect={"memories.#": 0}),
            Step("history", {"id": Ref("gate")}, scope=ANA_TODAY, expect={"1.reason": "the session ended"}),
            Step("end", scope=ANA, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "a reflection waits for enough summaries and says so",
        (
            TALK,
            Step("summarise", {"is_flush": True}, scope=ANA_TODAY),
            Step(
                "reflect",
                scope=ANA_TODAY,
                expect={
                    "session": "today",
                    "summaries": 1,
                    "memory_id": None,
                    "skipped": "there are 1 summaries; a reflection needs at least 5",
                    "is_dry_run": False,
                },
            ),
            Step("reflect", {"is_dry_run": True}, scope=ANA_TODAY, expect={"is_dry_run": True, "memory_id": None}),
            Step("reflect", expect={"session": "", "summaries": 1, "memory_id": None}),
        ),
    ),
)
