"""Measures the quality and speed of each memory backend.

    MNEMIC_DATA=path/to/data python -m benchmarks.memory_backends [--sets locomo,cranfield] [--backends faiss] [--keep]

Each group of a set is stored in a separate backend, with speaker, title and text in one line, and the query is the
question. R@10 is the mean share of the gold documents among the first ten. Times are those of `store` and `retrieve` in
this process. `colbert` runs on the token vectors of the offline model, because a ColBERT checkpoint would have to be
downloaded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.machine import keep, provenance, table
from mnemic.backends import MemoryBackend, MemoryRegistry
from mnemic.evaluation.dataset import CorpusRow, Dataset, load_dataset

SETS = ("locomo", "hotpotqa-100", "cranfield")
CUTOFF = 10
Make = Callable[[Path], MemoryBackend]
BACKENDS: dict[str, Make] = {
    "sqlite": lambda path: MemoryRegistry.create("sqlite", db_path=path),
    "bm25": lambda _: MemoryRegistry.create("bm25"),
    "faiss": lambda _: MemoryRegistry.create("faiss"),
    "colbert (minilm)": lambda _: MemoryRegistry.create("colbert", checkpoint="minilm"),
    "hybrid (bm25, faiss)": lambda _: MemoryRegistry.create("hybrid"),
    "hybrid (sqlite, faiss)": lambda path: MemoryRegistry.create(
        "hybrid", sparse=MemoryRegistry.create("sqlite", db_path=path)
    ),
    "hybrid (sqlite 1.0, faiss 1.5)": lambda path: MemoryRegistry.create(
        "hybrid", sparse=MemoryRegistry.create("sqlite", db_path=path), dense_weight=1.5
    ),
}


def main() -> None:
    """Measure every backend on every set; print one row per backend, and keep the table with `--keep`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--keep", action="store_true", help="write the result file")
    parser.add_argument("--backends", default="", help="only those whose name holds one of these, by comma")
    arguments = parser.parse_args()
    wanted: list[str] = arguments.backends.split(",")
    names: list[str] = arguments.sets.split(",")
    folders = [Path(os.environ["MNEMIC_DATA"]) / name for name in names]
    sets = [load_dataset(folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz") for folder in folders]
    rows: list[list[str]] = []
    for name, make in BACKENDS.items():
        if not any(part in name for part in wanted):
            continue
        measured = [measure(make, each) for each in sets]
        shares = [f"{statistics.mean(share for share, _ in each[1]):.3f}" for each in measured]
        stored = [duration for each in measured for duration in each[0]]
        asked = [duration for each in measured for _, duration in each[1]]
        times = [f"{statistics.median(durations) * 1000:.2f}" for durations in (stored, asked)]
        rows.append([name, *shares, *times])
        print(rows[-1], flush=True)
    head = ["backend", *(f"{name} R@{CUTOFF}" for name in names), "store, ms p50", "retrieve, ms p50"]
    text = f"# Memory backends\n\n{provenance('python -m benchmarks.memory_backends')}\n\n{table(head, rows)}\n"
    if arguments.keep:
        keep("memory-backends.md", text)
    else:
        print(text)


def measure(make: Make, dataset: Dataset) -> tuple[list[float], list[tuple[float, float]]]:
    """Seconds of each store, and for each question its share of gold found and its seconds."""
    stored: list[float] = []
    asked: list[tuple[float, float]] = []
    for group in dict.fromkeys(row.group for row in dataset.corpus):
        with tempfile.TemporaryDirectory() as folder:
            backend = make(Path(folder) / "backend.db")
            for row in (row for row in dataset.corpus if row.group == group and row.text.strip()):
                begin = time.perf_counter()
                backend.store(shown(row), source=row.id)
                stored.append(time.perf_counter() - begin)
            asked += ask(backend, dataset, group)
            backend.close()
    return stored, asked


def ask(backend: MemoryBackend, dataset: Dataset, group: str) -> Iterator[tuple[float, float]]:
    """Share of gold found and seconds, for every question of the group that has gold."""
    for question in dataset.questions:
        gold = {row_id for row_id, grade in question.gold.items() if grade > 0}
        if question.group != group or question.is_unanswerable or not gold:
            continue
        begin = time.perf_counter()
        found = {result.source for result in backend.retrieve(question.text, top_k=CUTOFF)}
        yield len(gold & found) / len(gold), time.perf_counter() - begin


def shown(row: CorpusRow) -> str:
    """The row as one text."""
    return ": ".join(part for part in (row.speaker, row.title, row.text) if part)


if __name__ == "__main__":
    main()
