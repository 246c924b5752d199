"""Kills the resident process, its children and its callers, and looks whether commands keep what they said is done.

Each round starts several `mnemic remember` at the same time, and after a random pause kills one process of the kinds
above with SIGKILL, or removes the socket, or does nothing. Then: every memory whose command ended with 0 is there, the
file is sound, no command that was left alone failed, and there is at most one resident process and no child of one.

    python drills/resident_kills.py [--rounds 200]
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome, options
from mnemic.model.scope import Scope

SCOPE = Scope(user="anna")
COMMANDS = 3
LONGEST_PAUSE_S = 0.4
WAIT_S = 60.0
PROGRAM = [sys.executable, "-P", "-c", "import sys; from mnemic.cli import main; sys.exit(main())"]
VICTIMS = ("resident process", "child", "caller", "socket", "nothing")


class Drill:
    """A store and a runtime folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "memory.db"
        self.folder = folder / "run"
        self.folder.mkdir(mode=0o700)
        self.environment = os.environ | {"XDG_RUNTIME_DIR": str(self.folder), "MNEMIC_RESIDENT_IDLE_S": "30"}
        self.random = random.Random(7)  # noqa: S311 -- the same kills each time
        self.hits, self.done, self.failed = Counter[str](), set[str](), 0

    def round(self, number: int) -> list[str]:
        """What is wrong after commands of which one may have been killed."""
        texts = [f"note {number}x{place}" for place in range(COMMANDS)]
        callers = [self._start(["remember", "--user", "anna", "--store", str(self.store), text]) for text in texts]
        time.sleep(self.random.uniform(0, LONGEST_PAUSE_S))
        victim = self._kill(callers)
        codes = [caller.wait() for caller in callers]
        self.done |= {text for text, code in zip(texts, codes, strict=True) if code == 0}
        self.failed += sum(code != 0 for code in codes)
        problems = (
            [] if victim in ("child", "caller") or not any(codes) else [f"{victim} was killed: exit codes {codes}"]
        )
        problems += self._wait(lambda: len(self.processes()) <= 1, "more than one process stays")
        with opened(self.store) as mnemic:
            kept = {memory.text for memory in mnemic.list(SCOPE, limit=1000)}
        lost = sorted(self.done - kept)
        problems += [f"{len(lost)} lost, such as {lost[0]}"] if lost else []
        return [f"round {number}: {each}" for each in problems + file_problems(self.store)]

    def processes(self) -> dict[int, int]:
        """Resident processes of this drill and their children, with the parent of each."""
        mark = f"XDG_RUNTIME_DIR={self.folder}".encode()
        found: dict[int, int] = {}
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                is_ours = b"forward.stay" in (place / "cmdline").read_bytes()
                if is_ours and mark in (place / "environ").read_bytes().split(b"\0"):
                    found[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        return found

    def _start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        nothing = subprocess.DEVNULL
        return subprocess.Popen(
            [*PROGRAM, *arguments], stdin=nothing, stdout=nothing, stderr=nothing, env=self.environment
        )

    def _kill(self, callers: list[subprocess.Popen[bytes]]) -> str:
        """Kill one process, and say of which kind."""
        victim, found = self.random.choice(VICTIMS), self.processes()
        children = [pid for pid, parent in found.items() if parent in found]
        parents = [pid for pid in found if pid not in children]
        targets = {"resident process": parents, "child": children, "caller": [each.pid for each in callers]}.get(victim)
        if victim == "socket":
            for socket in self.folder.glob("*/*.socket"):
                socket.unlink(missing_ok=True)
        elif targets:
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(targets), signal.SIGKILL)
        elif targets is not None:
            victim = "nothing"
        self.hits[victim] += 1
        return victim

    def _wait(self, is_so: Callable[[], bool], otherwise: str) -> list[str]:
        end = time.monotonic() + WAIT_S
        while not is_so():
            if time.monotonic() > end:
                return [otherwise]
            time.sleep(0.02)
        return []

    def finish(self) -> list[str]:
        """Let it end by itself."""
        return self._wait(lambda: not self.processes(), "a process stays after its idle time")


def main() -> int:
    """Run the rounds."""
    chosen = options(__doc__, rounds=200)
    with TemporaryDirectory() as folder:
        drill = Drill(Path(folder))
        problems = [problem for number in range(chosen.rounds) for problem in drill.round(number)]
        problems += drill.finish()
    facts = {
        "rounds": chosen.rounds,
        **{f"killed: {victim}" if victim != "nothing" else "left alone": drill.hits[victim] for victim in VICTIMS},
        "acknowledged memories": len(drill.done),
        "commands that ended with an error": drill.failed,
    }
    return Outcome(name="resident_kills", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
