"""Kills workers in the middle of every kind of job, and checks that the work is still done exactly once.

For each kind of job, there is a file with memories and conversations of several users, and one such job for each user.
One worker runs these jobs undisturbed, which gives the expected result. Then, in each round, two workers start on a
copy and are killed with SIGKILL after a random number of jobs and a random pause. Their leases are treated as expired,
and another worker completes the jobs. The results must be the same as without the kill: memories with their state,
faded importance and vectors, history, profile, cursors of conversations, receipts, and jobs that follow. The file must
pass SQLite's integrity_check.

    python drills/kill_jobs.py [--rounds 20 | --long]
"""

from __future__ import annotations

import random
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, parts_of
from drills.kit.nursery import be_a_nursery, kill_round, nursery, say
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.engine.conversation import capture, end
from mnemic.engine.engine import Engine, new_id
from mnemic.engine.erase import delete
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import run_jobs, work
from mnemic.engine.kinds import (
    CONSOLIDATE_SUMMARY,
    CURATE,
    DECAY,
    EMBED,
    EVICT,
    EXPIRE,
    EXTRACT,
    REFLECT,
    REMAKE,
    SUMMARISE,
)
from mnemic.model.item import Kind, MessageDraft, Role
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.records import Job, JobState
from mnemic.model.scope import Level, Scope

USERS = [f"user{number:02d}" for number in range(12)]
MEMORIES = 20
TURNS = 30
MEMORIES_OF_DAYS = (300, 200)
"""Old enough to be evicted in the end; the first already at `EVICTED_DAYS`, so that the end deletes some of them."""
EVICTED_DAYS = 40
WORKERS = 2
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
ORDER = (EMBED, EXTRACT, SUMMARISE, CONSOLIDATE_SUMMARY, REFLECT, REMAKE, CURATE, DECAY, EVICT)
"""Each kind works on what the kinds before it have left."""
CURSORS = ("extracted", "summarised", "unreflected", "curated", "curate_tries")
OF_A_SESSION = (EXTRACT, SUMMARISE, REFLECT)
Ending = dict[str, Counter[str]]
"""What is there in the end, counted under what it is."""


@dataclass(frozen=True, slots=True)
class Still:
    """A clock that stands still, so that fading is the same whoever computes it when."""

    at: datetime = NOW

    def now(self) -> datetime:
        """Always the same."""
        return self.at


def kinds() -> list[str]:
    """Those that have handlers, in the order in which they follow each other."""
    return [*(kind for kind in ORDER if kind in HANDLERS), *sorted(set(HANDLERS) - set(ORDER))]


def people(path: Path) -> None:
    """A file with users, their old and older memories, and a conversation each; nothing has a vector yet."""
    chance = random.Random(1)  # noqa: S311 -- no secret hangs on it
    for age_days in MEMORIES_OF_DAYS:
        with Mnemic(
            parts_of(path, clock=_days_ago(age_days), has_embedder=False), actor="drill", has_worker=False
        ) as mnemic:
            for user in USERS:
                texts = [f"{user} noted {number}, {age_days} days ago" for number in range(MEMORIES)]
                notes = [{"text": text, "importance": chance.random()} for text in texts]
                mnemic.remember_many(Scope(user=user), notes)
    parts = parts_of(path, clock=_days_ago(EVICTED_DAYS), has_embedder=False)
    with Mnemic(parts, has_worker=False):
        for kind in (DECAY, EVICT):
            add_jobs(parts, kind)
            do(parts, kind, "beginning")
    with Mnemic(parts_of(path, clock=_days_ago(0), has_embedder=False), actor="drill", has_worker=False) as mnemic:
        for user in USERS:
            said = [
                [{"role": "user", "content": f"{user} likes {n}"}, {"role": "assistant", "content": f"Noted {n}."}]
                for n in range(TURNS)
            ]
            mnemic.capture_many(Scope(user=user, session=_session(user)), said)


def add_jobs(parts: Engine, kind: str) -> None:
    """A job of the kind for each user, unless one waits from the kind before; summaries leave their own."""
    if kind == REMAKE:
        erase_something(parts)
    if kind == EXPIRE:
        end_ephemeral_sessions(parts)
    if kind in (REMAKE, CONSOLIDATE_SUMMARY, EXPIRE):
        return
    now = parts.clock.now()
    jobs: list[Job] = []
    for user in USERS:
        session = _session(user)
        payload = {"session": session, "first": 1, "last": 2 * TURNS} if kind in OF_A_SESSION else {}
        place, key = Scope(user=user).partition(Level.USER), session if payload else kind
        jobs.append(
            Job(id=new_id(now), partition=place, kind=kind, key=key, created_at=now, run_at=now, payload=payload)
        )
    with parts.store.write() as unit:
        unit.jobs.add(jobs)


def erase_something(parts: Engine) -> None:
    """A message of each user that a summary was made of, among others: it leaves a job, and that one the next."""
    for user in USERS:
        scope = Scope(user=user)
        query = MemoryQuery(now=parts.clock.now(), kinds=(Kind.SUMMARY,), order=Order.OLDEST, limit=1)
        with parts.store.read() as unit:
            (summary,) = unit.memories.list(scope.visibility, query)
        delete(parts, scope, summary.provenance[0].source_id, actor="drill")


def end_ephemeral_sessions(parts: Engine) -> None:
    """Capture and end an ephemeral session of each user. It leaves a job that erases it, and one for its expiry."""
    for user in USERS:
        scope = Scope(user=user, session=f"ephemeral talk of {user}")
        capture(parts, scope, [[MessageDraft(role=Role.USER, text=f"{user} told a secret")]], is_ephemeral=True)
        end(parts, scope, actor="drill")


def do(parts: Engine, kind: str, worker: str) -> None:
    """All jobs of one kind; those of others stay. Raises when one fails."""
    report = work(parts, {kind: HANDLERS[kind]}, worker=worker)
    if report.retried or report.dead:
        raise RuntimeError(f"jobs failed: {report}")


def be_killed(path: Path, kind: str, worker: str) -> None:
    """Do the jobs, telling each, and then wait for the end."""
    for run in run_jobs(parts_of(path, clock=Still()), {kind: HANDLERS[kind]}, worker=worker):
        say(f"{run.outcome}")
    while True:
        time.sleep(3600)


def ending(path: Path) -> Ending:
    """What is there, under what it is."""
    found: Ending = {name: Counter() for name in ("memories", "profile", "cursors", "jobs that follow")}
    parts = parts_of(path, clock=Still())
    with Mnemic(parts, has_worker=False), parts.store.read() as unit:
        for place in unit.partitions.all():
            for memory in unit.upkeep.memories(place, "", 1_000_000):
                told = (memory.kind, memory.state, memory.importance, memory.faded, memory.trust, memory.text)
                found["memories"][f"{place.owner}: {told}"] += 1
            for entry in unit.profiles.of(place):
                found["profile"][f"{place.owner}: {entry.key} is {entry.value}"] += 1
            for name in CURSORS:
                found["cursors"][f"{place.owner}: {name}"] += unit.conversations.cursor(
                    place, _session(place.owner), name
                )
            found["vectors"] = found.get("vectors", Counter()) + Counter(unit.partitions.count([place]))
        found["receipts"] = Counter({"erasures": len(unit.erasure.receipts(Scope(user=USERS[0]).org))})
        waiting = unit.jobs.list(None, (JobState.PENDING, JobState.RUNNING, JobState.DEAD), 1_000_000)
    found["jobs that follow"].update(f"{job.partition.owner}: {job.kind} is {job.state}" for job in waiting)
    with closing(sqlite3.connect(path)) as connection:
        found["history"] = Counter(dict(connection.execute("SELECT action, count(*) FROM history GROUP BY action")))
    return found


def differences(expected: Ending, found: Ending) -> list[str]:
    """What was lost and what is there too often."""
    lost = [f"lost: {name} {what}" for name in expected for what in expected[name] - found[name]]
    return lost + [f"too much: {name} {what}" for name in found for what in found[name] - expected[name]]


@dataclass(slots=True)
class Drill:
    """One kind of job. `before` is a file as the kinds before left it, and becomes the one that this kind leaves."""

    folder: Path
    before: Path
    kind: str
    kills_in_work: int = 0
    done_before_kills: int = 0

    def problems(self, rounds: int, seed: int) -> list[str]:
        """What differs from the work of a worker that nobody killed."""
        chance = random.Random(f"{seed} {self.kind}")  # noqa: S311 -- no secret hangs on it
        prepared, undisturbed = self.folder / f"{self.kind}.db", self.folder / f"{self.kind}-undisturbed.db"
        _copy(self.before, prepared)
        parts = parts_of(prepared, clock=Still())
        with Mnemic(parts, has_worker=False):
            add_jobs(parts, self.kind)
        _copy(prepared, undisturbed)
        self._finish(undisturbed)
        expected, problems = ending(undisturbed), list[str]()
        with nursery([__file__, "--nursery", str(self.folder), "--kind", self.kind]) as here:
            for number in range(rounds):
                path = _path(self.folder, self.kind, f"r{number}")
                _copy(prepared, path)
                self.done_before_kills += len(kill_round(here, number, chance, len(USERS) - 1))
                self._release(path)
                self._finish(path)
                found = [*differences(expected, ending(path)), *file_problems(path)]
                problems += [f"{self.kind}, round {number}: {problem}" for problem in found]
        self.before = undisturbed
        return problems

    def _release(self, path: Path) -> None:
        """The leases of the killed run out; the clock of the drill stands still."""
        with closing(sqlite3.connect(path)) as connection, connection:
            running = connection.execute("UPDATE jobs SET leased_until = 0 WHERE state = 'running'").rowcount
        self.kills_in_work += running

    def _finish(self, path: Path) -> None:
        parts = parts_of(path, clock=Still())
        with Mnemic(parts, has_worker=False):
            do(parts, self.kind, "next")


def run_kinds(folder: Path, rounds: int, seed: int) -> tuple[list[Drill], list[str]]:
    """Drills all kinds, one after the other."""
    before, drills, problems = folder / "people.db", list[Drill](), list[str]()
    people(before)
    for kind in kinds():
        drills.append(Drill(folder, before, kind))
        problems += drills[-1].problems(rounds, seed)
        before = drills[-1].before
    return drills, problems


def main() -> int:
    """Exit code 1 when anything was lost or done twice."""
    words = {"nursery": "start workers in this folder when told; used by the rounds", "kind": "what these workers do"}
    told = options(__doc__, long={"rounds": 100}, words=words, rounds=20, seed=1)
    if told.nursery:
        folder, kind = Path(told.nursery), str(told.kind)
        be_a_nursery(WORKERS, lambda name: be_killed(_path(folder, kind, name.partition("w")[0]), kind, name))
        return 0
    with TemporaryDirectory() as folder:
        drills, problems = run_kinds(Path(folder), told.rounds, told.seed)
    rows = [[drill.kind, *map(str, (told.rounds, drill.done_before_kills, drill.kills_in_work))] for drill in drills]
    facts = {"rounds of each kind": told.rounds, "kills": told.rounds * WORKERS * len(drills)}
    head = ["kind", "rounds", "jobs done before the kills", "jobs cut off"]
    about = __doc__ or ""
    return Outcome(name="kill_jobs", about=about, facts=facts, problems=problems, tables=[(head, rows)]).told()


def _days_ago(days: int) -> Still:
    return Still(NOW - timedelta(days=days))


def _session(user: str) -> str:
    return f"talk of {user}"


def _path(folder: Path, kind: str, number: str) -> Path:
    return folder / f"{kind}-{number}.db"


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
        here.backup(there)


if __name__ == "__main__":
    sys.exit(main())
