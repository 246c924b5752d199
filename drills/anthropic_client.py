"""Anthropic's released Python client works through the proxy, and its memory tool over Mnemic's files.

The client is installed into a throw-away folder, and a stand-in on the loopback interface answers in place of
Anthropic's server. Exit code 1 when anything does not hold.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from drills.claude_code import SAID, StandIn, standing_in  # noqa: E402 -- the root of the repository is put on the path first
from drills.kit.outcome import Outcome, options  # noqa: E402 -- as above
from drills.kit.serving import serving  # noqa: E402 -- as above
from mnemic import Mnemic, Scope  # noqa: E402 -- as above
from mnemic.integrations.memory_files import MemoryFiles  # noqa: E402 -- as above

PACKAGE = "anthropic==2.12.0"
FACT, QUESTION, NAME = "My boat is called Miso.", "What is my boat called?", "Miso"
ANA = Scope(user="ana")
CAPTURED_S = 30.0


def check_proxy(anthropic: Any, server: StandIn, url: str, store: Path) -> list[str]:
    """Plain answers, streams, counts and errors reach the client in its own form, and memory joins the next chat."""
    problems: list[str] = []
    with anthropic.Anthropic(
        base_url=f"{url}/anthropic", api_key="sk-none", max_retries=0, default_headers={"Mnemic-User": "ana"}
    ) as client:

        def ask(text: str) -> str:
            messages = [{"role": "user", "content": text}]
            return client.messages.create(model="m", max_tokens=9, messages=messages).content[0].text

        if ask(FACT) != SAID:
            problems.append("the answer is not the server's")
        _wait_for(store)
        with client.messages.stream(
            model="m", max_tokens=9, system="Be kind.", messages=[{"role": "user", "content": QUESTION}]
        ) as stream:
            if stream.get_final_text() != SAID:
                problems.append("the stream is not the server's")
        if NAME not in str(server.prompts[-1]["system"]):
            problems.append(f"the second chat was not shown the fact: {server.prompts[-1]}")
        for error, call in (
            (anthropic.NotFoundError, client.beta.files.list),
            (
                anthropic.UnprocessableEntityError,
                lambda: client.with_options(default_headers={"Mnemic-Capture": "perhaps"}).messages.create(
                    model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]
                ),
            ),
        ):
            problems += _check_error(anthropic, error, call)
    return problems


def check_tool(anthropic: Any, server: StandIn, store: Path) -> list[str]:
    """The client's own loop of tools runs the memory tool."""
    with Mnemic.open(store, has_worker=False) as mnemic:
        files = MemoryFiles(mnemic, ANA)

        class MemoryTool(anthropic.lib.tools.BetaAbstractMemoryTool):
            def execute(self, command: Any) -> str:
                return files.run(command.to_dict())

            view = create = str_replace = insert = delete = rename = execute

        server.call = "memory", {"command": "create", "path": "/memories/boat.md", "file_text": FACT}
        with anthropic.Anthropic(base_url=server.url, api_key="sk-none", max_retries=0) as client:
            runner = client.beta.messages.tool_runner(
                model="m",
                max_tokens=9,
                tools=[MemoryTool()],
                messages=[{"role": "user", "content": "Keep it."}],
                stream=True,
            )
            for events in runner:
                events.get_final_message()
        server.call = None
        shown = files.run({"command": "view", "path": "/memories/boat.md"})
        sent = str(server.prompts[-1]["messages"][-1])
    problems = [] if NAME in shown else [f"the file was not written: {shown}"]
    is_told = "File created successfully at: /memories/boat.md" in sent
    return problems if is_told else [*problems, f"the model was told {sent[-300:]}"]


def _check_error(anthropic: Any, error: type[Exception], call: Callable[[], object]) -> list[str]:
    try:
        call()
    except anthropic.APIStatusError as raised:
        told = raised.body
        is_right = isinstance(raised, error) and "message" in cast("dict[str, Any]", told).get("error", {})
        return [] if is_right else [f"{type(raised).__name__} with {told!r} instead of {error.__name__}"]
    return [f"no {error.__name__}"]


def _wait_for(store: Path) -> None:
    """Wait until the fact is captured, which happens beside the answer."""
    until = time.monotonic() + CAPTURED_S
    with Mnemic.open(store, has_worker=False) as mnemic:
        while time.monotonic() < until and not any(each.text == FACT for each in mnemic.messages(ANA)):
            time.sleep(0.1)


def main() -> int:
    """Run the drill."""
    options(__doc__)
    with TemporaryDirectory() as folder, standing_in() as server:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", f"{folder}/packages", PACKAGE]
        subprocess.run(install, check=True, capture_output=True)
        sys.path.append(f"{folder}/packages")
        anthropic, store = importlib.import_module("anthropic"), Path(folder) / "memory.db"
        importlib.import_module("anthropic.lib.tools")
        with serving(store, config=f'[proxy]\nanthropic-upstream = "{server.url}/v1"\n') as served:
            problems = check_proxy(anthropic, server, f"http://127.0.0.1:{served.port}", store)
        problems += check_tool(anthropic, server, Path(folder) / "tool.db")
    facts = {"client": PACKAGE, "requests": len(server.prompts)}
    return Outcome(name="anthropic_client", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
