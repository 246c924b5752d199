"""What every door must do alike, the second part: memories that change, contexts, profiles, and moving out and in."""

from __future__ import annotations

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.scope import Scope
from tests.doors.scenarios import ANA_TODAY, BORIS, KEEP_TEA, TALK, Lines, Ref, Scenario, Step

DINA = Scope(user="dina", agent="quill")
HONEY = Step("remember", {"text": "Ana takes honey in it", "kind": "preference", "importance": "low"}, save="honey")
LOG = '{"role": "user", "content": "I sold the boat", "id": "m1"}\n{broken\n{"role": "assistant", "content": "Sad?"}\n'

CHANGES = (
    Scenario(
        "a corrected memory keeps what it was, and the correction can be taken back",
        (
            KEEP_TEA,
            Step(
                "update",
                {
                    "id": Ref("tea"),
                    "text": "Ana drinks green tea",
                    "importance": "low",
                    "categories": ["drinks"],
                    "valid_to": "2030-01-01T00:00:00Z",
                    "reason": "she told me",
                },
                expect={
                    "id": Ref("tea"),
                    "text": "Ana drinks green tea",
                    "importance": 0.3,
                    "categories": ["drinks"],
                    "valid_to": "2030-01-01T00:00:00.000000Z",
                    "kind": "preference",
                },
            ),
            Step(
                "history",
                {"id": Ref("tea")},
                expect={
                    "#": 2,
                    "1.action": "updated",
                    "1.reason": "she told me",
                    "1.before.text": "Ana drinks smoked tea",
                    "1.after.text": "Ana drinks green tea",
                },
            ),
            Step(
                "update",
                {"id": Ref("tea"), "valid_to": None, "categories": []},
                expect={"valid_to": None, "categories": [], "text": "Ana drinks green tea"},
            ),
            Step("undo", {"id": Ref("tea")}, expect={"categories": ["drinks"]}),
            Step("undo", {"id": Ref("tea")}, expect={"text": "Ana drinks smoked tea", "categories": []}),
            Step("undo", {"id": Ref("tea")}, fails=ConflictError),
            Step("history", {"id": Ref("tea")}, expect={"#": 5, "4.action": "restored"}),
            Step("update", {"id": Ref("tea")}, fails=InvalidInputError),
            Step("update", {"id": Ref("tea"), "text": "mine now"}, scope=BORIS, fails=NotFoundError),
        ),
    ),
    Scenario(
        "an importance may be said in a word, and may be corrected by one",
        tuple(
            step
            for word, number in (("low", 0.3), ("medium", 0.6), ("high", 0.9))
            for step in (
                Step("remember", {"text": f"of {word} importance", "importance": word}, expect={"importance": number}),
            )
        ),
    ),
    Scenario(
        "a memory is pinned, and let go",
        (
            KEEP_TEA,
            Step("pin", {"id": Ref("tea")}, expect={"is_pinned": True}),
            Step("pin", {"id": Ref("tea"), "is_pinned": False, "reason": "enough"}, expect={"is_pinned": False}),
            Step("history", {"id": Ref("tea")}, expect={"#": 3, "2.reason": "enough"}),
            Step("pin", {"id": "no-such-id"}, fails=NotFoundError),
        ),
    ),
    Scenario(
        "two memories become one, and two again",
        (
            KEEP_TEA,
            HONEY,
            Step(
                "merge",
                {"ids": [Ref("honey"), Ref("tea")], "text": "Ana drinks smoked tea with honey", "reason": "one thing"},
                expect={"id": Ref("honey"), "text": "Ana drinks smoked tea with honey", "state": "active"},
            ),
            Step("get", {"id": Ref("tea")}, expect={"state": "superseded", "other_id": Ref("honey")}),
            Step("list", expect={"memories.#": 1}),
            Step("undo", {"id": Ref("honey")}, expect={"text": "Ana takes honey in it", "importance": 0.3}),
            Step("get", {"id": Ref("tea")}, expect={"state": "active", "other_id": None}),
            Step("list", expect={"memories.#": 2}),
            Step("merge", {"ids": [Ref("tea")]}, fails=InvalidInputError),
            Step("merge", {"ids": [Ref("tea"), Ref("honey")]}, scope=BORIS, fails=NotFoundError),
        ),
    ),
    Scenario(
        "what was said again is noted, and what contradicts a memory ends it, visibly, until that is taken back",
        (
            Step("remember", {"text": "User lives in Lisbon"}, save="lisbon"),
            Step("remember", {"text": "user lives in LISBON!"}, expect={"id": Ref("lisbon")}),
            Step("remember", {"text": "User lives in Porto"}, expect={"state": "active"}, save="porto"),
            Step("list", expect={"memories.#": 1, "memories.0.id": Ref("porto")}),
            Step("list", {"states": ["superseded"]}, expect={"memories.#": 1, "memories.0.other_id": Ref("porto")}),
            Step("get", {"id": Ref("lisbon")}, expect={"state": "superseded", "other_id": Ref("porto")}),
            Step(
                "history",
                {"id": Ref("lisbon")},
                expect={"#": 3, "1.action": "restated", "2.action": "superseded", "2.after.other_id": Ref("porto")},
            ),
            Step("undo", {"id": Ref("lisbon")}, expect={"state": "active", "other_id": None, "valid_to": None}),
        ),
    ),
    Scenario(
        "a verdict refreshes a memory, or ends its validity",
        (
            KEEP_TEA,
            Step("feedback", {"id": Ref("tea"), "verdict": "relevant"}, expect={"access_count": 1, "valid_to": None}),
            Step("feedback", {"id": Ref("tea"), "verdict": "outdated", "reason": "she quit"}, save="ended"),
            Step("recall", {"query": "which hot beverage does she like?"}, expect={"hits.#": 0}),
            Step("history", {"id": Ref("tea")}, expect={"2.action": "feedback", "2.reason": "she quit"}),
            Step("feedback", {"id": Ref("tea"), "verdict": "maybe"}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "why a memory is not found is told",
        (
            KEEP_TEA,
            HONEY,
            Step("why_not", {"id": Ref("tea"), "query": "smoked tea"}, expect={"stage": "found", "rank": 1}),
            Step("why_not", {"id": Ref("tea"), "query": "tea", "kinds": ["goal"]}, expect={"stage": "filter"}),
            Step("why_not", {"id": Ref("tea"), "query": "tea", "levels": ["agent"]}, expect={"stage": "level"}),
            Step("feedback", {"id": Ref("honey"), "verdict": "outdated"}),
            Step("why_not", {"id": Ref("honey"), "query": "honey"}, expect={"stage": "time"}),
            Step("why_not", {"id": Ref("tea"), "query": "tea"}, scope=BORIS, fails=NotFoundError),
        ),
    ),
    Scenario(
        "what was true at a time is listed and found as of that time, its last moment excluded",
        (
            Step(
                "remember",
                {"text": "Ana lives in Porto", "valid_from": "2020-01-01", "valid_to": "2024-01-01"},
                save="porto",
            ),
            Step("remember", {"text": "Ana lives in Lisbon", "valid_from": "2024-01-01"}, save="lisbon"),
            *(
                step
                for moment, place in (
                    ("2020-01-01T00:00:00Z", "porto"),
                    ("2023-12-31T23:59:59Z", "porto"),
                    ("2024-01-01T00:00:00Z", "lisbon"),
                )
                for step in (
                    Step("list", {"as_of": moment}, expect={"memories.#": 1, "memories.0.id": Ref(place)}),
                    Step(
                        "recall",
                        {"query": "where does she live?", "as_of": moment},
                        expect={"hits.#": 1, "hits.0.item.id": Ref(place)},
                    ),
                )
            ),
            Step("list", {"as_of": "2019-12-31T23:59:59Z"}, expect={"memories.#": 0}),
            Step("list", {"known_at": "2019-01-01"}, expect={"memories.#": 0}),
            Step("list", {"as_of": "soon"}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "what is due before a day is listed until a person ends it",
        (
            Step("remember", {"text": "The passport expires on 12 March 2199"}, save="passport"),
            Step("remember", {"text": "User has to call Kim by 1 March 2199"}, save="call"),
            Step("list", {"due_before": "2199-03-02"}, expect={"memories.#": 1, "memories.0.id": Ref("call")}),
            Step("list", {"due_before": "2200-01-01"}, expect={"memories.#": 2, "memories.0.id": Ref("call")}),
            Step("feedback", {"id": Ref("call"), "verdict": "outdated"}),
            Step("list", {"due_before": "2200-01-01"}, expect={"memories.#": 1, "memories.0.id": Ref("passport")}),
            Step("list", {"due_before": "soon"}, fails=InvalidInputError),
        ),
    ),
)

PROMPTS = (
    Scenario(
        "a profile is written, shown and formatted for a prompt",
        (
            Step("profile.set", {"facts": {"city": "Lisbon", "a=b": "=", "tea": "smoked"}}, expect={"#": 3}),
            Step("profile.set", {"facts": {"tea": None, "city": "Porto"}}, expect={"#": 2, "1.value": "Porto"}),
            KEEP_TEA,
            Step(
                "profile.all",
                expect={"static.#": 2, "static.0.key": "a=b", "static.0.value": "=", "dynamic.0.id": Ref("tea")},
            ),
            Step("profile.format", expect={"#": len("\n\n---USER PROFILE---\na=b: =\ncity: Porto")}),
            Step("profile.format", {"language": "zh"}, expect={"2": "【", "3": "用"}),
            Step("profile.format", scope=BORIS, expect={"#": 0}),
            Step("profile.set", {"facts": {"": "x"}}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "a context holds profile, facts, session and message, with citations that lead somewhere",
        (
            KEEP_TEA,
            TALK,
            Step("profile.set", {"facts": {"city": "Lisbon"}}),
            Step(
                "context",
                {
                    "query": "which hot beverage do I like?",
                    "system": "You are Quill.",
                    "placement": "before_last_user",
                    "role": "guest",
                    "model": "m-1",
                },
                scope=ANA_TODAY,
                save="context",
                expect={
                    "messages.0.role": "system",
                    "messages.0.content": "You are Quill.\n\n---USER PROFILE---\ncity: Lisbon",
                    "messages.1.content": "My flight to Oslo leaves at noon",
                    "messages.2.role": "assistant",
                    "messages.3.role": "system",
                    "messages.4.content": "which hot beverage do I like?",
                    "citations.0.number": 1,
                    "citations.0.item_id": Ref("tea"),
                    "degraded": [],
                },
            ),
            Step("get", {"id": Ref("context", "citations.0.item_id")}, expect={"text": "Ana drinks smoked tea"}),
            Step(
                "context",
                {"query": "tea?", "budget_tokens": 0},
                expect={"messages.#": 1, "token_count": 0, "citations": []},
            ),
            Step("context", {"query": "tea?", "limits": {"user": 0}}, expect={"citations.#": 0}),
            Step("context", {"query": "tea?", "limits": None, "history_messages": 0}, expect={"citations.0.number": 1}),
            Step("context", {"query": "tea?", "placement": "sideways"}, fails=InvalidInputError),
            Step("context", {"query": "tea?", "language": "xx"}, fails=InvalidInputError),
        ),
    ),
)

NOTES = {"text": "# Boat\n- The mast is of spruce\n- Ines sails on Sundays\n", "name": "boat/MEMORY.md"}
EDITED = NOTES | {"text": NOTES["text"].replace("of spruce", "of carbon")}
OF_MEM0 = '{"results": [{"id": "a1", "memory": "Keeps bees", "user_id": "x"}, {"id": "a2", "memory": ""}]}'
OF_SEVERAL = '[{"id": "a1", "memory": "Keeps bees", "user_id": "x"}, {"id": "a2", "memory": "Rows", "user_id": "y"}]'

TRIED = "pytest: ModuleNotFoundError: No module named 'rigging'. "

MOVING = (
    Scenario(
        "what was tried is found by the text of the error, each try with its outcome",
        (
            Step("remember", {"text": f"{TRIED}Installing rigging did not help", "kind": "attempt", "context": "boat"}),
            Step("remember", {"text": f"{TRIED}Fixed by adding src to the path", "kind": "attempt", "context": "boat"}),
            Step("remember", {"text": "Ana likes the rigging of old boats"}),
            Step(
                "recall",
                {"query": "E   ModuleNotFoundError: No module named 'rigging'", "kinds": ["attempt"]},
                expect={"hits.#": 2, "hits.0.item.kind": "attempt", "hits.1.item.context": "boat"},
            ),
            Step("health", expect={"findings": []}),
        ),
    ),
    Scenario(
        "an export is read back without loss, once",
        (
            KEEP_TEA,
            TALK,
            Step("profile.set", {"facts": {"city": "Lisbon"}}),
            Step("update", {"id": Ref("tea"), "text": "Ana drinks green tea"}),
            Step("export", save="lines"),
            Step(
                "import_",
                {"text": Lines("lines"), "is_dry_run": True},
                scope=DINA,
                expect={"added": {"profile": 1, "message": 2, "memory": 1}, "is_dry_run": True},
            ),
            Step("list", scope=DINA, expect={"memories.#": 0}),
            Step(
                "import_",
                {"text": Lines("lines")},
                scope=DINA,
                expect={"format": "mnemic-export", "added": {"profile": 1, "message": 2, "memory": 1}, "problems": []},
            ),
            Step("list", scope=DINA, save="hers", expect={"memories.0.text": "Ana drinks green tea"}),
            Step(
                "history",
                {"id": Ref("hers", "memories.0.id")},
                scope=DINA,
                expect={"#": 2, "1.before.text": "Ana drinks smoked tea"},
            ),
            Step(
                "recall",
                {"query": "when does the plane depart?", "kinds": ["message"]},
                scope=DINA,
                expect={"hits.0.item.session": "today"},
            ),
            Step(
                "import_",
                {"text": Lines("lines")},
                scope=DINA,
                expect={"added": {}, "known": {"profile": 1, "message": 2, "memory": 1}},
            ),
            Step("export", {"levels": ["agent"]}, expect={"#": 1}),
            Step("export", {"format": "telegram"}, fails=InvalidInputError),
            Step("export", {"format": "mcp-memory"}, save="graph", expect={"#": 1}),
            Step(
                "import_",
                {"text": Lines("graph")},
                scope=BORIS,
                expect={"format": "mcp-memory", "added": {"memory": 1}},
            ),
        ),
    ),
    Scenario(
        "a chat log is taken in once, and its broken lines are named",
        (
            Step("import_", {"text": LOG}, expect={"format": "jsonl", "added": {"message": 2}, "problems.#": 1}),
            Step("import_", {"text": LOG}, expect={"known": {"message": 2}}),
            Step("recall", {"query": "sailing vessel"}, expect={"hits.0.item.trust": "imported"}),
            Step("import_", {"text": LOG, "format": "telegram"}, fails=InvalidInputError),
            Step("import_", {"text": "hello"}, fails=InvalidInputError),
            Step("import_", {"text": ""}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "notes are taken in once, each with its line, and an edited line supersedes the one before",
        (
            Step("import_", NOTES, expect={"format": "markdown", "added": {"memory": 2}, "quarantined": 0}),
            Step("import_", NOTES, expect={"added": {}, "known": {"memory": 2}, "changed": []}),
            Step("recall", {"query": "What is the mast made of?"}, expect={"hits.0.item.source": "boat/MEMORY.md:2"}),
            Step("import_", EDITED | {"is_dry_run": True}, expect={"added": {"memory": 1}, "changed.#": 1}),
            Step("import_", EDITED, expect={"added": {"memory": 1}, "known": {"memory": 1}, "changed.#": 1}),
            Step("list", expect={"memories.#": 2, "memories.0.text": "The mast is of carbon"}),
        ),
    ),
    Scenario(
        "memories of mem0 are taken in once, and those of others are not",
        (
            Step("import_", {"text": OF_MEM0}, expect={"format": "mem0", "added": {"memory": 1}, "problems.#": 1}),
            Step("import_", {"text": OF_MEM0, "format": "mem0"}, expect={"known": {"memory": 1}}),
            Step("list", expect={"memories.0.source": "mem0:a1", "memories.0.trust": "imported"}),
            Step("import_", {"text": OF_SEVERAL}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "the memories of a level are cleared, and nothing else is",
        (
            KEEP_TEA,
            TALK,
            Step("remember", {"text": "Quill speaks softly", "level": "agent"}, save="quill"),
            Step("remember", {"text": "Boris is tall"}, scope=BORIS, save="boris"),
            Step("clear", {"reason": "she asked"}, expect={"counts.memories": 1}),
            Step("get", {"id": Ref("tea")}, fails=NotFoundError),
            Step("get", {"id": Ref("quill")}, expect={"text": "Quill speaks softly"}),
            Step("get", {"id": Ref("boris")}, scope=BORIS, expect={"text": "Boris is tall"}),
            Step("get", {"id": Ref("turn", "messages.0.id")}, expect={"kind": "message"}),
            Step("history", {"id": Ref("tea")}, expect={"1.action": "deleted", "1.reason": "she asked"}),
            Step("clear", {"levels": ["agent"]}, expect={"counts.memories": 1}),
            Step("clear", {"levels": ["planet"]}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "jobs are listed and retried within the scope",
        (
            Step("jobs.list", expect={"#": 0}),
            Step("jobs.list", {"states": ["dead", "done"], "limit": 5}, expect={"#": 0}),
            Step("jobs.list", {"states": ["lazy"]}, fails=InvalidInputError),
        ),
    ),
)

UPKEEP = (
    Scenario(
        "what has expired is archived, as a dry run said, and can be looked at",
        (
            Step("remember", {"text": "Ana is called Annie", "expires_at": "2020-01-01"}, save="gone"),
            KEEP_TEA,
            Step(
                "evict",
                {"is_dry_run": True},
                expect={
                    "examined": 2,
                    "is_dry_run": True,
                    "archived.#": 1,
                    "archived.0.id": Ref("gone"),
                    "archived.0.action": "archived",
                    "archived.0.reason": "it had expired",
                    "deleted.#": 0,
                },
            ),
            Step("evict", {"levels": ["session", "agent"]}, scope=ANA_TODAY, expect={"examined": 0}),
            Step("evict", expect={"archived.#": 1, "is_dry_run": False}),
            Step("evict", expect={"archived.#": 0, "deleted.#": 0}),
            Step("history", {"id": Ref("gone")}, expect={"1.action": "archived", "1.reason": "it had expired"}),
            Step("evict", {"levels": ["planet"]}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "what is new has not faded",
        (
            KEEP_TEA,
            Step("decay", {"is_dry_run": True}, expect={"examined": 1, "entries.#": 0, "is_dry_run": True}),
            Step("decay", expect={"examined": 1, "entries.#": 0, "is_dry_run": False}),
            Step("decay", {"levels": ["agent"]}, expect={"examined": 0}),
            Step("get", {"id": Ref("tea")}, expect={"faded": None}),
            Step("decay", {"levels": ["planet"]}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "what a context put into the prompt is not captured when it comes back",
        (
            KEEP_TEA,
            Step("context", {"query": "What does she drink?"}, scope=ANA_TODAY, save="context"),
            Step(
                "capture",
                {
                    "messages": [
                        {"role": "system", "content": Ref("context", "messages.0.content")},
                        {"role": "user", "content": Ref("context", "messages.1.content")},
                        {"role": "assistant", "content": "Ana drinks smoked tea"},
                    ]
                },
                scope=ANA_TODAY,
                expect={"messages.#": 2, "messages.0.text": "What does she drink?", "left_out": 1},
            ),
            Step("recall", {"query": "smoked tea"}, expect={"hits.0.item.id": Ref("tea"), "hits.#": 2}),
            Step("list", expect={"memories.#": 1}),
        ),
    ),
)

LIFE_SCENARIOS = (*CHANGES, *PROMPTS, *MOVING, *UPKEEP)
