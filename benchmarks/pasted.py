"""Measures whether texts that users paste are told from their own words. The messages are in `pasted.jsonl`.

    python benchmarks/pasted.py [FILE]

Each line is a message with its `own` sentences and those of others (`foreign`). Of kind "paste", a message contains
another's text; of kind "own", it only looks so. A sentence is read if a rule would turn it, or a part of it, into a
statement about the user. `before`: without the rules for pasted texts. The rules were written with these messages in
view. At the first count of writer b, 84 of 244 foreign sentences were read (193 before), and 231 of the 262 own
sentences of kind "own" that were read before.
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

MESSAGES = Path(__file__).with_name("pasted.jsonl")


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=MESSAGES)
    file: Path = parser.parse_args().file
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    counts = {"all": Counter[tuple[str, ...]](), "now": count(rows)}
    for row in rows:
        for whose in ("own", "foreign"):
            counts["all"][(*group(row), whose)] += len(row[whose])
    with patch.object(statements, "own_words", str):
        counts["before"] = count(rows)
    told = [
        [*key, str(number), str(counts["before"][key]), str(counts["now"][key])]
        for key, number in sorted(counts["all"].items())
        if number
    ]
    head = ["writer", "kind", "language", "whose sentences", "all", "read before", "read now"]
    about = (__doc__ or "").split("\n\n")[2]
    made = provenance("python benchmarks/pasted.py")
    if file == MESSAGES:
        keep("pasted.md", f"# Pasted texts\n\n{about}\n\n{made}\n\n{table(head, told)}\n")
    else:
        print(table(head, told))
    return 0


def group(row: dict[str, Any]) -> tuple[str, ...]:
    """Which line of the table a message counts in."""
    return str(row.get("writer", "")), str(row["kind"]), str(row["language"])


def count(rows: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """How many sentences are read, by line of the table."""
    found = Counter[tuple[str, ...]]()
    for row in rows:
        text = str(row["message"])
        own = statements.own_words(text)
        spans = [(each.start, each.end) for each in statements.find_statements(text)]
        for whose in ("own", "foreign"):
            for sentence in row[whose]:
                start = text.index(sentence)
                end = start + len(sentence)
                is_read = any(left < end and start < right for left, right in spans)
                found[(*group(row), whose)] += is_read and not own[start:end].isspace()
    return found


if __name__ == "__main__":
    raise SystemExit(main())
