"""Measures how much following the graph improves recall, on every set in MNEMIC_DATA. Writes results/graph-recall.md.

    MNEMIC_DATA=path/to/data python benchmarks/graph_recall.py [SET …] [--weights W …] [--hops N] [--out FILE]

Each set is stored once, and the rules extract its graph. Each question is asked without the graph and with it, with
each weight of `related`. Sets with a separate haystack for each question are left out, because their sessions are also
part of another, complete set. Without MNEMIC_DATA, nothing is measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.linked_facts import NAME, linked_facts
from benchmarks.machine import keep, provenance, table
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.inputs import Question
from mnemic.engine.recall import answer
from mnemic.evaluation.dataset import Dataset, LabelledQuestion, Means, Ranking, Report, load_dataset, score_run
from mnemic.evaluation.retrieval import QuestionClock, RetrievalOptions, Space, opened, spaces_of, stored
from mnemic.model.scope import Scope

METRICS = ("R@5", "R@10", "nDCG@10", "s_any@5")
LIMIT = 20
MOST_CATEGORIES = 8
ABOUT = """# Recall with the graph

Share of what should be found, without the graph and with `hops` relations followed from what a question names, from
names near to it by vector, and from what its first five hits name (docs/decisions/0020-graph.md). The graph is what
the rules read. `reached`: share of the questions of which the graph changed the order of the first twenty. Rows in
brackets are categories of the set above. `generated-links` (benchmarks/linked_facts.py) is made of our own sentences,
in phrases that the rules know: what following relations is worth where they were read.
"""


@dataclass(slots=True)
class Runs:
    """The rankings of one set under each weight, 0 for those without the graph, and how often the order changed."""

    rankings: dict[float, list[Ranking]] = field(default_factory=dict[float, list[Ranking]])
    changed: dict[float, int] = field(default_factory=dict[float, int])
    entities: int = 0
    relations: int = 0

    def note(self, weight: float, ranking: Ranking, plain: Ranking) -> None:
        """Take in an answer beside the one without the graph."""
        self.rankings.setdefault(weight, []).append(ranking)
        self.changed[weight] = self.changed.get(weight, 0) + (ranking.ranked != plain.ranked)


def main() -> int:
    """Measure the sets named, or all."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("sets", nargs="*", metavar="SET")
    arguments.add_argument("--weights", nargs="+", type=float, default=[0.0])
    arguments.add_argument("--hops", type=int, default=2)
    arguments.add_argument("--out", default="graph-recall.md")
    chosen = arguments.parse_args()
    data = Path(os.environ.get("MNEMIC_DATA", ""))
    names = chosen.sets or sorted(path.parent.name for path in data.glob("*/corpus.jsonl.gz"))
    names = [name for name in names if not (data / name / "haystacks.json").exists()]
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets but the generated one: set MNEMIC_DATA to their folder")
        names = []
    names = chosen.sets or [NAME, *names]
    rows = [row for name in names for row in _measured(name, data / name, chosen.weights, chosen.hops)]
    titles = ["set", "n", "names", "relations", "weight", "reached", *METRICS, "p50 ms"]
    keep(
        chosen.out,
        f"{ABOUT}\nHops: {chosen.hops}. {provenance('benchmarks/graph_recall.py')}\n\n{table(titles, rows)}\n",
    )
    return 0


def _measured(name: str, folder: Path, weights: Sequence[float], hops: int) -> list[list[str]]:
    corpus, queries = folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz"
    dataset = linked_facts() if name == NAME else load_dataset(corpus, queries)
    runs = Runs()
    with opened(RetrievalOptions()) as (mnemic, clock, parts):
        for space in spaces_of(dataset):
            _asked((mnemic, clock, parts), space, runs, weights, hops)
    rows = [row for weight in runs.rankings for row in _rows(name, dataset, runs, weight)]
    for row in rows:
        print(*row, flush=True)
    return rows


def _asked(
    over: tuple[Mnemic, QuestionClock, Engine], space: Space, runs: Runs, weights: Sequence[float], hops: int
) -> None:
    mnemic, clock, parts = over
    ids: dict[str, list[str]] = {}
    for batch in stored(mnemic, space, 256, parts):
        for item_id, corpus_id in batch:
            ids.setdefault(item_id, []).append(corpus_id)
    scope = Scope(user=space.user)
    report = mnemic.graph.extract(scope)
    runs.entities, runs.relations = runs.entities + report.mentions, runs.relations + report.relations
    parts = replace(parts, clock=clock)
    for question in space.questions:
        with clock.at(question.time):
            plain = _answered(parts, scope, question, ids, 0)
            runs.note(-1.0, plain, plain)
            for weight in weights:
                coefficients = parts.settings.weights
                coefficients = replace(coefficients, related=weight) if weight else coefficients
                weighted = replace(parts, settings=replace(parts.settings, weights=coefficients))
                runs.note(weight, _answered(weighted, scope, question, ids, hops), plain)


def _answered(parts: Engine, scope: Scope, question: LabelledQuestion, ids: dict[str, list[str]], hops: int) -> Ranking:
    start = time.perf_counter()
    found = answer(parts, scope, Question(text=question.text, limit=LIMIT, hops=hops))
    ms = (time.perf_counter() - start) * 1e3
    hits = () if found.is_fallback else found.hits
    return Ranking(question.id, [corpus_id for hit in hits for corpus_id in ids[hit.id]], round(ms, 3))


def _rows(name: str, dataset: Dataset, runs: Runs, weight: float) -> list[list[str]]:
    """All questions of a set, and each of its categories where these are few."""
    report: Report = score_run(dataset, runs.rankings[weight])
    told = "no graph" if weight < 0 else f"{weight:g}" if weight else "shipped"
    share = f"{runs.changed[weight] / max(len(dataset.questions), 1):.2f}"
    sizes = [f"{runs.entities:,}", f"{runs.relations:,}", told]
    rows = [[name, f"{report.overall.n:,}", *sizes, share, *_cells(report.overall), f"{report.overall.p50_ms:.0f}"]]
    parts = report.by_category.items() if len(report.by_category) <= MOST_CATEGORIES else ()
    return rows + [[f"({part})", f"{of.n:,}", "", "", told, "", *_cells(of), ""] for part, of in parts]


def _cells(means: Means) -> list[str]:
    return [f"{means.metrics[each]:.3f}" if each in means.metrics else "–" for each in METRICS]


if __name__ == "__main__":
    sys.exit(main())
