"""A recall with a deadline must end in time, however slow the embedder and reranker are, and list what it left out.

Each embedding and each reranking takes between zero and four times the deadline. `MOST_LATE_MS` is the time by which a
recall may exceed the deadline: the search itself is not interrupted, and the machine has other work too.

    python drills/deadlines.py --recalls 300 --memories 2000
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.dataset import percentile
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.model.scope import Scope
from mnemic.ports.models import RerankerCapabilities, Scores, Vectors

SCOPE = Scope(user="anna")
DEADLINES_MS = (20, 50, 100, 200)
SLOWEST = 4.0
MOST_LATE_MS = 50.0


class SlowEmbedder(SyntheticEmbedder):
    """Takes its time for a question."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.deadline_ms = 0.0
        self._chance = chance

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As the fast one, later."""
        time.sleep(self._chance.uniform(0, SLOWEST * self.deadline_ms / 1e3))
        return super().embed_queries(texts)


class SlowReranker:
    """Takes its time, and likes long texts."""

    name = "slow"
    capabilities = RerankerCapabilities(is_local=False, is_blocking=True, max_texts=50)

    def __init__(self, embedder: SlowEmbedder, chance: random.Random) -> None:
        self._embedder, self._chance = embedder, chance

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """The lengths, later."""
        time.sleep(self._chance.uniform(0, SLOWEST * self._embedder.deadline_ms / 1e3) if query else 0)
        return np.array([len(text) for text in texts], dtype=np.float32)

    def close(self) -> None:
        """Nothing to let go of."""


def drill(path: Path, recalls: int, memories: int, seed: int) -> tuple[list[list[str]], list[str]]:
    """A row of the table for each deadline, and every recall that was too late or did not say what it lacks."""
    chance, texts = random.Random(seed), GeneratedTexts(seed)  # noqa: S311 -- no secret hangs on it
    embedder = SlowEmbedder(chance)
    parts = build(Config(store=str(path), embedder="none"))
    rows: list[list[str]] = []
    problems: list[str] = []
    with Mnemic(replace(parts, embedder=embedder, reranker=SlowReranker(embedder, chance)), has_worker=False) as mnemic:
        mnemic.remember_many(SCOPE, list(texts.texts(memories)))
        mnemic.recall(SCOPE, "warm up")
        for deadline_ms in DEADLINES_MS:
            embedder.deadline_ms = deadline_ms
            took: list[float] = []
            whole = 0
            for question in texts.questions(recalls):
                start = time.perf_counter()
                found = mnemic.recall(SCOPE, question, deadline_ms=deadline_ms)
                took.append((time.perf_counter() - start) * 1e3)
                whole += not found.degraded
                if not found.hits:
                    problems.append(f"{question!r} found nothing within {deadline_ms} ms")
            late = [ms - deadline_ms for ms in took]
            if (percentile(late, 99) or 0.0) > MOST_LATE_MS:
                problems.append(f"p99 passes a deadline of {deadline_ms} ms by {percentile(late, 99):.0f} ms")
            shown = (f"{percentile(took, q):.1f}" for q in (50, 95, 99))
            rows.append([str(deadline_ms), *shown, f"{whole / len(took):.2f}"])
    return rows, problems


def main() -> int:
    """The command."""
    told = options(__doc__, recalls=300, memories=2000, seed=7)
    with TemporaryDirectory(prefix="mnemic-drill-") as folder:
        rows, problems = drill(Path(folder) / "memory.db", told.recalls, told.memories, told.seed)
    head = ["deadline, ms", "p50 ms", "p95 ms", "p99 ms", "share with nothing left out"]
    facts = {"recalls for each deadline": told.recalls, "memories": told.memories}
    return Outcome(name="deadlines", about=__doc__ or "", facts=facts, problems=problems, tables=[(head, rows)]).told()


if __name__ == "__main__":
    sys.exit(main())
