"""A state machine that uses the store under test and the reference side by side, and compares every answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.errors import MnemicError
from mnemic.ports.store import Store
from mnemic.testing.observation import plain, state_of
from mnemic.testing.random_documents import Operation
from mnemic.testing.random_use import RandomUse
from mnemic.testing.samples import ANNA, ANNA_ELSEWHERE, BERT, MINUTE

SETTINGS = settings(
    max_examples=30,
    stateful_step_count=30,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
OPERATIONS_PER_UNIT = 6
QUESTIONS_PER_UNIT = 16
SEEDS = st.integers(0, 2**32 - 1)  # a draw for every choice would soon be more than hypothesis takes in one example
CROWD = (
    ANNA,
    BERT,
    ANNA_ELSEWHERE,
    replace(ANNA, agent="friday"),
    replace(ANNA, user=None),
    replace(ANNA, session=None),
)


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
        self._steps = 0
        self._stores: tuple[Store, Store] = (make_store(), MemoryStore())
        self._use = RandomUse(Random(0), CROWD)  # noqa: S311 -- each rule seeds it

    @rule(seed=SEEDS, size=st.integers(1, OPERATIONS_PER_UNIT))
    def write(self, seed: int, size: int) -> None:
        """One unit of work; some are interrupted."""
        self._begin(seed)
        is_interrupted = self._use.random.randint(0, 5) == 0
        unit = Unit(tuple(self._use.writing() for _ in range(size)), is_interrupted)
        under_test, reference = (unit.run(store) for store in self._stores)
        assert under_test == reference

    @rule(seed=SEEDS, size=st.integers(1, QUESTIONS_PER_UNIT))
    def read(self, seed: int, size: int) -> None:
        """Some questions to both."""
        self._begin(seed)
        questions = [self._use.reading() for _ in range(size)]
        answers: list[list[object]] = []
        for store in self._stores:
            with store.read() as work:
                answers.append([plain(question(work)) for question in questions])
        assert answers[0] == answers[1]

    def _begin(self, seed: int) -> None:
        self._steps += 1  # hypothesis likes to draw the same number again; the same operation again teaches little
        self._use.random.seed(f"{seed}/{self._steps}")

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


def compare_with_reference(make_store: Callable[[], Store], how: settings = SETTINGS) -> None:
    """Runs the machine; raises `AssertionError` with the steps that led to a difference."""

    class Machine(StoreMachine):
        def __init__(self) -> None:
            super().__init__(make_store)

    run_state_machine_as_test(Machine, settings=how)


class MachineContract:
    """The state machine as a test."""

    def test_random_use_gets_the_answers_of_the_reference_store(self, make_store: Callable[[], Store]):
        compare_with_reference(make_store)
