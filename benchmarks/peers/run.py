"""Compares Mnemic with other projects: the same texts and embedder, each in a separate environment and process.

    MNEMIC_DATA=path/to/data python -m benchmarks.peers.run [--only mnemic,fts5] [--measure speed,killed]
        [--sizes 1000,10000] [--keep FOLDER] [--python PYTHON]

Writes `benchmarks/results/peers.md`. Environments, stores and raw numbers are stored in a temporary folder, or in
`--keep`. In the latter case, a later call continues with the existing measurements (`--again` repeats them). Not part
of `make bench`, because it installs other projects from the package index. `--python` is the interpreter for new
environments. Projects that use sqlite-vec need an interpreter whose SQLite can load extensions.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.machine import keep, provenance
from benchmarks.peers import measures
from benchmarks.peers.embedder import COMPLETE, precompute
from benchmarks.peers.installing import COMMIT, EMBEDDER, OWN, InstallError, built_wheel, installed, requirements
from benchmarks.peers.process import DiedError
from benchmarks.peers.report import report
from mnemic.evaluation.dataset import Dataset, load_dataset, score_run
from mnemic.evaluation.retrieval import RetrievalOptions, run_retrieval

SET = "locomo"
NOT_AT_LARGE = ("mem0", "langgraph_memory")
"""Not asked at 100,000 texts: one takes 24 texts a second, the other keeps nothing, and seconds for an answer."""
Numbers = dict[str, Any]
Measure = Callable[[measures.Subject], Numbers]


def main() -> None:
    """Install, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(name for name in requirements() if name != EMBEDDER))
    parser.add_argument("--measure", default="import,speed,retrieval,features,killed,writers")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--again", action="store_true")
    chosen = parser.parse_args()
    with TemporaryDirectory(prefix="mnemic-peers-") as scratch:
        _measure(chosen, (chosen.keep or Path(scratch)).resolve())


def _measure(chosen: argparse.Namespace, folder: Path) -> None:
    """Each measurement is kept as soon as it is made, so that a stopped run goes on where it was."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [int(size) for size in chosen.sizes.split(",")]
    corpus, dataset = measures.Corpus(sizes), _dataset()
    wheel = next(folder.glob("mnemic-*.whl"), None) or built_wheel(folder)
    _embed(folder, corpus, dataset)
    for name in chosen.only.split(","):
        kept = folder / "numbers" / name
        kept.mkdir(parents=True, exist_ok=True)
        try:
            environment = installed(name, folder / "environments", wheel, chosen.python)
        except InstallError as error:
            _write(kept / "install.json", {"failed": str(error)})
            continue
        _write(kept / "install.json", asdict(environment))
        subject = measures.Subject(name, environment, folder / "stores" / name, folder / "vectors")
        for what, measure in _measurements(subject, corpus, dataset, sizes).items():
            is_wanted = what.partition("-")[0] in chosen.measure.split(",")
            if is_wanted and (chosen.again or not (kept / f"{what}.json").exists()):
                mine = replace(subject, scratch=subject.scratch / what)
                shutil.rmtree(mine.scratch, ignore_errors=True)
                _write(kept / f"{what}.json", _tried(measure, mine))
                shutil.rmtree(mine.scratch, ignore_errors=True)
    made = provenance("python -m benchmarks.peers.run")
    measured = (folder / COMMIT).read_text("utf-8")
    keep("peers.md", report(folder / "numbers", f"{made} Mnemic was measured as of commit {measured}."))


def _measurements(
    subject: measures.Subject, corpus: measures.Corpus, dataset: Dataset | None, sizes: list[int]
) -> dict[str, Measure]:
    todo: dict[str, Measure] = {"import": measures.imported}
    for size in sizes:
        if size < measures.LARGE or subject.name not in NOT_AT_LARGE:
            todo[f"speed-{size}"] = lambda mine, size=size: measures.speed(mine, corpus, size)
    if dataset is not None:
        todo["retrieval"] = lambda mine: measures.retrieval(mine, dataset)
        if subject.name == OWN:
            todo["retrieval-captured"] = lambda _: _captured(dataset)
    todo["features"] = lambda mine: measures.features(mine, corpus)
    todo["killed"] = lambda mine: measures.killed(mine, corpus)
    todo["writers"] = lambda mine: measures.two_writers(mine, corpus)
    return todo


def _tried(measure: Measure, subject: measures.Subject) -> Numbers:
    try:
        return measure(subject)
    except DiedError as error:
        return {"failed": str(error)}


def _write(path: Path, numbers: Numbers) -> None:
    print(path.parent.name, path.stem, json.dumps(numbers)[:300], flush=True)
    path.write_text(json.dumps(numbers), encoding="utf-8")


def _embed(folder: Path, corpus: measures.Corpus, dataset: Dataset | None) -> None:
    """The vectors that all share, and how fast the model made them."""
    wanted = corpus.many()
    if dataset is not None:
        said = [measures.spoken(row.speaker, row.text) for row in dataset.corpus]
        wanted[measures.SET_VECTORS] = [*said, *(question.text for question in dataset.questions)]
    for name, texts in wanted.items():
        if not (folder / "vectors" / name / COMPLETE).exists():
            precompute(folder / "vectors" / name, texts)


def _dataset() -> Dataset | None:
    data = os.environ.get("MNEMIC_DATA")
    if not data:
        print("no MNEMIC_DATA: retrieval is not measured")
        return None
    folder = Path(data) / SET
    return load_dataset(folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz")


def _captured(dataset: Dataset) -> Numbers:
    """Mnemic as it takes conversations: messages with author, session and time instead of plain texts."""
    overall = score_run(dataset, run_retrieval(dataset, RetrievalOptions(limit=measures.HITS))).overall
    return {"n": overall.n, **overall.metrics}


if __name__ == "__main__":
    main()
