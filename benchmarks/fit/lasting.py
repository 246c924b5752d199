"""Fits the heads that estimate the lasting value of a fact, and reports in results/lasting.md, above its notes.

    MNEMIC_DATA=path/to/data python benchmarks/fit/lasting.py [--keep]

`keep_lasting.jsonl` contains extracted facts of labelled conversations (`keep.py`), each with a reader's grade. 3:
every conversation needs it, today and in a year (job, partner, illness). 2: it lasts, but only some topics need it.
1: it helps for weeks, or with one matter. 0: it is worthless. Readers saw the facts of months of talk beside all
others of the person, and other facts alone. A fact of LongMemEval (MIT) is identified by its message and a checksum,
and its text is read from the set. Each row is measured with fits that did not see its session, or its source.
`--keep` writes `src/mnemic/text/facts/lasting.json`. Without MNEMIC_DATA, the script does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.fit.keep import FOLDS, POOL, Doubles, Row, embed, encode_weights, fit, read_labels, shipped_embedder
from benchmarks.fit.pieces import read_pool
from benchmarks.machine import ROOT, keep, provenance, read_notes, table
from mnemic.model.item import Kind
from mnemic.text.facts.worth import hash_words, keep_probability, measure_cues

WEIGHTS = ROOT / "src" / "mnemic" / "text" / "facts" / "lasting.json"
BEST = 3.0  # the highest grade
RIDGE = 1.0  # 0.3, 0.5, 2 and 3 give the same order or a worse one


def main() -> int:
    """Fit, report, and write the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    labels = read_graded(Path(os.environ["MNEMIC_DATA"]) / POOL / "corpus.jsonl.gz")
    texts, kinds = [text for _, text in labels], [Kind(str(row["kind"])) for row, _ in labels]
    grades = np.array([float(str(row["grade"])) for row, _ in labels])
    sources = np.array([str(row["source"]) for row, _ in labels])
    folds = np.array([crc32(f"{row['source']} {row['session']}".encode()) % FOLDS for row, _ in labels])
    vectors = embed(texts)[0]
    words = np.hstack([np.array([measure_cues(*each) for each in zip(texts, kinds, strict=True)]), hash_words(texts)])
    readings = {"by_words": words, "by_vector": np.hstack([vectors, words])}
    space = shipped_embedder().space
    worth = np.sqrt(keep_probability(texts, kinds, vectors.astype(np.float32), space))
    rows: list[list[str]] = []
    for way, groups in (("sessions", folds), ("sources", sources)):
        for name, features in readings.items():
            lasting = held_out(features, grades, groups) * worth
            for source in ["all", *(sorted(set(sources)) if name == "by_vector" else ())]:
                mine = np.ones(len(grades), dtype=bool) if source == "all" else sources == source
                rows.append([f"{name}, other {way}: {source}", *describe(lasting[mine], grades[mine])])
    heads = ["facts of", "facts", "mean grade", "correlation", "2 or 3 above the rest", "3 above the rest"]
    about = str(__doc__).split("\n\n", 2)[2].strip()
    made = provenance("python benchmarks/fit/lasting.py")
    text = f"# Lasting facts\n\n{about}\n\n{made}\n\n{table(heads, rows)}\n{read_notes('lasting.md')}"
    keep("lasting.md", text)
    if options.keep:
        fits = [fit_grades(features, grades) for features in readings.values()]
        shipped = [{"weights": encode_weights(weights), "threshold": 0.5} for weights in fits]
        WEIGHTS.write_text(json.dumps(shipped, indent=1) + "\n", encoding="utf-8")
    return 0


def read_graded(pool: Path) -> list[tuple[Row, str]]:
    """The labels with their texts, except facts that the rules no longer find in LongMemEval."""
    labels = read_labels("lasting")
    found = dict(read_pool(pool, {str(row["id"]) for row in labels}))
    texts = [row.get("text") or found.get((row["id"], row.get("crc"))) for row in labels]
    return [(row, text) for row, text in zip(labels, texts, strict=True) if isinstance(text, str)]


def fit_grades(features: Doubles, grades: Doubles) -> Doubles:
    """A logistic regression to the grades as shares of the best."""
    return fit(features, grades / BEST, RIDGE * np.ones(features.shape[1]), np.ones(len(grades)))


def held_out(features: Doubles, grades: Doubles, groups: NDArray[np.int64] | NDArray[np.str_]) -> Doubles:
    """The value of each fact, 0..1, by a fit that saw nothing of its group."""
    found = np.zeros(len(grades))
    for group in np.unique(groups):
        rest, own = groups != group, groups == group
        weights = fit_grades(features[rest], grades[rest])
        found[own] = 1.0 / (1.0 + np.exp(-(features[own] @ weights[:-1] + weights[-1])))
    return found


def describe(lasting: Doubles, grades: Doubles) -> list[str]:
    """The numbers of a row: both shares are areas under the curve."""
    areas = [share_above(lasting[grades >= least], lasting[grades < least]) for least in (2.0, BEST)]
    related = float(np.corrcoef(lasting, grades)[0, 1])
    return [str(len(grades)), f"{grades.mean():.2f}", f"{related:.2f}", *(f"{area:.2f}" for area in areas)]


def share_above(better: Doubles, worse: Doubles) -> float:
    """How many pairs are in the right order; half of those that are equal."""
    return float(((better[:, None] > worse).mean() + (better[:, None] >= worse).mean()) / 2)


if __name__ == "__main__":
    raise SystemExit(main())
