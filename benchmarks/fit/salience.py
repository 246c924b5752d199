"""Fits the weights of what makes a statement worth keeping, and reports what that is worth; writes results/salience.md.

    MNEMIC_DATA=path/to/data python benchmarks/fit/salience.py [--keep]

Fitted to LongMemEval (MIT) alone: of the sessions that hold the evidence of a question, the statements of the user that
say what the question asks for should come before those of messages that hold no evidence. The measure is the share of
such pairs in the right order (AUC). Weights start from those set by hand and move by round factors, one after the
other, as long as the order gets better; those in `BY_HAND` stay. `--keep` writes `src/mnemic/text/facts/salience.json`.
Without MNEMIC_DATA nothing is done.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.machine import ROOT, keep, provenance, table
from mnemic.evaluation.dataset import CorpusRow, Dataset, load_dataset
from mnemic.evaluation.extraction_words import USER, Bag, bag
from mnemic.model.item import Role
from mnemic.model.scope import as_utc
from mnemic.text.facts.find import Candidate, Said, find_candidates, terms_of

SET, LICENCE = "longmemeval-pool", "MIT"
WEIGHTS = ROOT / "src" / "mnemic" / "text" / "facts" / "salience.json"

START: Mapping[str, float] = {
    "own": 1.0,
    "owned": 0.8,
    "content": 1.2,
    "life": 1.5,
    "slot": 2.0,
    "named": 0.8,
    "number": 0.5,
    "dated": 0.5,
    "plain": 0.6,
    "feeling": 0.4,
    "decision": 0.5,
    "new": 0.5,
    "opening": 3.0,
    "vague": -1.6,
    "hanging": -0.7,
    "impersonal": -1.5,
    "opinion": -0.7,
    "intention": -0.8,
    "courtesy": -1.5,
    "request": -2.0,
    "short": -1.0,
    "restated": 0.0,
}
"""Set by hand; what the fit begins with."""

BY_HAND: Mapping[str, float] = {
    "life": 1.5,
    "slot": 2.0,
    "plain": 1.6,
    "named": 0.8,
    "decision": 0.5,
    "opening": 3.0,
    "request": -2.0,
    "restated": 1.5,
}
"""Not fitted: the evidence of a question is a part of what users tell of themselves, so that other plain facts count as
wrong there, and what is told late in a talk would no longer be kept. `restated`: nothing in the set is labelled so.
"""

FACTORS = (0.5, 0.75, 1.0, 1.35, 2.0)
ROUNDS = 3
LEAST_GAIN = 0.0005
FOLDS = 5

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Statements as features `(n, f)` in the order of `START`, which are right, and the fold of their session."""

    features: Doubles
    is_right: NDArray[np.bool_]
    fold: NDArray[np.int64]

    def part(self, chosen: NDArray[np.bool_]) -> Labelled:
        """Only the chosen statements."""
        return Labelled(self.features[chosen], self.is_right[chosen], self.fold[chosen])


def main() -> int:
    """Fit, report, and write the weights where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--keep", action="store_true")
    chosen = arguments.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    folder = Path(os.environ["MNEMIC_DATA"]) / SET
    data = labelled(load_dataset(folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz"))
    folds = [(fold, fitted(data.part(data.fold != fold))) for fold in range(FOLDS)]
    weights = fitted(data)
    shipped = {**weights, **BY_HAND}
    keep("salience.md", report(data, folds, weights, shipped))
    if chosen.keep:
        WEIGHTS.write_text(data_file(shipped, len(data.is_right), int(data.is_right.sum())), encoding="utf-8")
    return 0


def labelled(dataset: Dataset) -> Labelled:
    """The statements of the user in all sessions that hold evidence; of a message with evidence only those that share
    the most words with a question and its answer, because the others may be worth keeping too.
    """
    asked: dict[str, list[Bag]] = {}
    for question in dataset.questions:
        for row_id in question.gold:
            asked.setdefault(row_id, []).append(bag(" ".join((question.text, *question.answers))) - {USER})
    wanted = {session for question in dataset.questions for session in question.gold_sessions}
    sessions: dict[str, list[CorpusRow]] = {}
    for row in dataset.corpus:
        if row.session in wanted and row.role == Role.USER.value:
            sessions.setdefault(row.session, []).append(row)
    features: list[list[float]] = []
    is_right: list[bool] = []
    fold: list[int] = []
    for session, rows in sessions.items():
        for candidate, right in _of_session(rows, asked):
            features.append([candidate.features[name] for name in START])
            is_right.append(right)
            fold.append(crc32(session.encode()) % FOLDS)
    return Labelled(np.array(features), np.array(is_right), np.array(fold))


def _of_session(rows: Sequence[CorpusRow], asked: Mapping[str, Sequence[Bag]]) -> list[tuple[Candidate, bool]]:
    found: list[tuple[Candidate, bool]] = []
    before: set[str] = set()
    for position, row in enumerate(rows, start=1):
        at = as_utc(row.time, "time") if row.time else datetime(2023, 1, 1, tzinfo=UTC)
        said = find_candidates(Said(row.id, row.text, at, position=position, before=frozenset(before)))
        shares = [max((_share(each, words) for words in asked.get(row.id, ())), default=0.0) for each in said]
        best = max(shares, default=0.0)
        found += [(each, row.id in asked) for each, share in zip(said, shares, strict=True) if share == best]
        before.update(terms_of(row.text))
    return found


def _share(candidate: Candidate, words: Bag) -> float:
    return len(bag(candidate.fact.text) & words) / max(len(words), 1)


def fitted(data: Labelled) -> dict[str, float]:
    """The weights after `ROUNDS` rounds; each is a round factor of its start, and moves only where that pays."""
    weights = dict(START)
    best = auc(data, weights)
    for _ in range(ROUNDS):
        for name in START:
            if name in BY_HAND:
                continue
            for value in (round(START[name] * factor, 1) for factor in FACTORS):
                reached = auc(data, {**weights, name: value})
                if reached > best + LEAST_GAIN:
                    best, weights = reached, {**weights, name: value}
    return weights


def auc(data: Labelled, weights: Mapping[str, float]) -> float:
    """How often a right statement has the higher score than a wrong one; equal ones count half."""
    scores = data.features @ np.array([weights[name] for name in START])
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    right, wrong = int(data.is_right.sum()), int((~data.is_right).sum())
    return float((ranks[data.is_right].sum() - right * (right + 1) / 2) / (right * wrong))


def report(
    data: Labelled,
    folds: Sequence[tuple[int, Mapping[str, float]]],
    weights: Mapping[str, float],
    shipped: Mapping[str, float],
) -> str:
    """The text of the results."""
    held: list[list[str]] = []
    for fold, found in folds:
        part = data.part(data.fold == fold)
        moved = " ".join(f"{name} {value:g}" for name, value in found.items() if value != START[name])
        numbers = (auc(part, START), auc(part, found), auc(part, {**found, **BY_HAND}))
        held.append([f"fold {fold}", str(len(part.is_right)), *(f"{number:.3f}" for number in numbers), moved])
    by_hand, free, kept = (auc(data, each) for each in (START, weights, shipped))
    without = [(name, kept - auc(data, {**shipped, name: 0.0})) for name in shipped]
    worth = [[name, f"{shipped[name]:g}", f"{lost:+.3f}"] for name, lost in without]
    parts = [
        "# What makes a statement worth keeping",
        provenance("python benchmarks/fit/salience.py"),
        (
            f"{len(data.is_right)} statements of users in {SET} ({LICENCE}); {int(data.is_right.sum())} of them say"
            " what a question asks for. AUC: how often such a one has the higher score than one of a message without"
            " evidence. In each fold of sessions the weights are those fitted to the others."
        ),
        table(["left out", "statements", "AUC by hand", "AUC fitted", "AUC as shipped", "moved"], held),
        (
            f"Fitted to all: {by_hand:.3f} by hand, {free:.3f} fitted, {kept:.3f} as shipped, where"
            f" {', '.join(sorted(BY_HAND))} are set by hand. Their price is known and paid: the labels know of one"
            " question only, and count what else a user tells of themselves as wrong."
        ),
        table(["weight", "shipped", "worth in AUC"], worth),
    ]
    return "\n\n".join(parts) + "\n"


def data_file(shipped: Mapping[str, float], statements: int, right: int) -> str:
    """The text of the data file: the weights, how they were made, and from what under which licence."""
    content = {
        "version": 1,
        "about": "Weights of what makes a statement worth keeping, by feature (see text/facts/when.py).",
        "made": datetime.now(UTC).date().isoformat(),
        "fitted_by": "benchmarks/fit/salience.py",
        "report": "benchmarks/results/salience.md",
        "weights": dict(shipped),
        "by_hand": sorted(BY_HAND),
        "fitted_to": [{"set": SET, "licence": LICENCE, "statements": statements, "right": right}],
    }
    return json.dumps(content, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
