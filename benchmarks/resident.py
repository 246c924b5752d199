"""What hooks and commands cost with the resident process and without it: results/resident.md.

    python benchmarks/resident.py [--size 10000] [--runs 60] [--folder FOLDER]

Wall times of whole processes as their caller sees them. Each round runs an empty Python process, the command with the
resident process twice, and the command without it, one after the other, so that the load of the machine is the same for
all. Where other programs run, `chrt -f 10 python benchmarks/resident.py` (as root) takes the processor from them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.cold_start import PROGRAM, USER, make_store
from benchmarks.machine import keep, provenance, table
from mnemic.evaluation.speed import GeneratedTexts

WAIT_S = 60.0
ASK = "import json; from mnemic.cli import forward; print(json.dumps(forward.describe_resident() or {}))"
ABOUT = """# The resident process

A new process asks the store of one user one question, with and without the resident process. An empty Python process
is measured for comparison. "At once" is a second call right after the first one, before a child was forked for it. The
four run one after the other in each round. Wall time is the caller's. Processor time is that of the process that the
caller started. Both are in ms.
"""


def main() -> int:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--size", type=int, default=10_000)
    arguments.add_argument("--runs", type=int, default=60)
    arguments.add_argument("--folder", type=Path, help="where stores are kept from one run to the next")
    chosen = arguments.parse_args()
    with TemporaryDirectory() as folder:
        store = make_store(chosen.folder or Path(folder), chosen.size)
        runtime = Path(folder) / "run"
        runtime.mkdir(mode=0o700)
        shared = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        shared |= {"XDG_RUNTIME_DIR": str(runtime), "MNEMIC_RESIDENT_IDLE_S": "120"}
        pid = _start(shared, store)
        rows = [row for name in ("recall", "hook") for row in _measure(name, store, shared, chosen.runs)]
        os.kill(pid, signal.SIGTERM)
    head = ["command", "wall, p50", "wall, p99", "wall, least", "processor, p50"]
    is_real_time = hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) == os.SCHED_FIFO
    size = f"{chosen.size:,} memories, {chosen.runs} rounds{', with real-time priority' if is_real_time else ''}."
    keep("resident.md", f"{ABOUT}\n{provenance('benchmarks/resident.py')} {size}\n\n{table(head, rows)}\n")
    return 0


def _start(environment: Mapping[str, str], store: Path) -> int:
    """Start the resident process, let it read the rows, and return its id."""
    command = [*PROGRAM, "recall", "--user", USER, "--store", str(store), "tea"]
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        subprocess.run(command, env=environment, capture_output=True, check=True)
        asked = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, check=True)
        about = json.loads(asked.stdout)
        if about.get("stores"):
            return about["pid"]
    raise AssertionError("no resident process came")


def _measure(name: str, store: Path, shared: Mapping[str, str], runs: int) -> list[list[str]]:
    question = GeneratedTexts(2).questions(1)[0]
    here = ["--user", USER, "--store", str(store)]
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": "/", "prompt": question})
    recall = [*PROGRAM, "recall", *here, "--limit", "10", "--json", question]
    command, given = (recall, "") if name == "recall" else ([*PROGRAM, "hooks", "run", "claude-code", *here], event)
    alone = {**shared, "MNEMIC_RESIDENT_IDLE_S": "0"}
    title = "`mnemic recall`" if name == "recall" else "`mnemic hooks run`"
    kinds = {
        "an empty Python process": ([sys.executable, "-c", "pass"], shared),
        f"{title}, resident": (command, shared),
        f"{title}, resident, at once": (command, shared),
        f"{title}, alone": (command, alone),
    }
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind, (line, environment) in kinds.items():
            times[kind].append(_time(line, given, environment))
    return [
        _row(kind, sorted(wall for wall, _ in each), sorted(own for _, own in each)) for kind, each in times.items()
    ]


def _time(command: Sequence[str], given: str, environment: Mapping[str, str]) -> tuple[float, float]:
    before, begin = _processor_s(), time.perf_counter()
    subprocess.run(command, input=given, text=True, capture_output=True, check=True, env=environment)
    return (time.perf_counter() - begin) * 1e3, (_processor_s() - before) * 1e3


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(kind: str, walls: Sequence[float], own: Sequence[float]) -> list[str]:
    last = walls[min(len(walls) - 1, int(len(walls) * 0.99))]
    return [kind, *(f"{each:.0f}" for each in (walls[len(walls) // 2], last, walls[0], own[len(own) // 2]))]


if __name__ == "__main__":
    sys.exit(main())
