"""Measures one question in a new process, for several sizes of the store. Writes results/cold-start.md.

    python benchmarks/cold_start.py [--sizes 10000,100000] [--folder FOLDER]

Times are the processor time of all threads, so that other load on the machine hardly affects them. Stored vectors are
random, in the space of the bundled model, which embeds the questions.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.ports.models import Embedder

STARTS = 9
BATCH = 1_000
USER = "speed"
PROGRAM = [sys.executable, "-c", "import sys; from mnemic.cli import main; sys.exit(main())"]
LOAD = """
import sys, time
from mnemic import Mnemic, Scope
with Mnemic.open(sys.argv[1], has_worker=False) as mnemic:
    mnemic.recall(Scope(user="nobody"), sys.argv[3])
    times = [time.process_time()]
    for scope in [Scope(user=sys.argv[2])] * 2:
        mnemic.recall(scope, sys.argv[3])
        times.append(time.process_time())
    print(2 * times[1] - times[0] - times[2])
"""
ABOUT = f"""# Cold start

One question to the store of one user, as a process of its own: `mnemic recall` with ten hits, and the hook that a
coding assistant runs before a prompt. Processor time, of all threads, from start to end: median (least) of {STARTS}
processes. `a row` is what the first question of a process takes longer than the second, by the rows of the partition.
"""


def main() -> int:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", default="10000,100000")
    arguments.add_argument("--folder", type=Path, help="where stores are kept from one run to the next")
    chosen = arguments.parse_args()
    with TemporaryDirectory() as folder:
        sizes = [int(size) for size in chosen.sizes.split(",")]
        rows = [_row(size, _store(chosen.folder or Path(folder), size)) for size in sizes]
    head = ["memories", "`mnemic recall`, ms", "`mnemic hooks run`, ms", "a row, µs"]
    fixed = [
        ["an empty Python process", [sys.executable, "-c", "pass"]],
        ["`mnemic --version`", [*PROGRAM, "--version"]],
    ]
    starts = ", ".join(f"{name} {_spread(command)} ms" for name, command in fixed)
    keep("cold-start.md", f"{ABOUT}\n{provenance('make bench')}\n\n{table(head, rows)}\n\nBeside it: {starts}.\n")
    return 0


def _store(folder: Path, size: int) -> Path:
    """A store with so many memories, made if it is not there."""
    path = folder / f"cold-{size}.db"
    if path.exists():
        return path
    parts = build(Config(store=str(path), embedder="minilm"))
    if parts.embedder is None:
        raise AssertionError("there is an embedder, since it was asked for")
    texts = list(GeneratedTexts().texts(size))
    with Mnemic(replace(parts, embedder=_like(parts.embedder)), has_worker=False) as mnemic:
        for start in range(0, size, BATCH):
            mnemic.remember_many(Scope(user=USER), texts[start : start + BATCH])
    return path


def _like(embedder: Embedder) -> Embedder:
    """Vectors by chance in the space of another embedder."""
    drawn = SyntheticEmbedder()
    drawn.space = embedder.space
    return drawn


def _row(size: int, store: Path) -> list[str]:
    question = GeneratedTexts(2).questions(1)[0]
    here = ["--user", USER, "--store", str(store)]
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": "/", "prompt": question})
    load = [sys.executable, "-c", LOAD, str(store), USER, question]
    loads = [float(subprocess.run(load, capture_output=True, text=True, check=True).stdout) for _ in range(STARTS)]
    return [
        f"{size:,}",
        _spread([*PROGRAM, "recall", *here, "--limit", "10", "--json", question]),
        _spread([*PROGRAM, "hooks", "run", "claude-code", *here], event),
        f"{statistics.median(loads) / size * 1e6:.1f} ({min(loads) / size * 1e6:.1f})",
    ]


def _spread(command: Sequence[str], given: str = "") -> str:
    """Median and least processor time of a new process, which finds compiled modules, as where it is installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times: list[float] = []
    for _ in range(STARTS + 1):
        before = _processor_s()
        subprocess.run(command, input=given, text=True, capture_output=True, check=True, env=environment)
        times.append(_processor_s() - before)
    del times[0]  # compiled the modules, perhaps
    return f"{statistics.median(times) * 1e3:.0f} ({min(times) * 1e3:.0f})"


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
