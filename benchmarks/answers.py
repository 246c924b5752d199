"""Measures how much memory helps a language model: answers with memory, with the whole conversation, and with neither.

    MNEMIC_DATA=path/to/data python -m benchmarks.answers [--llm NAME] [--llm-url URL] [--questions 40] [--sets A,B]

Runs `mnemic eval answers` on sets below the data folder. Writes and prints `results/answers.md`. The answers themselves
are not saved.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.machine import keep, provenance, table
from mnemic.evaluation.answers import Answer, AnswerOptions, Failures, means_by_way, run_answers
from mnemic.evaluation.dataset import load_dataset

ABOUT = """# Answers

Questions of each set, evenly spread over it, asked of a language model: with the context that memory makes, with
everything that was said (the newest of it that the model's context takes), and with nothing. F1 is token F1 with the
right answer; declined is the share of unanswerable questions that were not answered. The packaged model of 270 million
parameters is far too weak for a verdict: with it the table shows that the measure works, what memory saves in tokens,
and little more."""


def main() -> None:
    """Ask, and write the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--llm", default="llama-cpp")
    options.add_argument("--llm-url")
    options.add_argument("--questions", type=int, default=40)
    options.add_argument("--sets", default="locomo,longmemeval-48,beam")
    given = options.parse_args()
    data = os.environ.get("MNEMIC_DATA")
    if data is None:
        sys.exit("set MNEMIC_DATA to the folder of the test sets")
    rows: list[list[str]] = []
    for name in given.sets.split(","):
        rows += _measured(Path(data) / name, given.llm, given.llm_url, given.questions)
    head = ["set", "given", "n", "F1", "exact", "declined", "tokens of a prompt", "seconds", "cut", "failed"]
    command = f"python -m benchmarks.answers --llm {given.llm} --questions {given.questions}"
    keep("answers.md", f"{ABOUT}\n\n{provenance(command)}\n\n{table(head, rows)}")


def _measured(folder: Path, llm: str, url: str | None, questions: int) -> list[list[str]]:
    haystacks = folder / "haystacks.json"
    dataset = load_dataset(
        folder / "corpus.jsonl.gz", folder / "queries.jsonl.gz", haystacks if haystacks.exists() else None
    )
    failures, answers = Failures(), list[Answer]()
    options = AnswerOptions(llm=llm, llm_options={"base_url": url} if url else {}, questions=questions)
    for answer in run_answers(dataset, options, failures=failures):
        answers.append(answer)
        print(f"\r{folder.name}: {len(answers)}", end="", file=sys.stderr)
    failed = ", ".join(f"{count} {kind}" for kind, count in failures.by_kind.items()) or "0"
    return [
        [
            folder.name,
            way.value,
            str(each.n),
            *("–" if value is None else f"{value:.3f}" for value in (each.f1, each.exact, each.declined)),
            f"{each.tokens:,.0f}",
            f"{each.seconds:.2f}",
            str(each.cut),
            failed,
        ]
        for way, each in means_by_way(answers).items()
    ]


if __name__ == "__main__":
    main()
