"""Measures the parts of an answer: embedding, search, session, context, first token. Writes results/chat-times.md.

python benchmarks/chat_times.py [--memories 1000] [--model llama-cpp]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic.adapters.llms.registry import open_llm
from mnemic.evaluation.speed import GeneratedTexts, opened, timed_ms
from mnemic.model.chat import Prompt, PromptMessage
from mnemic.model.recall import Context
from mnemic.model.scope import Scope
from mnemic.ports.models import Llm

ABOUT = """# The parts of an answer

One user with generated memories in the embedded store, the offline embedder and a small language model in this process,
medians. The cold session is the first look of a new process at a session; the first token comes from the model alone,
given the whole context.
"""
SCOPE = Scope(user="anna", session="today")
TIMES = 20
SAID = 20
_Value = TypeVar("_Value")


def main() -> int:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--memories", type=int, default=1000)
    arguments.add_argument("--model", default="llama-cpp")
    chosen = arguments.parse_args()
    llm = open_llm(chosen.model)
    with TemporaryDirectory(prefix="mnemic-chat-") as folder:
        rows = _rows(str(Path(folder) / "memory.db"), chosen.memories, llm)
    made = provenance("python benchmarks/chat_times.py")
    about = f"{chosen.memories:,} memories, {SAID} messages in the session, model {llm.name}."
    llm.close()
    keep("chat-times.md", f"{ABOUT}\n{made} {about}\n\n{table(['part', 'ms'], rows)}\n")
    return 0


def _rows(store: str, memories: int, llm: Llm) -> list[list[str]]:
    texts = GeneratedTexts(1)
    with opened(store, "minilm").mnemic as mnemic:
        mnemic.remember_many(SCOPE, list(texts.texts(memories)))
        mnemic.capture_many(SCOPE, [[{"role": "user", "content": text}] for text in texts.texts(SAID)])
    memory = opened(store, "minilm")
    with memory.mnemic as mnemic:
        cold = timed_ms(lambda: mnemic.window(SCOPE))
        questions = texts.questions(3 * TIMES)
        mnemic.context(SCOPE, "warm up")
        memory.embedder.query_ms.clear()
        recall = _median(lambda q: mnemic.recall(SCOPE, q), questions[:TIMES])
        embedding = median(memory.embedder.query_ms)
        window = _median(lambda _: mnemic.window(SCOPE), questions[:TIMES])
        context = _median(lambda q: mnemic.context(SCOPE, q), questions[TIMES : 2 * TIMES])
        contexts = [mnemic.context(SCOPE, q) for q in questions[2 * TIMES : 2 * TIMES + 5]]
    first = _median(lambda shown: _first_token(llm, shown), contexts)
    parts = {
        "embedding a question": embedding,
        "search, without the embedding": recall - embedding,
        "a session's window, asked before": window,
        "a session's window, the first look of a process": cold,
        "a whole context": context,
        "the first token of the model": first,
    }
    return [[name, f"{ms:.2f}"] for name, ms in parts.items()]


def _first_token(llm: Llm, context: Context) -> None:
    """Wait for the first piece, and for no more."""
    messages = tuple(PromptMessage(message.role, message.content) for message in context.messages)
    stream = llm.stream(Prompt(messages=messages, max_tokens=16, timeout_s=120.0))
    next(stream)
    getattr(stream, "close", lambda: None)()


def _median(call: Callable[[_Value], object], values: list[_Value]) -> float:
    return median(timed_ms(lambda v=value: call(v)) for value in values)


if __name__ == "__main__":
    sys.exit(main())
