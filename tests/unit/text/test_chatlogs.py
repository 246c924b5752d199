"""Chat logs of other programs: every format by small samples, and what is broken in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.model.item import Role, Trust
from mnemic.text.chatlogs import FORMATS, LogReading, read_log

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def jsonl(*records: object) -> str:
    return "\n".join(json.dumps(record) for record in records)


def said(reading: LogReading) -> list[tuple[str, str]]:
    """Role and text of every message, in order."""
    return [(m.role.value, m.text) for c in reading.conversations for m in c.messages]


def pi(role: str, text: object, **more: object) -> dict[str, object]:
    return {"type": "message", "timestamp": NOON.isoformat(), "message": {"role": role, "content": text}, **more}


def codex(kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": NOON.isoformat(), "type": "response_item", "payload": {"type": kind, **payload}}


def node(name: str, parent: str | None, role: str, text: str, **message: object) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    said = {"id": f"m-{name}", "author": {"role": role}, "content": content, "create_time": NOON.timestamp(), **message}
    return {"id": name, "parent": parent, "children": [], "message": said}


CHATGPT: dict[str, Any] = {
    "title": "Bees",
    "id": "c1",
    "current_node": "d",
    "mapping": {
        "a": {"id": "a", "parent": None, "children": ["b"], "message": None},
        "b": node("b", "a", "user", "How long do bees live?"),
        "c": node("c", "b", "assistant", "A discarded answer"),
        "d": node("d", "b", "assistant", "Six weeks in summer"),
    },
}
CLAUDE_AI: dict[str, Any] = {
    "uuid": "u1",
    "name": "Bread",
    "chat_messages": [
        {"uuid": "x1", "sender": "human", "text": "My starter is flat", "created_at": "2026-03-01T12:00:00Z"},
        {"uuid": "x2", "sender": "assistant", "content": [{"type": "text", "text": "Feed it"}, {"type": "tool_use"}]},
    ],
}
SHAREGPT: dict[str, Any] = {
    "id": "s1",
    "conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Good day"}],
}
CLAUDE_CODE = jsonl(
    {"type": "summary", "summary": "about ducks"},
    {
        "type": "user",
        "uuid": "a",
        "sessionId": "one",
        "timestamp": "2026-03-01T12:00:00.000Z",
        "message": {"role": "user", "content": "Fix the duck test"},
    },
    {
        "type": "assistant",
        "uuid": "b",
        "sessionId": "one",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "Done"}, {"type": "tool_use", "id": "t"}],
        },
    },
    {
        "type": "user",
        "uuid": "c",
        "sessionId": "one",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "ok"}]}]},
    },
    {"type": "user", "uuid": "d", "sessionId": "two", "message": {"role": "user", "content": "And the goose?"}},
)
PI = jsonl(
    {"type": "session", "id": "p1", "timestamp": NOON.isoformat()},
    {"type": "model_change", "model": "m"},
    pi("user", [{"type": "text", "text": "Rename the module"}]),
    pi("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Renamed"}]),
    pi("toolResult", [{"type": "text", "text": "12 files"}]),
)
GENERIC = jsonl({"role": "user", "content": "hi"}, {"role": "assistant", "text": "hello"})
CODEX = jsonl(
    {"type": "session_meta", "timestamp": NOON.isoformat(), "payload": {"id": "cx1", "cwd": "/boat"}},
    codex("message", role="developer", content=[{"type": "input_text", "text": "Be brief"}]),
    codex(
        "message",
        role="user",
        content=[{"type": "input_text", "text": "<environment_context>\n</environment_context>"}],
    ),
    codex("message", role="user", content=[{"type": "input_text", "text": "# AGENTS.md instructions for /boat\n"}]),
    codex("message", role="user", content=[{"type": "input_text", "text": "Fix the sail test"}]),
    {"type": "event_msg", "payload": {"type": "user_message", "message": "Fix the sail test"}},
    codex("function_call", name="shell", arguments="{}"),
    codex("function_call_output", output="3 passed"),
    codex("message", role="assistant", content=[{"type": "output_text", "text": "It passes now"}]),
)
GEMINI = jsonl(
    {"sessionId": "g1", "projectHash": "ab", "startTime": NOON.isoformat()},
    {"id": "a", "timestamp": NOON.isoformat(), "type": "user", "content": [{"text": "Which port is free?"}]},
    {"id": "b", "type": "gemini", "content": "Looking"},
    {"id": "b", "type": "gemini", "content": "Port 81", "toolCalls": [{"id": "t", "resultDisplay": "81 free"}]},
    {"id": "c", "type": "info", "content": "Signed in"},
    {"$set": {"lastUpdated": NOON.isoformat()}},
)
FINE_TUNING = jsonl(
    *(
        {"messages": [{"role": r, "content": f"{r} {n}"} for r in ("system", "user", "assistant")]}
        for n in ("one", "two")
    )
)
SAMPLES = {
    "codex": CODEX,
    "gemini-cli": GEMINI,
    "fine-tuning": FINE_TUNING,
    "chatgpt": json.dumps([CHATGPT]),
    "claude-ai": json.dumps([CLAUDE_AI]),
    "sharegpt": json.dumps([SHAREGPT]),
    "claude-code": CLAUDE_CODE,
    "pi": PI,
    "jsonl": GENERIC,
}


@pytest.mark.requirement("P-08")
class TestFormats:
    def test_every_format_has_a_sample_here(self):
        assert set(SAMPLES) == set(FORMATS)

    @pytest.mark.parametrize("name", FORMATS)
    def test_a_format_is_found_out_and_may_be_named(self, name: str):
        found = read_log(SAMPLES[name])
        assert found.format == name
        assert found.problems == []
        assert said(found) == said(read_log(SAMPLES[name], name))
        assert {m.trust for c in found.conversations for m in c.messages} == {Trust.IMPORTED}

    @pytest.mark.parametrize("name", FORMATS)
    def test_a_mark_at_the_start_is_no_obstacle(self, name: str):
        assert said(read_log("\ufeff" + SAMPLES[name])) == said(read_log(SAMPLES[name]))

    @pytest.mark.parametrize("name", FORMATS)
    def test_ids_are_there_and_the_same_the_next_time(self, name: str):
        ids = [m.external_id for c in read_log(SAMPLES[name]).conversations for m in c.messages]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        assert ids == [m.external_id for c in read_log(SAMPLES[name]).conversations for m in c.messages]

    def test_chatgpt_follows_the_current_branch(self):
        reading = read_log(SAMPLES["chatgpt"])
        assert said(reading) == [("user", "How long do bees live?"), ("assistant", "Six weeks in summer")]
        assert reading.skipped == {"other branch": 1}
        (conversation,) = reading.conversations
        assert (conversation.session, conversation.title) == ("c1", "Bees")
        assert [m.observed_at for m in conversation.messages] == [NOON, NOON]
        assert conversation.messages[0].external_id == "m-b"

    def test_chatgpt_without_a_current_node_ends_with_the_last(self):
        export = {**CHATGPT, "current_node": None}
        assert said(read_log(json.dumps(export)))[-1] == ("assistant", "Six weeks in summer")

    def test_chatgpt_as_one_object_or_with_a_circle_is_read(self):
        circle = json.loads(json.dumps(CHATGPT))
        circle["mapping"]["a"]["parent"] = "d"
        assert len(said(read_log(json.dumps(circle)))) == 2

    def test_claude_ai_takes_text_or_parts(self):
        assert said(read_log(SAMPLES["claude-ai"])) == [("user", "My starter is flat"), ("assistant", "Feed it")]

    def test_chatgpts_calls_of_tools_are_no_words_of_the_assistant(self):
        export = json.loads(json.dumps(CHATGPT))
        export["mapping"]["d"]["message"]["recipient"] = "browser"
        reading = read_log(json.dumps(export))
        assert said(reading) == [("user", "How long do bees live?")]
        assert reading.skipped["tool results"] == 1

    def test_codex_keeps_what_the_user_and_the_assistant_said_and_no_more(self):
        reading = read_log(CODEX)
        assert said(reading) == [("user", "Fix the sail test"), ("assistant", "It passes now")]
        assert reading.skipped == {
            "instructions that the program added": 3,
            "user_message": 1,
            "function_call": 1,
            "tool results": 1,
        }
        (conversation,) = reading.conversations
        assert (conversation.session, conversation.messages[0].observed_at) == ("cx1", NOON)
        assert ("tool", "3 passed") in said(read_log(CODEX, include_tools=True))

    def test_codex_leaves_out_turns_that_were_rolled_back(self):
        back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
        reading = read_log(CODEX + "\n" + jsonl(back, codex("message", role="user", content="Fix the mast test")))
        assert said(reading) == [("user", "Fix the mast test")]
        assert reading.skipped["rolled back"] == 2

    def test_codex_of_older_versions_has_no_payload(self):
        log = jsonl(
            {"id": "old", "timestamp": NOON.isoformat(), "instructions": None},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Row on"}]},
        )
        (conversation,) = read_log(log).conversations
        assert (read_log(log).format, conversation.session, said(read_log(log))) == (
            "codex",
            "old",
            [("user", "Row on")],
        )

    def test_gemini_cli_keeps_the_last_version_of_a_message(self):
        reading = read_log(GEMINI)
        assert said(reading) == [("user", "Which port is free?"), ("assistant", "Port 81")]
        assert reading.skipped == {"info": 1, "tool results": 1}
        assert reading.conversations[0].session == "g1"
        assert ("tool", "81 free") in said(read_log(GEMINI, include_tools=True))

    def test_gemini_cli_follows_a_rewind(self):
        reading = read_log(
            GEMINI + "\n" + jsonl({"$rewindTo": "b"}, {"id": "d", "type": "gemini", "content": "Port 82"})
        )
        assert said(reading) == [("user", "Which port is free?"), ("assistant", "Port 82")]

    def test_gemini_cli_of_older_versions_is_one_document(self):
        first, *lines = [json.loads(line) for line in GEMINI.splitlines() if "$set" not in line]
        document = json.dumps(
            {**first, "messages": [line for line in lines if line.get("content") != "Looking"]}, indent=1
        )
        assert said(read_log(document)) == said(read_log(GEMINI))

    def test_fine_tuning_has_one_conversation_per_line_without_system_prompts(self):
        reading = read_log(FINE_TUNING)
        assert [c.messages[1].text for c in reading.conversations] == ["assistant one", "assistant two"]
        assert reading.skipped == {"system prompts": 2}
        swapped = "\n".join(reversed(FINE_TUNING.splitlines()))
        assert {c.session for c in read_log(swapped).conversations} == {c.session for c in reading.conversations}

    def test_fine_tuning_by_preference_takes_the_preferred_answer(self):
        told = {
            "input": {"messages": [{"role": "user", "content": "Hi"}]},
            "preferred_output": [{"role": "assistant", "content": "Hello"}],
        }
        line = jsonl({**told, "non_preferred_output": [{"role": "assistant", "content": "What"}]}, {"messages": []})
        reading = read_log(line)
        assert said(reading) == [("user", "Hi"), ("assistant", "Hello")]
        assert reading.problems == ["line 2: no messages"]

    def test_sharegpt_without_ids_is_numbered(self):
        first, second = read_log(json.dumps([{"conversations": SHAREGPT["conversations"]}] * 2)).conversations
        assert (first.session, second.session) == ("sharegpt-1", "sharegpt-2")
        assert first.messages[0].observed_at is None

    def test_claude_code_is_divided_by_session_and_leaves_tool_results_out(self):
        reading = read_log(CLAUDE_CODE)
        assert {c.session: len(c.messages) for c in reading.conversations} == {"one": 2, "two": 1}
        assert reading.skipped == {"summary": 1, "tool results": 1}
        assert ("tool", "ok") in said(read_log(CLAUDE_CODE, include_tools=True))

    def test_what_a_user_says_beside_a_tool_result_is_the_users(self):
        content = [{"type": "tool_result", "content": "ok"}, {"type": "text", "text": "Now the swan"}]
        record = {"type": "user", "uuid": "a", "message": {"role": "user", "content": content}}
        assert said(read_log(jsonl(record))) == [("user", "Now the swan")]

    def test_claude_code_as_one_document_is_read(self):
        lines = [json.loads(line) for line in CLAUDE_CODE.splitlines()]
        assert said(read_log(json.dumps({"loglines": lines}))) == said(read_log(CLAUDE_CODE))

    def test_pi_leaves_thoughts_and_tool_results_out(self):
        reading = read_log(PI)
        assert said(reading) == [("user", "Rename the module"), ("assistant", "Renamed")]
        assert reading.skipped == {"model_change": 1, "tool results": 1}
        assert reading.conversations[0].session == "p1"
        assert ("tool", "12 files") in said(read_log(PI, include_tools=True))

    def test_pi_follows_the_branch_of_its_last_record_through_records_of_any_type(self):
        tree = jsonl(
            {"type": "session", "version": 3, "id": "p2"},
            pi("user", "one", id="a", parentId=None),
            pi("assistant", "discarded", id="b", parentId="a"),
            {"type": "model_change", "id": "m", "parentId": "a"},
            pi("assistant", "two", id="c", parentId="m"),
            {"type": "compaction", "id": "k", "parentId": "c"},
            pi("user", "three", id="d", parentId="k"),
        )
        reading = read_log(tree)
        assert [text for _, text in said(reading)] == ["one", "two", "three"]
        assert reading.skipped["other branch"] == 1

    @pytest.mark.parametrize("parent", ["gone", 7, ["a"], {"a": 1}, "b"])
    def test_pi_with_a_broken_tree_loses_nothing(self, parent: object):
        log = jsonl(
            {"type": "session", "id": "p3"},
            pi("user", "one", id="a", parentId=None),
            pi("user", "two", id="b", parentId=parent),
        )
        assert [text for _, text in said(read_log(log))] == ["one", "two"]

    @pytest.mark.parametrize("name", [3, ["x"], None, ""])
    def test_pi_with_ids_that_are_none_is_read_in_order(self, name: object):
        log = jsonl({"type": "session", "id": "p4"}, pi("user", "one", id=name), pi("user", "two", id=name))
        assert [text for _, text in said(read_log(log))] == ["one", "two"]

    @pytest.mark.parametrize("form", ["[%s]", '{"messages": [%s]}'])
    def test_plain_messages_may_be_one_document(self, form: str):
        document = form % ",".join(GENERIC.splitlines())
        assert said(read_log(document)) == [("user", "hi"), ("assistant", "hello")]

    def test_one_message_alone_is_a_log(self):
        assert said(read_log('{"role": "user", "content": "hi"}')) == [("user", "hi")]

    def test_plain_messages_say_name_session_id_and_time_in_usual_words(self):
        line = {
            "role": "human",
            "content": "hi",
            "name": "Ana",
            "thread_id": "t9",
            "uuid": "u",
            "created_at": 1772366400,
        }
        (conversation,) = read_log(jsonl(line)).conversations
        (message,) = conversation.messages
        assert (conversation.session, message.name, message.external_id) == ("t9", "Ana", "u")
        assert (message.role, message.observed_at) == (Role.USER, NOON)

    def test_exchanges_begin_with_what_the_user_says(self):
        log = jsonl(*({"role": r, "content": r} for r in ("assistant", "user", "assistant", "assistant", "user")))
        (conversation,) = read_log(log).conversations
        assert [len(exchange) for exchange in conversation.exchanges()] == [1, 3, 1]


class TestTimes:
    @pytest.mark.parametrize(
        "time",
        [
            "2026-03-01T12:00:00Z",
            "2026-03-01T14:00:00+02:00",
            "2026-03-01 12:00",
            1772366400,
            1772366400.0,
            1772366400000,
        ],
    )
    def test_a_time_may_be_written_in_many_ways(self, time: object):
        (conversation,) = read_log(jsonl({"role": "user", "content": "x", "timestamp": time})).conversations
        assert conversation.messages[0].observed_at == NOON

    @pytest.mark.parametrize("time", [None, "", "soon", True, [], {}, 1e300, float("nan"), -(10**30), 10**400 // 1])
    def test_what_is_no_time_is_none(self, time: object):
        (conversation,) = read_log(jsonl({"role": "user", "content": "x", "timestamp": time})).conversations
        assert conversation.messages[0].observed_at is None


class TestContent:
    @pytest.mark.parametrize(
        "content, text",
        [
            (["a", "b"], "a\nb"),
            ([{"type": "text", "text": "a"}, {"type": "image", "data": "…"}, {"type": "text", "text": "b"}], "a\nb"),
            ([{"type": "input_text", "text": "a"}], "a"),
            ([{"text": "a"}, 3, None, {"text": 4}], "a"),
            ("  kept as it is \n", "  kept as it is \n"),
        ],
    )
    def test_texts_of_parts_are_joined(self, content: object, text: str):
        assert said(read_log(jsonl({"role": "user", "content": content}))) == [("user", text)]

    @pytest.mark.parametrize("content", ["", "  \n", [], [{"type": "image"}], None, 3, {"text": "x"}])
    def test_a_message_without_text_is_counted(self, content: object):
        reading = read_log(jsonl({"role": "user", "content": content}, {"role": "user", "content": "x"}))
        assert reading.skipped == {"messages without text": 1}

    @pytest.mark.parametrize("role", ["king", None, 3, ["user"], ""])
    def test_a_role_that_nobody_knows_is_a_problem_of_its_line(self, role: object):
        reading = read_log(jsonl({"role": "user", "content": "x"}, {"role": role, "content": "y"}))
        assert said(reading) == [("user", "x")]
        assert [problem.partition(":")[0] for problem in reading.problems] == ["line 2"]

    @pytest.mark.parametrize("name", ["chatgpt", "claude-ai", "sharegpt"])
    def test_a_role_that_nobody_knows_is_a_problem_of_its_place(self, name: str):
        reading = read_log(SAMPLES[name].replace('"user"', '"king"').replace('"human"', '"king"'))
        assert len(reading.problems) == 1
        assert "'king'" in reading.problems[0]


KEYS = st.sampled_from(
    [
        *("mapping", "chat_messages", "conversations", "messages", "loglines", "session", "sessionId"),
        *("role", "content", "text", "type", "message", "id", "parentId", "parent", "timestamp"),
        *("author", "parts", "current_node", "sender", "from", "value"),
        *("payload", "num_turns", "output", "$set", "$rewindTo", "projectHash", "toolCalls", "input", "instructions"),
    ]
)


class TestBroken:
    @pytest.mark.parametrize("text", ["", " \n ", "\ufeff", "\ufeff \n"])
    def test_an_empty_log_is_refused(self, text: str):
        with pytest.raises(InvalidInputError, match="empty"):
            read_log(text)

    @pytest.mark.parametrize("text", ["hello", "{}", "[]", "3", '{"a": 1}\n{"b": 2}', "null", '"role"', "[[[]]]"])
    def test_what_is_no_log_is_refused_with_what_would_be(self, text: str):
        with pytest.raises(InvalidInputError, match="one JSON object with"):
            read_log(text)

    def test_a_format_that_nobody_knows_is_refused_with_those_there_are(self):
        with pytest.raises(InvalidInputError, match="chatgpt"):
            read_log(GENERIC, "telegram")

    @pytest.mark.parametrize("name", ["chatgpt", "claude-ai", "sharegpt"])
    def test_half_of_a_document_is_refused(self, name: str):
        with pytest.raises(InvalidInputError, match="complete"):
            read_log(SAMPLES[name][:-5], name)

    def test_broken_lines_are_told_with_their_numbers_and_do_not_stop_the_rest(self):
        good = '{"role": "user", "content": "x"}'
        reading = read_log(f"{good}\n{{half\n\n[]\n3\n{'[' * 100_000}\n{good}\r\n")
        assert len(said(reading)) == 2
        assert [problem.partition(":")[0] for problem in reading.problems] == ["line 2", "line 4", "line 5", "line 6"]

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
            max_leaves=12,
        ),
        st.sampled_from([None, *FORMATS]),
    )
    def test_no_json_whatever_breaks_a_reader(self, document: object, name: str | None):
        for text in (json.dumps(document), jsonl({"type": "session", "id": "s"}, document, document)):
            try:
                reading = read_log(text, name, include_tools=True)
            except InvalidInputError:
                continue
            assert all(text.strip() for _, text in said(reading))
