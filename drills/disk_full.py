"""Fills the disk while memories are written. The error must say so, and no acknowledged write may be lost.

If the drill runs as root, the disk is a separate tmpfs. Otherwise, a limit on the size of files is used instead. A
large file fills almost all of the space, and memories are written until one is refused. Then the refusal must be an
UnavailableError that names the disk, every acknowledged write must be found, even by a process that only now opens the
file, and recall must work. On tmpfs, `doctor` must report the disk before it is full, and it must be possible to delete
a memory and erase a user without leaving a copy in any file. After the large file is deleted, writing must work again.

    python drills/disk_full.py --rounds 20
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.errors import MnemicError, UnavailableError
from mnemic.model.health import Condition
from mnemic.model.scope import Scope

SCOPE = Scope(user="anna", session="s1")
OTHER, SECRET = Scope(user="bert"), "Bert's violin is in the attic"
DISK_BYTES = 64 << 20
LEFT_BYTES = 8 << 20
WORDS = "a rather long note, so that the disk fills soon " * 40


def main() -> int:
    """Exit code 1 when anything was lost, or a full disk was told in another way."""
    told = options(__doc__, rounds=20)
    drill = DiskDrill()
    with TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            with mounted(Path(folder)):
                drill.run(Path(folder), told.rounds, filled_disk, has_disk=True)
        else:
            drill.run(Path(folder), told.rounds, limited_files, has_disk=False)
    facts: dict[str, object] = {
        "disk": "tmpfs" if os.geteuid() == 0 else "limit on the size of files",
        "times full": told.rounds,
        "acknowledged writes": len(drill.kept),
        "refused writes": drill.refused,
        "deleted or erased while full": drill.erased,
        "messages": "; ".join(sorted(drill.messages)),
    }
    return Outcome(name="disk_full", about=__doc__ or "", facts=facts, problems=drill.problems).told()


class DiskDrill:
    """Rounds of filling and freeing one disk, and what they found."""

    def __init__(self) -> None:
        self.folder = Path()
        self.kept: dict[str, str] = {}
        self.refused = self.erased = 0
        self.messages: set[str] = set()
        self.problems: list[str] = []

    def run(
        self, folder: Path, rounds: int, full: Callable[[Path], AbstractContextManager[None]], *, has_disk: bool
    ) -> None:
        """Fills the disk `rounds` times below an open memory, which stays open."""
        path, self.folder = folder / "memory.db", folder
        with opened(path) as mnemic:
            self._remember(mnemic, "first")
            mnemic.remember(OTHER, f"{SECRET} 0")
            for number in range(rounds):
                with full(folder):
                    self._fill(mnemic, number)
                    self._check(mnemic, f"round {number}, full")
                    if has_disk and not _tells_of_disk(mnemic):
                        self.problems.append(f"round {number}: doctor says nothing of a full disk")
                    if has_disk:
                        self._erase(mnemic, number)
                    with suppress(MnemicError), opened(path) as other:  # opening may need room, reading does not
                        self._check(other, f"round {number}, full, opened anew")
                mnemic.remember(OTHER, f"{SECRET} {number + 1}")
                try:
                    self._remember(mnemic, f"there is room again r{number}")
                    mnemic.capture(SCOPE, user=f"room again r{number}")
                except MnemicError as error:
                    self.problems.append(f"round {number}: refused with room: {error}")
                for memory_id in list(self.kept)[-8:]:  # makes room for the next round
                    mnemic.delete(SCOPE, memory_id)
                    del self.kept[memory_id]
                self._check(mnemic, f"round {number}, free")
                self.problems += file_problems(path)
        with opened(path) as mnemic:
            self._check(mnemic, "at the end")

    def _remember(self, mnemic: Mnemic, text: str) -> None:
        self.kept[mnemic.remember(SCOPE, text).id] = text

    def _fill(self, mnemic: Mnemic, number: int) -> None:
        refused = 0
        for i in range(10_000):
            try:
                self._remember(mnemic, f"r{number}i{i} {WORDS}")
            except UnavailableError as error:
                self.messages.add(str(error).replace(str(self.folder), "…"))
                refused += 1
            except MnemicError as error:
                self.problems.append(f"round {number}: told as {type(error).__name__}: {error}")
                refused += 1
            if refused == 3:  # noqa: PLR2004 -- once more and again: the state stays good
                break
        else:
            self.problems.append(f"round {number}: the disk never was full")
        self.refused += refused

    def _erase(self, mnemic: Mnemic, number: int) -> None:
        """Delete the oldest memory, and erase the other user. No bytes of either stay."""
        memory_id = next(iter(self.kept))
        try:
            mnemic.delete(SCOPE, memory_id)
            text = self.kept.pop(memory_id)
            mnemic.erase(OTHER)
            self.erased += 2
        except MnemicError as error:
            self.problems.append(f"round {number}: nothing could be erased: {error}")
            return
        files = [path for path in self.folder.rglob("*") if path.is_file() and path.name != "filler"]
        for gone in (text, f"{SECRET} {number}"):
            if any(gone.encode() in path.read_bytes() for path in files):
                self.problems.append(f"round {number}: a copy of what was erased is left")

    def _check(self, mnemic: Mnemic, when: str) -> None:
        listed: dict[str, str] = {}
        after: str | None = None
        while True:
            page = mnemic.list(SCOPE, limit=500, after=after)
            listed |= {memory.id: memory.text for memory in page.memories}
            after = page.next
            if after is None:
                break
        if listed != self.kept:
            self.problems.append(f"{when}: {len(self.kept)} were acknowledged and {len(listed)} are there")
        text = list(self.kept.values())[-1]
        if text not in {hit.text for hit in mnemic.recall(SCOPE, text.split(maxsplit=1)[0], limit=5)}:
            self.problems.append(f"{when}: the last text is not found by its word")


@contextmanager
def mounted(folder: Path) -> Generator[None]:
    """A small disk of its own at `folder`."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def filled_disk(folder: Path) -> Generator[None]:
    """A file that leaves `LEFT_BYTES` of the disk."""
    filler = folder / "filler"
    place = os.statvfs(folder)
    filler.write_bytes(b"\1" * max(0, place.f_bavail * place.f_frsize - LEFT_BYTES))
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def limited_files(folder: Path) -> Generator[None]:
    """No file of this process may grow much beyond what the largest is now."""
    largest = max((path.stat().st_size for path in folder.iterdir()), default=0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + LEFT_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def _tells_of_disk(mnemic: Mnemic) -> bool:
    return any(f.part == "disk" and f.condition is not Condition.OK for f in mnemic.doctor().findings)


if __name__ == "__main__":
    sys.exit(main())
