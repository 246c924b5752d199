"""Fits what judges whether a sentence tells that a remembered fact is over, and reports in results/endings.md.

    python benchmarks/fit/endings.py [--keep]

`endings.jsonl` has pairs of a fact and a later sentence of the same user that shares a word with it, invented for this
project by writers who did not know the rules. Of those that end nothing, most are near misses ("my sister sold her
Kangoo"). Further examples of what ends nothing are real pairs from the invented talks of `keep_talks_*.jsonl`: a fact
and the sentence that states it, or a later one of its talk. A gate reads the hashed words of a sentence. What passes is
judged by what the embedder's inner layers hold of the sentence in which "it" stands for the words that it shares with
the fact. Every number is of writers that the fit did not see. `--keep` writes `src/mnemic/text/facts/endings.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.fit.keep import HERE, Doubles, embed, encode_weights
from benchmarks.fit.talk_pairs import read_talk_pairs, read_talk_sentences
from benchmarks.machine import ROOT, keep, provenance, table
from mnemic.text.facts.corrections import hide_topic
from mnemic.text.facts.worth import hash_phrases

WEIGHTS = ROOT / "src" / "mnemic" / "text" / "facts" / "endings.json"
RIDGE, GATE_RIDGE = 4.0, 0.2
STEPS, SMALLEST_STEP = 12, 1e-3
EVERY = 3  # of the talks' statements, one in so many is used
BIAS = 10.0  # a large column is hardly penalised
PASSED = 0.9  # share of the endings that the gate lets pass
PRECISION = 0.9  # of the pairs of writers that are told to be over
NEAR_MISS = 0.3  # weight of a near miss at the gate, which is not there to tell them apart


def main() -> int:
    """Fit, measure on writers left out, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write the weights")
    options = parser.parse_args()
    rows = [json.loads(line) for line in (HERE / "endings.jsonl").read_text(encoding="utf-8").splitlines()]
    pairs = [(row["fact"], row["told"], bool(row["ends"]), row["writer"]) for row in rows]
    pairs += [(fact, told, False, f"talk {talk}") for fact, told, talk in read_talk_pairs()]
    hidden = [hide_topic(told, fact) for fact, told, _, _ in pairs]
    pairs = [pair for pair, text in zip(pairs, hidden, strict=True) if text]
    is_over = np.array([ends for _, _, ends, _ in pairs])
    writers = np.array([writer.split()[0] for *_, writer in pairs])
    is_real = writers == "talk"
    layers = embed([text for text in hidden if text])[1]
    counts = np.ones(len(pairs))
    said = read_talk_sentences()[::EVERY]
    words = hash_phrases([*(told for _, told, _, _ in pairs), *(text for text, _ in said)])
    may_end = np.concatenate([is_over, np.zeros(len(said), dtype=bool)])
    gate_counts = np.concatenate([np.where(is_real | is_over, 1.0, NEAR_MISS), np.ones(len(said))])
    folds = fold([*(writer for *_, writer in pairs), *(f"talk {talk}" for _, talk in said)])
    gate = held_out(words, may_end, gate_counts, GATE_RIDGE, folds)
    likely = held_out(layers, is_over, counts, RIDGE, folds[: len(pairs)])
    least = float(np.quantile(gate[may_end], 1.0 - PASSED))
    is_passed = gate >= least
    passed = np.where(is_passed[: len(pairs)], likely, 0.0)
    threshold = find_threshold(passed[~is_real], is_over[~is_real])
    report = describe(is_passed, passed, is_over, is_real, threshold)
    keep("endings.md", report)
    if options.keep:
        heads = [
            (fit(words, may_end, gate_counts, GATE_RIDGE), least),
            (fit(layers, is_over, counts, RIDGE), threshold),
        ]
        told = [{"weights": encode_weights(weights), "threshold": round(least, 4)} for weights, least in heads]
        WEIGHTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


def fold(names: Sequence[str]) -> NDArray[np.int64]:
    """A number for each row: one per writer, and the talks dealt among them."""
    writers = sorted({name for name in names if not name.startswith("talk ")})
    talks = sorted({name for name in names if name.startswith("talk ")})
    numbers = {name: place for place, name in enumerate(writers)}
    numbers |= {name: place % len(writers) for place, name in enumerate(talks)}
    return np.array([numbers[name] for name in names])


def held_out(
    features: Doubles, is_over: NDArray[np.bool_], counts: Doubles, ridge: float, folds: NDArray[np.int64]
) -> Doubles:
    """The estimates of fits that did not see the row's writer or talk."""
    found = np.zeros(len(features))
    for number in np.unique(folds):
        mine = folds == number
        weights = fit(features[~mine], is_over[~mine], counts[~mine], ridge)
        found[mine] = 1.0 / (1.0 + np.exp(-(features[mine] @ weights[:-1] + weights[-1])))
    return found


def fit(features: Doubles, is_over: NDArray[np.bool_], counts: Doubles, ridge: float) -> Doubles:
    """Ridge logistic regression, by Newton's method over rows, which are fewer than the features. The bias is last."""
    inputs = np.hstack([features, np.full((len(features), 1), BIAS)])
    products, odds = inputs @ inputs.T, np.zeros(len(features))
    shares = np.zeros(len(features))
    for _ in range(STEPS):
        likely = 1.0 / (1.0 + np.exp(-odds))
        curve = np.maximum(counts * likely * (1.0 - likely), 1e-6)
        wanted = odds + counts * (is_over - likely) / curve
        shares = np.linalg.solve(products + np.diag(ridge / curve), wanted)
        before, odds = odds, products @ shares
        if np.abs(odds - before).max() < SMALLEST_STEP:
            break
    weights = np.asarray(inputs.T @ shares, dtype=np.float64)
    weights[-1] *= BIAS
    return weights


def find_threshold(likely: Doubles, is_over: NDArray[np.bool_]) -> float:
    """The lowest estimate from which `PRECISION` of the pairs are over."""
    order = np.argsort(-likely)
    right = np.cumsum(is_over[order]) / np.arange(1, len(order) + 1)
    return float(likely[order][np.flatnonzero(right >= PRECISION).max()])


def describe(
    is_passed: NDArray[np.bool_],
    likely: Doubles,
    is_over: NDArray[np.bool_],
    is_real: NDArray[np.bool_],
    threshold: float,
) -> str:
    """The report. `is_passed` goes on with the sentences of the talks."""
    is_told, passed = likely >= threshold, is_passed[: len(likely)]
    kinds = (
        ("told to be over", is_over),
        ("near misses and remarks", ~is_over & ~is_real),
        ("pairs of the talks", is_real),
    )
    rows: list[list[str]] = []
    for name, which in kinds:
        rows.append([name, str(which.sum()), f"{passed[which].mean():.3f}", f"{is_told[which].mean():.3f}"])
    every = is_passed[len(likely) :]
    rows.append(["all statements of the talks", str(len(every)), f"{every.mean():.3f}", ""])
    text = "# Told to be over\n\n" + str(__doc__).split("\n\n", 2)[2].strip() + "\n\n"
    text += provenance("python benchmarks/fit/endings.py --keep") + "\n\n"
    right = float(is_over[is_told & ~is_real].mean())
    told = f"Of the writers' pairs that end the fact, {right:.3f} are over."
    return text + table(["pairs", "number", "pass the gate", "end the fact"], rows) + f"\n\n{told}\n"


if __name__ == "__main__":
    raise SystemExit(main())
