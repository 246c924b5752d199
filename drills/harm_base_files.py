"""Harms base files in six ways, and looks whether an answer is wrong, a memory lost, or an erased word left.

Each round does each harm of `HARMS` once, on a store whose partitions count as large soon: damage to a file, a file of
another store or of an earlier time, a jump of the clock, a full disk, two writers that close together, and erasures
while other processes hold the file and close later. After each, answers with base files must equal answers from rows,
every acknowledged memory must be there, and no erased word may be in any file of the store. A disk that is full may
refuse to write, but must not refuse to erase.

    python drills/harm_base_files.py --rounds 200
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills import disk_full
from drills.kill_base_files import ANNA, NOW, QUESTIONS, StandingClock, opened, text
from drills.kit.memory import file_problems
from drills.kit.outcome import Outcome, options
from mnemic.adapters.indexes import base_files
from mnemic.api import Mnemic
from mnemic.errors import MnemicError
from mnemic.model.scope import Scope

BEN = Scope(user="ben")
FIRST_ROWS, MOST_ROWS, ERASED_ROWS = 150, 250, 120
NUMBERS = re.compile(rb"(?=(\d{12}))")  # every text has one of its own, which is a word of its own
LEFT_BYTES = (0, 32 << 10, 128 << 10, 512 << 10)  # of a full disk: a base file has some 400 KB
JUMPS_DAYS = (-20_000, -400, -1, 1, 400, 27_000)


class Harms:
    """A store, another one with a memory more, and what was acknowledged."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.store, self.other = folder, folder / "memory.db", folder / "other" / "memory.db"
        self.chance = random.Random(seed)  # noqa: S311 -- no secret depends on it
        self.clock, self.facts, self.kept, self.erased = StandingClock(), Counter[str](), dict[str, str](), set[str]()
        self.left = list[str]()
        self.other.parent.mkdir()
        for path in (self.store, self.other):
            with opened(path) as mnemic:
                self._fill(mnemic, FIRST_ROWS, is_kept=path == self.store)

    def damage(self) -> None:
        """Change the bytes of a file, its length, or put random bytes in its place."""
        for path in self._bases():
            content = bytearray(path.read_bytes())
            kind = self.chance.randrange(4)
            if kind == 0:
                for _ in range(self.chance.randint(1, 4)):
                    content[self.chance.randrange(len(content))] ^= 1 << self.chance.randrange(8)
            elif kind == 1:
                del content[self.chance.randrange(len(content)) :]
            elif kind == 2:  # noqa: PLR2004 -- the third of four kinds
                content += bytes(self.chance.randbytes(self.chance.randint(1, 9999)))
            else:
                content = bytearray(self.chance.randbytes(len(content)))
            path.unlink()  # a mapped file may only be replaced
            path.write_bytes(content)
            self.facts["files damaged"] += 1

    def exchange(self) -> None:
        """Put another store's file, or this store's earlier one, in the place of a file."""
        saved = [(path, path.read_bytes()) for path in self._bases()]
        with opened(self.store) as mnemic:
            self._fill(mnemic, 3)
        for path, content in saved:
            stranger = self.other.parent / f"{self.other.name}.index" / path.relative_to(f"{self.store}.index")
            path.unlink(missing_ok=True)
            if self.chance.randrange(2) and stranger.exists():
                shutil.copy(stranger, path)
            else:
                path.write_bytes(content)
            self.facts["files exchanged"] += 1

    def jump(self) -> None:
        """Set the clock to another time, and write."""
        self.clock.at = NOW + timedelta(days=self.chance.choice(JUMPS_DAYS))
        with opened(self.store, clock=self.clock) as mnemic:
            self._fill(mnemic, 2)
        self.facts["jumps of the clock"] += 1

    def fill_disk(self) -> None:
        """Write and erase while the disk is full."""
        disk_full.LEFT_BYTES = self.chance.choice(LEFT_BYTES)
        with self._full(), opened(self.store, clock=self.clock) as mnemic:
            mnemic.recall(ANNA, QUESTIONS[0])
            for _ in range(3):
                try:
                    self._fill(mnemic, 40)
                except MnemicError:
                    self.facts["writes refused by a full disk"] += 1
            self._delete(mnemic, 2)
        self.facts["times full"] += 1

    def write_twice(self) -> None:
        """Write by two that close at the same time."""
        two = [opened(self.store, clock=self.clock) for _ in range(2)]
        for mnemic in two:
            mnemic.recall(ANNA, QUESTIONS[0])
            self._fill(mnemic, 2)
            self._delete(mnemic, 1)
        threads = [Thread(target=mnemic.close) for mnemic in two]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.facts["closed together"] += 2

    def erase(self) -> None:
        """Erase one user and memories of the other, while others have read them and write files later."""
        words = [str(self.chance.randrange(10**11, 10**12)) for _ in range(ERASED_ROWS)]
        with opened(self.store, clock=self.clock) as mnemic:
            mnemic.remember_many(BEN, [f"Ben keeps {word}" for word in words])
            mnemic.recall(BEN, QUESTIONS[0])
        with opened(self.store, clock=self.clock) as holder, opened(self.store, clock=self.clock) as eraser:
            for mnemic in (holder, eraser):
                mnemic.recall(BEN, QUESTIONS[0])
                mnemic.recall(ANNA, QUESTIONS[0])
            eraser.erase(BEN)
            self._delete(eraser, 3)
            self.erased |= set(words)
            self._look("erased")
        self.facts["users erased"] += 1

    def find_problems(self, harm: str) -> list[str]:
        """Compare answers, look for lost memories and for erased words."""
        found: list[list[object]] = []
        for has_files in (True, False):
            with opened(self.store, has_files=has_files, clock=self.clock) as mnemic:
                answers = [mnemic.recall(ANNA, question, limit=20) for question in QUESTIONS]
                found.append([(hit.id, hit.score, hit.contributions) for hits in answers for hit in hits])
                kept = {memory.id: memory.text for memory in mnemic.list(ANNA, limit=1000).memories}
                ben = mnemic.recall(BEN, QUESTIONS[0]).hits if not has_files else ()
        self.facts["answers compared"] += len(QUESTIONS)
        self._look(harm)
        left, self.left = self.left, []
        problems = [f"{harm}: answers from the file differ"] if found[0] != found[1] else []
        problems += [f"{harm}: {self.kept[each]} is lost" for each in self.kept if each not in kept]
        problems += [f"{harm}: erased memories are found"] if ben else []
        return [*problems, *(f"{harm}: {each}" for each in file_problems(self.store)), *left]

    def shrink(self) -> None:
        """Delete what is more than `MOST_ROWS`, and write a file."""
        with opened(self.store, clock=self.clock) as mnemic:
            self._delete(mnemic, len(self.kept) - MOST_ROWS)
            mnemic.recall(ANNA, QUESTIONS[0])

    def _look(self, when: str) -> None:
        """Look for erased words in all files."""
        held = b"".join(each.read_bytes() for each in self.folder.rglob("memory.db*") if each.is_file())
        held += b"".join(each.read_bytes() for each in self.folder.rglob("*.index/**/*") if each.is_file())
        left = {word.decode() for word in NUMBERS.findall(held)} & self.erased
        self.left += [f"{when}: the erased {word} is in a file" for word in left]
        self.facts["unfinished files"] += len(list(self.folder.rglob("*.new")))

    def _fill(self, mnemic: Mnemic, rows: int, *, is_kept: bool = True) -> None:
        texts = [text(self.chance, self.chance.randrange(10**11, 10**12)) for _ in range(rows)]
        memories = mnemic.remember_many(ANNA, texts)
        if is_kept:
            self.kept |= {memory.id: memory.text for memory in memories}
            self.facts["memories acknowledged"] += rows

    def _delete(self, mnemic: Mnemic, rows: int) -> None:
        for memory_id in list(self.kept)[: max(rows, 0)]:
            mnemic.delete(ANNA, memory_id)
            self.erased.add(self.kept.pop(memory_id).rsplit(maxsplit=1)[-1])
            self.facts["memories deleted"] += 1

    def _full(self):  # noqa: ANN202 -- a context manager of `drills.disk_full`
        return disk_full.filled_disk(self.folder) if os.geteuid() == 0 else disk_full.limited_files(self.folder)

    def _bases(self) -> list[Path]:
        return list(Path(f"{self.store}.index").rglob("*.base"))


HARMS: Mapping[str, Callable[[Harms], None]] = {
    "damage": Harms.damage,
    "exchange": Harms.exchange,
    "clock": Harms.jump,
    "full disk": Harms.fill_disk,
    "two writers": Harms.write_twice,
    "erasure": Harms.erase,
}


def main() -> int:
    """Exit code 1 if an answer is wrong, a memory lost, or an erased word left."""
    told = options(__doc__, rounds=200, seed=1)
    used, read, problems = Counter[str](), base_files.read, list[str]()

    def noting(path: Path, stamp: str, token: int) -> base_files.Base | None:
        found = read(path, stamp, token)
        used["files used" if found else "files ignored"] += 1
        return found

    base_files.read = noting
    base_files._FREE_BYTES = 0  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- so that writing them fails
    with TemporaryDirectory() as folder, ExitStack() as disks:
        if os.geteuid() == 0:
            disks.enter_context(disk_full.mounted(Path(folder)))
        harms = Harms(Path(folder), told.seed)
        for number in range(told.rounds):
            for name, harm in HARMS.items():
                harm(harms)
                problems += [f"round {number}, {each}" for each in harms.find_problems(name)]
            harms.shrink()
    facts = {"rounds": told.rounds, **harms.facts, **used}
    return Outcome(name="harm_base_files", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
