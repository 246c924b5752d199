"""Measures contexts after months of everyday talk: whether they contain what a prompt needs, and what else.

    python benchmarks/needed.py [FILE] [--verbose]

`needed.jsonl` has 36 invented people of three writers (two English, one German), with four or five conversations each,
and what they ask later: prompts that need something of these conversations, and prompts that need nothing. `evidence`
are the turns that another reader found to tell what is needed, by conversation and turn; `helpful` are further useful
ones. A turn is shown if the context contains its message, or a memory of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, read_notes, table
from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.engine.engine import Engine
from mnemic.evaluation.dataset import read_json_lines
from mnemic.evaluation.extraction import RowClock
from mnemic.model.scope import as_utc

TALKS = Path(__file__).with_name("needed.jsonl")
LATER = timedelta(days=7)
"""Time between the last conversation and the prompts."""

HEADS = [
    "talks",
    "all needed shown",
    "share of it",
    "empty",
    "lines",
    "useful lines",
    "tokens",
    "silent if nothing is needed",
]
Turn = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt and its context: the lines, the useful ones, the `share` of the evidence in it, and the tokens."""

    text: str
    needs: str
    lines: int
    useful: int
    share: float
    tokens: int


def main() -> int:
    """Ask every person's prompts, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=TALKS)
    parser.add_argument("--verbose", action="store_true", help="print each prompt with an unexpected context")
    options = parser.parse_args()
    found: dict[str, list[Asked]] = {}
    people = cast("list[Mapping[str, Any]]", [row for _, row in read_json_lines(options.file)])
    for person in people:
        with told(person) as (mnemic, scope, places):
            found.setdefault(f"{person['language']}, writer {person['writer']}", []).extend(
                _ask(mnemic, scope, places, each, number) for number, each in enumerate(person["probes"])
            )
    if options.verbose:
        for each in (each for asked in found.values() for each in asked):
            if each.share < 1.0 or (each.lines and not each.needs):
                print(f"{each.lines} lines, {each.share:.2f}: {each.text} | {each.needs}")
    rows = [[name, *_figures(asked)] for name, asked in found.items()]
    text = table(HEADS, rows)
    print(text)
    if options.file == TALKS:
        _, _, about = (__doc__ or "").strip().split("\n\n")
        made = provenance("python benchmarks/needed.py")
        heading = "# Contexts after months of everyday talk"
        keep("needed.md", f"{heading}\n\n{about}\n\n{made}\n\n{text}\n{read_notes('needed.md')}")
    return 0


@contextmanager
def told(person: Mapping[str, Any]) -> Generator[tuple[Mnemic, Scope, dict[str, Turn]]]:
    """A store with all conversations of a person and the facts in them, a week later, and the turn of each message."""
    clock, scope = RowClock(), Scope(user="ana")
    parts: Engine = replace(build(Config(store=MEMORY_URL)), clock=clock)
    places: dict[str, Turn] = {}
    with Mnemic(parts, has_worker=False) as mnemic:
        for number, session in enumerate(person["sessions"]):
            clock.reach(session["date"])
            messages = [{"role": role, "content": text} for role, text in session["turns"]]
            turn = mnemic.capture(replace(scope, session=f"talk {number}"), messages)
            places |= {message.id: (number, place) for place, message in enumerate(turn.messages)}
            mnemic.work()
        clock.reach((as_utc(person["sessions"][-1]["date"], "date") + LATER).isoformat())
        mnemic.work()
        yield mnemic, scope, places


def _ask(mnemic: Mnemic, scope: Scope, places: Mapping[str, Turn], probe: Mapping[str, Any], number: int) -> Asked:
    context = mnemic.context(replace(scope, session=f"prompt {number}"), probe["text"])
    sources = [_sources(mnemic, scope, cited.item_id) for cited in context.citations]
    shown = [{places[each] for each in ids if each in places} for ids in sources]
    wanted = {(one, other) for one, other in probe["evidence"]}
    useful = wanted | {(one, other) for one, other in probe.get("helpful", ())}
    got = wanted & set().union(*shown)
    return Asked(
        text=probe["text"],
        needs=probe["needs"],
        lines=len(shown),
        useful=sum(not useful.isdisjoint(each) for each in shown),
        share=len(got) / len(wanted) if wanted else 1.0,
        tokens=context.token_count,
    )


def _sources(mnemic: Mnemic, scope: Scope, id_: str) -> Sequence[str]:
    item = mnemic.get(scope, id_)
    return [id_, *getattr(item, "source_ids", ())]


def _figures(asked: Sequence[Asked]) -> list[str]:
    needing, others = [each for each in asked if each.needs], [each for each in asked if not each.needs]
    count = len(needing)
    return [
        f"{sum(each.share == 1.0 for each in needing) / count:.3f}",
        f"{sum(each.share for each in needing) / count:.3f}",
        f"{sum(not each.lines for each in needing)} of {count}",
        f"{sum(each.lines for each in needing) / count:.1f}",
        f"{sum(each.useful for each in needing) / count:.1f}",
        f"{sum(each.tokens for each in needing) / count:.0f}",
        f"{sum(not each.lines for each in others)} of {len(others)}",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
