"""Measures imports, packages, flushes of a write, and a cold command. Writes results/footprint.md.

    python benchmarks/footprint.py

`strace` counts flushes, if it is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table

STARTS = 11
WRITES = 20
MNEMIC = str(Path(sys.executable).with_name("mnemic"))
REMEMBER = """
import sys
from mnemic import Mnemic, Scope
with Mnemic.open(sys.argv[1], has_worker=False) as mnemic:
    for number in range(int(sys.argv[2])):
        mnemic.remember(Scope(user="a"), f"The harbour has {number} boats.")
"""


def main() -> int:
    """Measure and write."""
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "memory.db")
        subprocess.run([sys.executable, "-c", REMEMBER, store, str(WRITES)], check=True)
        recall = [MNEMIC, "recall", "--user", "a", "--store", store, "How many boats?"]
        rows = [
            _started("an empty Python process", [sys.executable, "-c", "pass"]),
            _started("`import mnemic`", [sys.executable, "-c", "import mnemic"]),
            _started("`from mnemic import Mnemic`", [sys.executable, "-c", "from mnemic import Mnemic"]),
            _started("`mnemic --version`", [MNEMIC, "--version"]),
            _started("`mnemic recall`, cold", recall),
            ["packages installed beside mnemic", str(len(packages("mnemic")) - 1), ""],
            ["flushes per `remember`", _flushes(folder), ""],
        ]
    about = f"# Footprint\n\nTimes are medians of {STARTS} new processes, from start to end."
    keep("footprint.md", f"{about} {provenance('make bench')}\n\n{table(['what', 'elapsed', 'processor'], rows)}\n")
    return 0


def packages(distribution: str) -> set[str]:
    """The names of everything that installing the distribution without extras installs, itself included."""
    seen: set[str] = set()
    waiting = [Requirement(distribution)]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name not in seen and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            seen.add(name)
            waiting += map(Requirement, requires(name) or [])
    return seen


def _started(name: str, command: Sequence[str]) -> list[str]:
    """Medians of elapsed and of processor time, which hardly depends on what else the machine does."""
    elapsed: list[float] = []
    processor: list[float] = []
    for _ in range(STARTS):
        start, before = time.perf_counter(), os.times()
        subprocess.run(command, capture_output=True, check=True)
        after = os.times()
        elapsed.append(time.perf_counter() - start)
        children = (after.children_user - before.children_user, after.children_system - before.children_system)
        processor.append(sum(children))
    return [name, *(f"{statistics.median(times) * 1e3:.0f} ms" for times in (elapsed, processor))]


def _flushes(folder: str) -> str:
    """The flushes that more writes cause, per write: those of opening and closing are in both counts."""
    if shutil.which("strace") is None:
        return "not measured (no strace)"
    few, many = _count_flushes(f"{folder}/few.db", 1), _count_flushes(f"{folder}/many.db", 1 + WRITES)
    return f"{(many - few) / WRITES:.2f} (opening and closing: {few - round((many - few) / WRITES)})"


def _count_flushes(store: str, writes: int) -> int:
    trace = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", f"{store}.trace"]
    subprocess.run([*trace, sys.executable, "-c", REMEMBER, store, str(writes)], check=True)
    return len(re.findall(r"\bf(?:data)?sync\(", Path(f"{store}.trace").read_text(encoding="ascii", errors="replace")))


if __name__ == "__main__":
    sys.exit(main())
