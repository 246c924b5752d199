"""Kills processes while they write base files, and looks whether an answer is wrong or an erased word is left.

Each round starts some processes on one store. Each opens it, asks, remembers, deletes, and closes it, which writes the
base file, again and again. All are killed with SIGKILL after a random number of lines and a random pause. Then answers
with base files must equal answers from rows, every acknowledged memory must be there, and no word of an acknowledged
deletion may be in any file of the index, finished or not.

    python drills/kill_base_files.py [--rounds 200] --writers 2
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.nursery import be_a_nursery, kill_round, nursery, say
from drills.kit.outcome import Outcome, options
from mnemic.adapters.indexes import base_files
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.scope import Scope

ANNA = Scope(user="anna")
NOUNS = ["tea", "boat", "kite", "lamp", "fern", "drum", "coin", "sail", "moss", "bell", "crow", "reed"]
QUESTIONS = ("the tea boat", "a lamp and a crow", "moss with bells")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
FIRST_ROWS, MOST_LINES, MOST_LISTED = 300, 12, 1000


class StandingClock:
    """Answers depend on the time, so it stands still."""

    def __init__(self, at: datetime = NOW) -> None:
        self.at = at

    def now(self) -> datetime:
        """The same until it is set."""
        return self.at


def opened(path: Path, *, has_files: bool = True, clock: StandingClock | None = None) -> Mnemic:
    """A Mnemic for which partitions are large soon."""
    base_files.LEAST_ROWS, base_files.STALE_ROWS = 100, 1
    base_files._STALE_SHARE = 0.0  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- every change is worth a file
    parts = build(Config(store=str(path), embedder="none", base_files=has_files, lock_wait_s=60.0))
    return Mnemic(replace(parts, embedder=SyntheticEmbedder(), clock=clock or StandingClock()), has_worker=False)


def text(chance: random.Random, number: int) -> str:
    """A memory with a number of its own, which is a word of its own."""
    return f"The {' '.join(chance.choices(NOUNS, k=5))} {number}"


def use_for_ever(path: Path, name: str) -> None:
    """The writer: opens, asks, writes, deletes and closes, and tells what is done."""
    chance = random.Random(name)  # noqa: S311 -- no secret depends on it
    for _ in count():
        with opened(path) as mnemic:
            mnemic.recall(ANNA, QUESTIONS[0])
            numbers = [chance.randrange(10**8, 10**9) for _ in range(3)]
            kept = mnemic.remember_many(ANNA, [text(chance, number) for number in numbers])
            say(f"kept {numbers[1]} {numbers[2]}")
            mnemic.recall(ANNA, QUESTIONS[1])
            if chance.randrange(2):
                mnemic.delete(ANNA, kept[0].id)
                say(f"deleted {numbers[0]}")
            say("closing")
        say("closed")


def run_rounds(path: Path, *, rounds: int, writers: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Run the rounds. Returns what was counted, and the problems."""
    chance, facts, problems = random.Random(seed), Counter[str](), list[str]()  # noqa: S311 -- as above
    kept, deleted = set[str](), set[str]()
    with opened(path) as mnemic:
        mnemic.remember_many(ANNA, [text(chance, number) for number in range(FIRST_ROWS)])
        mnemic.recall(ANNA, QUESTIONS[0])
    with nursery([__file__, "--nursery", str(path), "--writers", str(writers)]) as here:
        for number in range(rounds):
            for what, *words in map(str.split, kill_round(here, number, chance, MOST_LINES)):
                facts[what] += 1
                (kept if what == "kept" else deleted).update(words)
            facts["kills"] += writers
            problems += [f"round {number}: {each}" for each in find_problems(path, kept, deleted, facts)]
    return facts, problems


def find_problems(path: Path, kept: set[str], deleted: set[str], facts: Counter[str]) -> list[str]:
    """Compare answers, look for lost memories, and for deleted words in the files."""
    folder = path.with_name(f"{path.name}.index")
    facts["unfinished files"] += len(list(folder.rglob("*.new")))
    held = b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())
    left = [word for word in deleted if word.encode() in held]
    found: list[list[object]] = []
    for has_files in (True, False):
        with opened(path, has_files=has_files) as mnemic:
            answers = [mnemic.recall(ANNA, question) for question in QUESTIONS]
            found.append([(hit.id, hit.score, hit.contributions) for hits in answers for hit in hits])
            words = {memory.text.rsplit(maxsplit=1)[-1] for memory in mnemic.list(ANNA, limit=MOST_LISTED).memories}
    facts["answers compared"] += len(QUESTIONS)
    return [
        *(f"the deleted {word} is in a file" for word in left),
        *(["answers from the file differ from those from rows"] if found[0] != found[1] else []),
        *(f"the acknowledged {word} is lost" for word in kept - words if len(words) < MOST_LISTED),
    ]


def main() -> int:
    """Exit code 1 if an answer is wrong, a memory lost, or a deleted word left."""
    words = {"nursery": "start writers on this file when told; used by the rounds"}
    told = options(__doc__, long={"rounds": 1000}, words=words, rounds=200, writers=2, seed=1)
    if told.nursery:
        be_a_nursery(told.writers, lambda name: use_for_ever(Path(told.nursery), name))
        return 0
    used, read = Counter[str](), base_files.read

    def noting(path: Path, stamp: str, token: int) -> base_files.Base | None:
        found = read(path, stamp, token)
        used["files used"] += found is not None
        used["files ignored"] += found is None
        return found

    base_files.read = noting
    with TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        facts, problems = run_rounds(store, rounds=told.rounds, writers=told.writers, seed=told.seed)
    facts += used
    return Outcome(name="kill_base_files", about=__doc__ or "", facts=dict(facts), problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
