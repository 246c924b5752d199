"""What a job costs of a language model: every call of every try, the failed ones too."""

from __future__ import annotations

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.engine.engine import Engine, Metered
from mnemic.engine.jobs import FollowUp, list_jobs, work
from mnemic.errors import UnavailableError
from mnemic.model.chat import Completion, Prompt, PromptMessage, Usage
from mnemic.model.item import Role
from mnemic.model.records import Job, JobState
from mnemic.ports.models import Llm
from mnemic.testing.samples import NOW, a_job
from tests.unit.engine.kit import Clock

ASKED = Prompt(messages=(PromptMessage(Role.USER, "What does Anna like?"),))
COST = Usage(1, 10, 3, 0.5)
TOLD = Completion("She likes tea", usage=COST)


def test_completions_and_streams_are_added_up():
    llm = Metered(ScriptedLlm([TOLD, TOLD], name="small"))
    assert llm.complete(ASKED) == TOLD
    assert "".join(piece.text for piece in llm.stream(ASKED)) == "She likes tea"
    assert llm.usage == Usage(2, 20, 6, 1.0)
    assert (llm.name, llm.capabilities.has_tools) == ("small", True)


def test_a_call_that_fails_counts_with_its_time_and_raises_as_before():
    llm = Metered(ScriptedLlm([UnavailableError("away"), UnavailableError("away")]))
    with pytest.raises(UnavailableError, match="away"):
        llm.complete(ASKED)
    with pytest.raises(UnavailableError, match="away"):
        list(llm.stream(ASKED))
    assert (llm.usage.calls, llm.usage.prompt_tokens, llm.usage.completion_tokens) == (2, 0, 0)
    assert llm.usage.seconds > 0


def test_a_stream_that_is_left_early_counts_as_a_call():
    llm = Metered(ScriptedLlm([TOLD]))
    stream = llm.stream(ASKED)
    assert next(stream).text == "She like"
    assert llm.usage.calls == 0
    stream.close()
    assert (llm.usage.calls, llm.usage.completion_tokens) == (1, 0)


def test_what_a_model_does_not_tell_is_counted_and_timed_here():
    llm = Metered(ScriptedLlm([Completion("yes")]))
    llm.complete(ASKED)
    assert llm.usage.calls == 1
    assert llm.usage.seconds > 0


def test_whoever_opened_the_model_closes_it():
    class Closing(ScriptedLlm):
        def close(self) -> None:
            raise AssertionError("closed by another")

    Metered(Closing([])).close()


def test_a_job_keeps_the_cost_of_all_its_tries_and_the_observer_is_told_by_kind():
    observer, clock = CounterObserver(), Clock()
    clock.at = NOW
    parts = Engine(MemoryStore(), ScanIndex(), None, clock, observer, llm=ScriptedLlm([TOLD, TOLD, TOLD, TOLD]))
    fails = iter([True, False])

    def ask_twice(parts: Engine, _job: Job) -> FollowUp:
        assert parts.llm is not None
        parts.llm.complete(ASKED)
        parts.llm.complete(ASKED)
        if next(fails):
            raise UnavailableError("the store is away")
        return lambda _unit: []

    with parts.store.write() as unit:
        unit.jobs.add([a_job()])
    assert work(parts, {"curate": ask_twice}, worker="w").retried == 1
    (job,) = list_jobs(parts, None)
    assert job.usage == Usage(2, 20, 6, 1.0)
    clock.turn(minutes=1)
    assert work(parts, {"curate": ask_twice}, worker="w").done == 1
    (job,) = list_jobs(parts, None, [JobState.DONE])
    assert job.usage == Usage(4, 40, 12, 2.0)
    told = {name: count for (name, tags), count in observer.counts.items() if tags == (("kind", "curate"),)}
    assert told == {
        "mnemic.jobs.failed": 1,
        "mnemic.jobs.done": 1,
        "mnemic.llm.calls": 4,
        "mnemic.llm.prompt_tokens": 40,
        "mnemic.llm.completion_tokens": 12,
    }


@pytest.mark.parametrize("retried", [False, True])
def test_what_the_last_transaction_refuses_is_a_failure_that_costs_once(retried: bool):  # noqa: FBT001 -- pytest names it
    clock = Clock()
    clock.at = NOW
    parts = Engine(MemoryStore(), ScanIndex(), None, clock, CounterObserver(), llm=ScriptedLlm([TOLD]))

    def ask(parts: Engine, _job: Job) -> FollowUp:
        assert parts.llm is not None
        parts.llm.complete(ASKED)

        def refuse(_unit: object) -> list[Job]:
            raise UnavailableError("somebody moved the cursor")

        return refuse

    with parts.store.write() as unit:
        unit.jobs.add([a_job(attempts=0 if retried else 7)])
    report = work(parts, {"curate": ask}, worker="w")
    assert (report.retried, report.dead) == ((1, 0) if retried else (0, 1))
    (job,) = list_jobs(parts, None)
    assert (job.error, job.usage) == ("UnavailableError: somebody moved the cursor", COST)


def test_without_a_model_a_handler_gets_none():
    parts = Engine(MemoryStore(), ScanIndex(), None, Clock(), CounterObserver())
    seen: list[Llm | None] = []

    def look(parts: Engine, _job: Job) -> FollowUp:
        seen.append(parts.llm)
        return lambda _unit: []

    with parts.store.write() as unit:
        unit.jobs.add([a_job()])
    work(parts, {"curate": look}, worker="w")
    assert seen == [None]
