"""Texts that break careless programs come back as they were given, through every door."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic.errors import InvalidInputError
from tests.doors.doors import AsyncDoor, CommandLineDoor, Door, LibraryDoor
from tests.doors.scenarios import ANA, ANA_TODAY, BORIS

TEXTS = {
    "null": "before\0after",
    "right-to-left": "שלום, مرحبا \u202eabc\u202c def",
    "combining": "Zalgo: a\u0301\u0323\u0308 vs á, ﬁ vs fi, Ⅳ vs IV",
    "emoji": "👩🏽‍🚀 🏳️‍🌈 🇵🇹 7️⃣",
    "long": "".join(f"{number:05d} steps; " for number in range(7_143))[:100_000],
    "line-ends": "one\r\ntwo\rthree\n\nfour\u2028five\x85six",
    "trailing": "  blanks and a last line end \t\n",
    "option": "-- --json -v --user=eve",
    "quotes": 'She said: "it\'s `fine`" \\n \\',
    "json": '{"text": null, "x": [1, {"y": "\\u0000"}]}',
    "sql": "x'); DROP TABLE memories; --",
    "pattern": "100% of _all_ %s {0} {name} $HOME ~ *.db",
    "shell": "$(touch pwned); `id` | cat > /dev/null && echo !! #",
    "markup": "[bold red]no[/] <b>&amp;</b> [link=file:///]x[/link]",
    "controls": "bell \x07, escape \x1b[31mred\x1b[0m, delete \x7f",
    "scripts": "日本語のテキスト, Ελληνικά, ไทย, 한국어",
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠮷野家",
    "noncharacter": "\ufeffmark \ufffe \uffff \ufdd0",
    "false": "null",
    "zero": "0",
}
DOORS: dict[str, Callable[[Path], Door]] = {
    "library-memory": lambda _: LibraryDoor("memory://"),
    "library-sqlite": lambda folder: LibraryDoor(str(folder / "memory.db")),
    "async": lambda folder: AsyncDoor(str(folder / "memory.db")),
    "command-line": lambda folder: CommandLineDoor(str(folder / "memory.db")),
}


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    """Each door, on an empty store."""
    opened = DOORS[request.param](tmp_path)
    yield opened
    opened.close()


def test_a_memory_comes_back_as_it_was_given(door: Door):
    ids = {name: door.call("remember", ANA, {"text": text})["id"] for name, text in TEXTS.items()}
    listed = {memory["id"]: memory["text"] for memory in door.call("list", ANA, {})["memories"]}
    assert {name: listed[ids[name]] for name in TEXTS} == TEXTS
    assert {name: door.call("get", ANA, {"id": ids[name]})["text"] for name in TEXTS} == TEXTS


def test_a_message_comes_back_as_it_was_given(door: Door):
    messages = [{"role": "user", "content": text} for text in TEXTS.values()]
    turn = door.call("capture", ANA_TODAY, {"messages": messages})
    assert [message["text"] for message in turn["messages"]] == list(TEXTS.values())
    again = door.call("get", ANA, {"id": turn["messages"][4]["id"]})
    assert again["text"] == TEXTS["long"]


def test_a_question_may_hold_anything_that_an_argument_can(door: Door):
    door.call("remember", ANA, {"text": "Ana has a boat"})
    for text in TEXTS.values():
        if "\0" not in text and len(text) <= 20_000:
            assert door.call("recall", ANA, {"query": text})["query"] == text


def test_a_text_may_be_an_edit_a_profile_or_a_whole_export(door: Door):
    kept = changed = door.call("remember", ANA, {"text": "nothing yet"})
    for name, text in TEXTS.items():
        if "\0" not in text and name != "long":  # no argument of a command can hold them
            changed = door.call("update", ANA, {"id": kept["id"], "text": text, "reason": text[:200]})
            assert changed["text"] == text
            door.call("profile.set", ANA, {"facts": {name: text}})
            assert door.call("context", ANA, {"query": text, "system": text})["messages"][-1]["content"] == text
            assert door.call("why_not", ANA, {"id": kept["id"], "query": text})["stage"] in {"found", "index"}
    entries = {entry["key"]: entry["value"] for entry in door.call("profile.all", ANA, {})["static"]}
    assert entries == {name: text for name, text in TEXTS.items() if name in entries}
    lines = door.call("export", ANA, {})
    report = door.call("import_", BORIS, {"text": "\n".join(lines)})
    assert (report["problems"], report["added"]["memory"]) == ([], 1)
    assert door.call("list", BORIS, {})["memories"][0]["text"] == changed["text"]


def test_a_log_may_hold_any_text(door: Door):
    log = "\n".join(json.dumps({"role": "user", "content": text}) for text in TEXTS.values())
    assert door.call("import_", ANA, {"text": log})["added"] == {"message": len(TEXTS)}
    hits = door.call("recall", ANA, {"query": "text", "limit": None})["hits"]
    assert {hit["item"]["text"] for hit in hits} <= set(TEXTS.values())


def test_half_of_a_character_is_refused(door: Door):
    for verb, arguments in (("remember", {"text": "half \udc80"}), ("remember", {"text": "x", "source": "\udcff"})):
        with pytest.raises(InvalidInputError):
            door.call(verb, ANA, arguments)
    with pytest.raises(InvalidInputError):
        door.call("capture", ANA_TODAY, {"messages": [{"role": "user", "content": "half \ud83d"}]})
