"""Fits the head that tells what a name stands for, from the vectors of the name and of the words beside it.

    python benchmarks/fit/graph_types.py [--keep]

`graph_types.toml` beside this file has names by kind and sentences for them, all our own. Each name is put into some of
its kind's sentences. The accuracy is of names and sentences that the fit did not see. `--keep` writes
`src/mnemic/text/graph/types_head.npy`.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.ports.models import LayeredEmbedder
from mnemic.text.graph import types

SET = Path(__file__).with_name("graph_types.toml")
HEAD = Path(types.__file__).with_name("types_head.npy")
SENTENCES_A_NAME = 8
FOLDS = 5
RIDGE = 2.0
BLOCKS = 5
"""Groups of features, each scaled to the same mean length: two vectors, and three summaries of inner layers."""
STEPS, RATE = 200, 0.1
Doubles = NDArray[np.float32]


def main() -> int:
    """Report the accuracy on names and sentences left out, and write the head if wanted."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--keep", action="store_true")
    is_kept = arguments.parse_args().keep
    rows = read_rows()
    embedder = build(Config(store=MEMORY_URL, embedder="minilm")).embedders[0]
    if not isinstance(embedder, LayeredEmbedder):
        raise SystemExit("minilm exposes no inner layers")
    beside = [
        types.near(said.replace("{}", name), said.index("{}"), said.index("{}") + len(name)) for _, name, said in rows
    ]
    features = types.measure(embedder, [name for _, name, _ in rows], beside)
    sizes = np.repeat(
        [np.sqrt(np.square(block).sum(axis=1).mean()) for block in np.split(features[:, :-1], BLOCKS, axis=1)],
        features.shape[1] // BLOCKS,
    )
    sizes = np.append(sizes, 1).astype(np.float32)
    features /= sizes
    wanted = np.array([types.LABELS.index(kind) for kind, _, _ in rows])
    names, told = (sorted({row[place] for row in rows}) for place in (1, 2))
    for group in (names, told):
        Random(7).shuffle(group)  # noqa: S311
    folds = np.array([(names.index(name) % FOLDS, told.index(said) % FOLDS) for _, name, said in rows])
    right, asked = np.zeros(len(types.LABELS)), np.zeros(len(types.LABELS))
    for fold in range(FOLDS if not is_kept else 0):
        head = fit(features[(folds != fold).all(axis=1)], wanted[(folds != fold).all(axis=1)])
        seen = (folds == fold).all(axis=1)
        hits = (features[seen] @ head).argmax(axis=1) == wanted[seen]
        np.add.at(right, wanted[seen], hits)
        np.add.at(asked, wanted[seen], 1)
    if not is_kept:
        print(f"{right.sum() / asked.sum():.3f} of {asked.sum():.0f}")
        print(", ".join(f"{label} {a / b:.2f}" for label, a, b in zip(types.LABELS, right, asked, strict=True)))
        return 0
    np.save(HEAD, (fit(features, wanted) / sizes[:, None]).astype(np.float16))
    print(f"wrote {HEAD}, fitted on {len(rows)} sentences")
    return 0


def read_rows() -> list[tuple[str, str, str]]:
    """Type, name and sentence with a `{}` for it."""
    kinds, chance = tomllib.loads(SET.read_text(encoding="utf-8"))["kinds"], Random(7)  # noqa: S311
    return [
        (kind["type"], name.strip(), said)
        for kind in kinds
        for name in kind["names"].split("|")
        for said in chance.sample(kind["contexts"], min(SENTENCES_A_NAME, len(kind["contexts"])))
    ]


def fit(rows: Doubles, wanted: NDArray[np.int64]) -> Doubles:
    """Multinomial logistic regression by Adam, types weighted by the root of their rarity."""
    count = len(types.LABELS)
    weights = np.zeros((rows.shape[1], count), dtype=np.float32)
    share = np.bincount(wanted, minlength=count) / len(wanted) * count
    each = (1 / np.sqrt(np.maximum(share, 0.1)))[wanted][:, None].astype(np.float32)
    truth, mean, spread = np.eye(count, dtype=np.float32)[wanted], np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = rows.T @ (each * (types.probabilities(rows @ weights) - truth))
        slope[:-1] += RIDGE * weights[:-1]
        mean, spread = 0.9 * mean + 0.1 * slope, 0.99 * spread + 0.01 * slope**2
        moved = (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-9)
        weights -= RATE * (1 - step / STEPS) * moved
    return weights


if __name__ == "__main__":
    sys.exit(main())
