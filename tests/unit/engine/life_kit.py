"""A Mnemic with a language model that follows a script, for tests of summaries and reflections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.llms.registry import Script, ScriptedLlm
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.model.bookkeeping import positions_in
from mnemic.model.chat import Prompt
from mnemic.model.item import Kind, Memory
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Scope
from mnemic.model.settings import LifeSettings, Settings
from mnemic.ports.models import Embedder
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from tests.unit.engine.kit import ANNA, Clock, WordEmbedder

ALL = (JobState.PENDING, JobState.RUNNING, JobState.DONE, JobState.DEAD)
USUAL = Settings(life=LifeSettings(extracts=False))
Answers = Iterable[Script] | Callable[[Prompt], Script]


def parts_over(
    store: Store,
    clock: Clock,
    llm: ScriptedLlm | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
) -> Engine:
    """Parts in which no facts are extracted, without an embedder unless one is given."""
    return Engine(store, ScanIndex(), embedder, clock, CounterObserver(), llm=llm, settings=settings or USUAL)


def opened(
    store: Store,
    clock: Clock,
    answers: Answers | None = None,
    *,
    settings: Settings | None = None,
    embedder: bool = False,
) -> tuple[Mnemic, ScriptedLlm]:
    """A Mnemic over a store; without `answers` it has no language model, and the other one is never asked."""
    llm = ScriptedLlm([] if answers is None else answers)
    words = WordEmbedder() if embedder else None
    parts = parts_over(store, clock, None if answers is None else llm, settings, words)
    return Mnemic(parts, actor="tester"), llm


def small(**life: float) -> Settings:
    """A window of 2 messages, batches of 2, a reflection after 4 summaries, made of 4, unless told otherwise."""
    numbers = {
        "window_messages": 2,
        "summary_batch": 2,
        "extracts": False,
        "reflection_threshold": 4,
        "reflection_episodes": 4,
        **life,
    }
    return Settings(life=LifeSettings(**numbers))  # pyright: ignore[reportArgumentType] -- names of LifeSettings


def numbered() -> Callable[[Prompt], Script]:
    """Answers that differ: a summary, or a reflection where one is asked for."""
    count = 0

    def answer(prompt: Prompt) -> Script:
        nonlocal count
        count += 1
        return f'{{"reflection": "Anna likes boats, {count}."}}' if prompt.schema else f"Summary number {count}."

    return answer


def failing_after_the_reply(store: Store, clock: Clock, step: int, settings: Settings) -> Mnemic:
    """A Mnemic whose store fails once, at the `step`-th step after the first reply of its model."""
    fault, answer = Fault(0), numbered()

    def answered(prompt: Prompt) -> Script:
        fault.nth = fault.nth or fault.steps + step
        return answer(prompt)

    return opened(FaultyStore(store, fault), clock, answered, settings=settings)[0]


def say(mnemic: Mnemic, number: int, scope: Scope = ANNA, start: int = 1) -> None:
    """Capture messages, each by itself: the user tells of boat 1, 2, 3."""
    for place in range(start, start + number):
        mnemic.capture(scope, user=f"I bought the boat {place} in harbour {place}.")


def made(mnemic: Mnemic, kind: Kind = Kind.SUMMARY, scope: Scope = ANNA) -> list[Memory]:
    """The memories of a kind, in the order of what they were made of."""
    found = mnemic.list(scope, kinds=[kind], limit=1000).memories
    return sorted(found, key=lambda memory: (memory.created_at, positions_in(memory.bookkeeping)))


def positions(memories: Sequence[Memory]) -> list[tuple[int, int]]:
    """The first and the last position that each covers."""
    return sorted(positions_in(memory.bookkeeping) for memory in memories)


def jobs(mnemic: Mnemic, kind: str, scope: Scope = ANNA) -> list[Job]:
    """All jobs of a kind, oldest first."""
    return [job for job in mnemic.jobs.list(scope, states=ALL, limit=1000) if job.kind == kind]
