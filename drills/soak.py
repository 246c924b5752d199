"""Checks that memory use levels off under continuous mixed use by many users.

The load consists of captures, recalls, contexts, deletions and jobs. The amount of live data is limited, because each
user's oldest items are deleted when new ones arrive. The first third of the time fills caches and indexes. After that,
the resident memory of the process must not keep growing: its mean in the last third may exceed the mean of the second
third by at most a tenth.

    python drills/soak.py [--minutes 5] [--long]     (--long: an hour)
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter, deque
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.errors import NotFoundError
from mnemic.model.scope import Scope

USERS = 4
LIVE = 20
"""Memories of a user; the oldest is deleted for a new one."""

MOST_GROWTH = 1.1
POINTS = 12
"""Rows of the curve in the result."""

WORDS = [
    "tea",
    "boat",
    "garden",
    "Lisbon",
    "sister",
    "violin",
    "bicycle",
    "allergy",
    "deadline",
    "rent",
    "hiking",
    "Graz",
    "bakery",
    "parser",
    "beehive",
    "train",
]


def resident_mib() -> float:
    """What the process holds in memory now."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


class Use:
    """One memory in use by many users."""

    def __init__(self, mnemic: Mnemic, chance: random.Random) -> None:
        self.done = Counter[str]()
        self._mnemic, self._chance = mnemic, chance
        self._live: dict[str, deque[str]] = {}

    def step(self) -> None:
        """One verb of one user."""
        user = f"user-{self._chance.randrange(USERS)}"
        scope, verb = Scope(user=user, session="s"), self._chance.choice(("remember", "capture", "recall", "context"))
        text = " ".join(self._chance.sample(WORDS, 5)) + f" {self.done.total()}"
        live = self._live.setdefault(user, deque())
        if verb == "remember":
            live.append(self._mnemic.remember(scope, f"User likes {text}").id)
        elif verb == "capture":
            turn = self._mnemic.capture(scope, user=f"I saw {text}.", assistant="Good to know.")
            live.extend(message.id for message in turn.messages)
        elif verb == "recall":
            self._mnemic.recall(scope, text)
        else:
            self._mnemic.context(scope, text)
        self.done[verb] += 1
        while len(live) > LIVE:
            try:
                self._mnemic.delete(scope, live.popleft())
            except NotFoundError:  # a memory that was merged meanwhile
                self.done["gone already"] += 1
        if self.done.total() % 200 == 0:
            self._mnemic.work()


def main() -> int:
    """Run it and write the result."""
    told = options(__doc__, long={"minutes": 60}, minutes=5, seed=1)
    curve: list[tuple[float, float]] = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with opened(path) as mnemic:
            use = Use(mnemic, random.Random(told.seed))  # noqa: S311 -- draws verbs
            began = time.monotonic()
            while (passed := time.monotonic() - began) < told.minutes * 60:
                use.step()
                if passed >= len(curve):
                    curve.append((passed, resident_mib()))
        problems = file_problems(path)
    third = len(curve) // 3
    second, last = (fmean(mib for _, mib in part) for part in (curve[third : 2 * third], curve[2 * third :]))
    if last > second * MOST_GROWTH:
        problems.append(f"memory goes on growing: {second:.0f} MiB on average, then {last:.0f}")
    facts: dict[str, object] = {**use.done, "MiB, second third": f"{second:.0f}", "MiB, last third": f"{last:.0f}"}
    shown = curve[:: max(len(curve) // POINTS, 1)]
    rows = [[f"{seconds / 60:.1f}", f"{mib:.0f}"] for seconds, mib in shown]
    tables = [(["minute", "resident MiB"], rows)]
    return Outcome(name="soak", about=__doc__ or "", facts=facts, problems=problems, tables=tables).told()


if __name__ == "__main__":
    sys.exit(main())
