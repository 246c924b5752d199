"""The proxy and the tools with the official client in front of a real llama.cpp server and a real small model."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from mnemic import Config, Mnemic, Scope, Settings, tool
from mnemic.adapters.llms.llama_cpp import packaged_model
from mnemic.model.chat import AssistantSettings
from tests.doors.test_proxy import Proxied

ANA = Scope(user="ana")
KEY = "the upstream's key"
CONTEXT_TOKENS = 1024
SHOT = """<|im_start|>user
Light!<|im_end|>
<|im_start|>assistant
<tool_call>
{"name": "light", "arguments": {"colour": "red"}}
</tool_call><|im_end|>
<|im_start|>tool
done<|im_end|>
"""
TEMPLATE = (
    """{%- if tools %}<|im_start|>system
Tools: <tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools> Call one as <tool_call>
{"name": NAME, "arguments": ARGUMENTS}
</tool_call><|im_end|>
"""
    + 3 * SHOT
    + """{% endif %}{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}{% if message.tool_calls %}{% for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
)
"""The packaged model was never trained to chat or to call tools: where there are tools, it is shown how three times."""


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """llama.cpp's own server on a free port of this machine alone."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    given: Any = xllamacpp.CommonParams()
    given.model.path = str(packaged_model())
    given.n_ctx = CONTEXT_TOKENS
    given.chat_template = TEMPLATE
    given.n_parallel = 1
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.verbosity = -1
    given.warmup = given.ui = False
    given.api_keys = [KEY]
    server: Any = xllamacpp.Server(given)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def proxied(llama: str, home: Path) -> Generator[Proxied]:
    running = Proxied(llama, home / "memory.db")
    yield running
    running.close()


@pytest.mark.requirement("P-22")
def test_a_real_model_streams_with_what_an_earlier_session_said_in_its_prompt(proxied: Proxied):
    client = proxied.client(KEY)

    def ask(text: str, user: str) -> tuple[str, int, Any]:
        create: Any = client.chat.completions.with_raw_response.create
        raw = create(
            model="gemma",
            messages=[{"role": "user", "content": text}],
            user=user,
            stream=True,
            max_tokens=3,
            temperature=0,
            stream_options={"include_usage": True},
        )
        chunks = list(raw.parse())
        said = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
        return said, chunks[-1].usage.prompt_tokens, raw.headers

    ask("My cat is called Miso and sleeps on the piano.", "ana")
    said, tokens, headers = ask("What is my cat called?", "ana")
    _, without, stranger = ask("What is my cat called?", "bob")
    assert said
    assert headers["mnemic-memory"].startswith("used")
    assert stranger["mnemic-memory"] == "nothing-found"
    assert tokens > without + 20
    kept = proxied.said(ANA, headers["mnemic-session"])
    assert kept == [("user", "What is my cat called?"), ("assistant", said)]
    earlier = [hit.text for hit in proxied.mnemic.recall(replace(ANA, session=None), "cat piano")]
    assert "My cat is called Miso and sleeps on the piano." in earlier


@tool
def light(colour: Literal["red"]) -> str:
    """Switches the light.

    Args:
        colour: Which.
    """
    return f"it is {colour} now"


@pytest.mark.requirement("P-24")
def test_a_real_model_calls_a_tool_is_told_the_result_and_is_asked_again(llama: str, home: Path):
    options = {"base_url": llama, "api_key": KEY, "model": "gemma", "context_tokens": CONTEXT_TOKENS}
    settings = Settings(assistant=AssistantSettings(max_tokens=40))
    config = Config(
        store=str(home / "memory.db"), embedder="none", llm="openai", llm_options=options, settings=settings
    )
    with Mnemic.open(config) as mnemic:
        mnemic.tools.add(light)
        reply = mnemic.chat(ANA, "Light!", tools=["light"], max_tool_calls=1, budget_tokens=0)
    step = reply.steps[0]
    assert (step.outcome.call.name, step.outcome.text, step.outcome.is_error) == ("light", "it is red now", False)
    assert reply.usage.calls == 2
    assert reply.degraded == ()
