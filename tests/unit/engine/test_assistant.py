"""A turn of a chat: memory before, tools between, both sides captured after, whatever breaks."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import cast

import pytest

from mnemic import AsyncMnemic, Mnemic, Scope, tool
from mnemic.adapters.llms.registry import Script, ScriptedLlm
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.engine.engine import Engine
from mnemic.errors import ConfigError, InvalidInputError, UnavailableError, UnsupportedError
from mnemic.model.chat import Called, Completion, Finish, Prompt, Recalled, Replied, Said, ToolCall, Usage
from mnemic.model.item import Role
from mnemic.model.settings import ProxySettings
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, BERT

LATER = replace(ANNA, session="s2")
SCRIPT = Iterable[Script] | Callable[[Prompt], Script]


def chatting(parts: Engine, script: SCRIPT, *, context_tokens: int = 8192) -> tuple[Mnemic, ScriptedLlm]:
    llm = ScriptedLlm(script, context_tokens=context_tokens)
    return Mnemic(replace(parts, llm=llm), actor="tester"), llm


def calls(*asked: tuple[str, dict[str, object]], reason: str = "") -> Completion:
    made = tuple(ToolCall(f"c{n}", name, json.dumps(given)) for n, (name, given) in enumerate(asked))
    return Completion(reason, made, Finish.TOOLS, Usage(1, 5, 5, 0.1))


def said(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in prompt.messages]


def spoken(mnemic: Mnemic, scope: Scope) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in mnemic.window(scope)]


@pytest.mark.requirement("J-49", "D-33", "D-54")
def test_the_model_is_given_system_profile_plan_rules_calls_memory_history_and_message_in_this_order(parts: Engine):
    mnemic, llm = chatting(parts, ["Good.", "Oat milk."])
    mnemic.profile.set(ANNA, {"home": "Lyon"})
    mnemic.remember(ANNA, "User prefers oat milk")
    mnemic.chat(ANNA, "Good morning")
    reply = mnemic.chat(
        ANNA,
        "Which milk do I like?",
        system="You are Jarvis.",
        plan=["Look it up", "Answer"],
        rules=["Do not skip steps"],
        role="ADMIN",
        max_tool_calls=3,
    )
    assert reply.text == "Oat milk."
    system, *rest = llm.prompts[-1].messages
    parts_in_order = (
        "You are Jarvis.",
        "---USER PROFILE---\nhome: Lyon",
        "Planned steps:\n1. Look it up\n2. Answer",
        "Rules for keeping to the plan:\n- Do not skip steps",
        "Before each tool call, say in one short sentence why you make it. At most 3 tool calls are allowed",
        "Date: 2026-05-01\nUser: anna (role ADMIN)\nModel: scripted",
        "User prefers oat milk",
    )
    places = [system.content.index(part) for part in parts_in_order]
    assert places == sorted(places)
    assert [(m.role.value, m.content) for m in rest] == [
        ("user", "Good morning"),
        ("assistant", "Good."),
        ("user", "Which milk do I like?"),
    ]


@pytest.mark.requirement("D-54", "R-29")
def test_a_chinese_message_is_asked_for_reasons_in_chinese(parts: Engine):
    mnemic, llm = chatting(parts, ["好的。"])
    mnemic.chat(ANNA, "我住在哪里？", plan=["查找"], max_tool_calls=2)
    system = llm.prompts[0].messages[0].content
    assert "计划步骤：\n1. 查找" in system
    assert "每次调用工具之前，请用一句话简要说明理由。本次回答最多允许调用 2 次工具。" in system


@pytest.mark.requirement("D-35")
@pytest.mark.parametrize("is_streaming", [False, True])
def test_plain_and_streaming_show_the_profile_and_capture_both_sides(
    parts: Engine,
    is_streaming: bool,  # noqa: FBT001 -- pytest names what it passes
):
    mnemic, llm = chatting(parts, ["You live in Lyon, as you told me."])
    mnemic.profile.set(ANNA, {"home": "Lyon"})
    if is_streaming:
        events = list(mnemic.chat_stream(ANNA, "Where do I live?"))
        assert isinstance(events[0], Recalled)
        assert "".join(event.text for event in events if isinstance(event, Said)) == "You live in Lyon, as you told me."
        assert sum(isinstance(event, Said) for event in events) > 1
        reply = cast("Replied", events[-1]).reply
    else:
        reply = mnemic.chat(ANNA, "Where do I live?")
    assert "home: Lyon" in llm.prompts[0].messages[0].content
    assert (reply.text, reply.degraded) == ("You live in Lyon, as you told me.", ())
    assert reply.turn is not None
    assert spoken(mnemic, ANNA) == [("user", "Where do I live?"), ("assistant", "You live in Lyon, as you told me.")]
    assert [message.turn_id for message in mnemic.window(ANNA)] == [reply.turn.id] * 2


@pytest.mark.requirement("J-20", "J-30")
def test_what_the_user_said_becomes_a_memory_by_a_job_after_the_answer(parts: Engine):
    mnemic, _ = chatting(parts, lambda prompt: "Noted." if "learn" not in str(prompt.messages) else "[]")
    assert mnemic.chat(ANNA, "I live in Porto and I work as a nurse.").text == "Noted."
    assert mnemic.list(ANNA).memories == ()
    Mnemic(replace(parts, llm=None)).work()
    assert any("Porto" in memory.text for memory in mnemic.list(ANNA).memories)


def test_a_later_session_knows_what_an_earlier_one_heard(parts: Engine):
    mnemic, llm = chatting(parts, ["Lovely.", "Miso."])
    mnemic.chat(ANNA, "My cat is called Miso")
    mnemic.chat(LATER, "What is my cat called?")
    assert "My cat is called Miso" in llm.prompts[-1].messages[0].content
    stranger, other = chatting(parts, ["No idea."])
    stranger.chat(BERT, "What is the cat called?")
    assert "Miso" not in str(other.prompts)


def test_a_scope_without_a_session_begins_a_conversation_that_can_go_on(parts: Engine):
    mnemic, llm = chatting(parts, ["One.", "Two."])
    first = mnemic.chat(Scope(user="anna"), "Hello there")
    mnemic.chat(Scope(user="anna", session=first.session), "And again")
    assert said(llm.prompts[-1])[-3:] == [("user", "Hello there"), ("assistant", "One."), ("user", "And again")]


class TestTools:
    """Calls of tools within a turn."""

    @pytest.mark.requirement("J-56", "P-24")
    def test_the_model_calls_a_tool_is_told_the_result_and_answers(self, parts: Engine):
        asked = calls(("calculator", {"expression": "2847 * 391"}), reason="I need the exact product.")
        mnemic, llm = chatting(parts, [asked, "It is 1,113,177."])
        events = list(mnemic.chat_stream(ANNA, "What is 2847 times 391?"))
        step = next(event.step for event in events if isinstance(event, Called))
        assert (step.reason, step.outcome.text) == ("I need the exact product.", "2847 * 391 = 1,113,177")
        reply = cast("Replied", events[-1]).reply
        assert (reply.text, reply.steps, reply.usage.calls) == ("It is 1,113,177.", (step,), 2)
        first, second = llm.prompts
        assert {"calculator", "clock", "recall", "remember", "forget", "search_documents", "convert_units"} <= {
            each.name for each in first.tools
        }
        assert [message.role for message in second.messages[-2:]] == [Role.ASSISTANT, Role.TOOL]
        assert second.messages[-2].tool_calls == asked.tool_calls
        assert (second.messages[-1].tool_call_id, second.messages[-1].content) == ("c0", "2847 * 391 = 1,113,177")
        assert spoken(mnemic, ANNA)[-1] == ("assistant", "It is 1,113,177.")
        assert mnemic.window(ANNA)[-1].bookkeeping == {"tools": ["calculator"]}

    @pytest.mark.requirement("D-54", "P-24")
    def test_a_model_that_never_stops_calling_is_stopped_at_the_limit(self, parts: Engine):
        def greedy(prompt: Prompt) -> Script:
            return calls(("clock", {}), ("clock", {})) if prompt.tools else "Enough."

        mnemic, llm = chatting(parts, greedy)
        reply = mnemic.chat(ANNA, "What time is it?", max_tool_calls=3)
        assert reply.text == "Enough."
        assert [step.outcome.is_error for step in reply.steps] == [False, False, False, True]
        assert "no further tool calls are allowed" in reply.steps[-1].outcome.text
        assert len(llm.prompts) == 3

    def test_a_model_that_calls_what_it_was_not_offered_has_answered(self, parts: Engine):
        mnemic, _ = chatting(parts, [replace(calls(("clock", {})), text="It is late.")])
        assert mnemic.chat(ANNA, "What time is it?", tools=False).text == "It is late."

    def test_a_call_with_wrong_arguments_is_told_so_that_the_model_can_mend_it(self, parts: Engine):
        script = [calls(("calculator", {"sum": "1+1"})), calls(("calculator", {"expression": "1+1"})), "2"]
        mnemic, llm = chatting(parts, script)
        reply = mnemic.chat(ANNA, "1+1?")
        assert "'expression' is missing" in llm.prompts[1].messages[-1].content
        assert [step.outcome.is_error for step in reply.steps] == [True, False]

    def test_arguments_that_are_no_json_are_not_sent_back_as_they_came(self, parts: Engine):
        broken = Completion(
            "", (ToolCall("c0", "clock", "{"), ToolCall("c1", "clock", "{'zone': 'UTC',}")), Finish.TOOLS
        )
        mnemic, llm = chatting(parts, [broken, "Late."])
        reply = mnemic.chat(ANNA, "What time is it?")
        assert [call.arguments for call in llm.prompts[1].messages[-3].tool_calls] == ["{}", '{"zone": "UTC"}']
        assert reply.steps[0].outcome.call.arguments == "{"

    def test_only_the_tools_that_are_named_are_offered(self, parts: Engine):
        mnemic, llm = chatting(parts, ["Yes.", "No."])
        mnemic.chat(ANNA, "Now?", tools=["clock"])
        mnemic.chat(ANNA, "And now?", tools=False)
        assert [[each.name for each in prompt.tools] for prompt in llm.prompts] == [["clock"], []]
        assert "tool calls are allowed" not in str(llm.prompts[1])
        with pytest.raises(InvalidInputError, match="unknown tool"):
            mnemic.chat(ANNA, "Now?", tools=["watch"])

    def test_a_tool_that_was_added_is_offered_and_called(self, parts: Engine):
        @tool
        def horoscope(sign: str) -> str:
            """Reads the stars.

            Args:
                sign: Which.
            """
            return f"{sign}: rain"

        mnemic, _ = chatting(parts, [calls(("horoscope", {"sign": "Leo"})), "Rain."])
        mnemic.tools.add(horoscope)
        assert mnemic.chat(ANNA, "My stars?").steps[0].outcome.text == "Leo: rain"
        assert mnemic.tools.call(ANNA, "horoscope", {"sign": "Leo"}).text == "Leo: rain"
        with pytest.raises(ConfigError, match="two tools named clock"):
            mnemic.tools.add(tool(name="clock")(tells_nothing))

    def test_a_model_that_takes_no_tools_answers_without_them(self, parts: Engine):
        def simple(prompt: Prompt) -> Script:
            return UnsupportedError("tiny takes no tools", capability="tools") if prompt.tools else "Hello."

        mnemic, _ = chatting(parts, simple)
        reply = mnemic.chat(ANNA, "Hi there")
        assert (reply.text, reply.degraded) == ("Hello.", ("tools: tiny takes no tools",))


class TestFailures:
    """Whatever breaks: what was said is kept, and memory never ends a chat."""

    def test_without_a_model_the_error_says_how_to_set_one(self, mnemic: Mnemic):
        with pytest.raises(ConfigError, match="configuration file"):
            mnemic.chat(ANNA, "Hello")
        with pytest.raises(ConfigError, match="MNEMIC_LLM"):
            mnemic.ask(ANNA, "Hello?")

    def test_a_model_that_is_away_is_an_error_and_the_users_side_is_kept(self, parts: Engine):
        mnemic, _ = chatting(parts, [UnavailableError("away")])
        with pytest.raises(UnavailableError):
            mnemic.chat(ANNA, "My cat is called Miso")
        assert spoken(mnemic, ANNA) == [("user", "My cat is called Miso")]

    @pytest.mark.requirement("P-22")
    def test_a_stream_that_is_left_early_keeps_what_was_said(self, parts: Engine):
        mnemic, _ = chatting(parts, ["Once upon a time there was a cat"])
        events = mnemic.chat_stream(ANNA, "Tell me a story")
        for event in events:
            if isinstance(event, Said):
                events.close()
        assert spoken(mnemic, ANNA) == [("user", "Tell me a story"), ("assistant", "Once upo")]
        assert mnemic.window(ANNA)[-1].bookkeeping == {"is_partial": True}

    def test_a_broken_store_is_told_and_the_model_answers_all_the_same(self, parts: Engine, observer: CounterObserver):
        store = AwayStore(parts.store)
        mnemic, llm = chatting(replace(parts, store=cast("Store", store)), ["Hello.", "Hello again."])
        mnemic.remember(ANNA, "User prefers oat milk")
        store.is_away = True
        reply = mnemic.chat(ANNA, "Which milk?", system="You are Jarvis.")
        assert reply.text == "Hello."
        assert reply.turn is None
        assert any(each.startswith("capture: UnavailableError") for each in reply.degraded)
        assert any(each.startswith(("recall:", "context:")) for each in reply.degraded)
        assert said(llm.prompts[0])[-1] == ("user", "Which milk?")
        assert "You are Jarvis." in said(llm.prompts[0])[0][1]
        assert observer.counts["mnemic.chat.missing", (("reason", "UnavailableError"), ("source", "capture"))] == 2
        store.is_away = False
        assert mnemic.chat(ANNA, "And now?").degraded == ()

    def test_a_store_that_comes_back_in_time_gets_both_sides(self, parts: Engine):
        store = AwayStore(parts.store)

        def answer(_: Prompt) -> Script:
            store.is_away = False
            return "I am back."

        mnemic, _ = chatting(replace(parts, store=cast("Store", store)), answer)
        store.is_away = True
        reply = mnemic.chat(ANNA, "Are you there?")
        assert not [each for each in reply.degraded if each.startswith("capture")]
        assert spoken(mnemic, ANNA) == [("user", "Are you there?"), ("assistant", "I am back.")]

    def test_a_prompt_that_is_too_long_is_asked_again_with_less_of_memory(self, parts: Engine):
        def small(prompt: Prompt) -> Script:
            long = any("milk" in message.content for message in prompt.messages if message.role is Role.SYSTEM)
            return InvalidInputError("the prompt is longer than its context") if long else "Hello."

        mnemic, _ = chatting(parts, small)
        mnemic.remember_many(ANNA, [f"User likes milk of sort {n}" for n in range(5)])
        reply = mnemic.chat(ANNA, "Which milk?")
        assert reply.text == "Hello."
        assert reply.degraded == ("context: shortened to fit the model",)

    def test_memory_leaves_room_for_the_answer_in_a_small_model(self, parts: Engine):
        mnemic, llm = chatting(parts, ["Yes."], context_tokens=2048)
        mnemic.remember_many(ANNA, [f"Milk {n}: " + "very long and creamy milk " * 20 for n in range(40)])
        mnemic.chat(ANNA, "Which milk?", budget_tokens=100_000, limits=None)
        assert sum(len(message.content) for message in llm.prompts[0].messages) < 2048 * 4

    def test_a_message_longer_than_a_query_may_be_is_sent_whole(self, parts: Engine):
        mnemic, llm = chatting(parts, ["Long."], context_tokens=100_000)
        message = "a long letter " * 3000
        mnemic.chat(ANNA, message)
        assert llm.prompts[0].messages[-1].content == message

    @pytest.mark.parametrize("message", ["", "  ", "half \ud83d"])
    def test_a_message_that_is_none_is_refused(self, parts: Engine, message: str):
        mnemic, llm = chatting(parts, ["Yes."])
        with pytest.raises(InvalidInputError):
            mnemic.chat(ANNA, message)
        assert llm.prompts == []

    def test_switched_off_only_the_session_is_shown(self, parts: Engine):
        settings = replace(parts.settings, proxy=ProxySettings(injects_context=False))
        mnemic, llm = chatting(replace(parts, settings=settings), ["Good.", "I cannot know."])
        mnemic.remember(ANNA, "User prefers oat milk")
        mnemic.profile.set(ANNA, {"home": "Lyon"})
        mnemic.chat(ANNA, "Good morning", tools=False)
        mnemic.chat(ANNA, "Which milk do I like?", system="You are Jarvis.", tools=False)
        assert said(llm.prompts[-1]) == [
            ("system", "You are Jarvis."),
            ("user", "Good morning"),
            ("assistant", "Good."),
            ("user", "Which milk do I like?"),
        ]

    def test_nothing_is_kept_when_nothing_is_to_be_captured(self, parts: Engine):
        mnemic, _ = chatting(parts, ["Secretly."])
        assert mnemic.chat(ANNA, "Between us", captures=False).turn is None
        assert spoken(mnemic, ANNA) == []

    def test_what_a_model_writes_is_kept_even_where_it_is_no_text(self, parts: Engine):
        mnemic, _ = chatting(parts, ["odd \ud83d"])
        assert mnemic.chat(ANNA, "Go on").text == "odd \ud83d"
        assert spoken(mnemic, ANNA)[-1] == ("assistant", "odd ?")


@pytest.mark.requirement("J-05", "D-35")
def test_for_asyncio_the_events_come_from_a_thread_and_leaving_keeps_what_was_said(parts: Engine):
    async def talk(mnemic: AsyncMnemic) -> list[type[object]]:
        events = await mnemic.chat_stream(ANNA, "Tell me a story")
        seen: list[type[object]] = []
        async for event in events:
            seen.append(type(event))
            if isinstance(event, Said):
                break
        await events.aclose()
        assert (await mnemic.chat(ANNA, "And now?")).text == "Bye."
        return seen

    plain, _ = chatting(parts, ["Once upon a time there was a cat", "Bye."])
    assert asyncio.run(talk(AsyncMnemic(plain))) == [Recalled, Said]
    assert spoken(plain, ANNA)[:2] == [("user", "Tell me a story"), ("assistant", "Once upo")]


def test_a_question_is_answered_from_memory_with_citations_and_nothing_is_captured(parts: Engine):
    def cite(prompt: Prompt) -> Script:
        number = re.search(r"\[(\d+)\] [^\n]*oat milk", prompt.messages[0].content)
        return f"Oat milk [{number[1] if number else 0}]."

    mnemic, llm = chatting(parts, cite)
    memory = mnemic.remember(ANNA, "User prefers oat milk")
    mnemic.remember(ANNA, "User has a cat named Miso")
    answer = mnemic.ask(ANNA, "Which milk does the user prefer?")
    assert [citation.item_id for citation in answer.citations] == [memory.id]
    assert {citation.item_id for citation in answer.context.citations} >= {memory.id}
    assert "cite what it rests on by its number" in llm.prompts[0].messages[0].content
    assert llm.prompts[0].tools == ()
    assert spoken(mnemic, ANNA) == []


def tells_nothing() -> str:
    """Tells nothing."""
    return ""


class AwayStore:
    """A store that can be away: whatever is asked of it then is `UnavailableError`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_away = False

    def __getattr__(self, name: str) -> object:
        if self.is_away and name in ("read", "write"):
            raise UnavailableError("the disk is gone")
        return getattr(self._store, name)
