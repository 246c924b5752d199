"""Every language model adapter keeps the contract of the port, two of them on a real small model.

The model comes with the extra `llama-cpp`; its file is put together once in the user's cache folder, as for a user.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator
from typing import Any, cast

import pytest

from mnemic.adapters.llms.llama_cpp import LlamaCppLlm, packaged_model
from mnemic.adapters.llms.openai import ChatEndpoint, OpenAILlm
from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.errors import BackendError, BadReplyError, InvalidInputError, TimedOutError, UnsupportedError
from mnemic.model.chat import Completion, Finish, Piece, Prompt, ToolSpec
from mnemic.ports.models import Llm
from mnemic.testing.llm_contract import LlmContract, ask, closing

CONTEXT_TOKENS = 512
KEY = "only for this test"


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    """The address of llama.cpp's own server with the real small model, on a free port of this machine alone."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    given: Any = xllamacpp.CommonParams()
    given.model.path = str(packaged_model())
    given.n_ctx = CONTEXT_TOKENS
    given.n_parallel = 1
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.verbosity = -1
    given.warmup = given.ui = False
    given.api_keys = [KEY]
    server: Any = xllamacpp.Server(given)
    yield server.listening_address
    del server


class TestOpenAI(LlmContract):
    @pytest.fixture(scope="class")
    @classmethod
    def llm(cls, llama_server: str) -> Iterator[Llm]:
        endpoint = ChatEndpoint(base_url=llama_server, api_key=KEY)
        yield from closing(OpenAILlm("gemma", endpoint, context_tokens=CONTEXT_TOKENS))

    @pytest.fixture
    def another(self, llama_server: str) -> Callable[[], Llm]:
        return lambda: OpenAILlm("gemma", ChatEndpoint(base_url=llama_server, api_key=KEY))

    def test_a_real_server_counts_the_tokens_whole_and_streamed(self, llm: Llm):
        whole, end = llm.complete(ask("Tea?", max_tokens=2)), list(llm.stream(ask("Tea?", max_tokens=2)))[-1]
        assert end.completion is not None
        assert whole.usage.prompt_tokens == end.completion.usage.prompt_tokens > 0
        assert whole.usage.completion_tokens == end.completion.usage.completion_tokens > 0
        assert whole.finish is Finish.LENGTH


class TestLlamaCpp(LlmContract):
    @pytest.fixture(scope="class")
    @classmethod
    def llm(cls) -> Iterator[Llm]:
        yield from closing(LlamaCppLlm(context_tokens=CONTEXT_TOKENS, threads=1))

    @pytest.fixture
    def another(self) -> Callable[[], Llm]:
        return LlamaCppLlm

    def test_its_tokens_are_counted(self, llm: Llm):
        usage = llm.complete(ask("Tea?", max_tokens=2)).usage
        assert usage.prompt_tokens > 0
        assert usage.completion_tokens > 0

    def test_who_waits_for_its_turn_waits_no_longer_than_its_deadline(self, llm: Llm):
        stream = cast("Generator[Piece]", llm.stream(ask("Count to ninety.", max_tokens=40)))
        next(stream)
        with pytest.raises(TimedOutError):
            llm.complete(ask("Tea?", timeout_s=0.05))
        stream.close()

    def test_half_a_surrogate_in_a_prompt_is_no_failure(self, llm: Llm):
        assert llm.complete(ask("Tea \ud800?", max_tokens=1)).usage.calls == 1

    def test_a_schema_that_no_grammar_can_express_is_left_out(self, llm: Llm):
        assert llm.complete(ask("Tea?", schema={"type": "no such type"}, max_tokens=1)).usage.calls == 1


def test_what_a_chat_template_refuses_is_told():
    refusing = "{% if messages[0]['content'] == 'Tea?' %}{{ raise_exception('no tea') }}{% endif %}"
    llm = LlamaCppLlm(context_tokens=CONTEXT_TOKENS, threads=1, template=refusing + "{{ messages[0]['content'] }}")
    with pytest.raises(UnsupportedError):
        llm.complete(ask("Tea?", tools=(ToolSpec("weather", "", {"type": "object"}),)))
    with pytest.raises(BadReplyError):
        llm.complete(ask("Tea?"))
    assert llm.complete(ask("Milk?")).usage.calls == 1
    llm.close()


class TestScripted(LlmContract):
    @pytest.fixture(scope="class")
    @classmethod
    def llm(cls) -> Iterator[Llm]:
        def answer(prompt: Prompt) -> str:
            return '{"city": "Rome"}' if prompt.schema else "tea, and then more tea than anybody asked for"

        yield from closing(ScriptedLlm(answer))

    @pytest.fixture
    def another(self) -> Callable[[], Llm]:
        return lambda: ScriptedLlm([])


def test_an_adapter_that_loses_the_pieces_of_a_stream_is_found_out():
    class Losing(ScriptedLlm):
        def stream(self, prompt: Prompt) -> Any:
            *_, end = super().stream(prompt)
            yield end

    with pytest.raises(AssertionError):
        LlmContract().test_a_stream_is_pieces_and_then_the_whole(Losing(["tea and more"]))


def test_an_adapter_that_takes_any_length_is_found_out():
    class Boundless(ScriptedLlm):
        def complete(self, prompt: Prompt) -> Completion:
            try:
                return super().complete(prompt)
            except InvalidInputError:
                return Completion("")

    with pytest.raises(pytest.fail.Exception):
        LlmContract().test_a_prompt_that_is_longer_than_the_context_is_refused(Boundless(["tea"]))


def test_a_script_gives_its_answers_in_turn_and_keeps_the_prompts():
    llm = ScriptedLlm(["one", Completion("two"), BackendError("three")])
    assert [llm.complete(ask("a")).text, llm.complete(ask("b")).text] == ["one", "two"]
    for words in ("three", "no more replies"):
        with pytest.raises(BackendError, match=words):
            llm.complete(ask("c"))
    assert [prompt.messages[0].content for prompt in llm.prompts] == ["a", "b", "c", "c"]
