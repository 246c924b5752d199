"""What every door must do alike: one table of scenarios, told in verbs, arguments and answers on the wire.

An argument may be a `Ref` to a part of an earlier answer. An expectation maps a path into the answer (names and
positions joined by dots; `#` is the length) to the value that must be there. A step that must fail names the error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from mnemic.errors import InvalidInputError, MnemicError, NotFoundError
from mnemic.model.scope import Scope

ANA = Scope(user="ana", agent="quill")
ANA_TODAY = Scope(user="ana", agent="quill", session="today")
BORIS = Scope(user="boris", agent="quill")
BORIS_TODAY = Scope(user="boris", agent="quill", session="today")
OTHER_ORG = Scope(user="ana", agent="quill", org="elsewhere")


@dataclass(frozen=True)
class Ref:
    """A part of the answer that an earlier step saved under `name`."""

    name: str
    path: str = "id"


@dataclass(frozen=True)
class Lines:
    """The lines that an earlier step saved under `name`, as one text."""

    name: str


@dataclass(frozen=True)
class Step:
    """One call. `save` keeps the answer under a name."""

    verb: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    scope: Scope = ANA
    expect: Mapping[str, object] = field(default_factory=dict[str, object])
    fails: type[MnemicError] | None = None
    save: str = ""


@dataclass(frozen=True)
class Scenario:
    """Steps that start from an empty store."""

    name: str
    steps: tuple[Step, ...]


def at(answer: Any, path: str) -> Any:
    """The value at a path of an answer."""
    first, _, rest = path.partition(".")
    if first == "#":
        return len(answer)
    found = answer[int(first) if first.removeprefix("-").isdecimal() else first]
    return at(found, rest) if rest else found


def resolved(value: Any, saved: Mapping[str, Any]) -> Any:
    """The value with every `Ref` in it replaced."""
    if isinstance(value, Ref):
        return at(saved[value.name], value.path)
    if isinstance(value, Lines):
        return "\n".join(saved[value.name])
    if isinstance(value, dict):
        return {key: resolved(inner, saved) for key, inner in cast("dict[str, Any]", value).items()}
    return [resolved(inner, saved) for inner in cast("list[Any]", value)] if isinstance(value, list) else value


KEEP_TEA = Step("remember", {"text": "Ana drinks smoked tea", "kind": "preference"}, save="tea")
TALK = Step(
    "capture",
    {"user": "My flight to Oslo leaves at noon", "assistant": "Shall I set an alarm?"},
    scope=ANA_TODAY,
    save="turn",
)

SCENARIOS = (
    Scenario(
        "a memory keeps every field that was given",
        (
            Step(
                "remember",
                {
                    "text": "Ana signs the lease in May",
                    "kind": "event",
                    "importance": "high",
                    "confidence": 0.75,
                    "categories": ["home", "money"],
                    "context": "she asked to be reminded",
                    "snippet": "we sign in May",
                    "source": "letter",
                    "observed_at": "2026-03-01T10:00:00+02:00",
                    "valid_from": "2026-05-01T00:00:00Z",
                    "is_pinned": True,
                    "metadata": {"rooms": 3, "ünïcode": ["é", None, True]},
                },
                save="lease",
            ),
            Step(
                "get",
                {"id": Ref("lease")},
                expect={
                    "text": "Ana signs the lease in May",
                    "kind": "event",
                    "level": "user",
                    "owner": "ana",
                    "agent": "quill",
                    "importance": 0.9,
                    "confidence": 0.75,
                    "categories": ["home", "money"],
                    "context": "she asked to be reminded",
                    "snippet": "we sign in May",
                    "source": "letter",
                    "observed_at": "2026-03-01T08:00:00.000000Z",
                    "valid_from": "2026-05-01T00:00:00.000000Z",
                    "is_pinned": True,
                    "state": "active",
                    "trust": "user",
                    "access_count": 0,
                    "faded": None,
                    "metadata": {"rooms": 3, "ünïcode": ["é", None, True]},
                },
            ),
        ),
    ),
    Scenario(
        "a memory is found by meaning and says what its score is made of",
        (
            KEEP_TEA,
            Step("remember", {"text": "Ana's bicycle needs a new chain"}),
            Step(
                "recall",
                {"query": "which hot beverage does she like?"},
                expect={
                    "is_fallback": False,
                    "hits.0.item.id": Ref("tea"),
                    "hits.0.item.kind": "preference",
                    "hits.0.is_fallback": False,
                    "degraded": [],
                },
            ),
            Step("recall", {"query": "tea", "limit": 1}, expect={"hits.#": 1, "hits.0.item.id": Ref("tea")}),
            Step("recall", {"query": "tea", "limit": None, "kinds": ["preference"]}, expect={"hits.#": 1}),
            Step("recall", {"query": "tea", "kinds": ["message"]}, expect={"hits.#": 0}),
            Step("recall", {"query": "tea", "limits": {"user": 1}}, expect={"hits.#": 1}),
            Step("recall", {"query": "tea", "filter": {"kind": "fact"}}, expect={"hits.0.item.kind": "fact"}),
            Step("recall", {"query": "tea", "levels": ["agent"]}, expect={"hits.#": 0}),
        ),
    ),
    Scenario(
        "saying the same again gives the memory that is there",
        (
            KEEP_TEA,
            Step("remember", {"text": "  ana drinks SMOKED tea "}, expect={"id": Ref("tea"), "kind": "preference"}),
            Step("list", expect={"memories.#": 1}),
            Step("remember", {"text": "Ana drinks smoked tea"}, scope=BORIS, expect={"owner": "boris"}),
        ),
    ),
    Scenario(
        "a blank question gives labelled general background, the most important first",
        (
            KEEP_TEA,
            Step("remember", {"text": "Ana is allergic to wasps", "importance": 1.0}, save="wasps"),
            Step("remember", {"text": "Ana owns a kite", "importance": "low"}),
            Step(
                "recall",
                {"query": "   ", "limit": 2},
                expect={
                    "is_fallback": True,
                    "hits.#": 2,
                    "hits.0.item.id": Ref("wasps"),
                    "hits.0.is_fallback": True,
                    "hits.0.similarity": None,
                },
            ),
        ),
    ),
    Scenario(
        "memories are listed newest first, page by page",
        (
            Step("remember", {"text": "first"}, save="first"),
            Step("remember", {"text": "second", "kind": "goal"}, save="second"),
            Step("remember", {"text": "third"}, save="third"),
            Step(
                "list",
                {"limit": 2},
                save="page",
                expect={"memories.0.id": Ref("third"), "memories.1.id": Ref("second"), "next": Ref("second")},
            ),
            Step("list", {"after": Ref("page", "next")}, expect={"memories.#": 1, "memories.0.text": "first"}),
            Step("list", {"kinds": ["goal"]}, expect={"memories.#": 1, "next": None}),
            Step("list", {"order": "oldest"}, expect={"memories.0.id": Ref("first")}),
            Step("list", {"filter": {"text": {"contains": "ir"}}}, expect={"memories.#": 2}),
            Step("list", {"states": ["erased"]}, expect={"memories.#": 0}),
        ),
    ),
    Scenario(
        "what is kept is counted by state and kind, and nobody else's is",
        (
            Step("count", expect={"states": {}, "kinds": {}, "documents": {}}),
            Step("remember", {"text": "Ana likes tea", "kind": "preference"}),
            Step("remember", {"text": "Ana sails"}, save="gone"),
            Step("remember", {"text": "Ana rows"}),
            Step("count", expect={"states": {"active": 3}, "kinds": {"fact": 2, "preference": 1}}),
            Step("delete", {"id": Ref("gone")}),
            Step("count", expect={"states": {"active": 2}, "kinds": {"fact": 1, "preference": 1}}),
            Step("count", scope=BORIS, expect={"states": {}}),
        ),
    ),
    Scenario(
        "a deleted memory is gone, and its history says so",
        (
            KEEP_TEA,
            Step("history", {"id": Ref("tea")}, expect={"#": 1, "0.action": "created"}),
            Step("delete", {"id": Ref("tea"), "reason": "she drinks coffee now"}, expect={"counts.memories": 1}),
            Step("get", {"id": Ref("tea")}, fails=NotFoundError),
            Step("delete", {"id": Ref("tea")}, fails=NotFoundError),
            Step("list", expect={"memories.#": 0}),
            Step("recall", {"query": "smoked tea"}, expect={"hits.#": 0}),
            Step(
                "history",
                {"id": Ref("tea")},
                expect={"1.action": "deleted", "1.reason": "she drinks coffee now", "1.before": {}},
            ),
        ),
    ),
    Scenario(
        "an exchange is kept word for word and found in a later session",
        (
            TALK,
            Step(
                "recall",
                {"query": "when does the plane depart?"},
                scope=Scope(user="ana", session="tomorrow"),
                expect={
                    "hits.0.item.text": "My flight to Oslo leaves at noon",
                    "hits.0.item.kind": "message",
                    "hits.0.item.role": "user",
                    "hits.0.item.session": "today",
                    "hits.0.item.turn_id": Ref("turn"),
                },
            ),
            Step("get", {"id": Ref("turn", "messages.1.id")}, expect={"text": "Shall I set an alarm?", "position": 2}),
            Step("capture", {"user": "And back?"}, scope=ANA_TODAY, expect={"number": 2, "session": "today"}),
            Step("delete", {"id": Ref("turn", "messages.0.id")}, expect={"counts.messages": 1}),
            Step("get", {"id": Ref("turn", "messages.0.id")}, fails=NotFoundError),
        ),
    ),
    Scenario(
        "messages are maps with role and content, and an external id is stored once",
        (
            Step(
                "capture",
                {
                    "messages": [
                        {"role": "user", "content": "What is due?", "external_id": "m1", "name": "Ana"},
                        {"role": "tool", "content": '{"due": "rent"}'},
                        {"role": "assistant", "content": ["The rent", "is due. "]},
                    ],
                    "observed_at": "2026-02-03T04:05:06Z",
                },
                scope=ANA_TODAY,
                save="turn",
                expect={
                    "messages.#": 3,
                    "messages.0.name": "Ana",
                    "messages.0.trust": "user",
                    "messages.1.text": '{"due": "rent"}',
                    "messages.1.trust": "tool",
                    "messages.2.text": "The rent\nis due.",
                    "messages.2.observed_at": "2026-02-03T04:05:06.000000Z",
                },
            ),
            Step(
                "capture",
                {"messages": [{"role": "user", "content": "What is due?", "external_id": "m1"}]},
                scope=ANA_TODAY,
                expect={"id": Ref("turn"), "messages.0.id": Ref("turn", "messages.0.id")},
            ),
        ),
    ),
    Scenario(
        "the answer of an assistant completes its turn, its texts joined by line ends and trimmed",
        (
            Step("capture", {"user": "Sing me a song"}, scope=ANA_TODAY, save="turn"),
            Step(
                "complete",
                {"turn_id": Ref("turn"), "assistant": ["  La", "la ", " la\n"], "name": "Quill"},
                scope=ANA_TODAY,
                expect={
                    "id": Ref("turn"),
                    "messages.#": 2,
                    "messages.1.text": "La\nla \n la",
                    "messages.1.role": "assistant",
                    "messages.1.name": "Quill",
                },
            ),
            Step("complete", {"turn_id": "no-such-turn", "assistant": ["la"]}, scope=ANA_TODAY, fails=NotFoundError),
        ),
    ),
    Scenario(
        "a user sees nothing of another user's, nor of another org's, and ids answer not found",
        (
            KEEP_TEA,
            TALK,
            *(
                step
                for stranger in (BORIS_TODAY, OTHER_ORG, Scope(agent="quill"), Scope())
                for step in (
                    Step("recall", {"query": "tea flight Oslo"}, scope=stranger, expect={"hits.#": 0}),
                    Step("recall", {"query": ""}, scope=stranger, expect={"hits.#": 0}),
                    Step("list", scope=stranger, expect={"memories.#": 0}),
                    Step("get", {"id": Ref("tea")}, scope=stranger, fails=NotFoundError),
                    Step("get", {"id": Ref("turn", "messages.0.id")}, scope=stranger, fails=NotFoundError),
                    Step("delete", {"id": Ref("tea")}, scope=stranger, fails=NotFoundError),
                    Step("history", {"id": Ref("tea")}, scope=stranger, fails=NotFoundError),
                )
            ),
            Step("complete", {"turn_id": Ref("turn"), "assistant": ["No"]}, scope=BORIS_TODAY, fails=NotFoundError),
            Step("get", {"id": Ref("tea")}, expect={"text": "Ana drinks smoked tea"}),
        ),
    ),
    Scenario(
        "what an argument must not be is refused, and nothing is stored",
        (
            *(
                Step("remember", arguments, fails=InvalidInputError)
                for arguments in (
                    {"text": ""},
                    {"text": " \n\t"},
                    {"text": "x", "importance": 1.5},
                    {"text": "x", "importance": "huge"},
                    {"text": "x", "confidence": -0.1},
                    {"text": "x", "kind": "rumour"},
                    {"text": "x", "level": "planet"},
                    {"text": "x", "level": "session"},
                    {"text": "x", "observed_at": "yesterday"},
                    {"text": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
                    {"text": "x", "categories": ["  "]},
                )
            ),
            Step("remember", {"text": "x"}, scope=Scope(org="acme"), fails=InvalidInputError),
            Step("recall", {"query": "x", "limit": 0}, fails=InvalidInputError),
            Step("recall", {"query": "x", "min_similarity": 2.0}, fails=InvalidInputError),
            Step("recall", {"query": "x", "min_relevance": 1.5}, fails=InvalidInputError),
            Step("recall", {"query": "x", "min_relevance": 0.5, "min_similarity": 0.5}, fails=InvalidInputError),
            Step("recall", {"query": "x", "kinds": ["rumour"]}, fails=InvalidInputError),
            Step("recall", {"query": "x", "filter": {"colour": "red"}}, fails=InvalidInputError),
            Step("recall", {"query": "q" * 20_001}, fails=InvalidInputError),
            Step("list", {"limit": 1001}, fails=InvalidInputError),
            Step("list", {"order": "random"}, fails=InvalidInputError),
            Step("capture", {"messages": []}, scope=ANA_TODAY, fails=InvalidInputError),
            Step("capture", {"messages": ["hello"]}, scope=ANA_TODAY, fails=InvalidInputError),
            Step("capture", {"messages": [{"role": "king", "content": "x"}]}, fails=InvalidInputError),
            Step("capture", {"user": "x", "observed_at": "noon"}, fails=InvalidInputError),
            Step("get", {"id": "no-such-id"}, fails=NotFoundError),
            Step("list", expect={"memories.#": 0}),
        ),
    ),
)
