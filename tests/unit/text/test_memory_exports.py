"""Memories that other programs export: Claude.ai, Letta, Zep, LangMem and the MCP memory server."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind
from mnemic.model.scope import Level
from mnemic.text.memoryfiles import MemoryReading, Owner, memory_format, read_memories

pytestmark = pytest.mark.requirement("P-60")
NOON = "2026-03-01T12:00:00Z"
CLAUDE = [
    {
        "conversations_memory": "**Work context**\n\nAna studies seaweed.\n\nShe leads a team.",
        "project_memories": {"p1": "- A field guide", "p2": "- A cook book"},
        "account_uuid": "a",
    }
]


def letta_words(words: str, type_: str = "user_message") -> list[dict[str, str]]:
    return [{"type": "text", "text": json.dumps({"type": type_, "message": words, "time": NOON})}]


def letta_speech(words: str) -> dict[str, Any]:
    arguments = json.dumps({"message": words})
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "send_message", "arguments": arguments}}],
    }


LETTA = {
    "agents": [
        {
            "name": "sailor",
            "messages": [
                {"role": "system", "content": "You are Sailor"},
                {"role": "user", "content": letta_words("I moved to Faro"), "created_at": NOON},
                letta_speech("Nice, Faro"),
                {"role": "tool", "content": "OK"},
                {"role": "user", "content": letta_words("wake up", "heartbeat")},
            ],
        }
    ],
    "blocks": [
        {"label": "human", "value": "Ana is allergic to walnuts."},
        {"label": "persona", "value": "I am calm."},
        {"label": "boat", "value": "- Mast of spruce"},
    ],
}
OLD_LETTA = {
    "agent_type": "memgpt_agent",
    "name": "old",
    "core_memory": [{"label": "human", "value": "Ana plays the cello."}],
    "messages": [{"role": "user", "text": "Hello"}],
}
ZEP = {
    "edges": [
        {"uuid": "e1", "fact": "Ana works for Acme", "valid_at": "2024-06-01T00:00:00Z", "invalid_at": NOON},
        {"uuid": "e2", "fact": "Ana works for Ocean Trust", "created_at": NOON, "valid_at": NOON, "invalid_at": None},
    ],
    "nodes": [{"uuid": "n1", "name": "Ana", "summary": "Ana keeps bees."}, {"uuid": "n2", "name": "Bo", "summary": ""}],
    "episodes": [
        {
            "uuid": "p1",
            "content": "New job!",
            "role": "Ana",
            "role_type": "user",
            "thread_id": "t1",
            "created_at": NOON,
        },
        {"uuid": "p2", "content": '{"a": 1}', "source": "json"},
    ],
}
LANGMEM = [
    {
        "namespace": ["memories", "ana"],
        "key": "k1",
        "value": {"kind": "Memory", "content": {"content": "Ana likes windows"}},
    },
    {
        "namespace": ["memories", "ana"],
        "key": "k2",
        "value": {"subject": "Ana", "predicate": "owns", "object": "a kayak"},
    },
    {"namespace": ["memories", "ana"], "key": "k3", "value": {"name": "Ana", "age": 40}, "updated_at": NOON},
    {"namespace": ["memories", "bo"], "key": "k4", "value": {"content": "Bo likes chess"}},
]
MCP: list[Any] = [
    {"type": "entity", "name": "Ana_Silva", "entityType": "person", "observations": ["Keeps bees", "Rows"]},
    {"type": "entity", "name": "Ocean Trust", "entityType": "organization", "observations": []},
    {"type": "relation", "from": "Ana_Silva", "to": "Ocean Trust", "relationType": "works_at"},
]


def lines(records: list[Any]) -> str:
    return "\n".join(map(json.dumps, records))


SAMPLES = {
    "claude-memories": json.dumps(CLAUDE),
    "letta": json.dumps(LETTA),
    "zep": json.dumps(ZEP, indent=2),
    "langmem": json.dumps(LANGMEM),
    "mcp-memory": lines(MCP),
}
ANA = Owner("ana", None)


def told(reading: MemoryReading) -> list[tuple[str, ...]]:
    """The text of every entry, after its titles."""
    return [(*entry.trail, entry.text) for entry in reading.entries]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_found_out_and_may_be_named(name: str):
    assert memory_format(SAMPLES[name]) == name
    found = read_memories(SAMPLES[name], owner=ANA)
    assert (found.format, found.problems) == (name, [])
    assert found == read_memories("\ufeff" + SAMPLES[name], name, owner=ANA)


def test_claudes_memory_has_its_bold_lines_as_titles_and_projects_by_their_names():
    reading = read_memories(SAMPLES["claude-memories"], titles={"p1": "Seaweed guide"})
    assert told(reading) == [
        ("Work context", "Ana studies seaweed."),
        ("Work context", "She leads a team."),
        ("Seaweed guide", "A field guide"),
        ("p2", "A cook book"),
    ]
    assert reading.entries[0].place == "conversations, line 3"


def test_lettas_blocks_become_memories_and_its_messages_a_session():
    reading = read_memories(SAMPLES["letta"])
    assert told(reading) == [("Ana is allergic to walnuts.",), ("persona", "I am calm."), ("boat", "Mast of spruce")]
    assert [(e.kind, e.level) for e in reading.entries[:2]] == [(Kind.FACT, None), (Kind.PERSONA, Level.AGENT)]
    (conversation,) = reading.conversations
    assert conversation.session == "letta-sailor"
    assert [m.text for m in conversation.messages] == ["I moved to Faro", "Nice, Faro"]
    assert conversation.messages[0].observed_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert reading.skipped.total() == 3


def test_an_older_agent_file_has_one_agent():
    reading = read_memories(json.dumps(OLD_LETTA))
    assert (reading.format, told(reading)) == ("letta", [("Ana plays the cello.",)])
    assert [m.text for m in reading.conversations[0].messages] == ["Hello"]


def test_an_agent_file_may_be_packed_in_a_text():
    packed = json.dumps(SAMPLES["letta"])
    assert memory_format(packed) == "letta"
    assert read_memories(packed) == read_memories(SAMPLES["letta"])
    assert memory_format('"{half') is None


def test_zeps_facts_keep_the_times_in_which_they_are_true():
    reading = read_memories(SAMPLES["zep"])
    assert told(reading) == [("Ana works for Acme",), ("Ana works for Ocean Trust",), ("Ana", "Ana keeps bees.")]
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    past, now, _ = reading.entries
    assert (past.valid_from, past.valid_to) == (datetime(2024, 6, 1, tzinfo=UTC), noon)
    assert (now.valid_from, now.valid_to, now.observed_at, now.origin) == (noon, None, noon, "e2")
    assert [(c.session, [m.text for m in c.messages]) for c in reading.conversations] == [("t1", ["New job!"])]
    assert reading.skipped["episodes that are not messages"] == 1


def test_zeps_facts_may_be_a_list_or_lines():
    assert told(read_memories(json.dumps(ZEP["edges"]))) == told(read_memories(lines(ZEP["edges"])))
    assert told(read_memories(json.dumps({"facts": ["Ana rows"]}))) == [("Ana rows",)]


def test_a_fact_that_ended_before_it_began_has_no_end():
    fact = {"uuid": "e", "fact": "Ana rows", "valid_at": NOON, "invalid_at": "2020-01-01T00:00:00Z"}
    assert read_memories(json.dumps([fact])).entries[0].valid_to is None


def test_langmems_items_of_the_user_are_told_in_words():
    reading = read_memories(SAMPLES["langmem"], owner=ANA)
    assert told(reading) == [("Ana likes windows",), ("Ana owns a kayak",), ("name: Ana\nage: 40",)]
    assert [entry.origin for entry in reading.entries] == ["k1", "k2", "k3"]
    assert reading.skipped == {"other owners' memories": 1}
    assert told(read_memories(json.dumps({"items": LANGMEM[3:]}), owner=ANA)) == [("Bo likes chess",)]


@pytest.mark.parametrize("name, key", [("langmem", "namespace"), ("zep", "group_id")])
def test_memories_of_several_owners_are_not_mixed(name: str, key: str):
    records = LANGMEM if name == "langmem" else [{"fact": who, "group_id": who} for who in ("ana", "bo")]
    with pytest.raises(InvalidInputError, match="several owners"):
        read_memories(json.dumps(records), owner=Owner("cleo", None))
    assert key in json.dumps(records)


@pytest.mark.parametrize("text", [SAMPLES["mcp-memory"], json.dumps({"entities": MCP[:2], "relations": MCP[2:]})])
def test_the_graph_of_the_mcp_memory_server_becomes_memories(text: str):
    reading = read_memories(text)
    assert told(reading) == [("Ana_Silva", "Keeps bees"), ("Ana_Silva", "Rows"), ("Ana Silva works at Ocean Trust",)]
    assert [entry.categories for entry in reading.entries] == [("person",), ("person",), ("relation",)]
    assert reading.skipped["empty entities"] == 1


def test_broken_lines_are_told_and_the_rest_is_read():
    reading = read_memories(SAMPLES["mcp-memory"].replace('"observations": []}', '"observations": ['))
    assert len(reading.entries) == 3
    assert [problem.partition(":")[0] for problem in reading.problems] == ["line 2"]


@pytest.mark.parametrize("name", SAMPLES)
def test_another_file_or_half_of_one_is_refused(name: str):
    for text in ('{"a": 1}', SAMPLES[name][:40]):
        with pytest.raises(InvalidInputError, match=f"no {name} memories"):
            read_memories(text, name)


@pytest.mark.parametrize("name", ["README.md", "docs/readme.md", "CHANGELOG.md"])
def test_a_page_about_a_project_says_nothing_about_the_user(name: str):
    with pytest.raises(InvalidInputError, match="mnemic ingest"):
        read_memories("- Ana likes installing", name=name)
    assert told(read_memories("- Ana likes installing", "markdown", name=name)) == [("Ana likes installing",)]


KEYS = st.sampled_from(
    [
        *("conversations_memory", "project_memories", "core_memory", "blocks", "agents", "messages", "label", "value"),
        *("namespace", "key", "content", "type", "name", "observations", "relationType", "entities", "relations"),
        *("fact", "facts", "edges", "nodes", "episodes", "uuid", "summary", "valid_at", "invalid_at", "from", "to"),
        *("role", "text", "tool_calls", "function", "arguments", "group_id", "entityType", "items"),
    ]
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
        max_leaves=14,
    ),
    st.sampled_from([None, *SAMPLES]),
)
def test_no_document_breaks_a_reader(document: Any, name: str | None):
    try:
        reading = read_memories(json.dumps([document] if name else document), name, owner=ANA)
    except InvalidInputError:
        return
    assert all(entry.text.strip() and entry.place for entry in reading.entries)
