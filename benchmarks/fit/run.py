"""Fits the coefficients of recall's linear score, and measures them on every set. Writes results/fit.md.

    MNEMIC_DATA=path/to/data python benchmarks/fit/run.py [--cache FOLDER] [--keep] [--shipped]

The features of all sets are stored in the cache folder, so a second run only takes minutes. If the cache is from an
older version of the score, empty the folder by hand. `--keep` writes the coefficients to
`src/mnemic/model/weights.json`. `--shipped` only measures the existing coefficients. Without MNEMIC_DATA, nothing is
done.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.fit.beliefs import AS_GOOD, BY_HAND, MEANS, STRENGTHS, prior
from benchmarks.fit.features import FEATURES, Asked, features_of
from benchmarks.fit.measure import judged, report
from benchmarks.fit.model import Judged, fit
from benchmarks.fit.report import Fitted, written
from benchmarks.fit.sets import SETS, BenchSet, load, part
from benchmarks.machine import ROOT, keep
from mnemic.evaluation.dataset import Dataset, Report

WEIGHTS = ROOT / "src" / "mnemic" / "model" / "weights.json"
DIGITS = 2


class Bench:
    """All sets with their features, loaded when they are first asked for."""

    def __init__(self, data: Path, cache: Path) -> None:
        self._data, self._cache = data, cache
        self._loaded: dict[str, tuple[Dataset, list[Asked]]] = {}
        cache.mkdir(parents=True, exist_ok=True)

    def of(self, chosen: BenchSet) -> tuple[Dataset, list[Asked]]:
        """The questions of the set, and their features."""
        if chosen.dump not in self._loaded:
            print("features of", chosen.dump, flush=True)
            dataset = load(chosen.dump, self._data)
            self._loaded[chosen.dump] = (dataset, features_of(chosen.dump, dataset, self._cache))
        dataset, questions = self._loaded[chosen.dump]
        return part(dataset, chosen), [asked for asked in questions if chosen.holds(asked.qid)]

    def measured(self, chosen: BenchSet, weights: Mapping[str, float]) -> Report:
        """All metrics of the set under these weights."""
        return report(*self.of(chosen), weights)


def main() -> int:
    """Fit, report, and write the coefficients where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cache", type=Path, default=Path(gettempdir()) / "mnemic-fit")
    arguments.add_argument("--keep", action="store_true")
    arguments.add_argument("--shipped", action="store_true")
    chosen = arguments.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    bench = Bench(Path(os.environ["MNEMIC_DATA"]), chosen.cache)
    fitted = fitted_to(bench, {each.name: judged(*bench.of(each), MEANS) for each in SETS if each.is_fitted})
    if chosen.shipped:
        shipped = json.loads(WEIGHTS.read_text(encoding="utf-8"))["coefficients"]
        fitted = Fitted(shipped, fitted.strength, fitted.by_strength, fitted.left_out, fitted.questions)
    keep("fit.md", written(fitted, bench.measured))
    if chosen.keep:
        WEIGHTS.write_text(data_file(fitted), encoding="utf-8")
    return 0


def fitted_to(bench: Bench, sets: Mapping[str, Sequence[Judged]]) -> Fitted:
    """The coefficients fitted to all sets, with the strength of the prior that does best on sets left out."""
    by_name = {each.name: each for each in SETS}
    by_strength: dict[float, float] = {}
    left_out: dict[float, dict[str, Mapping[str, float]]] = {}
    for strength in STRENGTHS:
        left_out[strength] = {
            name: fit(
                [each for other, each in sets.items() if by_name[other].family != by_name[name].family],
                FEATURES,
                prior(strength),
            )
            for name in sets
        }
        found = [bench.measured(by_name[name], weights) for name, weights in left_out[strength].items()]
        recalls = [each.overall.metrics[name] for each in found for name in ("R@5", "R@10")]
        by_strength[strength] = sum(recalls) / len(recalls)
        print("strength", strength, "recall of what was left out", round(by_strength[strength], 4), flush=True)
    most = max(by_strength.values())
    best = max(strength for strength, recall in by_strength.items() if recall >= most - AS_GOOD)
    weights = {name: round(value, DIGITS) for name, value in fit(list(sets.values()), FEATURES, prior(best)).items()}
    questions = {name: len(each) for name, each in sets.items()}
    return Fitted(weights, best, by_strength, left_out[best], questions)


def data_file(fitted: Fitted) -> str:
    """The text of the data file: coefficients, how they were made, and the sets with their licences."""
    by_name = {each.name: each for each in SETS}
    table = {
        "version": 1,
        "about": "Coefficients of the linear score by feature (see engine/recall); those in by_hand are not fitted.",
        "made": datetime.now(UTC).date().isoformat(),
        "fitted_by": "benchmarks/fit/run.py",
        "report": "benchmarks/results/fit.md",
        "coefficients": {**fitted.weights, **BY_HAND},
        "by_hand": sorted(BY_HAND),
        "prior": {"strength": fitted.strength, "means": dict(MEANS)},
        "fitted_to": [
            {"set": name, "licence": by_name[name].licence, "questions": count}
            for name, count in fitted.questions.items()
        ],
    }
    return json.dumps(table, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
