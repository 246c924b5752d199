"""Writes a drill's result file under benchmarks/results, prints its summary, and returns its exit code."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.machine import keep, provenance, table

SHOWN = 20
_BEGAN = time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a drill found: `about` says what it proves, `facts` what was done and counted, `problems` every violation.

    `tables` are pairs of a head and its rows.
    """

    name: str
    about: str
    facts: Mapping[str, object]
    problems: Sequence[str]
    tables: Sequence[tuple[list[str], list[list[str]]]] = field(default_factory=tuple)

    def told(self) -> int:
        """Write `drill-<name>.md`, print it, and return the exit code: 1 where there is a problem."""
        seconds = f"{time.monotonic() - _BEGAN:.0f}"
        facts = {**self.facts, "seconds": seconds, "violations": len(self.problems)}
        parts = [
            f"# Drill: {self.name.replace('_', ' ')}",
            self.about.strip(),
            provenance(f"python {Path(sys.argv[0]).name} {' '.join(sys.argv[1:])}".strip().replace("python ", _PLACE)),
            table(["what", "count"], [[name, str(value)] for name, value in facts.items()]),
            *(table(head, rows) for head, rows in self.tables),
            *(f"- {problem}" for problem in self.problems[:SHOWN]),
        ]
        keep(f"drill-{self.name.replace('_', '-')}.md", "\n\n".join(parts) + "\n")
        return 1 if self.problems else 0


_PLACE = "python drills/"


def options(
    description: str | None,
    *,
    long: Mapping[str, int] | None = None,
    words: Mapping[str, str] | None = None,
    **numbers: int,
) -> argparse.Namespace:
    """The whole numbers a drill can be told, as `--name`, with their defaults; those of `long` are taken for `--long`.

    `words` are further options by name, texts with their help, None where they are not given.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    instead = long or {}
    if instead:
        shown = " ".join(f"--{name} {number}" for name, number in instead.items())
        parser.add_argument("--long", action="store_true", help=f"the same as {shown}, where nothing else is said")
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, help=f"default {default}")
    for name, text in (words or {}).items():
        parser.add_argument(f"--{name}", help=text)
    told = parser.parse_args()
    taken = numbers | dict(instead if instead and told.long else {})
    vars(told).update({name: number for name, number in taken.items() if getattr(told, name) is None})
    return told
