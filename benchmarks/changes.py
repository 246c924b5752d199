"""Measures what the memory holds after something changed: results/changes.md.

    python benchmarks/changes.py [--verbose]

Each line of `changes.jsonl` is the story of one user: messages of different days, invented for this project by writers
who had not seen the rules. In a to d, a later message tells in passing what changed ("unpacked the last box in our new
place in Hull"), in e to g directly ("We sold the Octavia last week"). Or it only looks like it (a "decoy": a sister
moved, a car is borrowed). `now`: words of which a right answer to `ask` has one; `old`: words that no memory may have
that counts as true now.

"stored": of the stories, those with a current memory that tells the new state. "old ended": of those whose old state
was stored, those in which it counts as true no longer. "right": stored, and no old state left. "evidence": the context
of the question has one of the words, in a store of this story alone and in one that it shares with four others. The
rules were written with the stories a, b, c (German and Chinese), e and g (German) in view. Of d and f, only the counts
were seen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.corrections import holds
from benchmarks.machine import keep, provenance, table
from mnemic import Mnemic, Scope

STORIES = Path(__file__).with_name("changes.jsonl")
HELD_OUT = ("d", "f")
SHARING = 5  # stories in one store
HEAD = ["stories", "number", "stored", "old stored", "old ended", "right", "evidence alone", "shared", "items shown"]


def main() -> int:
    """Replay every story, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="print each story in view that went wrong")
    options = parser.parse_args()
    stories = [json.loads(line) for line in STORIES.read_text(encoding="utf-8").splitlines()]
    rows: list[list[str]] = []
    for kind in ("change", "decoy"):
        for name in sorted({story["id"][0] for story in stories}):
            group = [story for story in stories if story["id"][0] == name]
            found = list(measure(group, kind, is_verbose=options.verbose and name not in HELD_OUT))
            sums = [sum(column) for column in zip(*found, strict=True)]
            label = f"{kind}s {name}" + (", held out" if name in HELD_OUT else "")
            rows.append([label, str(len(found)), *map(str, sums)])
    text = "# Changes told in passing\n\n" + str(__doc__).split("\n\n", 2)[2].strip() + "\n\n"
    keep("changes.md", text + provenance("python benchmarks/changes.py") + "\n\n" + table(HEAD, rows) + "\n")
    return 0


def measure(stories: Sequence[dict[str, Any]], kind: str, *, is_verbose: bool) -> Iterator[tuple[int, ...]]:
    """What `HEAD` counts, for each story of this kind."""
    for start in range(0, len(stories), SHARING):
        several = stories[start : start + SHARING]
        with Mnemic.open("memory://", has_worker=False) as memory:
            shared = Scope(user="all")
            tell(memory, shared, several)
            for story in (each for each in several if each["kind"] == kind):
                alone = Scope(user=story["id"])
                before = tell(memory, alone, [story])
                now = [each.text for each in memory.list(alone) if each.valid_to is None]
                was_stored = has_any(before, story["old"])
                is_stored, is_left = has_any(now, story["now"]), has_any(now, story["old"])
                evidence = has_any([memory.context(alone, story["ask"]).text], story["now"])
                context = memory.context(shared, story["ask"])
                both = has_any([context.text], story["now"])
                if is_verbose and (is_left or not is_stored):
                    print(f"{story['id']} {kind} {story['now']} {story['old']}: {story['said']}\n    now: {now}")
                right = is_stored and not is_left
                counts = (is_stored, was_stored, was_stored and not is_left, right, evidence, both)
                yield (*map(int, counts), len(context.citations))


def tell(memory: Mnemic, scope: Scope, stories: Sequence[dict[str, Any]]) -> list[str]:
    """Capture the messages in the order of their days, each in a session of its own. The memories before the last."""
    said = sorted((day, text) for story in stories for day, text in story["said"])
    before: list[str] = []
    for place, (day, text) in enumerate(said):
        before = [each.text for each in memory.list(scope)]
        there = Scope(user=scope.user, session=f"{scope.user} {place}")
        memory.capture(there, user=text, assistant="OK.", observed_at=f"{day}T12:00Z")
        memory.work()
    return before


def has_any(texts: Sequence[str], words: Sequence[str]) -> bool:
    """True if a text has one of the words."""
    return any(holds(text, word) for text in texts for word in words)


if __name__ == "__main__":
    raise SystemExit(main())
