"""Measures ingest and recall by size, with the offline model and with synthetic vectors. Writes results/speed.md.

python benchmarks/speed.py [--sizes 1000,10000] [--synthetic-sizes 100000,1000000] [--users 1000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.crowd import CrowdOptions, CrowdResult, run_crowd
from benchmarks.machine import keep, provenance, table
from mnemic.evaluation.speed import SYNTHETIC, SpeedOptions, SpeedResult, Spread, run_speed

ABOUT = """# Speed

One user with so many generated memories in the embedded store, through the public verbs. Ingest is durable, in batches
of 256; its share is that of the throughput which the embedder alone had within that very time. Milliseconds are
p50 / p95 / p99, after the index has settled; `index from rows` is how long that takes. `search` is recall without the
embedding of the question; `scan` is one product with as many raw vectors. The cold start is a new process: imports,
opening, first answer; its memory is measured then.
"""


def main() -> int:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", default="1000,10000")
    arguments.add_argument("--synthetic-sizes", default="100000")
    arguments.add_argument("--users", type=int, default=100, help="users of 1,000 memories each; 0: leave them out")
    chosen = arguments.parse_args()
    results = [*_results(chosen.sizes, "minilm"), *_results(chosen.synthetic_sizes, SYNTHETIC)]
    head = ["", *(f"{result.memories:,} {result.embedder}" for result in results)]
    columns = [_cells(result) for result in results]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    crowd = _crowd(run_crowd(CrowdOptions(users=chosen.users))) if chosen.users else ""
    keep("speed.md", f"{ABOUT}\n{provenance('make bench')}\n\n{table(head, rows)}\n{crowd}")
    return 0


def _crowd(result: CrowdResult) -> str:
    rows = [
        ["one such user alone", _spread(result.alone)],
        ["any of 100 active users", _spread(result.among)],
        ["the first recall of a user", _spread(result.first)],
        [f"2 readers beside a writer of {result.written_per_s:,.0f} rows/s", _spread(result.beside)],
    ]
    head = [f"recall with {result.users:,} users of {result.memories:,} synthetic memories, ms", "p50 / p95 / p99"]
    return f"\n{table(head, rows)}\n"


def _results(sizes: str, embedder: str) -> Iterator[SpeedResult]:
    if sizes:
        yield from run_speed(SpeedOptions(sizes=tuple(int(size) for size in sizes.split(",")), embedder=embedder))


def _cells(result: SpeedResult) -> dict[str, str]:
    cold = (result.cold_import_ms, result.cold_open_ms, result.cold_recall_ms)
    return {
        "ingest, rows/s": f"{result.ingest_rows_per_s:,.0f}",
        "the embedder alone, rows/s": f"{result.embedding_rows_per_s:,.0f}",
        "share": f"{result.ingest_share:.2f}",
        "remember one, ms": _spread(result.remember),
        "index from rows, s": f"{result.index_build_s:,.1f}",
        "session window, ms": _spread(result.window),
        "context, ms": _spread(result.context),
        "recall, ms": _spread(result.recall),
        "search, ms": _spread(result.search),
        "embedding a question, ms": _spread(result.embedding),
        "scan, ms": _spread(result.scan),
        "cold: import, open, recall, ms": " + ".join(f"{ms:,.0f}" for ms in cold),
        "memory, MB": "–" if result.rss_bytes is None else f"{result.rss_bytes / 1e6:,.0f}",
        "disk, MB": f"{result.disk_bytes / 1e6:,.1f}",
    }


def _spread(spread: Spread) -> str:
    return f"{spread.p50_ms:.2f} / {spread.p95_ms:.2f} / {spread.p99_ms:.2f}"


if __name__ == "__main__":
    sys.exit(main())
