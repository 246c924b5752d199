"""What people write, and what machines write: code, markup, data, logs, traces, commands, placeholders."""

from __future__ import annotations

import pytest

from mnemic.text.prose import is_machine_line, is_machine_text, machine_spans, prose_parts


@pytest.mark.parametrize(
    "line",
    [
        '<div class="map" id="m1"></div>',
        '{"done": ["ingest"], "next": []}',
        '  "name": "ada",',
        "Traceback (most recent call last):",
        '  File "/srv/run.py", line 88, in <module>',
        "KeyError: 'wind_gust'",
        "    at OrderList (src/pages/OrderList.vue:47)",
        "thread 'main' panicked at src/lexer.rs:88:31:",
        "error[E0308]: mismatched types",
        'Exception in thread "main" java.lang.IllegalStateException: I prefer the blue adapter',
        "   at Program.Main(String[] args) in C:\\app\\Program.cs:line 8",
        "PHP Fatal error:  Uncaught Exception: My name is Ana in /var/www/a.php:3",
        "app.rb:3:in `foo': I always prefer tabs (RuntimeError)",
        "E       AssertionError: I live in Testville",
        "tests/test_x.py:3: AssertionError",
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        "[SQL: SELECT * FROM users WHERE name = 'I am Ana']",
        "2026-05-01T12:00:00Z INFO started",
        "$ make check",
        "docker compose up",
        "const rows = fetch(station);",
        "def main():",
        "    rows = fetch(station)",
        "SELECT name FROM users WHERE id = 3",
        "x" * 120,
    ],
)
def test_a_line_of_a_machine(line: str):
    assert is_machine_line(line)


@pytest.mark.parametrize(
    "line",
    [
        "I went with Forgejo instead of GitHub because I want my code on my own machine.",
        "My flat has 3 rooms (78 m²) and costs 780 euros.",
        "import duties are 19% now",
        "If you like it, use it!",
        "I use git every day",
        "docker keeps losing my volumes, what now?",
        "- milk, bread (2), eggs",
        "明天下午三点我要去看牙医。",
        "Return it by Friday",
        "I was in a panic: the deadline is on Friday.",
        "E is my favourite vowel",
        "From 9:30 in the morning I work.",
    ],
)
def test_a_line_of_a_person(line: str):
    assert not is_machine_line(line)


def test_placeholders_and_fences_are_cut_out_of_a_text():
    text = "Look at this!\n[image: two girls at a lake] It is our lake.\n```py\nx = 1\nbye\n```\nNice, or not?"
    assert [text[start:end].strip() for start, end in prose_parts(text)] == [
        "Look at this!",
        "It is our lake.",
        "Nice, or not?",
    ]
    assert "x = 1" in "".join(text[start:end] for start, end in machine_spans(text))


@pytest.mark.parametrize(
    "text, said",
    [
        ("I get ValueError: I live in nowhere when I start it", ["I get"]),
        ("thread 'main' panicked at src/main.rs:4:5:\nI live in Nowhere\nAny idea?", ["Any idea?"]),
        ("Our trial: error by error, we fix it.", ["Our trial: error by error, we fix it."]),
        ("I catch every KeyError now.", ["I catch every KeyError now."]),
    ],
)
def test_the_message_of_an_error_is_not_what_a_person_says(text: str, said: list[str]):
    assert [text[start:end].strip() for start, end in prose_parts(text)] == said


def test_the_indented_lines_below_a_trace_belong_to_it():
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    main\nKeyError: 1\nhelp me please'
    assert [text[start:end] for start, end in prose_parts(text)] == ["help me please"]
    assert is_machine_text(text)
    assert not is_machine_text("It broke again.\nKeyError: 1")
