"""What every door must do alike, with the few verbs and arguments that a model is offered: MCP goes along."""

from __future__ import annotations

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.scope import Scope
from tests.doors.scenarios import ANA_TODAY, BORIS, BORIS_TODAY, KEEP_TEA, OTHER_ORG, TALK, Ref, Scenario, Step

MODEST = (
    Scenario(
        "a memory is corrected, and its history tells why",
        (
            KEEP_TEA,
            Step(
                "update",
                {"id": Ref("tea"), "text": "Ana drinks green tea", "reason": "she changed"},
                expect={"id": Ref("tea"), "text": "Ana drinks green tea", "kind": "preference", "state": "active"},
            ),
            Step("get", {"id": Ref("tea")}, expect={"text": "Ana drinks green tea", "owner": "ana"}),
            Step("recall", {"query": "which tea?", "limit": 1}, expect={"hits.0.item.text": "Ana drinks green tea"}),
            Step("history", {"id": Ref("tea")}, expect={"#": 2, "1.action": "updated", "1.reason": "she changed"}),
        ),
    ),
    Scenario(
        "strangers see nothing and change nothing",
        (
            KEEP_TEA,
            TALK,
            *(
                step
                for stranger in (BORIS_TODAY, OTHER_ORG, Scope(agent="quill"))
                for step in (
                    Step("recall", {"query": "tea flight Oslo"}, scope=stranger, expect={"hits.#": 0}),
                    Step("list", scope=stranger, expect={"memories.#": 0}),
                    Step("get", {"id": Ref("tea")}, scope=stranger, fails=NotFoundError),
                    Step("get", {"id": Ref("turn", "messages.0.id")}, scope=stranger, fails=NotFoundError),
                    Step("history", {"id": Ref("tea")}, scope=stranger, fails=NotFoundError),
                    Step("update", {"id": Ref("tea"), "text": "No"}, scope=stranger, fails=NotFoundError),
                    Step("feedback", {"id": Ref("tea"), "verdict": "outdated"}, scope=stranger, fails=NotFoundError),
                    Step("delete", {"id": Ref("tea")}, scope=stranger, fails=NotFoundError),
                )
            ),
            Step("get", {"id": Ref("tea")}, expect={"text": "Ana drinks smoked tea"}),
        ),
    ),
    Scenario(
        "a page of memories goes on after its last one, of some kinds alone",
        (
            Step("remember", {"text": "Ana sails"}, save="first"),
            Step("remember", {"text": "Ana wants to cross the Baltic", "kind": "goal"}, save="second"),
            Step("list", {"limit": 1}, expect={"memories.0.id": Ref("second"), "next": Ref("second")}),
            Step("list", {"limit": 1, "after": Ref("second")}, expect={"memories.0.id": Ref("first"), "next": None}),
            Step("list", {"kinds": ["goal"]}, expect={"memories.#": 1, "memories.0.id": Ref("second")}),
        ),
    ),
    Scenario(
        "a context shows what was remembered and said, within its budget",
        (
            KEEP_TEA,
            TALK,
            Step(
                "context",
                {"query": "Which tea do I drink?", "budget_tokens": 500},
                scope=ANA_TODAY,
                expect={"recall.hits.0.item.id": Ref("tea"), "messages.1.content": "My flight to Oslo leaves at noon"},
            ),
            Step("context", {"query": "Which tea do I drink?"}, scope=BORIS, expect={"recall.hits.#": 0}),
        ),
    ),
    Scenario(
        "facts of the profile are written, read and removed",
        (
            Step("profile.set", {"facts": {"home": "Lyon", "job": "sailor"}}, expect={"#": 2, "0.key": "home"}),
            Step("profile.get", expect={"home": "Lyon", "job": "sailor"}),
            Step("profile.get", scope=BORIS, expect={"#": 0}),
            Step("profile.set", {"facts": {"zip": "007", "is_new": "true", "nick": "null"}}, expect={"#": 5}),
            Step("profile.get", expect={"zip": "007", "is_new": "true", "nick": "null"}),
            Step("profile.set", {"facts": {"zip": None, "is_new": None, "nick": None}}, expect={"#": 2}),
            Step("profile.set", {"facts": {"job": None}}, expect={"#": 1, "0.value": "Lyon"}),
        ),
    ),
    Scenario(
        "what a model may get wrong is refused in kind, and nothing is stored",
        (
            Step("remember", {"text": " \n"}, fails=InvalidInputError),
            Step("remember", {"text": "x", "kind": "rumour"}, fails=InvalidInputError),
            Step("remember", {"text": "x"}, scope=Scope(org="acme"), fails=InvalidInputError),
            Step("recall", {"query": "x", "limit": 0}, fails=InvalidInputError),
            Step("recall", {"query": "q" * 20_001}, fails=InvalidInputError),
            Step("list", {"limit": 0}, fails=InvalidInputError),
            Step("list", {"kinds": ["rumour"]}, fails=InvalidInputError),
            Step("get", {"id": "no-such-id"}, fails=NotFoundError),
            Step("delete", {"id": "no-such-id"}, fails=NotFoundError),
            Step("feedback", {"id": "no-such-id", "verdict": "dull"}, fails=InvalidInputError),
            Step("list", expect={"memories.#": 0}),
            Step("documents.list", expect={"documents": []}),
        ),
    ),
)
