"""OpenAI's released client for Node and Vercel's AI SDK get memory through the proxy, over chat and responses.

The packages are installed into a throw-away folder with npm, and a stand-in on the loopback interface answers in place
of OpenAI's server. Exit code 1 when anything does not hold.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from drills.kit.outcome import Outcome, options  # noqa: E402 -- the root of the repository is put on the path first
from drills.kit.serving import serving  # noqa: E402 -- as above
from mnemic.testing.chat_server import EVENTS, ChatReply, ChatServer  # noqa: E402 -- as above

PACKAGES = ("openai@7.57.0", "ai@7.0.173", "@ai-sdk/openai@4.0.118", "zod@4.6.7")
FACT, QUESTION, NAME = "My boat is called Miso.", "What is my boat called?", "Miso"
SAID = "Noted, thank you."
ERRORS = ["NotFoundError 404 with a message", "UnprocessableEntityError 422 with a message"]
LIMIT_S = 300
PROGRAM = Path(__file__).with_name("kit") / "node_clients.mjs"


def speak(request: dict[str, Any]) -> str | ChatReply:
    """Answer a chat, or a request of the Responses API."""
    return SAID if "messages" in request else respond(is_stream=bool(request.get("stream")))


def respond(*, is_stream: bool) -> ChatReply:
    """An answer of the Responses API, whole or as events."""
    usage = {"input_tokens": 5, "output_tokens": 4, "total_tokens": 9}
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m"}
    begun: dict[str, Any] = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }
    part: dict[str, Any] = {"type": "output_text", "text": SAID, "annotations": []}
    item = {**begun, "status": "completed", "content": [part]}
    whole = {**head, "status": "completed", "output": [item], "usage": usage}
    if not is_stream:
        return ChatReply(body=json.dumps(whole))
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": word} for word in SAID.split(" ")),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    sent = "".join(
        f"event: {each['type']}\ndata: {json.dumps({**each, 'sequence_number': number})}\n\n"
        for number, each in enumerate(events)
    )
    return ChatReply(body=sent, type=EVENTS)


def check(told: dict[str, Any], requests: list[dict[str, Any]]) -> list[str]:
    """Every client got the server's answers and errors, and the model got the fact with the question."""
    problems = [
        f"{name} was answered {texts}"
        for name, texts in told["answers"].items()
        if any(text.replace(" ", "") != SAID.replace(" ", "") for text in texts)
    ]
    problems += [] if told["errors"] == ERRORS else [f"the errors are {told['errors']}"]
    asked = [request for request in requests if QUESTION in json.dumps(request)]
    problems += [] if len(asked) == len(told["answers"]) else [f"{len(asked)} questions reached the server"]
    return problems + [f"a model was not shown the fact: {each}" for each in asked if NAME not in _shown(each)]


def _shown(request: dict[str, Any]) -> str:
    """The system's part of a request."""
    messages = [each for each in request.get("messages", ()) if each["role"] in ("system", "developer")]
    return json.dumps([request.get("instructions"), messages])


def main() -> int:
    """Run the drill."""
    options(__doc__)
    with TemporaryDirectory() as folder, ChatServer(speak) as server:
        install = ["npm", "install", "--prefix", folder, "--no-fund", "--no-audit", *PACKAGES]
        subprocess.run(install, check=True, capture_output=True, timeout=LIMIT_S)
        shutil.copy(PROGRAM, folder)
        with serving(Path(folder) / "memory.db", config=f'[proxy]\nupstream = "{server.url}"\n') as served:
            program = ["node", PROGRAM.name, f"http://127.0.0.1:{served.port}", FACT, QUESTION]
            done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        problems = [done.stderr[-2000:]] if done.returncode else check(json.loads(done.stdout), server.requests)
    facts = {"packages": ", ".join(PACKAGES), "requests": len(server.requests)}
    return Outcome(name="node_clients", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
