"""Results as a person sees them: they iterate, index, have a length, and fit a screen when printed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from openai.types.chat import ChatCompletion

from mnemic import Config, Mnemic, follow_pages
from mnemic.api.views import ScopedMnemic
from mnemic.errors import InvalidInputError
from mnemic.model.item import Role
from mnemic.model.recall import ChatMessage, Context, Recall
from mnemic.testing.samples import a_memory

LINES, CHARS = 25, 120


@pytest.fixture
def ana() -> Iterator[ScopedMnemic]:
    with Mnemic(Config(store="memory://")) as memory:
        yield memory.for_user("ana", session="monday", agent="coder")


def fits(shown: str) -> bool:
    return len(shown.splitlines()) <= LINES and all(len(line) <= CHARS for line in shown.splitlines())


@pytest.mark.requirement("P-50")
def test_every_result_fits_a_screen_when_printed(ana: ScopedMnemic):
    ana.remember_many([f"Ana likes tea number {number}\nand cake " * 30 for number in range(30)])
    turn = ana.capture(user="I like tea. " * 50, assistant="Noted.\n" * 50)
    results = [
        turn,
        ana.recall("tea", limit=None),
        ana.context("Which tea do I like?", system="You are kind.\n" * 40),
        ana.list(),
        ana.messages(),
        ana.recall("tea")[0],
        ana.get(turn[0].id),
    ]
    assert [type(each).__name__ for each in results if not fits(repr(each))] == []
    assert repr(results[1]).splitlines()[0] == "Recall(hits=32)"
    assert repr(results[1]).splitlines()[-1] == "  … 12 more"


def test_a_recall_and_a_page_iterate_index_and_have_a_length(ana: ScopedMnemic):
    ana.remember_many(["Ana likes tea", "Ana likes cake"])
    found, page = ana.recall("cake"), ana.list()
    assert len(found) == 2
    assert [*found] == [found[0], found[1]] == list(found.hits)
    assert found[0].text == "Ana likes cake"
    assert found[:1] == found.hits[:1]
    assert len(page) == 2
    assert [each.text for each in page] == ["Ana likes cake", "Ana likes tea"]
    assert page[-1].text == "Ana likes tea"
    assert [*ana.documents.list()] == [*ana.graph.entities()] == []


def test_pages_are_followed_to_their_end(ana: ScopedMnemic):
    texts = [f"Ana has book {number}" for number in range(7)]
    ana.remember_many(texts)
    assert sorted(memory.text for memory in follow_pages(ana.list, limit=3)) == texts
    ana.keys.create(name="laptop")
    ana.keys.create(name="phone")
    assert len([*follow_pages(ana.keys.audit, limit=1)]) == 2
    assert [*follow_pages(ana.documents.list)] == []


def test_a_hit_has_the_same_fields_whatever_it_holds(ana: ScopedMnemic):
    ana.remember("Ana likes tea", source="form")
    ana.capture(user="I like tea")
    ana.ingest(b"Tea is a drink.", name="tea.txt", source="tea.txt")
    hits = {hit.kind: hit for hit in ana.recall("tea", kinds=["fact", "message", "document"])}
    assert hits["fact"].source == "form"
    assert hits["fact"].author == "coder"
    assert (hits["message"].source, hits["message"].author) == ("monday", "user")
    assert (hits["document"].source, hits["document"].page, hits["document"].author) == ("tea.txt", None, "")
    assert all(hit.at == hit.item.observed_at for hit in hits.values())


def test_a_notebook_shows_hits_as_a_table_and_a_context_by_blocks(ana: ScopedMnemic):
    ana.remember("Ana likes <b>tea</b>")
    found, context = ana.recall("<tea>"), ana.context("<tea>", system="Be <kind>")
    table, blocks = (getattr(each, "_repr_html_")() for each in (found, context))  # noqa: B009 -- what notebooks call
    assert "<caption>&lt;tea&gt;</caption>" in table
    assert "Ana likes &lt;b&gt;tea&lt;/b&gt;" in table
    assert "<summary>system</summary><pre>Be &lt;kind&gt;</pre>" in blocks


def context_of(*said: tuple[Role, str]) -> Context:
    messages = tuple(ChatMessage(role, text) for role, text in said)
    return Context(messages, {}, (), 0, Recall("", (), (), {}), (), {})


@pytest.mark.requirement("P-50")
def test_openai_gets_roles_and_text():
    context = context_of((Role.SYSTEM, "Be kind"), (Role.TOOL, "12 degrees"), (Role.USER, "Hi"))
    assert context.to_openai() == [
        {"role": "system", "content": "Be kind"},
        {"role": "user", "content": "12 degrees"},
        {"role": "user", "content": "Hi"},
    ]


def test_anthropic_gets_the_system_text_apart_and_roles_that_alternate():
    context = context_of(
        (Role.SYSTEM, "Be kind"), (Role.USER, "Hi"), (Role.SYSTEM, "Ana likes tea"), (Role.USER, "Tea?")
    )
    assert context.to_anthropic() == {
        "system": "Be kind\n\nAna likes tea",
        "messages": [{"role": "user", "content": "Hi\n\nTea?"}],
    }


def test_anthropic_never_gets_the_assistant_first():
    turns = context_of((Role.ASSISTANT, "Hello"), (Role.USER, "Hi")).to_anthropic()["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]


class TestCaptureOfClients:
    """`capture` takes the messages and responses of the clients as they are."""

    CALL: ClassVar[dict[str, Any]] = {
        "id": "c1",
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Porto"}'},
    }

    def texts(self, *messages: Any) -> list[tuple[str, str]]:
        with Mnemic(Config(store="memory://", embedder="none"), has_worker=False) as mnemic:
            return [(each.role.value, each.text) for each in mnemic.for_user("ana").capture(messages).messages]

    def test_a_response_of_openai_is_its_first_message(self):
        message = {"role": "assistant", "content": "Take a coat.", "tool_calls": [self.CALL]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        given = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        response = ChatCompletion.model_validate(given)
        expected = [("user", "Hi"), ("assistant", 'Take a coat.\nweather({"city": "Porto"})')]
        assert self.texts({"role": "user", "content": "Hi"}, response) == expected
        assert self.texts({"role": "user", "content": "Hi"}, response.choices[0].message) == expected
        dumped = response.choices[0].message.model_dump()
        assert self.texts({"role": "user", "content": "Hi"}, dumped) == expected

    def test_the_text_of_parts_is_kept_and_a_picture_is_not(self):
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        parts = [{"type": "text", "text": "What is this?"}, picture]
        assert self.texts({"role": "user", "content": parts}) == [("user", "What is this?")]

    def test_blocks_of_anthropic_are_texts_and_a_result_of_a_tool_is_no_users_word(self):
        called = SimpleNamespace(type="tool_use", id="t1", name="weather", input={"city": "Porto"})
        message = SimpleNamespace(role="assistant", content=[SimpleNamespace(type="text", text="I look."), called])
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Sunny"}]}
        assert self.texts(message, result) == [("assistant", 'I look.\nweather({"city": "Porto"})'), ("tool", "Sunny")]

    def test_what_is_no_message_is_refused(self):
        for strange in (5, "hello", object(), SimpleNamespace(role="user")):
            with pytest.raises(InvalidInputError, match="a message must be a mapping such as"):
                self.texts(strange)


def test_the_repr_of_a_memory_that_has_ended_has_its_end():
    ended = a_memory("Ana works at Costco", valid_to=datetime(2025, 3, 1, tzinfo=UTC))
    assert repr(ended).startswith("Memory('Ana works at Costco', valid_to='2025-03-01', id=")
    assert "valid_to" not in repr(a_memory("Ana works at Costco"))
    assert fits(repr(a_memory("long " * 40, valid_to=ended.valid_to)))
