"""Fault injection: the Nth call on any port fails, for every N, and the store is in its old or its new state."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, cast

from mnemic.errors import UnavailableError
from mnemic.model.health import Finding
from mnemic.ports.store import Store, StoreCapabilities, UnitOfWork
from mnemic.testing.observation import state_of
from mnemic.testing.samples import (
    HERS,
    MINUTE,
    NOW,
    a_document,
    a_job,
    a_memory,
    a_message,
    a_profile_entry,
    a_vector,
    an_entry,
    passages,
    terms,
)
from mnemic.testing.store_entity_vectors import an_entity_vector
from mnemic.testing.store_graph import a_sheet, named

PORTS = tuple(name for name, part in vars(UnitOfWork).items() if isinstance(part, property))


@dataclass(slots=True)
class Fault:
    """Fails the `nth` step (from 1), before it is taken or after. Steps are the calls on ports and the commit."""

    nth: int
    is_after: bool = False
    steps: int = field(default=0, init=False)

    def begin(self) -> None:
        """A step is about to be taken; fails if it is the one that fails before."""
        self.steps += 1
        if self.steps == self.nth and not self.is_after:
            raise UnavailableError(f"step {self.nth} fails on purpose before it is taken")

    def end(self) -> None:
        """The step was taken; fails if it is the one that fails after."""
        if self.steps == self.nth:
            raise UnavailableError(f"step {self.nth} fails on purpose after it was taken")


class _FaultyPort:
    def __init__(self, port: object, fault: Fault) -> None:
        self._port = port
        self._fault = fault

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._port, name)

        def call(*args: Any, **kwargs: Any) -> object:
            self._fault.begin()
            answer = method(*args, **kwargs)
            self._fault.end()
            return answer

        return call


class _FaultyUnitOfWork:
    def __init__(self, work: UnitOfWork, fault: Fault) -> None:
        for name in PORTS:
            setattr(self, name, _FaultyPort(getattr(work, name), fault))


class FaultyStore:
    """A `Store` around another one, whose writing units of work fail by plan."""

    def __init__(self, store: Store, fault: Fault) -> None:
        self._store = store
        self._fault = fault

    @property
    def capabilities(self) -> StoreCapabilities:
        """Those of the store within."""
        return self._store.capabilities

    @contextmanager
    def read(self) -> Generator[UnitOfWork]:
        """A unit of work that reads; it does not fail."""
        with self._store.read() as work:
            yield work

    @contextmanager
    def write(self, *, is_erasing: bool = False) -> Generator[UnitOfWork]:
        """A unit of work whose calls and whose commit are steps of the fault."""
        with self._store.write(is_erasing=is_erasing) as work:
            yield cast("UnitOfWork", _FaultyUnitOfWork(work, self._fault))
            self._fault.begin()
        self._fault.end()

    def diagnose(self, *, is_quick: bool = False) -> list[Finding]:
        """What the store within says of itself."""
        return self._store.diagnose(is_quick=is_quick)

    def check(self) -> None:
        """As of the store."""
        self._store.check()

    def scrub(self) -> tuple[str, ...]:
        """What the store within could not remove from its files."""
        return self._store.scrub()

    def close(self) -> None:
        """Close the store within."""
        self._store.close()


_: type[Store] = FaultyStore


def check_every_fault(
    make_store: Callable[[], Store], prepare: Callable[[Store], object], write: Callable[[Store], object]
) -> int:
    """Fails every step of `write`, once before and once after it is taken: each time the prepared store is in its old
    state or in the new one. `write` must do the same every time. Returns how many faults there were.
    """
    old, new = _state_after(make_store, prepare, lambda _: None), _state_after(make_store, prepare, write)
    assert old != new, "the write changes nothing, so that its faults prove nothing"
    faults = 0
    for is_after in (False, True):
        for nth in count(1):
            fault = Fault(nth, is_after)
            state = _state_after(make_store, prepare, partial(_write_with_fault, write, fault))
            assert state in (old, new), f"step {nth} failed ({is_after=}) and half of the write was left behind"
            if fault.steps < nth:
                break
            faults += 1
    return faults


def _write_with_fault(write: Callable[[Store], object], fault: Fault, store: Store) -> None:
    with suppress(UnavailableError):
        write(FaultyStore(store, fault))


def _state_after(
    make_store: Callable[[], Store], prepare: Callable[[Store], object], write: Callable[[Store], object]
) -> object:
    store = make_store()
    prepare(store)
    write(store)
    state = state_of(store)
    store.close()
    return state


class FaultsContract:
    """A write through every port in one unit of work, with every fault."""

    def test_a_failure_of_any_call_leaves_the_old_state_or_the_new_never_half(self, make_store: Callable[[], Store]):
        old, erased, new = a_memory("old"), a_memory("erased"), a_memory("new")
        message, job, entry = a_message(1), a_job(), an_entry(old.id)
        fact, ready, gone = a_profile_entry("age"), a_document("a.md"), a_document("b.md")
        first, second = passages(ready, "Tea"), passages(ready, "Milk")

        def prepare(store: Store) -> None:
            with store.write() as work:
                work.memories.add([(old, terms("old")), (erased, terms("erased"))])
                work.jobs.add([replace(job, id="first", key="first")])
                work.documents.fill(ready, "Tea", [(first[0], terms("tea"))])
                work.documents.put([gone])
                work.graph.put(HERS, [a_sheet(erased.id, named("Acme"), named("Oslo")), a_sheet(old.id, named("Acme"))])

        def write(store: Store) -> None:
            with store.write() as work:
                work.messages.conversation(HERS, "s1", NOW)
                work.messages.add([(message, terms("good morning"))])
                work.memories.add([(new, terms("new"))])
                work.memories.replace(replace(old, text="newer"), terms("newer"), NOW)
                work.memories.touch(HERS, {old.id: 1}, NOW)
                work.memories.erase(HERS, [erased.id], NOW)
                work.conversations.move(HERS, "s1", "summarised", 0, 1)
                work.upkeep.fade(HERS, {new.id: 0.1})
                work.upkeep.start_run("evict", None, NOW)
                work.documents.put([a_document("c.md", id="c")])
                work.documents.fill(ready, "Milk", [(second[0], terms("milk"))])
                work.documents.erase(HERS, [gone.id], NOW)
                work.graph.put(HERS, [a_sheet(new.id, named("Acme"), named("Ulm")), a_sheet(message.id, named("Oslo"))])
                work.entity_vectors.put(HERS, [an_entity_vector("Ulm"), an_entity_vector("Acme")])
                work.vectors.put(HERS, [a_vector(new.id), a_vector(message.id), a_vector(second[0].id)], NOW)
                work.history.add([entry])
                work.profiles.put([fact])
                work.jobs.add([job])
                claimed = work.jobs.claim(["curate"], "w1", NOW, NOW + MINUTE)
                assert claimed is not None
                work.jobs.finish(claimed)

        steps = 21  # twenty calls and the commit
        assert check_every_fault(make_store, prepare, write) == 2 * steps
