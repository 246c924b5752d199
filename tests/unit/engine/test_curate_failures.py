"""The curator when something goes wrong or is too much: replies, models, stores, workers, long days; a fortnight."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest

from mnemic.adapters.llms.registry import Script, ScriptedLlm
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine.curate import PARTS_AT_ONCE, CurateReport
from mnemic.errors import BadReplyError, MnemicError, UnavailableError
from mnemic.model.chat import Prompt
from mnemic.model.item import CURATED
from mnemic.model.records import JobState
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from tests.broken_replies.corpus import cases as broken_replies
from tests.unit.engine.curate_kit import as_gems, curator, decide, decisions, gem, gems, texts, turns_of
from tests.unit.engine.kit import ANNA, Clock
from tests.unit.engine.life_kit import jobs, opened, parts_over

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


class TestBrokenReplies:
    @pytest.mark.requirement("T-19", "T-24")
    def test_a_reply_that_is_no_answer_keeps_every_message_for_the_next_run(self, store: Store, clock: Clock):
        broken: list[Script] = [case.reply for case in broken_replies() if not case.is_answer and not case.is_cut]
        assert len(broken) >= 5
        mnemic, llm = opened(store, clock, [*broken, json.dumps([gem(1, "use pgvector")])])
        decide(mnemic, "use pgvector")
        clock.turn(days=1)
        for _ in broken:
            with pytest.raises(BadReplyError):
                mnemic.curate(ANNA)
            assert (cursor(store), gems(mnemic)) == (0, [])
        mnemic.curate(ANNA)
        assert texts(mnemic) == ["User decided to use pgvector"]
        assert len(llm.prompts) == len(broken) + 1

    def test_of_a_reply_that_was_cut_each_half_is_asked_for_again(self, store: Store, clock: Clock):
        def answer(prompt: Prompt) -> Script:
            whole = json.dumps(decisions(prompt))
            return whole if len(turns_of(prompt)) <= 2 else whole[: len(whole) // 2]

        mnemic, llm = opened(store, clock, answer)
        for number in range(8):
            decide(mnemic, f"read book {number}")
        clock.turn(days=1)
        (day,) = mnemic.curate(ANNA).days
        assert len(gems(mnemic)) == len(day.gems) == 8
        assert day.usage.calls == len(llm.prompts) == 7
        assert [len(turns_of(prompt)) for prompt in llm.prompts].count(2) == 4

    @pytest.mark.requirement("T-37")
    def test_while_the_model_is_away_nothing_is_stored_and_a_later_night_reads_the_day(
        self, store: Store, clock: Clock
    ):
        is_away = True
        mnemic, llm = opened(
            store, clock, lambda prompt: UnavailableError("the model is away") if is_away else curator()(prompt)
        )
        mnemic.work()
        decide(mnemic, "use pgvector because backups exist")
        clock.turn(days=1)
        for number in (1, 2):
            mnemic.work()
            (job,) = jobs(mnemic, "curate")
            assert (job.state, job.attempts, job.error) == (
                JobState.PENDING,
                number,
                "UnavailableError: the model is away",
            )
            assert gems(mnemic) == []
            clock.turn(minutes=10)
        mnemic.work()
        assert jobs(mnemic, "curate")[0].state is JobState.DONE
        assert gems(mnemic) == []
        assert len([prompt for prompt in llm.prompts if "museum" in prompt.messages[0].content]) == 3
        is_away = False
        clock.turn(days=1)
        mnemic.work()
        assert [memory.text for memory in gems(mnemic)] == ["User decided to use pgvector because backups exist"]


class TestLongDays:
    @pytest.mark.parametrize("context_tokens", [2048, 4096])
    def test_a_long_day_is_read_in_parts_that_fit_and_nothing_is_left_out(
        self, store: Store, clock: Clock, context_tokens: int
    ):
        llm = ScriptedLlm(curator(), context_tokens=context_tokens)
        mnemic = Mnemic(parts_over(store, clock, llm), actor="tester")
        for number in range(40):
            clock.turn(minutes=1)
            scope = replace(ANNA, session=f"s{number // 10}")
            mnemic.capture(scope, user=f"I decided to read book {number}.", assistant="A fine book indeed. " * 10)
        mnemic.capture(ANNA, user="Look at this: " + "x" * 50_000, assistant="很长" * 3000)
        clock.turn(days=1)
        (day,) = mnemic.curate(ANNA).days
        assert (day.turns, len(gems(mnemic)), len(day.refused)) == (41, 40, 0)
        assert len(llm.prompts) > 1
        for prompt in llm.prompts:
            size = sum(len(message.content) for message in prompt.messages) // 3
            assert size + prompt.max_tokens <= context_tokens

    def test_a_job_does_a_few_parts_and_leaves_the_rest_to_the_next(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, curator())
        mnemic.work()
        for number in range(PARTS_AT_ONCE + 2):
            decide(mnemic, f"read book {number}", observed_at=f"2026-04-{number + 1:02}T10:00:00Z")
        clock.turn(days=1)
        mnemic.work()
        assert [job.state for job in jobs(mnemic, "curate")] == [JobState.DONE] * 2
        assert len(gems(mnemic)) == PARTS_AT_ONCE + 2
        assert len({prompt.messages[-1].content for prompt in llm.prompts}) >= PARTS_AT_ONCE + 2

    def test_what_waits_for_the_next_night_is_left_alone_by_the_jobs_of_this_one(self, store: Store, clock: Clock):
        mnemic, llm = opened(store, clock, curator(lambda item: {**item, "confidence": 85}))
        mnemic.work()
        for number in range(PARTS_AT_ONCE + 2):
            scope = replace(ANNA, session=f"s{number}")
            decide(mnemic, f"read book {number}", scope, observed_at=f"2026-04-{number + 1:02}T10:00:00Z")
        clock.turn(days=1)
        mnemic.work()
        asked = [prompt for prompt in llm.prompts if "museum" in prompt.messages[0].content]
        assert len(asked) == PARTS_AT_ONCE + 2


class TestFailures:
    @pytest.mark.parametrize("is_after", [False, True])
    def test_whichever_step_of_the_store_fails_a_repeated_run_keeps_everything_once(
        self, clock: Clock, *, is_after: bool
    ):
        done = False
        nth = 0
        while not done:
            nth += 1
            inner = MemoryStore()
            mnemic, _ = opened(inner, clock, curator())
            decide(mnemic, "use pgvector")
            decide(mnemic, "drop Redis", replace(ANNA, session="s2"))
            later = Clock()
            later.turn(days=1)
            faulty, _ = opened(FaultyStore(inner, Fault(nth, is_after=is_after)), later, curator())
            try:
                faulty.curate(ANNA)
                done = True
            except MnemicError:
                found = len(gems(mnemic))
                assert found == (2 if cursor(inner) else 0), f"step {nth}"
            again, _ = opened(inner, later, curator())
            again.curate(ANNA)
            assert texts(again) == ["User decided to drop Redis", "User decided to use pgvector"], f"step {nth}"
            assert cursor(inner) == 2
        assert nth > 10

    def test_two_workers_at_once_keep_each_gem_once(self, tmp_path: Path, clock: Clock):
        meet = Barrier(2)

        def answer(prompt: Prompt) -> Script:
            if len(turns_of(prompt)) > 1:
                meet.wait(10)
            return json.dumps(decisions(prompt))

        stores = [SqliteStore(tmp_path / "memory.db") for _ in range(2)]
        mnemics: list[Mnemic] = [opened(each, clock, answer)[0] for each in stores]
        for what in ("use pgvector", "drop Redis"):
            decide(mnemics[0], what)
        clock.turn(days=1)
        with ThreadPoolExecutor(2) as pool:
            reports: list[CurateReport] = list(pool.map(Mnemic.curate, mnemics, [ANNA, ANNA]))
        assert sorted(len(report.days) for report in reports) == [0, 1]
        (memory, _) = gems(mnemics[0])
        assert len(gems(mnemics[0])) == 2
        assert len(mnemics[0].history(ANNA, memory.id)) == 1
        for each in stores:
            each.close()

    def test_what_is_deleted_while_the_model_thinks_leaves_no_gem(self, store: Store, clock: Clock):
        turn_ids: list[str] = []

        def answer(prompt: Prompt) -> Script:
            if turn_ids:
                mnemic.delete(ANNA, turn_ids.pop())
            return json.dumps(decisions(prompt))

        mnemic, llm = opened(store, clock, answer)
        turn = mnemic.capture(ANNA, user="I decided to use pgvector.")
        decide(mnemic, "drop Redis")
        turn_ids.append(turn.messages[0].id)
        clock.turn(days=1)
        mnemic.curate(ANNA)
        assert texts(mnemic) == ["User decided to drop Redis"]
        assert len(llm.prompts) == 2


@pytest.mark.requirement("T-01", "T-10", "R-10", "R-11")
@pytest.mark.parametrize("is_model", [True, False])
def test_through_a_fortnight_a_worker_curates_every_night_at_half_past_two(
    store: Store, clock: Clock, *, is_model: bool
):
    mnemic, _ = opened(store, clock, curator() if is_model else None)
    clock.at = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)
    mnemic.work()
    nights: list[datetime] = []
    for hour in range(14 * 24):
        at = clock.now()
        if at.hour == 10:
            decide(mnemic, f"publish volume {at.day} because the readers asked", replace(ANNA, session=f"{at.day % 3}"))
            mnemic.capture(ANNA, user="What's for lunch?", assistant="Soup.")
        before = len(gems(mnemic))
        mnemic.work()
        if len(gems(mnemic)) > before:
            nights.append(at)
        clock.turn(minutes=30 if hour == 0 else 60)
    assert [at.time().isoformat() for at in nights] == ["02:30:00"] * len(nights)
    assert len(nights) >= 13
    kept = as_gems(mnemic)
    assert [each.date for each in kept] == [f"2026-05-{day:02}" for day in range(1, len(kept) + 1)]
    assert not any("lunch" in each.gem for each in kept)
    assert clock.now() - nights[-1] < timedelta(days=1)
