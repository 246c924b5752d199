"""What Mnemic costs at rest: import, packages, flushes of a write, a cold command: results/footprint.md.

    python benchmarks/footprint.py

Flushes are counted by `strace`, where the machine has it.
"""

from __future__ import annotations

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
with Mnemic.open(sys.argv[1]) as mnemic:
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
            ["an empty Python process, ms", f"{_median_ms([sys.executable, '-c', 'pass']):.0f}"],
            ["`import mnemic`, ms more", f"{_import_ms('import mnemic'):.0f}"],
            ["`from mnemic import Mnemic`, ms more", f"{_import_ms('from mnemic import Mnemic'):.0f}"],
            ["`mnemic --version`, ms", f"{_median_ms([MNEMIC, '--version']):.0f}"],
            ["`mnemic recall`, cold, ms", f"{_median_ms(recall):.0f}"],
            ["packages installed beside mnemic", str(len(packages("mnemic")) - 1)],
            ["flushes per `remember`", _flushes(folder)],
        ]
    about = f"# Footprint\n\nTimes are medians of {STARTS} new processes."
    keep("footprint.md", f"{about} {provenance('make bench')}\n\n{table(['what', 'measured'], rows)}\n")
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


def _import_ms(statement: str) -> float:
    code = f"import time; start = time.perf_counter(); {statement}; print((time.perf_counter() - start) * 1e3)"
    command = [sys.executable, "-c", code]
    printed = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(STARTS)]
    return statistics.median(map(float, printed))


def _median_ms(command: Sequence[str]) -> float:
    times: list[float] = []
    for _ in range(STARTS):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


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
