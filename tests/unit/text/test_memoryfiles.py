"""Notes in Markdown and what mem0 writes, read into entries. The samples of mem0 were written by its package."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInputError
from mnemic.model.item import Kind
from mnemic.model.scope import Level
from mnemic.text.memoryfiles import Entry, MemoryReading, Owner, memory_format, read_memories

SAMPLES = Path(__file__).parent / "memory_files"
pytestmark = pytest.mark.requirement("P-08")


def sample(name: str) -> str:
    return (SAMPLES / name).read_text("utf-8")


def notes(name: str) -> MemoryReading:
    return read_memories(sample(name), name=name)


def entry(reading: MemoryReading, beginning: str) -> Entry:
    return next(each for each in reading.entries if each.text.startswith(beginning))


class TestMarkdown:
    def test_each_item_and_paragraph_is_an_entry_with_its_line_and_titles(self):
        reading = notes("CLAUDE.md")
        assert [(e.line, e.text.split("\n")[0]) for e in reading.entries] == [
            (3, "Lighthouse counts ships from camera pictures."),
            (9, "Run the tests before every commit:"),
            (16, "Build with `make build`"),
            (17, "Lint: `make lint`"),
            (21, "Python 3.12, four spaces"),
            (23, "never local time"),
            (24, "ISO 8601 in files, e.g. [the standard](https://www.iso.org/iso-8601-date-and-time-format.html)"),
            (29, "| service | port |"),
        ]
        assert entry(reading, "never").trail == ("Lighthouse", "Conventions", "Dates are UTC")
        assert entry(reading, "never").place == "CLAUDE.md:23"

    def test_code_stays_with_what_it_follows(self):
        assert entry(notes("CLAUDE.md"), "Run").text.endswith("```sh\n# all of them\nmake test\n```")

    def test_what_is_left_out_is_counted(self):
        assert notes("CLAUDE.md").skipped == {"lines that only name another file": 1, "comments": 1}
        assert notes("SOUL.md").skipped == {"labels without a text": 1}
        assert notes("MEMORY.md").skipped == {"lines of front matter": 3}

    def test_titles_say_what_kind_it_is_and_dates_when_it_was(self):
        reading = notes("MEMORY.md")
        found = {e.text.split("\n")[0]: (e.kind, e.observed_at) for e in reading.entries}
        written = datetime(2026, 3, 1, tzinfo=UTC)
        assert found == {
            "Prefers answers without emojis": (Kind.PREFERENCE, written),
            "**Coffee**: black, no sugar": (Kind.PREFERENCE, written),
            "2026-02-14: the boat goes to the yard in Ystad": (Kind.EVENT, datetime(2026, 2, 14, tzinfo=UTC)),
            "[2026-02-20] sold the trailer": (Kind.EVENT, datetime(2026, 2, 20, tzinfo=UTC)),
            "renew the berth contract": (Kind.GOAL, written),
            "order the sail": (Kind.FACT, written),
            "The marina's pump needs a 16 A fuse": (Kind.LEARNING, written),
        }
        assert {e.categories for e in reading.entries} == {("home", "boat")}
        assert entry(reading, "Prefers").trail == ("What Quill knows", "Long-term memory", "Preferences")
        assert [entry(reading, text).notes for text in ("renew", "order")] == [{"is_done": False}, {"is_done": True}]

    def test_a_daily_note_tells_of_its_day(self):
        reading = notes("2026-01-02.md")
        assert {(e.kind, e.is_dated) for e in reading.entries} == {(Kind.EVENT, True)}
        assert reading.entries[0].observed_at == datetime(2026, 1, 2, 9, 15, tzinfo=UTC)
        assert reading.entries[2].observed_at == datetime(2026, 1, 2, tzinfo=UTC)

    def test_section_signs_part_entries(self):
        assert [(e.line, e.text) for e in notes("hermes_USER.md").entries] == [
            (1, "User is called Ravi and works nights"),
            (3, "Wants commands to be shown before they run"),
            (5, "Uses fish as shell\non two machines"),
        ]

    def test_what_an_assistant_is_belongs_to_the_agent(self):
        assert {(e.kind, e.level) for e in notes("SOUL.md").entries} == {(Kind.PERSONA, Level.AGENT)}

    def test_code_without_an_end_is_told_with_its_line(self):
        reading = read_memories("# T\n\n- a fact\n\n```\ncode\n", name="x.md")
        assert reading.problems == ["x.md:5: the code that begins here has no end; it was taken up to the file's"]
        assert reading.entries[-1].text == "a fact\n\n```\ncode"

    def test_a_day_that_no_month_has_is_no_date(self):
        assert read_memories("- 2026-02-30 odd\n", name="x.md").entries[0].observed_at is None

    @given(st.text(alphabet=st.sampled_from("-*#>`~[]x 1.)\n\t:|§<!-a@é\u2028"), max_size=200))
    def test_no_text_raises_and_every_line_exists(self, text: str):
        if text.strip():
            reading = read_memories(text, "markdown", name="n.md")
            lines = text.replace("\r", "\n").count("\n") + 1
            assert all(1 <= each.line <= lines and each.text.strip() for each in reading.entries)

    def test_a_deep_list_is_read_in_time_that_grows_with_its_length(self):
        deep = "\n".join(f"{' ' * number}- item {number}" for number in range(1500))
        assert len(read_memories(deep, name="x.md").entries) == 1500


class TestMem0:
    def test_what_get_all_answers_becomes_entries(self):
        reading = read_memories(sample("mem0_get_all.json"))
        porto = entry(reading, "Ana lives")
        assert [e.text for e in reading.entries] == [
            "Noted, green tea it is",
            "Ana lives in Porto",
            "I prefer green tea",
        ]
        assert porto.origin == "530feeb7-1395-4411-aadb-da2499b5b4de"
        assert porto.observed_at == datetime(2026, 11, 22, 8, 33, 51, 877181, tzinfo=UTC)
        assert porto.metadata["team"] == "core"
        assert porto.notes["mem0"] == {
            "hash": "83fea4377432e85351c89ab6f85d7f0b",
            "user_id": "ana",
            "role": "user",
            "created_at": "2026-11-22T08:33:51.877181+00:00",
            "updated_at": "2026-11-22T08:33:51.930934+00:00",
        }

    def test_what_the_platform_exports_keeps_categories_and_the_day_it_ends(self):
        dentist, parking = read_memories(sample("platform.json")).entries
        assert dentist.categories == ("health", "misc")
        assert parking.expires_at is not None
        assert parking.expires_at.date().isoformat() == "2025-05-09"

    def test_a_history_tells_what_a_memory_was_before(self):
        (found,) = read_memories(sample("mem0_history.json"), "mem0").entries
        assert found.text == "Ana lives in Porto"
        mem0 = found.notes["mem0"]
        assert isinstance(mem0, dict)
        assert mem0["earlier"] == [{"text": "Ana lives in Lisbon", "since": "2026-11-22T08:33:51.877181+00:00"}]

    def test_a_history_is_only_read_when_it_is_named_for_it_does_not_say_whose_it_is(self):
        with pytest.raises(InvalidInputError, match="who owns the memories"):
            read_memories(sample("mem0_history.json"))

    def test_a_memory_that_is_there_as_it_is_now_needs_no_history(self):
        whole = json.loads(sample("mem0_get_all.json"))["results"] + json.loads(sample("mem0_history.json"))
        reading = read_memories(json.dumps(whole))
        assert len(reading.entries) == 3
        assert reading.skipped == {"changes of memories that are there as they are now": 2}

    def test_users_are_never_mixed(self):
        both = [{"id": "1", "memory": "of ana", "user_id": "ana"}, {"id": "2", "memory": "of bob", "user_id": "bob"}]
        with pytest.raises(InvalidInputError, match=r"several users \(ana, bob\)"):
            read_memories(json.dumps(both))
        reading = read_memories(json.dumps(both), owner=Owner(user="bob"))
        assert [e.text for e in reading.entries] == ["of bob"]
        assert reading.skipped == {"memories of other users": 1}

    def test_what_has_no_user_belongs_to_the_agent(self):
        text = json.dumps({"results": [{"id": "1", "memory": "short answers", "agent_id": "quill"}], "relations": [{}]})
        reading = read_memories(text)
        assert reading.entries[0].level is Level.AGENT
        assert reading.skipped == {"relations of a graph": 1}

    @pytest.mark.parametrize("cut", [700, 1000, 1100])
    def test_a_document_that_is_cut_off_gives_what_is_whole_and_names_the_line(self, cut: int):
        text = sample("mem0_get_all.json")[:cut]
        reading = read_memories(text)
        assert 1 <= len(reading.entries) <= 2
        assert len(reading.problems) == 1
        assert reading.problems[0].startswith("line ")

    def test_a_broken_record_in_the_middle_does_not_stop_the_rest(self):
        lines = ['{"id": "1", "memory": "one"}', '{"id": "2", "memory": "two', '{"id": "3", "memory": "three"}', "[]"]
        reading = read_memories("\n".join(lines))
        assert [e.text for e in reading.entries] == ["one", "three"]
        assert [each[:7] for each in reading.problems] == ["line 2:"]

    def test_records_without_a_text_are_named(self):
        reading = read_memories('[{"id": "1", "memory": "  "}, {"id": "2", "memory": "two"}, 3]')
        assert reading.problems == ["record 3: not a JSON object", "record 1, memory 1: no text"]

    def test_a_text_full_of_brackets_is_given_up_soon(self):
        with pytest.raises(InvalidInputError, match="no mem0 memories"):
            read_memories("{" * 5000, "mem0")


@pytest.mark.parametrize(
    "text, name, expected",
    [
        ("# Title", "notes.md", "markdown"),
        ("# Title", "", None),
        ('{"results": [{"id": "1", "memory": "x"}]}', "", "mem0"),
        ('{"memory": "x", "id": "1"}\n{"memory": "y", "id": "2"}', "a.jsonl", "mem0"),
        ('{"role": "user", "content": "x"}', "", None),
        ('[{"role": "user", "content": "x", "id": "1"}]', "", None),
        ('[{"role": "user", "content": "x", "id": "1", "data": "y"}]', "", None),
        ('{"mapping": {}, "id": "1"}', "", None),
        ("", "", None),
    ],
)
def test_formats_are_found_out(text: str, name: str, expected: str | None):
    assert memory_format(text, name) == expected
