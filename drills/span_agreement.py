"""Compares the span metrics of the chunking benchmark with an independent scorer. All must agree within 0.001.

The set is MNEMIC_DATA/chunking-eval. The scorer is `bench/score.py` next to the folder of the sets. Three runs are
compared: the results of the product, empty results, and each question's references among other, overlapping spans.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.chunking import SET, Answers, Variant, answers, scores, write_spans
from benchmarks.spans import DocumentSpan
from drills.kit.outcome import Outcome
from mnemic.evaluation.dataset import read_json_lines
from mnemic.text.chunking import DOCUMENT_CHUNKS, Chunking

TOLERANCE = 0.001


def main() -> int:
    """Exit code 1 when a metric differs."""
    folder = Path(os.environ.get("MNEMIC_DATA", "../shared/data")) / SET
    found, chunks = answers(folder, Variant(Chunking.STRUCTURE, DOCUMENT_CHUNKS, is_titled=True))
    runs: dict[str, Answers] = {"found": found, "nothing": {}, "near the references": _near(folder)}
    problems: list[str] = []
    compared = 0
    with TemporaryDirectory() as scratch:
        for name, run in runs.items():
            theirs = _independent(folder, run, Path(scratch) / "run.jsonl.gz")
            ours = scores(folder, run)
            compared += len(ours)
            problems += [
                f"{name}: {metric} is {ours.get(metric)} here and {theirs.get(metric)} there"
                for metric in sorted(ours.keys() | {each for each in theirs if each.startswith("span_")})
                if abs(ours.get(metric, -1.0) - theirs.get(metric, -1.0)) > TOLERANCE
            ]
    facts = {"set": SET, "chunks": chunks, "runs": len(runs), "metrics compared": compared}
    return Outcome(name="span_agreement", about=__doc__ or "", facts=facts, problems=problems).told()


def _near(folder: Path) -> Answers:
    """Spans around, before and within the references, so that they overlap each other."""
    run: dict[str, list[DocumentSpan]] = {}
    for _, row in read_json_lines(folder / "questions.jsonl.gz"):
        references = json.loads(json.dumps(row["references"]))
        run[str(row["id"])] = [
            DocumentSpan(each["doc"], max(0, each["start"] + shift), each["end"] + shift)
            for each in references
            for shift in (-40, 0, 25)
        ]
    return run


def _independent(folder: Path, run: Answers, path: Path) -> dict[str, float]:
    write_spans(path, run)
    scorer = folder.parent.parent / "bench" / "score.py"
    command = [sys.executable, str(scorer), "--queries", str(folder / "questions.jsonl.gz"), "--run", str(path)]
    told = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(told.stdout)["overall"]


if __name__ == "__main__":
    sys.exit(main())
