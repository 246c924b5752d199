"""A state machine that uses the store under test and the reference side by side, and compares every answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.errors import MnemicError
from mnemic.ports.store import Store
from mnemic.testing.observation import plain, state_of
from mnemic.testing.random_use import Operation, RandomUse
from mnemic.testing.samples import MINUTE

SETTINGS = settings(
    max_examples=40,
    stateful_step_count=25,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
OPERATIONS_PER_UNIT = 4


class Interrupted(Exception):  # noqa: N818 -- it is no error: it ends a unit of work on purpose
    """Raised in the middle of a unit of work."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Operations of one unit of work, and whether it raises after them."""

    operations: tuple[Operation, ...]
    is_interrupted: bool

    def run(self, store: Store) -> list[object]:
        """The answers, and, where it ended badly, why."""
        answers: list[object] = []
        try:
            with store.write() as work:
                answers.extend(plain(operation(work)) for operation in self.operations)
                self._maybe_stop()
        except (Interrupted, MnemicError) as error:
            answers.append(type(error).__name__)
        return answers

    def _maybe_stop(self) -> None:
        if self.is_interrupted:
            raise Interrupted


class StoreMachine(RuleBasedStateMachine):
    """Random use of two stores at once; a moving clock decides about expiry and leases."""

    def __init__(self, make_store: Callable[[], Store]) -> None:
        super().__init__()
        self._stores: tuple[Store, Store] = (make_store(), MemoryStore())
        self._use = RandomUse(Random(0))  # noqa: S311 -- replaced by the random source of each rule

    @rule(random=st.randoms(use_true_random=False), size=st.integers(1, OPERATIONS_PER_UNIT), stops=st.booleans())
    def write(self, random: Random, size: int, stops: bool) -> None:  # noqa: FBT001 -- hypothesis names its arguments
        """One unit of work; a third of them is interrupted."""
        self._use.random = random
        is_interrupted = stops and random.randint(0, 1) == 0
        unit = Unit(tuple(self._use.writing() for _ in range(size)), is_interrupted)
        under_test, reference = (unit.run(store) for store in self._stores)
        assert under_test == reference

    @rule(random=st.randoms(use_true_random=False))
    def read(self, random: Random) -> None:
        """One question to both."""
        self._use.random = random
        operation = self._use.reading()
        answers: list[object] = []
        for store in self._stores:
            with store.read() as work:
                answers.append(plain(operation(work)))
        assert answers[0] == answers[1]

    @rule(minutes=st.integers(1, 3))
    def wait(self, minutes: int) -> None:
        """Time passes."""
        self._use.now += minutes * MINUTE

    def teardown(self) -> None:
        """At the end both hold the same."""
        states = [state_of(store) for store in self._stores]
        for store in self._stores:
            store.close()
        assert states[0] == states[1]


class MachineContract:
    """The state machine as a test."""

    def test_random_use_gets_the_answers_of_the_reference_store(self, make_store: Callable[[], Store]):
        class Machine(StoreMachine):
            def __init__(self) -> None:
                super().__init__(make_store)

        run_state_machine_as_test(Machine, settings=SETTINGS)
