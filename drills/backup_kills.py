"""Kills processes in the middle of backups and restores, and fills the disk under them.

In each round, processes are forked that use the same file. One backs up the store over an earlier backup and is killed
with SIGKILL at a random moment. One restores that backup and is killed. Then both run out of disk space. Afterwards,
the backup must be complete: either the earlier one or the new one. The store must contain either its previous rows or
those of the backup, never a mix, and never a user who was erased after the backup was made. A process that has the
store open must see the same rows. At the end, no temporary files may remain.

    python drills/backup_kills.py [--rounds 100 | --long]
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic import Mnemic, Scope, check_backup
from mnemic.config import Config
from mnemic.errors import InvalidInputError, MnemicError, UnavailableError

ANNA, BERT = Scope(user="anna"), Scope(user="bert")
ROWS = 400
WORDS = " and so on" * 60
DONE, REFUSED, ODD = 0, 3, 4
"""How a forked process ends: it did its work, had no room, or failed in another way."""


@dataclass(slots=True)
class Report:
    """What the rounds found; `problems` is empty when every promise held."""

    kills: int = 0
    killed_too_late: int = 0
    restored: int = 0
    left_as_it_was: int = 0
    times_full: int = 0
    problems: list[str] = field(default_factory=list[str])


class Rounds:
    """One store, one backup of it, and what is done to both."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.report = Report()
        self._store, self._backup = folder / "memory.db", folder / "backup.zip"
        self._chance = random.Random(seed)  # noqa: S311 -- no secret hangs on it
        with self._opened() as mnemic:
            mnemic.remember_many(ANNA, [f"then {number}{WORDS}" for number in range(ROWS)])
            mnemic.remember_many(BERT, [f"erased {number}{WORDS}" for number in range(ROWS // 4)])
            mnemic.backup(self._backup)
            mnemic.erase(BERT)
        self._then = self._texts()
        self._seconds = {name: self._timed(action) for name, action in self._actions().items()}

    def run(self, rounds: int) -> Report:
        """Round after round, and then one backup and one restore in peace."""
        for number in range(rounds):
            self._round(f"round {number}")
        for young in self._store.parent.glob("*.unfinished"):
            os.utime(young, (0, 0))  # a restore keeps new empty folders: their process may have just started
        with self._opened() as mnemic:
            mnemic.restore(self._backup, is_replacing=True)
            mnemic.backup(self._backup, is_replacing=True)
        if self._texts() != self._then:
            self.report.problems.append("a restore in peace does not give the rows of the backup")
        left = [path.name for path in self._store.parent.iterdir() if path.name.endswith(".unfinished")]
        if left:
            self.report.problems.append(f"left lying around: {', '.join(left)}")
        return self.report

    def _round(self, name: str) -> None:
        with self._opened() as watching:
            watching.remember(ANNA, f"now {name}")
            now = self._texts()
            watching.recall(ANNA, "then")
            for action, work in self._actions().items():
                self._killed(work, self._seconds[action])
                now = self._check(f"{name}, killed in a {action}", now, watching)
                self._starved(work, name)
                now = self._check(f"{name}, without room in a {action}", now, watching)

    def _actions(self) -> dict[str, Callable[[Mnemic], object]]:
        """Of the same rows each time, so that the backup stays what it is."""
        other = self._backup.with_name("other.zip")
        return {
            "backup": lambda mnemic: mnemic.backup(other, is_replacing=True),
            "restore": lambda mnemic: mnemic.restore(self._backup, is_replacing=True),
        }

    def _killed(self, work: Callable[[Mnemic], object], seconds: float) -> None:
        pid = self._forked(work)
        time.sleep(self._chance.uniform(0, seconds * 1.2))
        os.kill(pid, signal.SIGKILL)
        self.report.kills += 1
        self.report.killed_too_late += not os.WIFSIGNALED(os.waitpid(pid, 0)[1])

    def _starved(self, work: Callable[[Mnemic], object], name: str) -> None:
        room = self._chance.randrange(20_000, self._store.stat().st_size)
        pid = self._forked(work, room)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.report.times_full += code == REFUSED
        if code not in (DONE, REFUSED):
            self.report.problems.append(f"{name}: a process without room ended with {code}")

    def _check(self, name: str, before: set[str], watching: Mnemic) -> set[str]:
        """What the store holds now; it must be what it held, or the backup."""
        found = self._texts()
        if found not in (before, self._then):
            odd = min(found ^ self._then, default="")[:40]
            self.report.problems.append(f"{name}: the store holds a mix, such as {odd!r}")
        self.report.restored += found == self._then
        self.report.left_as_it_was += found != self._then
        if {each.text for each in watching.list(ANNA, limit=2 * ROWS).memories} != found:
            self.report.problems.append(f"{name}: a process that has it open sees other rows")
        if any(hit.text not in found for hit in watching.recall(ANNA, "now and then", limit=50)):
            self.report.problems.append(f"{name}: a process that has it open finds what is gone")
        if watching.list(BERT).memories:
            self.report.problems.append(f"{name}: who was erased is back")
        for path in (self._backup, self._backup.with_name("other.zip")):
            try:
                check_backup(path, room=path.parent)
            except InvalidInputError as error:
                self.report.problems.append(f"{name}: {error}")
        with closing(sqlite3.connect(self._store)) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                self.report.problems.append(f"{name}: the file is damaged")
        return found

    def _forked(self, work: Callable[[Mnemic], object], room: int | None = None) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = ODD
        try:
            with self._opened() as mnemic:
                if room is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
                work(mnemic)
            code = DONE
        except UnavailableError:
            code = REFUSED
        except MnemicError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(code)

    def _timed(self, work: Callable[[Mnemic], object]) -> float:
        start = time.perf_counter()
        os.waitpid(self._forked(work), 0)
        return time.perf_counter() - start

    def _texts(self) -> set[str]:
        with self._opened() as mnemic:
            return {each.text for each in mnemic.list(ANNA, limit=2 * ROWS).memories}

    def _opened(self) -> Mnemic:
        return Mnemic.open(Config(store=str(self._store), embedder="none"), has_worker=False)


def main() -> int:
    """Prints the report; returns 1 when a promise did not hold."""
    told = options(__doc__, long={"rounds": 500}, rounds=100)
    with TemporaryDirectory() as folder:
        report = Rounds(Path(folder), seed=1).run(told.rounds)
    facts: dict[str, object] = {
        "kills": report.kills,
        "of them when all was done": report.killed_too_late,
        "runs without room that were refused": report.times_full,
        "times the store then held the backup": report.restored,
        "times it held what it had": report.left_as_it_was,
    }
    return Outcome(name="backup_kills", about=__doc__ or "", facts=facts, problems=report.problems).told()


if __name__ == "__main__":
    sys.exit(main())
