"""Measures how well rules separate a user's own words from pasted and made-up text: results/own-words.md.

    python benchmarks/own_words.py [FILE]

Each line of `own_words.jsonl` is a conversation with its `own` sentences and those that do not tell of the user
(`foreign`). "Pasted" conversations contain another person's text. "Invented" ones contain a role play, a story, a
supposition, test data or a joke. "Own" ones only look like these. A sentence is read if a rule would turn it, or a part
of it, into a statement about the user. `before`: without these rules. They were written with the conversations in view.
First counts, before the failures were read: writer b, 84 of 244 foreign sentences (193 before), and of kind "own" 231
own sentences of 262. Writer d in English, 50 of 116 (70 with the rules for pasted texts alone), and 57 of 62. Writer e,
50 of 126 (72 with those rules), and 60 of 60.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic.text.facts import statements
from mnemic.text.facts.own_words import Scene

TALKS = Path(__file__).with_name("own_words.jsonl")


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=TALKS)
    file: Path = parser.parse_args().file
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    counts = {"all": Counter[tuple[str, ...]](), "now": count(rows)}
    for row in rows:
        for whose in ("own", "foreign"):
            counts["all"][(*group(row), whose)] += len(row[whose])
    with patch.object(statements, "own_words", str), patch.object(Scene, "follow", _unchanged):
        counts["before"] = count(rows)
    told = [
        [*key, str(number), str(counts["before"][key]), str(counts["now"][key])]
        for key, number in sorted(counts["all"].items())
        if number
    ]
    head = ["writer", "kind", "language", "whose sentences", "all", "read before", "read now"]
    about = (__doc__ or "").split("\n\n")[2]
    made = provenance("python benchmarks/own_words.py")
    if file == TALKS:
        keep("own-words.md", f"# Own words\n\n{about}\n\n{made}\n\n{table(head, told)}\n")
    else:
        print(table(head, told))
    return 0


def _unchanged(_scene: Scene, text: str) -> str:
    return text


def group(row: dict[str, Any]) -> tuple[str, ...]:
    """Which line of the table a conversation counts in."""
    return str(row.get("writer", "")), str(row["kind"]), str(row["language"])


def count(rows: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """How many sentences are read, by line of the table."""
    found = Counter[tuple[str, ...]]()
    for row in rows:
        scene, read = Scene(), set[str]()
        for text in row["turns"]:
            said = scene.follow(text)
            own = statements.own_words(said)
            spans = [(each.start, each.end) for each in statements.find_statements(said)]
            for sentence in (each for whose in ("own", "foreign") for each in row[whose] if each in text):
                start = text.index(sentence)
                end = start + len(sentence)
                is_read = any(left < end and start < right for left, right in spans)
                read.update([sentence] if is_read and not own[start:end].isspace() else [])
        for whose in ("own", "foreign"):
            found[(*group(row), whose)] += sum(sentence in read for sentence in row[whose])
    return found


if __name__ == "__main__":
    raise SystemExit(main())
