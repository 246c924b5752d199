"""Measures retrieval on every set in MNEMIC_DATA, and compares it with keyword search. Writes results/retrieval.md.

    MNEMIC_DATA=path/to/data python benchmarks/retrieval.py [SET …] [--runs FOLDER]

A set is a folder with `corpus.jsonl.gz`, `queries.jsonl.gz` and optionally `haystacks.json`. The keyword search without
a model is `bench/baseline_fts5.py` next to the folder of the sets, if it exists. With `--runs`, run files are saved in
that folder, and existing ones are reused. Without MNEMIC_DATA, nothing is measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic.evaluation.dataset import Dataset, Report, load_dataset, score_run
from mnemic.evaluation.retrieval import read_run, run_retrieval, write_run

METRICS = ("R@5", "R@10", "nDCG@10", "any@5", "s_any@5")
TITLES = ("R@5", "R@10", "nDCG@10", "any@5", "session any@5")
ABOUT = """# Retrieval

Share of what should be found, per question and averaged; R@k, any@k and nDCG@10 as `mnemic.evaluation.dataset` defines
them, over single messages and documents; session any@5 over their sessions. In brackets: SQLite FTS5 with BM25 and no
model. Questions that the memory cannot answer are not scored. p50 is one recall of 100 hits, embedding included, with
whatever else the machine did; with haystacks it is the first recall of its memory, and reads it into the index.
"""


def main() -> int:
    """Measure the sets named, or all."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("sets", nargs="*", metavar="SET")
    arguments.add_argument("--runs", type=Path)
    chosen = arguments.parse_args()
    data = Path(os.environ.get("MNEMIC_DATA", ""))
    names = chosen.sets or sorted(path.parent.name for path in data.glob("*/corpus.jsonl.gz"))
    if not os.environ.get("MNEMIC_DATA") or not names:
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    kept = [name for name in names if chosen.runs and (chosen.runs / f"{name}.jsonl.gz").exists()]
    with TemporaryDirectory() as scratch:
        rows = [_row(data / name, chosen.runs or Path(scratch)) for name in names]
    made = provenance("make bench") + (f" Runs made shortly before: {', '.join(kept)}." if kept else "")
    keep("retrieval.md", f"{ABOUT}\n{made}\n\n{table(['set', 'n', *TITLES, 'p50 ms'], rows)}\n")
    return 0


def _row(folder: Path, runs: Path) -> list[str]:
    haystacks = folder / "haystacks.json"
    dataset = load_dataset(
        folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz", haystacks if haystacks.exists() else None
    )
    run, floor = runs / f"{folder.name}.jsonl.gz", runs / f"{folder.name}.floor.jsonl.gz"
    report = score_run(dataset, read_run(run) if run.exists() else write_run(run, run_retrieval(dataset)))
    below = _floor(folder, dataset, floor)
    cells = [_cell(name, report, below) for name in METRICS]
    print(folder.name, *cells, flush=True)
    return [folder.name, f"{report.overall.n:,}", *cells, f"{report.overall.p50_ms:.1f}"]


def _floor(folder: Path, dataset: Dataset, run: Path) -> Report | None:
    script = folder.parent.parent / "bench" / "baseline_fts5.py"
    if not run.exists():
        if not script.exists():
            return None
        subprocess.run([sys.executable, str(script), "--data", str(folder), "--run", str(run)], check=True)
    return score_run(dataset, read_run(run))


def _cell(name: str, report: Report, below: Report | None) -> str:
    if name not in report.overall.metrics:
        return "–"
    floor = f" ({below.overall.metrics[name]:.3f})" if below else ""
    return f"{report.overall.metrics[name]:.3f}{floor}"


if __name__ == "__main__":
    sys.exit(main())
