"""Kills processes that move an org from one store to another during writes.

In each round, a process writes memories to an org as fast as it can, and switches to the other store when the org
has moved. A second process moves the org and is killed with SIGKILL at random moments until it completes a move.
Some killed moves are cancelled before the next attempt, by processes that may be killed too. Afterwards, the other
store must hold every acknowledged memory exactly once. The move itself compares the digests of the two stores while
writes are stopped. The former store must refuse the org. A third process writes to another org in the same store, and
none of its writes may fail. At the end, a large org is moved once without interruption to measure the speed.

    python drills/move_kills.py [--rounds 40 | --long]
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic import Mnemic, Scope, follow_pages
from mnemic.build import build, open_store
from mnemic.config import Config
from mnemic.engine.move import MoveReport, cancel_move, move_org
from mnemic.errors import ConflictError, MnemicError, NotFoundError, UnavailableError
from mnemic.ports.store import MAIN_VIEW, VectorRow

ORG, OTHER = "acme", "globex"
ROWS, USERS = 300, 10
ROWS_IN_PEACE = 10_000
WORDS = " and so on" * 20
DIMS = 384
PATIENCE_S = 1.0
CANCELLED = 0.4  # probability
DONE, LOST = 0, 4


@dataclass(slots=True)
class Report:
    """What the rounds found; `problems` is empty when every promise held."""

    kills: int = 0
    cancels: int = 0
    completed: int = 0
    acknowledged: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list[str])


def config(path: Path) -> Config:
    """A store without vectors."""
    return Config(store=str(path), embedder="none")


def scope(number: int, org: str = ORG) -> Scope:
    """One of the org's users."""
    return Scope(org=org, user=f"user {number % USERS}")


def move(source: Path, target: Path) -> MoveReport:
    """One move in this process."""
    engine, other = build(config(source)), open_store(config(target))
    try:
        return move_org(engine, other, ORG, told=ignore)
    finally:
        engine.readers.close()
        engine.index.close()
        engine.store.close()
        other.close()


def cancel(source: Path, target: Path) -> None:
    """Cancel the org's move in this process, unless it has switched."""
    engine, other = build(config(source)), open_store(config(target))
    try:
        with suppress(ConflictError):
            cancel_move(engine, other, ORG)
    finally:
        engine.readers.close()
        engine.index.close()
        engine.store.close()
        other.close()


def ignore(_step: str, _done: int, _total: int) -> None:
    """A progress callback that does nothing."""


class Rounds:
    """Rounds of moves over new stores, each with a writer."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.report = Report()
        self._folder = folder
        self._chance = random.Random(seed)  # noqa: S311 -- no secret hangs on it

    def run(self, rounds: int) -> Report:
        """All rounds."""
        for number in range(rounds):
            self._round(number)
        return self.report

    def _round(self, number: int) -> None:
        source, target = self._folder / f"{number}-a.db", self._folder / f"{number}-b.db"
        log = self._folder / f"{number}.txt"
        with Mnemic.open(config(source), has_worker=False) as mnemic:
            for user in range(USERS):
                mnemic.remember_many(scope(user), [f"before {user} {row}{WORDS}" for row in range(ROWS // USERS)])
        writer = fork(lambda: write(source, target, log))
        patience_s = PATIENCE_S
        while not self._has_ended(lambda: move(source, target), self._chance.uniform(0, patience_s)):
            patience_s *= 1.1  # else a busy machine would never complete a move
            if self._chance.random() < CANCELLED:
                ended = self._has_ended(lambda: cancel(source, target), self._chance.uniform(0, patience_s))
                self.report.cancels += ended
        self.report.completed += 1
        time.sleep(0.2)
        (self._folder / f"{number}.txt.end").touch()
        if os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) != DONE:
            self.report.problems.append(f"round {number}: a write of the other org failed")
        self._check(f"round {number}", source, target, log)

    def _has_ended(self, work: Callable[[], object], patience_s: float) -> bool:
        """Run `work` in a process that is killed after `patience_s`. True if it ended first."""
        start, pid = time.perf_counter(), fork(work)
        while time.perf_counter() < start + patience_s:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                if os.waitstatus_to_exitcode(status) != DONE:
                    self.report.problems.append(f"a move or cancel failed with {os.waitstatus_to_exitcode(status)}")
                return True
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.report.kills += 1
        return False

    def _check(self, name: str, source: Path, target: Path, log: Path) -> None:
        lines = log.read_text("utf-8").splitlines()
        expected = Counter(line[1:] for line in lines if line.startswith("+"))
        self.report.acknowledged += expected.total()
        self.report.refused += sum(line.startswith("-") for line in lines)
        expected.update(f"before {user} {row}{WORDS}" for user in range(USERS) for row in range(ROWS // USERS))
        with Mnemic.open(config(target), has_worker=False) as mnemic:
            users = [scope(user) for user in range(USERS)]
            found = Counter(each.text for user in users for each in follow_pages(mnemic.list, user, limit=1000))
        for text in (expected - found) | (found - expected):
            self.report.problems.append(f"{name}: {text[:30]!r} is there {found[text]} times, not {expected[text]}")
        with Mnemic.open(config(source), has_worker=False) as mnemic:
            try:
                mnemic.list(scope(0))
                self.report.problems.append(f"{name}: the former store still serves the org")
            except NotFoundError:
                pass


def write(source: Path, target: Path, log: Path) -> None:
    """Write until told to end. Acknowledged texts go to the log with +, refused ones with -."""
    end, at = log.with_name(f"{log.name}.end"), 0
    with (
        log.open("w", encoding="utf-8", buffering=1) as kept,
        Mnemic.open(config(source), has_worker=False) as first,
        Mnemic.open(config(target), has_worker=False) as second,
    ):
        here = first
        while not end.exists():
            at += 1
            first.remember(scope(at, OTHER), f"other {at}")
            try:
                here.remember(scope(at), f"during {at}")
                kept.write(f"+during {at}\n")
            except NotFoundError:
                here = second
            except UnavailableError:
                kept.write(f"-during {at}\n")
                time.sleep(0.01)


def fork(work: Callable[[], object]) -> int:
    """The id of a process that does the work."""
    pid = os.fork()
    if not pid:
        code = LOST
        try:
            work()
            code = DONE
        except MnemicError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(code)
    return pid


def move_in_peace(folder: Path) -> MoveReport:
    """A move of many memories with random vectors, for its speed."""
    source, rng = folder / "many.db", np.random.default_rng(1)
    with Mnemic.open(config(source), has_worker=False) as mnemic:
        for user in range(USERS):
            texts = [f"user {user} noted thing {row}{WORDS}" for row in range(ROWS_IN_PEACE // USERS)]
            mnemic.remember_many(scope(user), texts)
    store = open_store(config(source))
    with store.write() as work:
        for partition in work.partitions.all():
            ids = [item_id for item_id, _ in work.vectors.missing(partition, "random", ROWS_IN_PEACE)]
            vectors = rng.normal(size=(len(ids), DIMS)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            rows = [
                VectorRow(item_id, MAIN_VIEW, "random", vector) for item_id, vector in zip(ids, vectors, strict=True)
            ]
            work.vectors.put(partition, rows, datetime.now(UTC))
    store.close()
    return move(source, folder / "there.db")


def main() -> int:
    """Prints the report; returns 1 when a promise did not hold."""
    told = options(__doc__, long={"rounds": 200}, rounds=40)
    with TemporaryDirectory() as folder:
        report = Rounds(Path(folder), seed=1).run(told.rounds)
        peace = move_in_peace(Path(folder))
    rows, copying_s = sum(peace.rows.values()), peace.seconds - peace.stopped_s
    facts: dict[str, object] = {
        "kills": report.kills,
        "cancellations completed": report.cancels,
        "moves completed": report.completed,
        "writes acknowledged during moves": report.acknowledged,
        "writes temporarily refused": report.refused,
        "memories moved without interruption": f"{ROWS_IN_PEACE:,}",
        "their rows in all tables": f"{rows:,}",
        "memories/s copied, before the write stop": f"{ROWS_IN_PEACE / copying_s:,.0f}",
        "memories/s compared, during the write stop": f"{ROWS_IN_PEACE / peace.stopped_s:,.0f}",
    }
    return Outcome(name="move_kills", about=__doc__ or "", facts=facts, problems=report.problems).told()


if __name__ == "__main__":
    sys.exit(main())
