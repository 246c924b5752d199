"""What the rules find in conversations, against the memories that should be kept of them.

    MNEMIC_DATA=path/to/data python -m benchmarks.extraction

Runs the set `halumem` below the data folder through the product without a language model, once as it is and once for
each of several thresholds of the rules. Classes of errors are counted, no text is kept. Writes and prints
`results/extraction.md`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from benchmarks.machine import keep, provenance, table
from mnemic.evaluation.dataset import CorpusRow, load_corpus
from mnemic.evaluation.extraction import ExtractionOptions, Produced, run_extraction
from mnemic.evaluation.extraction_score import ExtractionReport, GoldMemory, Share, load_gold, score_extraction
from mnemic.evaluation.extraction_words import USER, Bag, bag, main_name, overlap
from mnemic.model.item import Role
from mnemic.text.facts import find

THRESHOLDS = (-99.0, 1.0, 1.5, 2.0, 2.5, 3.0)
MATCH, NEAR, CARRIED = 0.5, 0.4, 0.5

NOTES = """The rules read the user's messages alone, at most three facts of each. No text of the set is part of the
project and no weight was fitted by a program, but its one user was looked at while the rules were written:
the threshold was chosen so that precision is above 0.35 here, and the weights of a talk's opening and of
what is new were set after a look at a few round values, and the list of vague words was
written after reading it. So these are figures of development, not of a set
that was held out; expect less elsewhere. `everything` keeps every statement: what no threshold can exceed.
A pair matches at a token F1 of 0.5, which is lenient; figures that a language model judged are not
comparable. The floor (every sentence of the user of five words or more) has recall 0.515 at precision 0.125
and duplicates 0.284.

The target, recall 0.50 at precision 0.35 without a language model, is not reached: all statements of the
user together match about half of what should be kept, so that nearly every choice would have to
be right. Most memories of this set sum up several messages, name motives and feelings in words that the
user did not use, or were put by the assistant; most rows that are wrong are remarks of the user that the
set does not count as worth keeping. Updates here mostly restate an earlier summary in other words; the
rules supersede only values of one attribute."""


def main() -> None:
    """Run, score, and write the results."""
    folder = Path(os.environ["MNEMIC_DATA"]) / "halumem"
    corpus, gold = load_corpus(folder / "corpus.jsonl.gz"), load_gold(folder / "memories.jsonl.gz")
    begin = time.perf_counter()
    produced = run_extraction(corpus)
    seconds = time.perf_counter() - begin
    rows = [_row("as shipped, near duplicates merged by minilm", score_extraction(gold, produced, corpus))]
    for threshold in THRESHOLDS:
        with patch.object(find, "KEPT", threshold):
            kept = run_extraction(corpus, ExtractionOptions(embedder="none"))
        name = "everything" if threshold < 0 else f"threshold {threshold:.1f}"
        rows.append(_row(f"{name}, no embedder", score_extraction(gold, kept, corpus)))
    report = score_extraction(gold, produced, corpus)
    messages = sum(row.role == Role.USER.value for row in corpus)
    head = ["run", "produced", "recall", "precision", "F1", "lenient", "interference", "duplicates", "junk", "updates"]
    by_type = [[name, str(each.whole), _ratio(each)] for name, each in report.recall_by_type.items()]
    text = [
        "# Extraction without a language model",
        provenance("python -m benchmarks.extraction"),
        (
            f"{len(gold)} memories, of which {report.recall.whole} are true, and {messages} messages of the user in "
            f"{len({row.session for row in corpus})} sessions; {1000 * seconds / len(corpus):.0f} ms a message, "
            "embedding and storing included. `updates` are the right ones of those that can be reached."
        ),
        table(head, rows),
        table(["recall by type", "n", "recall"], by_type),
        table(["what was missed", "n"], _missed(gold, produced, corpus)),
        table(["what was wrong", "n"], _wrong(gold, produced)),
        NOTES,
    ]
    keep("extraction.md", "\n\n".join(text) + "\n")


def _row(name: str, report: ExtractionReport) -> list[str]:
    shares = (report.recall, report.precision)
    more = (report.lenient, report.interference, report.duplicates)
    update = report.reachable.right
    return [
        name,
        str(report.precision.whole),
        *(_ratio(share) for share in shares),
        f"{report.f1:.3f}",
        *(_ratio(share) for share in more),
        str(sum(report.junk.values())),
        f"{update.part} of {update.whole}",
    ]


def _ratio(share: Share) -> str:
    return "–" if share.ratio is None else f"{share.ratio:.3f}"


def _missed(gold: Sequence[GoldMemory], produced: Sequence[Produced], corpus: Sequence[CorpusRow]) -> list[list[str]]:
    """True memories that nothing produced matches, by why."""
    name = main_name([memory.text for memory in gold])
    rows = [bag(row.text, name) for row in produced]
    said = [(row.session, bag(row.text, name)) for row in corpus if row.role == Role.USER.value]
    classes = Counter[str]()
    for memory in gold:
        content = bag(memory.text, name)
        best = max((overlap(content, row) for row in rows), default=0.0)
        if not memory.is_trap and best < MATCH:
            here = [words for session, words in said if session == memory.session]
            classes[_why_missed(content, best, here)] += 1
    return [[why, str(number)] for why, number in classes.most_common()]


def _why_missed(content: Bag, best: float, said: Sequence[Bag]) -> str:
    own = content - {USER}
    in_one = max((len(own & words) / max(len(own), 1) for words in said), default=0.0)
    everything = len(own & frozenset().union(*said)) / max(len(own), 1)
    if everything < CARRIED:
        return "less than half of its words are said by the user in that session"
    if in_one < CARRIED:
        return "its words are spread over several messages of the user"
    return "found in other words (token F1 of 0.4 to 0.5)" if best >= NEAR else "said in one message, and not kept so"


def _wrong(gold: Sequence[GoldMemory], produced: Sequence[Produced]) -> list[list[str]]:
    """Rows that match nothing true, by kind and how near they are."""
    name = main_name([memory.text for memory in gold])
    true = [bag(memory.text, name) for memory in gold if not memory.is_trap]
    classes = Counter[str]()
    for row in produced:
        best = max((overlap(bag(row.text, name), content) for content in true), default=0.0)
        if best < MATCH:
            classes[f"{row.kind}, {'near a true one (0.4 to 0.5)' if best >= NEAR else 'none is near'}"] += 1
    return [[why, str(number)] for why, number in classes.most_common()]


if __name__ == "__main__":
    main()
