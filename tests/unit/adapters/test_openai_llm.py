"""The wire to OpenAI-compatible chat servers, against a real HTTP server: shapes, dialects, time, and ways to fail."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from mnemic.adapters.llms.openai import MAX_REPLY_BYTES, ChatEndpoint, OpenAILlm
from mnemic.errors import (
    BackendError,
    BadReplyError,
    ConfigError,
    InvalidInputError,
    RateLimitedError,
    TimedOutError,
    UnavailableError,
    UnsupportedError,
)
from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage, ToolCall, ToolSpec
from mnemic.model.item import Role
from mnemic.testing.chat_server import EVENTS, PROMPT_TOKENS, ChatReply, ChatServer, Ending, event, streamed, whole
from mnemic.text.replies import read_items
from tests.broken_replies.corpus import MOST, SCHEMA, Case, cases

MODEL = "some-model"
KEY = "sk-very-secret"
WEATHER = ToolSpec("weather", "Weather of a city", {"type": "object", "properties": {"city": {"type": "string"}}})
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}


def prompt(text: str = "Say tea.", **fields: Any) -> Prompt:
    given: dict[str, Any] = {"timeout_s": 5.0, **fields}
    return Prompt(messages=(PromptMessage(Role.USER, text),), **given)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(lambda _: "tea") as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    """The waits between tries, which nobody really waits."""
    return []


@pytest.fixture
def llm(server: ChatServer, waits: list[float]) -> Iterator[OpenAILlm]:
    llm = OpenAILlm(MODEL, ChatEndpoint(base_url=server.url, api_key=KEY), sleep=waits.append)
    yield llm
    llm.close()


def last(llm: OpenAILlm, asked: Prompt) -> Completion:
    *pieces, end = llm.stream(asked)
    assert end.completion is not None
    assert "".join(piece.text for piece in pieces) == end.completion.text
    return end.completion


class TestShapes:
    def test_a_prompt_goes_over_the_wire_whole(self, server: ChatServer, llm: OpenAILlm):
        messages = (
            PromptMessage(Role.SYSTEM, "Be brief."),
            PromptMessage(Role.USER, "Weather?"),
            PromptMessage(Role.ASSISTANT, "", (ToolCall("c1", "weather", "{}"),)),
            PromptMessage(Role.TOOL, "rain", tool_call_id="c1"),
        )
        llm.complete(Prompt(messages=messages, tools=(WEATHER,), schema={"type": "object"}, max_tokens=9))
        (request,) = server.requests
        assert (request["model"], request["max_tokens"], request["temperature"]) == (MODEL, 9, 0.0)
        assert [message["role"] for message in request["messages"]] == ["system", "user", "assistant", "tool"]
        assert request["messages"][2]["tool_calls"][0]["function"] == {"name": "weather", "arguments": "{}"}
        assert request["messages"][3]["tool_call_id"] == "c1"
        assert request["tools"][0]["function"]["parameters"] == WEATHER.parameters
        assert request["response_format"]["json_schema"]["schema"] == {"type": "object"}

    def test_a_reply_is_the_same_whole_and_streamed(self, llm: OpenAILlm, server: ChatServer):
        for completion in (llm.complete(prompt()), last(llm, prompt())):
            assert (completion.text, completion.finish, completion.tool_calls) == ("tea", Finish.STOP, ())
            assert completion.usage.calls == 1
            assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (PROMPT_TOKENS, 1)
            assert completion.usage.seconds > 0
        assert [request.get("stream", False) for request in server.requests] == [False, True]

    def test_tool_calls_are_read_whole_and_from_parts(self, llm: OpenAILlm, server: ChatServer):
        server.scripted.append(whole(None, finish="stop", tools=[CALL]))
        parts = [
            {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": ""}},
            {"index": 0, "function": {"arguments": '{"city": '}},
            {"index": 0, "function": {"arguments": '"Rome"}'}},
        ]
        events = [f"data: {json.dumps({'choices': [{'delta': {'tool_calls': [part]}}]})}\n\n" for part in parts]
        server.scripted.append(ChatReply(body="".join([*events, event("", "tool_calls")]), type=EVENTS))
        expected = (ToolCall("c1", "weather", '{"city": "Rome"}'),)
        for completion in (llm.complete(prompt(tools=(WEATHER,))), last(llm, prompt(tools=(WEATHER,)))):
            assert (completion.tool_calls, completion.finish, completion.text) == (expected, Finish.TOOLS, "")

    def test_a_reply_that_reached_its_limit_says_so(self, llm: OpenAILlm, server: ChatServer):
        server.scripted += [whole("te", finish="length"), streamed("te", finish="length")]
        assert llm.complete(prompt()).finish is Finish.LENGTH
        assert last(llm, prompt()).finish is Finish.LENGTH

    def test_text_in_parts_and_usage_that_is_missing_are_taken(self, llm: OpenAILlm, server: ChatServer):
        content = [{"type": "text", "text": "green "}, {"type": "text", "text": "tea"}]
        server.scripted.append(ChatReply(body=json.dumps({"choices": [{"message": {"content": content}}]})))
        completion = llm.complete(prompt())
        assert completion.text == "green tea"
        assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (0, 0)

    def test_a_server_that_does_not_stream_answers_a_stream_in_one_piece(self, llm: OpenAILlm, server: ChatServer):
        server.scripted.append(whole("tea"))
        assert last(llm, prompt()).text == "tea"

    def test_comments_blank_lines_and_carriage_returns_of_a_stream_are_left_out(
        self, llm: OpenAILlm, server: ChatServer
    ):
        body = ": hello\r\n\r\nevent: message\r\n" + (event("te") + event("a", "stop")).replace("\n", "\r\n")
        server.scripted.append(ChatReply(body=body, type=EVENTS))
        assert last(llm, prompt()).text == "tea"

    def test_half_a_surrogate_in_a_prompt_is_replaced(self, llm: OpenAILlm, server: ChatServer):
        llm.complete(prompt("tea \ud800"))
        assert server.requests[0]["messages"][0]["content"] == "tea ?"

    def test_closing_a_stream_early_ends_the_request(self, llm: OpenAILlm, server: ChatServer):
        server.scripted.append(ChatReply(body=event("tea"), type=EVENTS, ending=Ending.DRIP))
        stream = llm.stream(prompt())
        assert next(iter(stream)).text == "tea"
        stream.close()
        assert llm.complete(prompt()).text == "tea"


class TestDialects:
    def refusing(self, *fields: str, said: str = "{field} is not supported") -> ChatServer:
        def speak(request: dict[str, Any]) -> str | ChatReply:
            form = request.get("response_format", {"type": ""})["type"]
            for name in fields:
                if name in request or name == form:
                    return ChatReply(status=400, body=json.dumps({"error": {"message": said.format(field=name)}}))
            return "tea"

        return ChatServer(speak)

    @pytest.mark.parametrize("is_stream", [False, True])
    def test_a_schema_that_is_refused_is_asked_for_as_an_object_and_that_is_remembered(self, is_stream: bool):  # noqa: FBT001 -- pytest names what it passes
        with self.refusing("json_schema") as server:
            llm = OpenAILlm(MODEL, ChatEndpoint(base_url=server.url))
            for _ in range(2):
                asked = prompt(schema={"type": "object"})
                assert (last(llm, asked) if is_stream else llm.complete(asked)).text == "tea"
            llm.close()
        forms = [request["response_format"]["type"] for request in server.requests]
        assert forms == ["json_schema", "json_object", "json_object"]

    def test_a_server_without_any_form_is_asked_plainly(self):
        with self.refusing("response_format") as server:
            llm = OpenAILlm(MODEL, ChatEndpoint(base_url=server.url))
            for _ in range(2):
                llm.complete(prompt(schema={"type": "object"}))
            llm.close()
        assert ["response_format" in request for request in server.requests] == [True, True, False, False]

    def test_a_limit_under_its_newer_name_and_a_fixed_temperature_are_learned(self):
        said = "Unsupported parameter: '{field}'. Use max_completion_tokens instead."
        with self.refusing("max_tokens", said=said) as server:
            llm = OpenAILlm(MODEL, ChatEndpoint(base_url=server.url))
            llm.complete(prompt(max_tokens=3))
            llm.close()
        assert server.requests[-1]["max_completion_tokens"] == 3
        with self.refusing("temperature", "stream_options") as server:
            llm = OpenAILlm(MODEL, ChatEndpoint(base_url=server.url))
            assert last(llm, prompt()).text == "tea"
            llm.close()
        assert not {"temperature", "stream_options"} & set(server.requests[-1])

    def test_a_refusal_that_stays_is_told_and_nothing_is_learned_from_it(self):
        refusal = ChatReply(status=400, body='{"error": {"code": "invalid_value", "message": "my secret tea"}}')
        with ChatServer(lambda _: refusal) as server:
            llm = OpenAILlm(MODEL, ChatEndpoint(base_url=server.url))
            for _ in range(2):
                with pytest.raises(BadReplyError, match=r"400 \(invalid_value\)") as caught:
                    llm.complete(prompt("my secret tea", schema={"type": "object"}))
                assert "secret" not in str(caught.value)
            llm.close()
        assert server.requests[3]["response_format"]["type"] == "json_schema"

    def test_tools_that_a_model_does_not_take_are_unsupported(self, llm: OpenAILlm, server: ChatServer):
        server.scripted.append(
            ChatReply(status=400, body='{"error": {"message": "some-model does not support tools"}}')
        )
        with pytest.raises(UnsupportedError) as caught:
            llm.complete(prompt(tools=(WEATHER,)))
        assert caught.value.capability == "tools"

    @pytest.mark.parametrize("status", [200, 400, 500])
    def test_a_prompt_that_is_too_long_is_invalid_input(self, llm: OpenAILlm, server: ChatServer, status: int):
        body = '{"error": {"message": "request (2724 tokens) exceeds the available context size (2048 tokens)"}}'
        server.scripted += [ChatReply(status=status, body=body)] * 2
        with pytest.raises(InvalidInputError, match="too long for the model"):
            llm.complete(prompt())
        with pytest.raises(InvalidInputError, match="too long for the model"):
            last(llm, prompt())


class TestFailures:
    def test_a_refused_connection_names_the_address_after_its_tries(self, waits: list[float]):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        llm = OpenAILlm(MODEL, ChatEndpoint(base_url=address), sleep=waits.append)
        with pytest.raises(UnavailableError, match=address):
            llm.complete(prompt())
        assert waits == [0.5, 1.0]
        llm.close()

    def test_a_failing_server_is_asked_again_after_growing_waits(
        self, server: ChatServer, llm: OpenAILlm, waits: list[float]
    ):
        server.scripted += [ChatReply(status=500), ChatReply(status=0)]
        assert llm.complete(prompt()).text == "tea"
        server.scripted += [ChatReply(status=502)]
        assert last(llm, prompt()).text == "tea"
        assert waits == [0.5, 1.0, 0.5]

    def test_there_is_no_try_behind_the_deadline(self, server: ChatServer, llm: OpenAILlm, waits: list[float]):
        server.scripted += [ChatReply(status=500)] * 3
        with pytest.raises(UnavailableError, match="500"):
            llm.complete(prompt(timeout_s=0.4))
        assert (waits, len(server.requests)) == ([], 1)

    def test_a_limited_server_is_left_alone_and_its_wish_handed_on(
        self, server: ChatServer, llm: OpenAILlm, waits: list[float]
    ):
        server.scripted.append(ChatReply(status=429, headers={"Retry-After": "3"}))
        with pytest.raises(RateLimitedError) as caught:
            llm.complete(prompt())
        assert (caught.value.retry_after_s, waits, len(server.requests)) == (3.0, [], 1)

    @pytest.mark.parametrize("ending", [Ending.HANG, Ending.DRIP])
    @pytest.mark.parametrize("sent", ["", event("te")])
    def test_a_reply_that_is_not_whole_at_its_deadline_is_given_up(
        self, server: ChatServer, llm: OpenAILlm, ending: Ending, sent: str
    ):
        server.scripted += [ChatReply(body=sent, type=EVENTS, ending=ending)] * 2
        with pytest.raises(TimedOutError, match=r"within 0\.2 s"):
            last(llm, prompt(timeout_s=0.2))
        with pytest.raises(TimedOutError, match=r"within 0\.2 s"):
            llm.complete(prompt(timeout_s=0.2))

    @pytest.mark.parametrize(
        "reply",
        [
            ChatReply(body=event("te"), type=EVENTS, ending=Ending.BREAK),
            ChatReply(body=event("te"), type=EVENTS),
            ChatReply(body=event("te") + "data: [DONE]\n\n", type=EVENTS),
            ChatReply(body=event("te") + "data: {not json\n\n", type=EVENTS),
            ChatReply(body="\x00\xff garbage\n\ndata: \x07\n\n", type=EVENTS),
            ChatReply(body="data: [1, 2]\n\n", type=EVENTS),
            ChatReply(body="", type=EVENTS),
            ChatReply(body="data: {}\n\n", type=EVENTS),
        ],
    )
    def test_a_stream_that_ends_in_the_middle_or_is_garbage_is_a_bad_reply(
        self, server: ChatServer, llm: OpenAILlm, reply: ChatReply
    ):
        server.scripted.append(reply)
        with pytest.raises(BadReplyError):
            last(llm, prompt())
        assert llm.complete(prompt()).text == "tea"

    @pytest.mark.parametrize(
        "body", ["", "{not json", "[]", "7", "null", '{"choices": []}', '{"choices": 7}', "[" * 100_000, '{"id": "x"}']
    )
    def test_a_whole_answer_that_is_no_reply_is_a_bad_reply(self, server: ChatServer, llm: OpenAILlm, body: str):
        server.scripted.append(ChatReply(body=body))
        with pytest.raises(BadReplyError):
            llm.complete(prompt())

    def test_an_answer_that_breaks_off_is_a_bad_reply(self, server: ChatServer, llm: OpenAILlm):
        server.scripted.append(ChatReply(body='{"choices": [', ending=Ending.BREAK))
        with pytest.raises(BadReplyError, match="stopped in the middle of its reply"):
            llm.complete(prompt())

    def test_an_answer_without_end_is_given_up(self, server: ChatServer, llm: OpenAILlm):
        server.scripted.append(ChatReply(body=" " * (MAX_REPLY_BYTES + 1)))
        with pytest.raises(BadReplyError, match="more than"):
            llm.complete(prompt(timeout_s=60))

    def test_an_error_in_the_middle_of_a_stream_is_the_servers_failure(self, server: ChatServer, llm: OpenAILlm):
        server.scripted.append(ChatReply(body=event("te") + 'data: {"error": {"message": "boom"}}\n\n', type=EVENTS))
        with pytest.raises(UnavailableError, match="failed while replying"):
            last(llm, prompt())

    def test_a_refused_key_is_for_the_person_to_mend(self, server: ChatServer, llm: OpenAILlm):
        server.scripted.append(ChatReply(status=401, body=json.dumps({"error": f"Incorrect API key: {KEY}"})))
        with pytest.raises(ConfigError, match="api_key in the llm's options") as caught:
            llm.complete(prompt())
        assert KEY not in str(caught.value)

    def test_a_model_that_ollama_lacks_is_answered_with_the_line_that_fetches_it(
        self, server: ChatServer, llm: OpenAILlm
    ):
        server.scripted.append(ChatReply(status=404, body='{"error": "model not found, try pulling it first"}'))
        with pytest.raises(ConfigError, match="ollama pull some-model"):
            llm.complete(prompt())

    def test_the_key_is_sent_and_shown_nowhere(
        self, server: ChatServer, llm: OpenAILlm, caplog: pytest.LogCaptureFixture
    ):
        with caplog.at_level(logging.DEBUG):
            llm.complete(prompt())
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert KEY not in caplog.text
        assert KEY not in repr(ChatEndpoint(api_key=KEY)) + repr(llm) + repr(vars(llm))

    @pytest.mark.parametrize("base_url", ["host:11434", "ftp://host/v1", "http://me:word@host/v1"])
    def test_an_address_that_is_none_or_holds_a_password_is_refused(self, base_url: str):
        with pytest.raises(ConfigError, match="the llm's base_url") as caught:
            ChatEndpoint(base_url=base_url)
        assert "word@" not in str(caught.value)


class TestBrokenReplies:
    @pytest.fixture(scope="class")
    @classmethod
    def asked(cls) -> Iterator[OpenAILlm]:
        """Answers the case whose name it is asked."""
        by_name = {case.name: case.reply for case in cases()}
        with ChatServer(lambda request: by_name[request["messages"][0]["content"]]) as server:
            llm = OpenAILlm(MODEL, ChatEndpoint(base_url=server.url))
            yield llm
            llm.close()

    @pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
    def test_what_a_model_says_arrives_unchanged_and_is_read_alike(self, asked: OpenAILlm, case: Case):
        for completion in (asked.complete(prompt(case.name)), last(asked, prompt(case.name))):
            assert completion.text == case.reply
            assert [item["text"] for item in read_items(completion.text, SCHEMA, most=MOST).items] == case.texts


def test_backend_errors_alone_leave_the_adapter_for_what_a_server_does(server: ChatServer, llm: OpenAILlm):
    for status in (302, 402, 409, 418, 422, 501, 599):
        server.scripted += [ChatReply(status=status)] * 3
        with pytest.raises(BackendError):
            llm.complete(prompt())
        server.scripted.clear()
