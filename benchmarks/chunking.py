"""Compares ways to split documents by the answers they find in MNEMIC_DATA/chunking-eval. Writes results/chunking.md.

    MNEMIC_DATA=path/to/data python benchmarks/chunking.py [--only NAME …] [--runs FOLDER]

Each chunk is stored as one document in the embedded memory store, and each question is one recall. With `--runs`, the
spans found are saved in that folder, one file for each way, in the format of the independent scorer. Without
MNEMIC_DATA, nothing is measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from benchmarks.spans import DocumentSpan, score_spans
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion, read_json_lines
from mnemic.evaluation.retrieval import RetrievalOptions, run_retrieval
from mnemic.text.chunking import ChunkConfig, ChunkDraft, Chunking, draft_chunks

SET = "chunking-eval"
LIMIT = 10
METRICS = ("span_R@1", "span_R@5", "span_R@10", "span_P@5")
ABOUT = """# Chunking

Span recall and precision in characters (`benchmarks/spans.py`), averaged over 220 questions about two documents;
P@5 is the share of the text of the first five chunks that answers the question. Numbers in a name are size, overlap and
minimum in tokens; `titled` puts the headings of a chunk above its text when it is remembered. The floor, windows of
200 words every 150 searched with SQLite FTS5, has R@1 0.677, R@5 0.942, R@10 0.986 and P@5 0.045. The coefficients of
the ranking were fitted to several sets, of which these questions (over other passages) are one, and the sizes were
chosen by this table: on documents of another kind the difference to the floor may be smaller. One document is a speech
without headings; the other is many articles with headings in wiki notation, which is why titles help.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to cut, and whether the headings are remembered with the text."""

    chunking: Chunking
    config: ChunkConfig
    is_titled: bool = False

    @property
    def name(self) -> str:
        """As it stands in the table."""
        sizes = f"{self.config.chunk_size}/{self.config.chunk_overlap}/{self.config.min_chunk_size}"
        return f"{self.chunking} {sizes}{' titled' if self.is_titled else ''}"


VARIANTS = (
    *(Variant(Chunking.PARAGRAPHS, ChunkConfig(*each)) for each in ((512, 64, 50), (512, 50, 50), (160, 40, 40))),
    *(Variant(Chunking.SENTENCES, ChunkConfig(*each)) for each in ((256, 32, 50), (160, 40, 40))),
    *(Variant(Chunking.STRUCTURE, ChunkConfig(*each)) for each in ((256, 32, 50), (160, 40, 40))),
    *(
        Variant(Chunking.STRUCTURE, ChunkConfig(*each), is_titled=True)
        for each in ((256, 32, 50), (192, 48, 48), (160, 40, 40), (128, 32, 32))
    ),
)
Answers = Mapping[str, Sequence[DocumentSpan]]


def main() -> int:
    """Measure the variants named, or all."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", nargs="*", default=[], metavar="NAME")
    arguments.add_argument("--runs", type=Path)
    chosen = arguments.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no set: set MNEMIC_DATA to the folder of the sets")
        return 0
    folder = Path(os.environ["MNEMIC_DATA"]) / SET
    rows = [_row(folder, each, chosen.runs) for each in VARIANTS if not chosen.only or each.name in chosen.only]
    if not chosen.only:
        made = provenance("python benchmarks/chunking.py")
        keep("chunking.md", f"{ABOUT}\n{made}\n\n{table(['chunks', 'number', 'R@1', 'R@5', 'R@10', 'P@5'], rows)}\n")
    return 0


def answers(folder: Path, variant: Variant) -> tuple[Answers, int]:
    """The spans found for each question, best first, and the number of chunks."""
    spans: dict[str, DocumentSpan] = {}
    corpus: list[CorpusRow] = []
    for path in sorted((folder / "documents").iterdir()):
        for chunk in draft_chunks(path.read_bytes().decode("utf-8"), variant.config, variant.chunking):
            key = f"{path.name}/{chunk.index}"
            spans[key] = DocumentSpan(path.name, chunk.start, chunk.end)
            corpus.append(CorpusRow(id=key, group="all", text=chunk.text, title=_title(chunk, variant)))
    questions = [LabelledQuestion(id=row["id"], group="all", text=row["text"]) for row in _questions(folder)]
    run = run_retrieval(Dataset(corpus, questions), RetrievalOptions(store="memory", limit=LIMIT))
    return {each.qid: [spans[i] for i in dict.fromkeys(each.ranked)] for each in run}, len(corpus)


def scores(folder: Path, found: Answers) -> dict[str, float]:
    """The mean of every metric over all questions; one without an answer scores 0."""
    scored = [
        score_spans(found.get(row["id"], ()), [DocumentSpan(r["doc"], r["start"], r["end"]) for r in row["references"]])
        for row in _questions(folder)
    ]
    return {name: fmean(each[name] for each in scored) for name in scored[0]}


def write_spans(path: Path, found: Answers) -> None:
    """Write the run for the independent scorer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for qid, spans in found.items():
            listed = [[span.document, span.start, span.end] for span in spans]
            out.write(json.dumps({"qid": qid, "ranked": [], "spans": listed}) + "\n")


def _title(chunk: ChunkDraft, variant: Variant) -> str | None:
    return chunk.title or None if variant.is_titled else None


def _questions(folder: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_json_lines(folder / "questions.jsonl.gz"):
        yield dict(row)


def _row(folder: Path, variant: Variant, runs: Path | None) -> list[str]:
    found, count = answers(folder, variant)
    if runs:
        write_spans(runs / f"{variant.name.replace('/', '-').replace(' ', '-')}.jsonl.gz", found)
    means = scores(folder, found)
    cells = [variant.name, f"{count}", *(f"{means[name]:.3f}" for name in METRICS)]
    print(*cells, flush=True)
    return cells


if __name__ == "__main__":
    sys.exit(main())
