"""Kills writers at random moments, and checks that no acknowledged write is lost and no write is incomplete.

In each round, several processes write to one SQLite file and print a line for each committed unit of work. All of them
are killed with SIGKILL after a random number of lines and a random pause, and the file is checked. A unit of work
consists of one memory with a vector, a history entry and a job. Whether it was acknowledged or not, it must be stored
completely or not at all.

    python drills/kill_rounds.py [--rounds 200 | --long] --writers 2
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.nursery import be_a_nursery, kill_round, nursery, say
from drills.kit.outcome import Outcome, options
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.model.candidates import Terms
from mnemic.model.item import Kind, Memory
from mnemic.model.recall import MemoryQuery
from mnemic.model.records import Action, HistoryEntry, Job, JobState
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import MAIN_VIEW, UnitOfWork, VectorRow

SCOPE = Scope(user="anna")
PARTITION = SCOPE.partition(Level.USER)
SPACE = "drill"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
MOST_LINES = 6


@dataclass(slots=True)
class Report:
    """What the rounds found; `problems` is empty when nothing was lost and nothing is half there."""

    kills: int = 0
    acknowledged: int = 0
    unacknowledged: int = 0
    problems: list[str] = field(default_factory=list[str])


def run_rounds(path: Path, *, rounds: int, writers: int, seed: int) -> Report:
    """Runs the rounds on one file, which grows from round to round."""
    chance, report, acknowledged = random.Random(seed), Report(), set[str]()  # noqa: S311 -- no secret hangs on it
    with nursery([__file__, "--nursery", str(path), "--writers", str(writers)]) as here:
        for number in range(rounds):
            acknowledged.update(kill_round(here, number, chance, MOST_LINES))
            report.kills += writers
            report.problems += [f"round {number}: {problem}" for problem in _problems(path, acknowledged)]
    report.acknowledged = len(acknowledged)
    report.unacknowledged = len(_rows(path)[0]) - len(acknowledged)
    return report


def write_for_ever(path: Path, name: str) -> None:
    """The writer: one unit of work after the other, each acknowledged by its id on a line."""
    store = SqliteStore(path)
    for number in count():
        item_id = f"{name}-{number}"
        with store.write() as work:
            _write(work, item_id)
        say(item_id)


def main() -> int:
    """Prints the report; returns 1 when anything was lost."""
    words = {"nursery": "start writers on this file when told; used by the rounds"}
    told = options(__doc__, long={"rounds": 1000}, words=words, rounds=200, writers=2, seed=1)
    if told.nursery:
        be_a_nursery(told.writers, lambda name: write_for_ever(Path(told.nursery), name))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        report = run_rounds(Path(folder) / "memory.db", rounds=told.rounds, writers=told.writers, seed=told.seed)
    facts = {
        "kills": report.kills,
        "acknowledged units of work": report.acknowledged,
        "more that were committed before their line": report.unacknowledged,
    }
    return Outcome(name="kill_rounds", about=__doc__ or "", facts=facts, problems=report.problems).told()


def _write(work: UnitOfWork, item_id: str) -> None:
    memory = Memory(
        id=item_id,
        partition=PARTITION,
        text=f"note {item_id}",
        kind=Kind.FACT,
        dedup_key=item_id,
        created_at=BEGINNING,
        updated_at=BEGINNING,
        observed_at=BEGINNING,
    )
    entry = HistoryEntry(
        id=item_id,
        partition=PARTITION,
        item_id=item_id,
        action=Action.CREATED,
        actor="drill",
        reason="",
        at=BEGINNING,
        before={},
        after={},
    )
    job = Job(id=item_id, partition=PARTITION, kind="drill", key=item_id, created_at=BEGINNING, run_at=BEGINNING)
    work.memories.add([(memory, Terms("drill", memory.text))])
    work.vectors.put(PARTITION, [VectorRow(item_id, MAIN_VIEW, SPACE, np.ones(8, np.float32))], BEGINNING)
    work.history.add([entry])
    work.jobs.add([job])


def _problems(path: Path, acknowledged: set[str]) -> list[str]:
    """What is wrong with the file, one sentence each."""
    problems: list[str] = []
    ids, others, version = _rows(path)
    lost = acknowledged - ids
    if lost:
        problems.append(f"{len(lost)} acknowledged units of work are lost, such as {min(lost)}")
    problems += [
        f"{name} do not match the memories: {len(ids ^ found)} differ" for name, found in others if ids ^ found
    ]
    if version != len(ids):
        problems.append(f"the version is {version} after {len(ids)} commits")
    with closing(sqlite3.connect(path)) as connection:
        integrity = connection.execute("PRAGMA integrity_check").fetchall()
    return problems if integrity == [("ok",)] else [*problems, f"integrity_check: {integrity[0][0]}"]


def _rows(path: Path) -> tuple[set[str], list[tuple[str, set[str]]], int]:
    """The ids of the memories, of what must stand beside each, and the version."""
    store = SqliteStore(path)
    with store.read() as work:
        ids = work.memories.ids(SCOPE.visibility, MemoryQuery(now=BEGINNING))
        vectors = set(work.vectors.get(PARTITION, list(ids), MAIN_VIEW, SPACE))
        jobs = {job.id for job in work.jobs.list(None, [JobState.PENDING], 10**9)}
        told = {item_id for item_id in ids | jobs if work.history.of(SCOPE.visibility, item_id)}
        version = work.partitions.versions([PARTITION])[PARTITION]
    store.close()
    return ids, [("vectors", vectors), ("jobs", jobs), ("history entries", told)], version


if __name__ == "__main__":
    sys.exit(main())
