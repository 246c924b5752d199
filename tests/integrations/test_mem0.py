"""mem0's `Memory` over Mnemic: its quickstart, its verbs and its filters."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.compat.mem0 import IDS, Memory, check_filters, find_owners, matches
from mnemic.errors import InvalidInputError, NotFoundError


@pytest.fixture
def memory() -> Generator[Memory]:
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        yield Memory(mnemic=mnemic)


def test_the_quickstart_runs(memory: Memory):
    messages = [
        {"role": "user", "content": "Hi, I'm Alex. I love basketball and gaming."},
        {"role": "assistant", "content": "Hey Alex! I'll remember your interests."},
    ]
    added = memory.add(messages, user_id="alex", metadata={"source": "chat"})["results"]
    assert [each["event"] for each in added] == ["ADD"] * len(added)
    assert {each["memory"] for each in added} == {"User is Alex", "User loves basketball and gaming"}
    ways: list[dict[str, Any]] = [{"user_id": "alex"}, {"filters": {"user_id": "alex"}}]
    for named in ways:
        found = memory.search("What do you know about me?", **named)["results"]
        assert {each["memory"] for each in found} == {each["memory"] for each in added}
        assert all(0 <= each["score"] <= 1 and each["metadata"] == {"source": "chat"} for each in found)
    assert memory.search("What do you know about me?", user_id="bob")["results"] == []


def test_a_memory_is_read_changed_and_deleted_by_its_id_alone(memory: Memory):
    (kept,) = memory.add("I live in Lisbon", user_id="ana", infer=False)["results"]
    fresh = Memory(mnemic=memory.mnemic)  # knows no ids
    assert memory.update(kept["id"], data="I live in Porto") == {"message": "Memory updated successfully!"}
    assert (fresh.get(kept["id"]) or {})["memory"] == "I live in Porto"
    told = [(each["event"], each["old_memory"], each["new_memory"]) for each in fresh.history(kept["id"])]
    assert told == [("ADD", None, "I live in Lisbon"), ("UPDATE", "I live in Lisbon", "I live in Porto")]
    assert fresh.delete(kept["id"]) == {"message": "Memory deleted successfully!"}
    assert fresh.get(kept["id"]) is None
    told = [(each["event"], each["old_memory"], each["new_memory"]) for each in fresh.history(kept["id"])]
    assert told == [("ADD", None, None), ("DELETE", None, None)]
    with pytest.raises(NotFoundError):
        fresh.delete("nothing-of-that-kind")
    with pytest.raises(NotFoundError):
        fresh.update("nothing-of-that-kind", "x")


def test_users_agents_and_runs_are_apart_and_what_names_none_is_refused(memory: Memory):
    memory.add("Prefers mornings", user_id="ana", run_id="monday", infer=False)
    memory.add("Prefers evenings", user_id="ana", agent_id="helper", infer=False)
    memory.add("Answers briefly", agent_id="helper", infer=False)
    memory.add("Talks about boats", run_id="monday", infer=False)

    def texts(**named: Any) -> list[str]:
        return sorted(each["memory"] for each in memory.get_all(**named)["results"])

    assert texts(user_id="ana") == ["Prefers evenings", "Prefers mornings"]
    assert texts(user_id="ana", run_id="monday") == ["Prefers mornings"]
    assert texts(agent_id="helper") == ["Answers briefly"]
    assert texts(run_id="monday") == ["Talks about boats"]
    assert texts(filters={"OR": [{"user_id": "ana"}, {"agent_id": "helper"}]}) == [
        "Answers briefly",
        "Prefers evenings",
        "Prefers mornings",
    ]
    assert texts(filters={"user_id": "*"}) == ["Prefers evenings", "Prefers mornings"]
    with pytest.raises(InvalidInputError, match="user_id"):
        memory.search("boats")
    memory.delete_all(user_id="ana")
    assert texts(user_id="ana") == []
    assert texts(agent_id="helper") == ["Answers briefly"]


@pytest.mark.parametrize(
    "conditions, expected",
    [
        ({"categories": {"contains": "finance"}}, True),
        ({"categories": {"in": ["finance", "health"]}}, True),
        ({"priority": {"gte": 5, "lt": 8}}, True),
        ({"priority": {"gt": "5"}}, False),
        ({"status": {"nin": ["old", "gone"]}}, True),
        ({"memory": {"icontains": "MORNING"}}, True),
        ({"memory": {"contains": "MORNING"}}, False),
        ({"memory": {"contains": 5}}, False),
        ({"priority": "*"}, True),
        ({"missing": "*"}, False),
        ({"archived": {"ne": True}}, True),
        ({"created_at": {"gte": "2026-01-01", "lte": "2026-12-31"}}, True),
        ({"AND": [{"user_id": "ana"}, {"status": "active"}]}, True),
        ({"OR": [{"status": "old"}, {"metadata": {"priority": 7}}]}, True),
        ({"NOT": [{"status": "active"}]}, False),
        ({"NOT": {"status": "old"}}, True),
        ({"metadata.status": ["active", "new"]}, True),
    ],
)
def test_filters_are_those_of_mem0(conditions: dict[str, Any], *, expected: bool):
    record = {
        "memory": "Prefers morning meetings",
        "user_id": "ana",
        "categories": ["finance"],
        "created_at": "2026-07-01T10:00:00+00:00",
        "metadata": {"priority": 7, "status": "active", "archived": False},
    }
    assert matches(record, check_filters(conditions)) is expected


def test_an_unknown_operator_is_refused_with_those_that_exist():
    with pytest.raises(InvalidInputError, match="'near' is not a filter operator; use eq, ne"):
        check_filters({"user_id": "ana", "n": {"near": 1}})


@pytest.mark.parametrize(
    "filters, told",
    [
        ({"AND": {"user_id": "ana"}}, r"AND requires a list of filters, such as \{'AND': \["),
        ({"OR": "ana"}, "OR requires a list"),
        ({"AND": ["ana"]}, "filters must be a mapping"),
        ({"NOT": 5}, "NOT requires a list"),
        ({"user_id": "ana", "n": {"in": 5}}, r"'in' requires a list, such as \{'n': "),
        ({"user_id": 7}, "user_id must be a string such as 'ana', not 7"),
        ({"user_id": {"in": ["ana", 7]}}, "user_id must be a string"),
        (["ana"], "filters must be a mapping"),
    ],
)
def test_filters_of_another_form_are_refused_with_the_right_one(memory: Memory, filters: Any, told: str):
    with pytest.raises(InvalidInputError, match=told):
        memory.get_all(filters=filters)
    with pytest.raises(InvalidInputError, match=told):
        memory.search("boats", filters=filters)


def test_an_id_that_is_no_text_is_refused(memory: Memory):
    with pytest.raises(InvalidInputError, match="user_id must be a string such as 'ana', not 7"):
        memory.add("x", user_id=7)
    with pytest.raises(InvalidInputError, match="user_id must be a string"):
        memory.get_all(user_id={"in": ["ana", "bob"]})


def test_an_id_that_is_a_star_reaches_nobody_else(memory: Memory):
    memory.add("Ana sails", user_id="ana", infer=False)
    verbs: list[Any] = [partial(memory.search, "sails"), partial(memory.add, "x"), memory.get_all, memory.delete_all]
    for verb in verbs:
        for name in IDS:
            with pytest.raises(InvalidInputError, match=r"not '\*'; only filters accept '\*'"):
                verb(**{name: "*"})
    assert [each["memory"] for each in memory.get_all(filters={"user_id": "*"})["results"]] == ["Ana sails"]


def test_memories_of_agents_and_runs_are_found_by_their_id_alone_and_reset_erases_them(memory: Memory):
    named: list[dict[str, Any]] = [{"agent_id": "helper"}, {"run_id": "monday"}]
    for ids in named:
        (kept,) = memory.add("Answers briefly", infer=False, **ids)["results"]
        assert {name: kept[name] for name in IDS if name in kept} == ids
        fresh = Memory(mnemic=memory.mnemic)
        assert fresh.get(kept["id"]) == {name: value for name, value in kept.items() if name != "event"}
        fresh.update(kept["id"], "Answers at length", metadata={"source": "chat"})
        assert (memory.get(kept["id"]) or {})["metadata"] == {"source": "chat"}
        assert memory.get_all(**ids)["results"][0]["memory"] == "Answers at length"
        fresh.delete(kept["id"])
        assert fresh.get(kept["id"]) is None
        memory.add("Answers once more", infer=False, **ids)
    memory.add("Ana sails", user_id="ana", infer=False)
    memory.mnemic.remember(Scope(org="other", user="ana"), "Another org's")
    (gone,) = memory.get_all(agent_id="helper")["results"]
    memory.reset()
    found = [memory.get_all(filters={name: "*"})["results"] for name in IDS]
    assert (found, memory.get(gone["id"])) == ([[], [], []], None)
    assert len(memory.mnemic.list(Scope(org="other", user="ana")).memories) == 1


def test_a_run_is_no_agent(memory: Memory):
    memory.add("Talks about boats", run_id="monday", infer=False)
    memory.add("Answers briefly", agent_id="run monday", infer=False)
    (run,), (agent,) = (memory.get_all(filters={name: "*"})["results"] for name in ("run_id", "agent_id"))
    assert (run["memory"], run["run_id"], "agent_id" in run) == ("Talks about boats", "monday", False)
    assert (agent["memory"], agent["agent_id"], "run_id" in agent) == ("Answers briefly", "run monday", False)
    with pytest.raises(InvalidInputError, match="use run_id"):
        memory.get_all(agent_id="mem0 run monday")


def test_a_users_memory_stays_in_its_run_when_it_changes(memory: Memory):
    (kept,) = memory.add("Ana sails", user_id="ana", run_id="monday", infer=False)["results"]
    memory.update(kept["id"], "Ana rows", metadata={"source": "chat"})
    assert memory.get_all(filters={"metadata": {"source": "mail"}}, user_id="ana")["results"] == []
    (found,) = memory.get_all(filters={"metadata": {"source": "chat"}}, user_id="ana", run_id="monday")["results"]
    assert (found["memory"], found["metadata"]) == ("Ana rows", {"source": "chat"})


def test_owners_are_found_in_every_join():
    filters = {"AND": [{"user_id": {"in": ["ana", "bob"]}}, {"OR": [{"run_id": "a"}, {"run_id": "b"}]}, {"n": 1}]}
    assert find_owners(check_filters({"user_id": ["ana", "bob"]})) == [{"user_id": "ana"}, {"user_id": "bob"}]
    assert find_owners(check_filters(filters)) == [
        {"user_id": user, "run_id": run} for user in ("ana", "bob") for run in ("a", "b")
    ]


def test_what_was_added_is_mnemics_own_memory(memory: Memory):
    memory.add([{"role": "user", "content": "I moved to Porto."}], user_id="ana", run_id="monday")
    ana = Scope(user="ana")
    assert [message.session for message in memory.mnemic.messages(ana)] == ["monday"]
    assert "Porto" in memory.mnemic.recall(ana, "Where does Ana live?").hits[0].text
