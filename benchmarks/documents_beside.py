"""Measures how documents affect the recall of conversations, and conversations that of documents.

    MNEMIC_DATA=path/to/data python benchmarks/documents_beside.py [--questions N]

Each user of a set of conversations gets all passages of a set of documents in the same partition. Questions about the
conversations, and questions about the documents, are asked with and without the other kind in the store. Writes
documents-beside.md. Without MNEMIC_DATA, nothing is measured.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.evaluation.dataset import Dataset, LabelledQuestion, Ranking, load_dataset, score_run
from mnemic.evaluation.retrieval import QuestionClock, RetrievalOptions, Space, keep_passages, opened, spaces_of, stored
from mnemic.model.document import DocumentQuery
from mnemic.model.scope import Level, Scope

TALKS = ("locomo", "beam", "longmemeval-pool")
DOCUMENTS = ("hotpotqa-100", "cranfield")
LIMIT = 100
METRICS = ("R@5", "R@10", "nDCG@10")
ABOUT = """# Documents beside conversations

Recall of conversations (LoCoMo, BEAM, LongMemEval pool) and of documents (HotpotQA, 994 passages; Cranfield, 1,400)
alone, and when both are in the same partition of one user. "messages", "documents": a recall that names the kind, as a
context does for its two blocks; as messages are compared with messages and passages with passages, what is asked of one
kind does not notice the other. "everything": a recall that says nothing of kinds, where a message and a passage compete
for a place. There the kind with nothing as near to the question as the other is put back by the difference of the best
cosines (`elsewhere`, decision 0018); "as they stand": without that, as it was before.
"""


def main() -> int:
    """Measure every set."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--questions", type=int, help="of each set at most so many, evenly drawn")
    chosen = arguments.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    rows: list[list[str]] = []
    for name in TALKS:
        rows += _measured(
            name, _set(name, chosen.questions), {each: _set(each, chosen.questions) for each in DOCUMENTS}
        )
    titles = ["questions of", "asked for", "beside them", "n", *METRICS]
    command = "python benchmarks/documents_beside.py" + (f" --questions {chosen.questions}" if chosen.questions else "")
    keep("documents-beside.md", f"{ABOUT}\n{provenance(command)}\n\n{table(titles, rows)}\n")
    return 0


def _set(name: str, most: int | None) -> Dataset:
    folder = Path(os.environ["MNEMIC_DATA"]) / name
    whole = load_dataset(folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz")
    step = 1 if most is None else max(1, len(whole.questions) // most)
    return replace(whole, questions=whole.questions[::step])


def _measured(name: str, talks: Dataset, shelves: Mapping[str, Dataset]) -> Iterator[list[str]]:
    with opened(RetrievalOptions()) as (mnemic, clock, parts):
        ids: dict[str, str] = {}
        spaces = spaces_of(talks)
        for space in spaces:
            for batch in stored(mnemic, space, 256):
                ids |= dict(batch)
        yield _row(name, "everything", "nothing", talks, _run(mnemic, clock, spaces, ids, ()))
        weights = replace(parts.settings.weights, elsewhere=0.0)
        plain = Mnemic(replace(parts, settings=replace(parts.settings, weights=weights)), has_worker=False)
        for shelf, documents in shelves.items():
            for space in spaces:
                ids |= dict(keep_passages(parts, Scope(user=space.user), documents.corpus))
            first = [Space(spaces[0].user, (), documents.questions)]
            for of, dataset, asking, beside in (
                (name, talks, spaces, f"documents of {shelf}"),
                (shelf, documents, first, f"messages of {name}"),
            ):
                kind = "document" if dataset is documents else "message"
                for asked, by, kinds in (
                    ("everything, as they stand", plain, ()),
                    ("everything", mnemic, ()),
                    (f"{kind}s", mnemic, (kind,)),
                ):
                    yield _row(of, asked, beside, dataset, _run(by, clock, asking, ids, kinds))
            _clear(parts, spaces)


def _clear(parts: Engine, spaces: Sequence[Space]) -> None:
    for space in spaces:
        scope = Scope(user=space.user)
        with parts.store.write() as work:
            found = work.documents.list(scope.visibility, DocumentQuery())
            work.documents.erase(scope.partition(Level.USER), [document.id for document in found], parts.clock.now())


def _run(
    mnemic: Mnemic, clock: QuestionClock, spaces: Sequence[Space], ids: dict[str, str], kinds: Sequence[str]
) -> list[Ranking]:
    return [
        _ranking(mnemic, clock, space.user, question, ids, kinds) for space in spaces for question in space.questions
    ]


def _ranking(
    mnemic: Mnemic,
    clock: QuestionClock,
    user: str,
    question: LabelledQuestion,
    ids: dict[str, str],
    kinds: Sequence[str],
) -> Ranking:
    with clock.at(question.time):
        hits = mnemic.recall(Scope(user=user), question.text, limit=LIMIT, kinds=kinds)
    return Ranking(question.id, [ids[hit.id] for hit in hits if not hit.is_fallback], None)


def _row(of: str, asked: str, beside: str, dataset: Dataset, rankings: Sequence[Ranking]) -> list[str]:
    overall = score_run(dataset, rankings).overall
    cells = [of, asked, beside, f"{overall.n:,}", *(f"{overall.metrics[name]:.3f}" for name in METRICS)]
    print(*cells, flush=True)
    return cells


if __name__ == "__main__":
    sys.exit(main())
