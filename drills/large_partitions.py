"""Compares the search of a large partition, which skips rows to be fast, with the exact search.

The memories are generated, and their vectors come from the offline stand-in. Each question is sent to an index that
scores every row, and to the index in use, after its graph is built. The first hits must be the same.

    python drills/large_partitions.py --memories 100000 --questions 150
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings

SCOPE = Scope(user="anna")
FIRST = 10
BATCH = 1000
LEAST_SHARED = 0.95
Answers = list[list[str]]


def asked(store: str, settings: Settings, questions: list[str]) -> Answers:
    """The ids of the first hits of each question."""
    parts = build(Config(store=store, embedder="none", settings=settings))
    with Mnemic(replace(parts, embedder=SyntheticEmbedder()), has_worker=False) as mnemic:
        mnemic.recall(SCOPE, "warm up")
        parts.index.settle()
        return [[hit.id for hit in mnemic.recall(SCOPE, q, limit=FIRST).hits] for q in questions]


def drill(folder: Path, memories: int, asks: int, seed: int) -> tuple[dict[str, object], list[str]]:
    """How much the two answers share."""
    store, texts = str(folder / "memory.db"), GeneratedTexts(seed)
    with Mnemic(
        replace(build(Config(store=store, embedder="none")), embedder=SyntheticEmbedder()), has_worker=False
    ) as mnemic:
        rows = list(texts.texts(memories))
        for start in range(0, memories, BATCH):
            mnemic.remember_many(SCOPE, rows[start : start + BATCH])
    questions = texts.questions(asks)
    exact = asked(store, Settings(exact_partition_rows=1 << 40), questions)
    quick = asked(store, Settings(), questions)
    pairs = list(zip(exact, quick, strict=True))
    shared = sum(len(set(one) & set(other)) / max(len(one), 1) for one, other in pairs) / len(pairs)
    first = sum(one[:1] == other[:1] for one, other in pairs) / len(pairs)
    facts: dict[str, object] = {
        "memories": memories,
        "questions": asks,
        f"shared of the first {FIRST}": f"{shared:.3f}",
        "the same first hit": f"{first:.3f}",
    }
    return facts, [] if shared >= LEAST_SHARED else [f"only {shared:.3f} of the first {FIRST} hits are shared"]


def main() -> int:
    """The command."""
    told = options(__doc__, memories=100_000, questions=150, seed=3)
    with TemporaryDirectory(prefix="mnemic-drill-") as folder:
        facts, problems = drill(Path(folder), told.memories, told.questions, told.seed)
    return Outcome(name="large_partitions", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
