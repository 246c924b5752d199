"""A log of a coding agent, imported: nothing of a stack trace is kept or shown."""

from __future__ import annotations

import json

import pytest

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.model.scope import Scope

ADA = Scope(user="ada")
TRACE = """it broke again
Traceback (most recent call last):
  File "/srv/app/run.py", line 88, in <module>
    main()
ValueError: I live in nowhere and my name is Trace

Node.js v23.4.0"""
TALK = (
    ("user", TRACE),
    ("assistant", "The value is missing. I added a default."),
    ("user", '<div>I prefer red walls</div>\n{"name": "Json"}'),
    ("user", "We chose Redis over Kafka for the queue, because nobody here can run Kafka."),
    ("user", "I get ValueError: I live in nowhere when I start it, why?"),
    ("user", 'Exception in thread "main" java.lang.Error: I prefer red walls\n\tat com.acme.Main.main(Main.java:3)'),
    ("user", "thread 'main' panicked at src/main.rs:4:5:\nI live in nowhere\nnote: run with `RUST_BACKTRACE=1`"),
    ("user", "Unhandled exception.\n   at Program.Main(String[] linker) in C:\\app\\Program.cs:line 8"),
    ("user", "PHP Fatal error:  Uncaught Exception: My name is Json in /var/www/a.php:3"),
    ("user", "app.rb:3:in `foo': I always prefer red walls (RuntimeError)"),
    ("user", ">       assert linker\nE       AssertionError: I live in nowhere\ntests/test_x.py:3: AssertionError"),
    ("user", "[SQL: SELECT * FROM users WHERE name = 'I am Json']"),
    ("user", "error: I love this failing linker\n$ make all\ngoroutine 7 [running]:\nmain.main()"),
)
OF_MACHINES = ("Traceback", "ValueError", "nowhere", "red walls", "linker", "goroutine", "Node.js", "Json")


def log() -> str:
    """A session of pi: a header, then a message a line."""
    lines: list[object] = [{"type": "session", "id": "s1", "timestamp": "2026-05-01T12:00:00Z"}]
    for number, (role, text) in enumerate(TALK):
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        lines.append({"type": "message", "timestamp": f"2026-05-01T12:{number:02}:00Z", "message": message})
    return "\n".join(json.dumps(line) for line in lines)


@pytest.mark.requirement("T-02")
def test_nothing_of_a_trace_is_kept_summarised_or_shown():
    with Mnemic(build(Config(store=MEMORY_URL))) as mnemic:
        assert mnemic.import_(ADA, log(), name="session.jsonl").added["message"] == len(TALK)
        mnemic.work()
        mnemic.summarise(Scope(user="ada", session="s1"), is_flush=True)
        mnemic.curate(ADA, day="2026-05-02")
        mnemic.consolidate(ADA)
        told = [memory.text + memory.context + memory.snippet for memory in mnemic.list(ADA).memories]
        shown = [message.content for message in mnemic.context(ADA, "").messages]
        background = [hit.text for hit in mnemic.recall(ADA, "").hits]
        assert any("Redis" in text for text in told)
        found = [word for word in OF_MACHINES for text in (*told, *background, *shown) if word in text]
        assert found == []
