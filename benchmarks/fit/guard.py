"""Fits the guard's classifier: the probability that a sentence is an instruction to the model, from groups of words.

The groups have up to three words. The training data are instructions and harmless sentences generated from
`guard.toml`, and sentences from real conversations (half of LongMemEval's sessions), our documentation and our lists.
The sets on which the guard is measured are not used. The fit is a logistic regression with adaptive gradient steps.

    python benchmarks/fit/guard.py --talks FOLDER_OF_LONGMEMEVAL
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
import tomllib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from mnemic.text import sanitise  # noqa: E402 -- after the path is set
from mnemic.text.injection import fold  # noqa: E402

SIZE = 1 << 15
FILLED_ORDERS, FILLED_HARMLESS = 60, 30
"""Times that a template is filled."""

ROUNDS, STEP, DECAY = 6, 0.5, 1e-5
REAL_WEIGHT = 0.5  # of a real harmless sentence: there are ten times as many as orders
SHOWN = 15
LED_EVERY, LEADS = 4, ("assistant", "user", "tool", "lookup", "assistant")
_SLOT = re.compile(r"\{(\w+)\}")
Row = tuple[NDArray[np.intp], float, float]


def main() -> None:
    """Fit, say how harmless sentences that were held out fare, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talks", type=Path, required=True)
    told = parser.parse_args()
    orders, harmless = made_sentences()
    trained, held_out = talks(told.talks)
    real = [*trained, *own_texts()]
    rows = [
        *(row for text in orders for row in rows_of(text, 1.0, 1.0)),
        *(row for text in led(harmless) for row in rows_of(text, 0.0, 1.0)),
        *(row for text in led(real) for row in rows_of(text, 0.0, REAL_WEIGHT)),
    ]
    print(f"orders {len(orders):,}, harmless {len(harmless):,}, real texts {len(real):,}, sentences {len(rows):,}")
    weights = fit(rows)
    limit = 127 / sanitise.HEAD_SCALE
    stored = np.round(np.clip(weights, -limit, limit) * sanitise.HEAD_SCALE).astype(np.int8)
    np.save(Path(sanitise.__file__).with_name("guard_head.npy"), stored)
    show(stored.astype(np.float64) / sanitise.HEAD_SCALE, held_out)


def made_sentences() -> tuple[list[str], list[str]]:
    """Orders, and harmless sentences, of `guard.toml`."""
    told = tomllib.loads((HERE / "guard.toml").read_text(encoding="utf-8"))
    draw = random.Random(4)  # noqa: S311 -- draws words, no secrets
    orders, harmless = list[str](), list[str]()
    for language in told.values():
        for made, name, times in ((orders, "orders", FILLED_ORDERS), (harmless, "harmless", FILLED_HARMLESS)):
            for template in language[name]:
                filled = {fill(template, language["words"], draw) for _ in range(times)}
                made.extend(text[0].lower() + text[1:] if draw.random() < 1 / 3 else text for text in sorted(filled))
    return orders, harmless


def led(texts: Sequence[str]) -> Iterator[str]:
    """The texts, and some of them behind an author, as a context shows messages."""
    for place, text in enumerate(texts):
        yield text
        if place % LED_EVERY == 0:
            yield f"{LEADS[place // LED_EVERY % len(LEADS)]}: {text}"


def fill(template: str, words: Mapping[str, Sequence[str]], draw: random.Random) -> str:
    """A template with a word in each slot; a slot without words stays."""
    while (slot := _SLOT.search(template)) and slot[1] in words:
        template = template[: slot.start()] + draw.choice(words[slot[1]]) + template[slot.end() :]
    return template


def talks(folder: Path) -> tuple[list[str], list[str]]:
    """Messages of half of the sessions to learn from, and of the other half to look at."""
    halves: tuple[list[str], list[str]] = ([], [])
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            halves[zlib.crc32(str(row["session"]).encode()) % 2].append(row["text"])
    return halves[1], halves[0]


def own_texts() -> Iterator[str]:
    """Our documentation and the lists beside this file."""
    for path in sorted([*HERE.parent.parent.joinpath("docs").rglob("*.md"), *HERE.glob("*.txt")]):
        yield path.read_text(encoding="utf-8")


def rows_of(text: str, label: float, weight: float) -> Iterator[Row]:
    """The features of each sentence, with its label and weight."""
    for _, features in sanitise.sentence_features(fold(text)):
        yield (features % SIZE).astype(np.intp), label, weight


def fit(rows: list[Row]) -> NDArray[np.float64]:
    """Weights, the bias last."""
    weights, squares = np.zeros(SIZE + 1), np.full(SIZE + 1, 1e-6)
    for turn in range(ROUNDS):
        for place in np.random.default_rng(turn).permutation(len(rows)):
            features, label, weight = rows[int(place)]
            share = 1 / np.sqrt(len(features))
            logit = float(weights[features].sum()) * share + weights[SIZE]
            error = (1 / (1 + np.exp(-logit)) - label) * weight
            slopes = error * share + DECAY * weights[features]
            squares[features] += slopes * slopes
            weights[features] -= STEP * slopes / np.sqrt(squares[features])
            squares[SIZE] += error * error
            weights[SIZE] -= STEP / 5 * error / np.sqrt(squares[SIZE])
    return weights


def show(weights: NDArray[np.float64], texts: Sequence[str]) -> None:
    """How many harmless sentences would count as orders, and the highest."""
    logits = list[tuple[float, str]]()
    for text in texts:
        view = fold(text)
        for (start, end), features in sanitise.sentence_features(view):
            share = np.sqrt(len(features))
            logits.append(
                (float(weights[(features % SIZE).astype(np.intp)].sum() / share + weights[SIZE]), view.text[start:end])
            )
    logits.sort(reverse=True)
    for least in (-1.0, -0.5, 0.0, 0.5, 1.0):
        print(f"above {least:+.1f}: {sum(logit > least for logit, _ in logits)} of {len(logits):,} sentences held out")
    for logit, text in logits[:SHOWN]:
        print(f"{logit:+.2f} {text[:120]}")


if __name__ == "__main__":
    main()
