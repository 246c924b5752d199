"""What every language model adapter promises, as tests: subclass `LlmContract` and say in fixtures how yours is made.

    class TestMine(LlmContract):
        @pytest.fixture(scope="class")
        @classmethod
        def llm(cls): yield from closing(MyLlm())

        @pytest.fixture
        def another(self): return MyLlm

`llm` may serve all tests of the class. `another` is a callable that makes one more, which the suite may close. The
suite asks for very little text, and never judges it: it is made for the smallest model that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from mnemic.errors import InvalidInputError, TimedOutError, UnsupportedError
from mnemic.model.chat import Completion, Finish, Piece, Prompt, PromptMessage, ToolSpec
from mnemic.model.item import Role
from mnemic.ports.models import Llm
from mnemic.text.replies import read_item

CITY: Mapping[str, object] = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Rome", "Oslo"]}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = ToolSpec("weather", "Tells the weather of a city.", CITY)
MAX_TOKENS = 4

Make = Callable[[], Llm]


def ask(
    text: str,
    *,
    max_tokens: int = MAX_TOKENS,
    schema: Mapping[str, object] | None = None,
    tools: tuple[ToolSpec, ...] = (),
    timeout_s: float = 60.0,
) -> Prompt:
    """A prompt of one message."""
    messages = (PromptMessage(Role.USER, text),)
    return Prompt(messages=messages, max_tokens=max_tokens, schema=schema, tools=tools, timeout_s=timeout_s)


class LlmContract:
    """Every promise of the language model port. A subclass gives the fixtures `llm` and `another`."""

    def test_a_reply_is_text_with_what_it_cost(self, llm: Llm):
        completion = llm.complete(ask("Say tea."))
        assert isinstance(completion.text, str)
        assert isinstance(completion.finish, Finish)
        usage = completion.usage
        assert (usage.calls, usage.seconds > 0) == (1, True)
        assert usage.prompt_tokens >= 0
        assert 0 <= usage.completion_tokens <= MAX_TOKENS

    def test_a_stream_is_pieces_and_then_the_whole(self, llm: Llm):
        *pieces, end = llm.stream(ask("Count to nine."))
        assert end.completion is not None
        assert end.text == ""
        assert not any(piece.completion for piece in pieces)
        assert "".join(piece.text for piece in pieces) == end.completion.text
        assert end.completion.usage.calls == 1

    def test_a_conversation_with_every_role_is_taken(self, llm: Llm):
        roles = (Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER)
        messages = tuple(PromptMessage(role, f"Tea? 茶 🙂 {role.value}") for role in roles)
        assert llm.complete(Prompt(messages=messages, max_tokens=1)).usage.calls == 1

    def test_a_schema_holds_the_reply(self, llm: Llm):
        if not llm.capabilities.has_schema:
            return
        completion = llm.complete(ask("Anna lives in Rome. Where? As JSON.", schema=CITY, max_tokens=40))
        (item,) = read_item(completion.text, CITY).items
        assert item["city"] in {"Rome", "Oslo"}

    def test_tools_are_taken_or_refused(self, llm: Llm):
        prompt = ask("Is it raining in Rome?", tools=(WEATHER,))
        if not llm.capabilities.has_tools:
            with pytest.raises(UnsupportedError):
                llm.complete(prompt)
            return
        assert {call.name for call in llm.complete(prompt).tool_calls} <= {WEATHER.name}

    def test_a_prompt_that_is_longer_than_the_context_is_refused(self, llm: Llm):
        with pytest.raises(InvalidInputError):
            llm.complete(ask("one two three four " * llm.capabilities.context_tokens))

    def test_a_reply_that_takes_too_long_is_given_up(self, llm: Llm):
        if not llm.capabilities.is_blocking:
            return
        with pytest.raises(TimedOutError):
            llm.complete(ask("Tell me everything.", max_tokens=24, timeout_s=0.01))
        with pytest.raises(TimedOutError):
            list(llm.stream(ask("Tell me everything.", max_tokens=24, timeout_s=0.01)))

    def test_closing_a_stream_early_leaves_the_model_usable(self, llm: Llm):
        stream = cast("Generator[Piece]", llm.stream(ask("Count to ninety.", max_tokens=24)))
        next(stream)
        stream.close()
        assert llm.complete(ask("Say tea.")).usage.calls == 1

    def test_several_threads_at_once_get_their_answers(self, llm: Llm):
        def answer(number: int) -> Completion:
            return llm.complete(ask(f"Say {number}.", max_tokens=2))

        with ThreadPoolExecutor(3) as pool:
            assert [completion.usage.calls for completion in pool.map(answer, range(3))] == [1, 1, 1]

    def test_the_name_and_the_capabilities_stay_what_they_are(self, llm: Llm):
        name, capabilities = llm.name, llm.capabilities
        llm.complete(ask("Say tea.", max_tokens=1))
        assert (llm.name, llm.capabilities) == (name, capabilities)
        assert name
        assert capabilities.context_tokens > 0

    def test_closing_twice_is_harmless(self, another: Make):
        llm = another()
        llm.close()
        llm.close()


def closing(llm: Llm) -> Iterator[Llm]:
    """The body of a fixture: the language model, closed at the end."""
    yield llm
    llm.close()
