"""Calibrates the probability that a hit answers a question, and reports the results. Writes results/relevance.md.

    MNEMIC_DATA=path/to/data python benchmarks/fit/relevance.py [--cache folder] [--words] [--keep]

A logistic model with four inputs (see `ranking.relevance`) is fitted by iterated least squares with a small ridge, to
the sets whose licences permit it. The positive examples are the evidence of questions. The negative examples are, in
equal shares, hits for other sets' questions, hits for small talk, and the other rows of small stores. All sets have the
same weight. The other sets are only measured. With `--words`, questions are searched by keyword only, and the report is
`relevance-words.md`. `--keep` writes the coefficients to `src/mnemic/ranking/relevance.json`. Without MNEMIC_DATA,
nothing is done.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.fit.evidence import Belonging, Found, evidence_of_set, strangers
from benchmarks.fit.sets import SETS, BenchSet
from benchmarks.machine import ROOT, keep, provenance, table
from mnemic.ranking.relevance import COSINE, WORDS

COEFFICIENTS = ROOT / "src" / "mnemic" / "ranking" / "relevance.json"
NAMES = ("likeness", "score", "nearest", "log_items", "constant")
LEFT_OUT = ("cmrc2018", "longmemeval-pool, half 0", "longmemeval-pool", "longmemeval-48", "halumem")
"""Alike to another set of the list, and much longer to embed; the last one tells of sessions only."""

NOT_CUT = ("scifact", "cranfield")
"""Their labels are far from complete, so that small cuts would hold unlabelled evidence."""

RIDGE = 1e-4
OTHERS = 0.5
"""The share of the other rows of a small cut among all that is no evidence."""

THRESHOLDS = (0.1, 0.2, 0.3, 0.5)
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A set, or its cuts: `features (n, 5)` in the order of `NAMES`, and what each row is."""

    chosen: BenchSet
    name: str
    features: Doubles
    kinds: NDArray[np.str_]

    @property
    def is_gold(self) -> NDArray[np.bool_]:
        """The evidence of questions."""
        return self.kinds == Belonging.GOLD.value

    def weights(self) -> Doubles:
        """Half for the evidence, half for all else."""
        counts = {kind: int((self.kinds == kind.value).sum()) for kind in Belonging}
        away = counts[Belonging.STRANGE] + counts[Belonging.TALK]
        share = OTHERS if counts[Belonging.OTHER] else 0.0
        each = {
            Belonging.GOLD: 0.5 / max(counts[Belonging.GOLD], 1),
            Belonging.OTHER: 0.5 * share / max(counts[Belonging.OTHER], 1),
            Belonging.STRANGE: 0.5 * (1 - share) / max(away, 1),
            Belonging.TALK: 0.5 * (1 - share) / max(away, 1),
        }
        return np.array([each[Belonging(str(kind))] for kind in self.kinds])


def main() -> int:
    """Collect, fit, report, and write the coefficients where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cache", type=Path, help="where vectors are kept from one run to the next")
    arguments.add_argument("--words", action="store_true")
    arguments.add_argument("--keep", action="store_true")
    options = arguments.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    with TemporaryDirectory(prefix="mnemic-fit-") as folder:
        vectors = None if options.words else (options.cache or Path(folder)) / "vectors.npz"
        found = collected(Path(os.environ["MNEMIC_DATA"]), vectors)
    coefficients = fitted([each for each in found if each.chosen.is_fitted])
    keep("relevance-words.md" if options.words else "relevance.md", report(found, coefficients))
    if options.keep:
        COEFFICIENTS.write_text(data_file(found, WORDS if options.words else COSINE, coefficients), encoding="utf-8")
    return 0


def collected(data: Path, vectors: Path | None) -> list[Labelled]:
    """All sets and their cuts. Questions that belong nowhere come from sets that may be fitted to, so that nothing else
    has a say in the coefficients.
    """
    sets = [chosen for chosen in SETS if chosen.name not in LEFT_OUT and (chosen.is_fitted or chosen.half is None)]
    strange = strangers([chosen for chosen in sets if chosen.is_fitted], data)
    found: list[Labelled] = []
    for chosen in sets:
        others = [text for family, texts in strange.items() if family != chosen.family for text in texts]
        for is_cut in (False, True):
            if is_cut and chosen.name in NOT_CUT:
                continue
            name = f"{chosen.name}, small cuts" if is_cut else chosen.name
            print(name, flush=True)
            found.append(_labelled(chosen, name, evidence_of_set(chosen, data, others, vectors, is_cut=is_cut)))
    return found


def _labelled(chosen: BenchSet, name: str, found: Sequence[Found]) -> Labelled:
    rows = [(e.likeness, e.score, e.nearest, math.log(max(e.items, 1)), 1.0) for e in (each.evidence for each in found)]
    return Labelled(chosen, name, np.array(rows), np.array([each.belonging.value for each in found]))


def fitted(sets: Sequence[Labelled]) -> Doubles:
    """The coefficients in the order of `NAMES`, with two decimals more than they are sure of."""
    features = np.vstack([each.features for each in sets])
    labels = np.concatenate([each.is_gold for each in sets]).astype(np.float64)
    weights = np.concatenate([each.weights() for each in sets]) / len(sets)
    scale = np.abs(features).mean(axis=0)
    scaled: Doubles = features / scale
    found: Doubles = np.zeros(len(NAMES))
    ridge = RIDGE * np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    for _ in range(50):
        sure: Doubles = 1.0 / (1.0 + np.exp(-scaled @ found))
        slope: Doubles = scaled.T @ (weights * (sure - labels)) + ridge * found
        curve: Doubles = (scaled * (weights * sure * (1 - sure))[:, None]).T @ scaled + np.diag(ridge + 1e-12)
        found = found - np.linalg.solve(curve, slope)
    return np.array([round(float(each), 3) for each in found / scale])


def report(sets: Sequence[Labelled], coefficients: Doubles) -> str:
    """The text of the results."""
    used, measured = ([each for each in sets if each.chosen.is_fitted is wanted] for wanted in (True, False))
    left_out = [
        _row(each, fitted([other for other in used if other.chosen.family != each.chosen.family])) for each in used
    ]
    shown = ", ".join(f"{threshold:g}" for threshold in THRESHOLDS)
    told = ", ".join(f"{name} {value:g}" for name, value in zip(NAMES, coefficients, strict=True))
    head = ["set", "evidence", "AUC", "evidence lost below", "of other sets kept", "of small talk kept", "others kept"]
    parts = [
        "# How sure it is that a hit has to do with a question",
        provenance("python benchmarks/fit/relevance.py"),
        (
            "`Hit.relevance` of the first ten hits. Evidence are the rows that answer a question. Against it stands"
            " what is found in the same store for questions of other sets, for small talk and tasks that no memory"
            " answers (`benchmarks/fit/small_talk.txt`), and, in small cuts (a question's evidence and 2 to 20 other"
            " rows), the other rows. AUC: how often evidence has the higher relevance than what is found for the"
            f" former two. Then shares at the thresholds {shown}: of the evidence what is lost, of all else what is"
            " kept. In a set as it is, rows beside the evidence are not counted: many say something of the question"
            " too."
        ),
        f"Coefficients: {told}.",
        "## Sets fitted to\n\n" + table(head, [_row(each, coefficients) for each in used]),
        "## Sets measured only\n\n" + table(head, [_row(each, coefficients) for each in measured]),
        "## Sets fitted to, each left out of its own fit\n\n" + table(head, left_out),
    ]
    return "\n\n".join(parts) + "\n"


def _row(each: Labelled, coefficients: Doubles) -> list[str]:
    sure = 1.0 / (1.0 + np.exp(-each.features @ coefficients))
    kept = {kind: sure[each.kinds == kind.value] for kind in Belonging}
    away = np.concatenate([kept[Belonging.STRANGE], kept[Belonging.TALK]])
    gold = kept[Belonging.GOLD]
    lost = " / ".join(f"{float((gold < threshold).mean()):.3f}" for threshold in THRESHOLDS)
    shares = [
        " / ".join(f"{float((values >= threshold).mean()):.2f}" for threshold in THRESHOLDS) if len(values) else "–"
        for values in (kept[Belonging.STRANGE], kept[Belonging.TALK], kept[Belonging.OTHER])
    ]
    return [each.name, f"{len(gold):,}", f"{auc(gold, away):.3f}", lost, *shares]


def auc(right: Doubles, wrong: Doubles) -> float:
    """How often one of `right` is above one of `wrong`; equal ones count half."""
    _, place, counts = np.unique(np.concatenate([right, wrong]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[: len(right)].sum() - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong)))


def data_file(sets: Sequence[Labelled], evidence: str, coefficients: Doubles) -> str:
    """The data file with these coefficients: how they were made, and from what under which licences."""
    used: Mapping[str, str] = {each.chosen.name: each.chosen.licence for each in sets if each.chosen.is_fitted}
    content = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    content["made"] = datetime.now(UTC).date().isoformat()
    content["coefficients"][evidence] = dict(zip(NAMES, coefficients.tolist(), strict=True))
    content["fitted_to"] = [{"set": name, "licence": licence} for name, licence in used.items()]
    return json.dumps(content, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
