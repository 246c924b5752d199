"""Compares recall with vectors in Qdrant and recall with the exact index, on a development set.

    MNEMIC_DATA=path/to/data python -m benchmarks.qdrant_agreement [--set locomo] [--questions 300] [--url URL]

The same rows of one store are searched through both. First, each group of the set is a separate user, as in real use,
and Qdrant compares all vectors of the user. Then, all groups are one user, and the graph (HNSW) is forced even where
Qdrant would compare all vectors. The output shows the mean share of the first ten hits that both return, how often the
first hit is the same, and R@10 of each. Without `--url`, Qdrant's engine runs in a separate process behind the routes
of `tests/qdrant_engine.py`.
"""

from __future__ import annotations

import argparse
import os
import random
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from qdrant_client import QdrantClient, models

from benchmarks.machine import keep, provenance, table
from mnemic.adapters.indexes.qdrant import QdrantCollection as Collection
from mnemic.adapters.indexes.qdrant import open_qdrant
from mnemic.adapters.indexes.qdrant_points import QdrantOptions, Wanted, said_of
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.dataset import load_dataset
from mnemic.evaluation.retrieval import Space, spaces_of, stored
from mnemic.model.scope import Scope
from mnemic.ports.models import Embedder
from tests.qdrant_servers import QdrantServer

TOP = 10
BATCH = 256
LEAST_KB = 10
"""The least that Qdrant takes for the sizes below which it makes no graph and compares all vectors."""

OPTIONS = QdrantOptions()
TEXT = """The same rows of one store, asked through the exact index in memory and through Qdrant with words in FTS5, ten
hits each. Where a user has few rows Qdrant compares all vectors; in the second line it is made to use its graph."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over some questions: the mean share of the first ten in common, how often the first is the same, R@10 of both."""

    shared: float
    same_first: float
    exact_recall: float
    qdrant_recall: float


def compared(
    exact: Mnemic, qdrant: Mnemic, spaces: Sequence[Space], ids: dict[str, list[str]], count: int
) -> Agreement:
    """Ask `count` questions of both."""
    asked = [(space.user, question) for space in spaces for question in space.questions]
    chosen = random.Random(0).sample(asked, min(count, len(asked)))  # noqa: S311 -- seeded, to be repeated
    shared = same = left = right = 0.0
    for user, question in chosen:
        hits = [[hit.id for hit in one.recall(Scope(user=user), question.text, limit=TOP)] for one in (exact, qdrant)]
        shared += len(set(hits[0]) & set(hits[1])) / max(len(hits[0]), 1)
        same += hits[0][:1] == hits[1][:1]
        found = [{corpus for hit in each for corpus in ids.get(hit, ())} for each in hits]
        left += len(found[0] & set(question.gold)) / len(question.gold)
        right += len(found[1] & set(question.gold)) / len(question.gold)
    return Agreement(*(number / len(chosen) for number in (shared, same, left, right)))


@dataclass(frozen=True, slots=True)
class Way:
    """How to store and search: `spaces` as the users of one store; `is_graph`: never by comparing all vectors."""

    name: str
    spaces: Sequence[Space]
    is_graph: bool


def measured(way: Way, url: str, count: int, optimise: Callable[[str], None]) -> tuple[Agreement, int]:
    """Store the spaces, let both indexes take them in, and compare; also how many vectors are in graphs."""
    with TemporaryDirectory(prefix="mnemic-agreement-") as folder:
        parts = build(Config(store=str(Path(folder) / "memory.db")))
        space = cast("Embedder", parts.embedder).space
        name, client = f"agreement_{uuid.uuid4().hex}", QdrantClient(url, timeout=120)
        if way.is_graph:
            client.create_collection(
                name,
                vectors_config=models.VectorParams(size=space.dims, distance=models.Distance.COSINE),
                hnsw_config=models.HnswConfigDiff(
                    m=OPTIONS.m, payload_m=OPTIONS.m, ef_construct=OPTIONS.ef_construct, full_scan_threshold=LEAST_KB
                ),
                optimizers_config=models.OptimizersConfigDiff(indexing_threshold=LEAST_KB),
                metadata=said_of(Wanted(name, space.id, space.model, space.dims)),
            )
        asked = Collection(url, name, options={"timeout_s": 120})
        with closing(open_qdrant(parts.store, space, asked, Path(folder) / "words")) as index:
            exact = Mnemic(replace(parts, index=ScanIndex(budget_bytes=1 << 32)), has_worker=False)
            qdrant = Mnemic(replace(parts, index=index, served_index=index), has_worker=False)
            ids: dict[str, list[str]] = {}
            for one in way.spaces:
                for batch in stored(exact, one, BATCH, parts):
                    for item_id, corpus_id in batch:
                        ids.setdefault(item_id, []).append(corpus_id)
                qdrant.recall(Scope(user=one.user), "warm up")
            optimise(name)
            found = compared(exact, qdrant, way.spaces, ids, count)
            indexed = client.get_collection(name).indexed_vectors_count or 0
            client.delete_collection(name)
            exact.close()
            return found, indexed


def as_one(spaces: Sequence[Space]) -> list[Space]:
    """All groups as one user."""
    rows = [row for space in spaces for row in space.rows]
    return [Space("everybody", rows, [question for space in spaces for question in space.questions])]


def _wait(client: QdrantClient, name: str) -> None:
    while client.get_collection(name).status != models.CollectionStatus.GREEN:
        time.sleep(1.0)


def main() -> None:
    """Write `results/qdrant.md`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="locomo")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--url")
    wish = parser.parse_args()
    folder = Path(os.environ["MNEMIC_DATA"]) / wish.set
    spaces = spaces_of(load_dataset(folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz"))
    spaces = [replace(s, questions=[q for q in s.questions if q.gold and not q.is_unanswerable]) for s in spaces]
    server = None if wish.url else QdrantServer()
    url = wish.url or (server.url if server else "")
    rows: list[list[str]] = []
    for way in (Way("each group a user", spaces, is_graph=False), Way("all one user", as_one(spaces), is_graph=True)):
        optimise = partial(_wait, QdrantClient(url)) if server is None else server.optimise
        found, indexed = measured(way, url, wish.questions, optimise)
        numbers = (found.shared, found.same_first, found.exact_recall, found.qdrant_recall)
        rows.append([way.name, f"{indexed:,}", *(f"{number:.3f}" for number in numbers)])
        print(rows[-1], flush=True)
    if server is not None:
        server.close()
    head = ["rows stored as", "vectors in graphs", "first ten in common", "same first hit", "R@10 exact", "R@10 Qdrant"]
    told = provenance(f"python -m benchmarks.qdrant_agreement --set {wish.set} --questions {wish.questions}")
    engine = "a Qdrant server" if wish.url else "Qdrant's engine (qdrant-edge-py) behind the routes of the tests"
    keep(
        "qdrant.md",
        f"# Recall over Qdrant and over the exact index\n\n{TEXT}\n\n{table(head, rows)}\n\nWith {engine}. {told}\n",
    )


if __name__ == "__main__":
    main()
