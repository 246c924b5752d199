"""The curator over days: what is read, what is kept, what waits, and that nothing is lost or kept twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.curate import CurateReport
from mnemic.engine.indexing import indexed_text
from mnemic.errors import InvalidInputError
from mnemic.model.item import CURATED, Trust, Verdict
from mnemic.model.records import Action
from mnemic.model.scope import Level, Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.store import Store
from tests.unit.engine.curate_kit import as_gems, curator, decide, gem, gems, texts, turns_of
from tests.unit.engine.kit import ANNA, BERT, Clock
from tests.unit.engine.life_kit import opened

HERS = ANNA.partition(Level.USER)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def exported(mnemic: Mnemic, scope: Scope = ANNA) -> list[str]:
    return list(mnemic.export(scope))


def cursor(store: Store, session: str = "s1") -> int:
    with store.read() as work:
        return work.conversations.cursor(HERS, session, CURATED)


class TestDays:
    @pytest.mark.requirement("T-10", "T-12")
    def test_a_day_is_read_when_it_is_over_and_today_only_when_told(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, curator())
        decide(mnemic, "use pgvector")
        assert mnemic.curate(ANNA).days == ()
        assert llm.prompts == []
        assert [day.day for day in mnemic.curate(ANNA, day="2026-05-01").days] == ["2026-05-01"]
        decide(mnemic, "drop Redis")
        clock.turn(days=1)
        assert [day.turns for day in mnemic.curate(ANNA).days] == [1]
        assert texts(mnemic) == ["User decided to drop Redis", "User decided to use pgvector"]

    @pytest.mark.requirement("T-12", "T-02")
    def test_a_whole_day_of_all_conversations_is_one_story_with_numbers_names_and_times(
        self, store: Store, clock: Clock
    ):
        mnemic, llm = opened(store, clock, curator())
        for session in ("s1", "s2"):
            for _ in range(8):
                clock.turn(minutes=1)
                mnemic.capture(replace(ANNA, session=session), user="How are you?", assistant="Well.")
        decide(mnemic, "use pgvector")
        clock.turn(days=1)
        (day,) = mnemic.curate(ANNA).days
        (prompt,) = llm.prompts
        told = turns_of(prompt)
        assert list(told) == list(range(1, 18))
        assert (day.turns, told[9]) == (17, ["user: I decided to use pgvector.", "assistant: That is a good choice."])
        story = prompt.messages[-1].content
        assert "Conversation 1\n[turn 1] 2026-05-01 12:01\nuser: How are you?" in story
        assert "Conversation 2\n[turn 10] 2026-05-01 12:09" in story
        (kept,) = as_gems(mnemic)
        assert (kept.conversation_id, kept.turn_range, kept.source_turns) == ("s1", "9-9", (9,))

    def test_days_are_those_of_the_time_zone_and_a_turn_belongs_to_the_day_on_which_it_began(
        self, store: Store, clock: Clock
    ):
        settings = Settings(life=LifeSettings(time_zone="Europe/Berlin"))
        mnemic, llm = opened(store, clock, curator(), settings=settings)
        clock.at = datetime(2026, 5, 1, 21, 59, 30, tzinfo=UTC)
        turn = mnemic.capture(ANNA, user="I decided to use pgvector.")
        clock.turn(minutes=1)
        mnemic.complete(ANNA, turn.id, assistant="It is past midnight now.")
        clock.turn(minutes=1)
        decide(mnemic, "drop Redis")
        assert [(day.day, day.turns) for day in mnemic.curate(ANNA).days] == [("2026-05-01", 1)]
        assert turns_of(llm.prompts[0])[1][1] == "assistant: It is past midnight now."
        (kept,) = as_gems(mnemic)
        assert (kept.timestamp, kept.date) == ("2026-05-01T23:59:30+02:00", "2026-05-01")
        clock.turn(days=1)
        assert [day.day for day in mnemic.curate(ANNA).days] == ["2026-05-02"]

    def test_several_days_that_were_missed_are_read_one_by_one_the_oldest_first(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, curator())
        for day in range(3):
            decide(mnemic, f"read book {day}", replace(ANNA, session=f"s{day % 2}"))
            clock.turn(days=1)
        assert [day.day for day in mnemic.curate(ANNA).days] == ["2026-05-01", "2026-05-02", "2026-05-03"]
        assert len(llm.prompts) == 3
        assert [list(turns_of(prompt)) for prompt in llm.prompts] == [[1], [1], [1]]

    def test_what_was_imported_of_the_past_is_read_in_the_order_of_its_conversation(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, curator())
        decide(mnemic, "use pgvector", observed_at="2026-04-20T10:00:00Z")
        decide(mnemic, "drop Redis", observed_at="2026-04-10T10:00:00Z")
        decide(mnemic, "move to Rome", observed_at="2026-04-25T10:00:00Z")
        assert [(day.day, day.turns) for day in mnemic.curate(ANNA).days] == [("2026-04-20", 2), ("2026-04-25", 1)]
        assert [kept.date for kept in as_gems(mnemic)].count("2026-04-10") == 1

    def test_nobody_elses_days_are_read_and_a_talk_of_nobody_stays_in_its_session(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, curator())
        decide(mnemic, "use pgvector", BERT)
        nobody = Scope(org="acme", session="s9")
        decide(mnemic, "drop Redis", nobody)
        clock.turn(days=1)
        assert mnemic.curate(ANNA).days == ()
        assert mnemic.curate(replace(BERT, org="other")).days == ()
        assert llm.prompts == []
        mnemic.curate(nobody)
        assert texts(mnemic, nobody) == ["User decided to drop Redis"]
        assert texts(mnemic, BERT) == []

    @pytest.mark.parametrize("day", ["tomorrow", "2026-13-01", 7])
    def test_a_day_that_is_no_date_is_refused(self, store: Store, clock: Clock, day: Any):
        mnemic, _ = opened(store, clock, [])
        with pytest.raises(InvalidInputError, match="day must be a date"):
            mnemic.curate(ANNA, day=day)


class TestGems:
    @pytest.mark.requirement("T-14", "T-15", "T-16", "T-28", "R-08")
    def test_a_gem_is_a_memory_that_keeps_its_eleven_fields_and_knows_its_messages(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, curator())
        decide(mnemic, "use pgvector")
        clock.turn(days=1)
        mnemic.curate(ANNA)
        (memory,) = gems(mnemic)
        (kept,) = as_gems(mnemic)
        assert {**gem(1, "use pgvector"), "categories": ("decision",), "source_turns": (1,)}.items() >= {
            name: getattr(kept, name) for name in ("gem", "context", "categories", "importance", "confidence")
        }.items()
        assert kept.snippet == "user: I decided to use pgvector"
        assert (memory.importance, memory.agent, memory.trust) == (0.9, "jarvis", Trust.ASSISTANT)
        assert indexed_text(memory) == f"{kept.gem}\n{kept.context}\n{kept.snippet}"
        said = [mnemic.get(ANNA, entry.source_id).text for entry in memory.provenance]
        assert said == ["I decided to use pgvector.", "That is a good choice."]
        assert {(entry.extractor, entry.version) for entry in memory.provenance} == {("curate", "scripted curator-2")}

    @pytest.mark.requirement("T-23")
    def test_the_same_decision_on_another_night_is_merged_with_its_reason(self, store: Store, clock: Clock):
        reasons = iter(["PostgreSQL is there already", "One server is enough"])
        mnemic, _ = opened(store, clock, curator(lambda item: {**item, "context": next(reasons)}))
        reports: list[CurateReport] = []
        for _ in range(2):
            decide(mnemic, "use pgvector")
            clock.turn(days=1)
            reports.append(mnemic.curate(ANNA))
        (memory,) = gems(mnemic)
        assert memory.context == "PostgreSQL is there already\nOne server is enough"
        assert len(memory.provenance) == 4
        (merged,) = reports[1].days[0].gems
        assert (merged.verdict, merged.memory_id) == (Verdict.MERGE, memory.id)
        assert [entry.action for entry in mnemic.history(ANNA, memory.id)] == [Action.CREATED, Action.MERGED]

    @pytest.mark.requirement("T-36")
    def test_a_gem_marked_as_outdated_takes_nothing_in_and_what_is_said_anew_is_a_new_gem(
        self, store: Store, clock: Clock
    ):
        mnemic, _ = opened(store, clock, curator())
        decide(mnemic, "use pgvector")
        clock.turn(days=1)
        mnemic.curate(ANNA)
        (old,) = gems(mnemic)
        mnemic.feedback(ANNA, old.id, "outdated")
        clock.turn(hours=1)
        decide(mnemic, "use pgvector")
        clock.turn(days=1)
        mnemic.curate(ANNA)
        ended: Any = mnemic.get(ANNA, old.id)
        assert ended.valid_to is not None
        (hit,) = mnemic.recall(ANNA, "which decision about pgvector?", kinds=["gem"])
        assert hit.item.id != old.id

    @pytest.mark.requirement("T-36")
    def test_a_gem_marked_as_relevant_stays_and_takes_in_what_is_said_again(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, curator())
        for _ in range(2):
            decide(mnemic, "use pgvector")
            clock.turn(days=1)
            mnemic.curate(ANNA)
            mnemic.feedback(ANNA, gems(mnemic)[0].id, "relevant")
        (memory,) = gems(mnemic)
        assert memory.access_count == 2
        assert memory.valid_to is None

    @pytest.mark.requirement("T-36")
    def test_the_curator_sees_what_came_before_what_it_kept_and_how_that_was_marked(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, curator())
        for what in ("use pgvector", "drop Redis"):
            decide(mnemic, what)
            clock.turn(days=1)
            mnemic.curate(ANNA)
        for memory in gems(mnemic):
            mnemic.feedback(ANNA, memory.id, "outdated" if "Redis" in memory.text else "relevant")
        decide(mnemic, "use pgvector and drop Redis")
        clock.turn(days=1)
        mnemic.curate(ANNA)
        shown = llm.prompts[-1].messages[-1].content
        before, kept = (
            shown.partition(f"---BEGIN {part}---\n")[2].partition(f"\n---END {part}---")[0]
            for part in ("BEFORE", "KEPT")
        )
        assert "I decided to drop Redis" in before
        assert "I decided to use pgvector and drop Redis" not in before
        assert sorted(kept.splitlines()) == [
            "- User decided to drop Redis (marked outdated)",
            "- User decided to use pgvector (marked still relevant)",
        ]

    @pytest.mark.requirement("T-32")
    def test_a_gem_is_put_before_the_model_in_a_later_conversation(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, curator())
        decide(mnemic, "use pgvector")
        clock.turn(days=1)
        mnemic.curate(ANNA)
        context = mnemic.context(replace(ANNA, session="s7"), "Which pgvector question did I settle?")
        assert "User decided to use pgvector" in "".join(str(message) for message in context.messages)
        assert gems(mnemic)[0].id in {citation.item_id for citation in context.citations}


class TestAgain:
    @pytest.mark.parametrize("is_model", [True, False])
    def test_a_second_night_changes_nothing_and_no_message_is_ever_cleared(
        self, store: Store, clock: Clock, *, is_model: bool
    ):
        mnemic, llm = opened(store, clock, curator() if is_model else None)
        for what in ("use pgvector because backups exist", "drop Redis since nobody needs it"):
            decide(mnemic, what)
        clock.turn(days=400)
        assert len(mnemic.curate(ANNA).days[0].gems) == 2
        before, asked = exported(mnemic), len(llm.prompts)
        assert mnemic.curate(ANNA).days == ()
        assert (exported(mnemic), len(llm.prompts)) == (before, asked)
        assert sum('"type":"message"' in line for line in before) == 4

    @pytest.mark.requirement("P-19")
    @pytest.mark.parametrize("is_model", [True, False])
    def test_a_dry_run_says_what_would_be_done_and_changes_nothing(self, store: Store, clock: Clock, *, is_model: bool):
        mnemic, _ = opened(store, clock, curator() if is_model else None)
        for what in ("use pgvector because backups exist", "drop Redis since nobody needs it"):
            decide(mnemic, what)
            clock.turn(days=1)
        before = exported(mnemic)
        planned = mnemic.curate(ANNA, is_dry_run=True)
        assert exported(mnemic) == before
        done = mnemic.curate(ANNA)
        assert (planned.is_dry_run, done.is_dry_run) == (True, False)
        shown = [
            [(day.day, day.turns, [(g.gem, g.verdict) for g in day.gems]) for day in r.days] for r in (planned, done)
        ]
        assert shown[0] == shown[1]
        assert len(gems(mnemic)) == 2

    @pytest.mark.requirement("R-18", "T-22")
    def test_the_turns_of_a_refused_gem_stay_for_three_runs_and_are_then_let_go(self, store: Store, clock: Clock):
        broken = {"User decided to drop Redis": {"confidence": 85}}
        mnemic, llm = opened(store, clock, curator(lambda item: {**item, **broken.get(item["gem"], {})}))
        for what in ("use pgvector", "drop Redis", "move to Rome"):
            decide(mnemic, what)
        decide(mnemic, "read more", replace(ANNA, session="s2"))
        clock.turn(days=1)
        expected = [("s1", False, 2), ("s1", False, 2), ("", True, 6)]
        for held, is_let_go, position in expected:
            report = mnemic.curate(ANNA)
            ((refused,),) = [day.refused for day in report.days]
            assert refused.reason == "confidence must be from 0 to 1, not 85"
            assert (refused.conversation_id, refused.turn_range, refused.is_let_go) == ("s1", "2-2", is_let_go)
            assert report.held == ((held,) if held else ())
            assert cursor(store) == position
            assert texts(mnemic) == [f"User decided to {w}" for w in ("move to Rome", "read more", "use pgvector")]
        assert mnemic.curate(ANNA).days == ()
        assert [len(turns_of(prompt)) for prompt in llm.prompts] == [4, 2, 2]
        assert [prompt.temperature for prompt in llm.prompts] == [0.0, 0.3, 0.6]

    @pytest.mark.requirement("R-18")
    def test_a_gem_that_is_mended_in_the_next_run_is_kept_then(self, store: Store, clock: Clock):
        confidences = iter([85, 0.85])
        mnemic, _ = opened(store, clock, curator(lambda item: {**item, "confidence": next(confidences)}))
        decide(mnemic, "use pgvector")
        clock.turn(days=1)
        assert mnemic.curate(ANNA).held == ("s1",)
        assert mnemic.curate(ANNA).held == ()
        assert texts(mnemic) == ["User decided to use pgvector"]

    def test_a_refused_gem_without_turns_holds_all_of_its_part(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock, ['[{"gem": "User likes something"}]', "[]"])
        decide(mnemic, "use pgvector")
        decide(mnemic, "drop Redis", replace(ANNA, session="s2"))
        clock.turn(days=1)
        assert mnemic.curate(ANNA).held == ("s1", "s2")
        assert (cursor(store), cursor(store, "s2")) == (0, 0)
        assert mnemic.curate(ANNA).held == ()
        assert (cursor(store), cursor(store, "s2")) == (2, 2)
