"""Measures contexts in stores of one short talk, as a newcomer has them. The talks are in `short_talks.txt`.

    python benchmarks/short_talks.py [FILE] [--verbose]

Each talk is captured, and the prompts are asked in another session: before and after facts were extracted. Prints the
share of prompts whose context contains half the words of the answering message, or of a fact from it, and the shares of
unrelated prompts and near misses whose context is empty.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import provenance, table
from mnemic import Context, Mnemic, Scope

TALKS = Path(__file__).with_name("short_talks.txt")
BUDGET = 1000  # tokens
LEAST_SHARE = 0.5  # of a row's words


@dataclass(slots=True)
class Talk:
    """Messages by turns, beginning with the user's, and what is asked."""

    messages: list[str] = field(default_factory=list[str])
    answered: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    unrelated: list[str] = field(default_factory=list[str])
    near_misses: list[str] = field(default_factory=list[str])


def main() -> int:
    """Ask every talk's prompts, and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=TALKS)
    parser.add_argument("--verbose", action="store_true", help="print each prompt with an unexpected context")
    options = parser.parse_args()
    rows: list[list[str]] = []
    for name, has_facts in (("messages", False), ("messages and facts", True)):
        shown: dict[str, list[bool]] = {"answered": [], "unrelated": [], "near misses": []}
        for talk in read(options.file):
            ask(talk, shown, has_facts=has_facts, is_verbose=options.verbose)
        shares = {kind: sum(found) / len(found) for kind, found in shown.items()}
        answered, unrelated, near = shares.values()
        rows.append([name, f"{answered:.3f}", f"{1 - unrelated:.3f}", f"{1 - near:.3f}"])
        counts = ", ".join(f"{kind} {len(found)}" for kind, found in shown.items())
    print(table(["store", "answered", "unrelated silent", "near misses silent"], rows))
    print(f"\n{counts}\n{provenance('python benchmarks/short_talks.py')}")
    return 0


def read(file: Path) -> list[Talk]:
    """The talks of a file."""
    talks: list[Talk] = []
    for line in filter(None, file.read_text(encoding="utf-8").splitlines()):
        mark, rest = line[0], line[2:].strip()
        if re.fullmatch(r"# t\d+", line):
            talks.append(Talk())
        elif mark in "ua":
            talks[-1].messages.append(rest)
        elif mark == "?":
            text, place = rest.rsplit("|", 1)
            talks[-1].answered.append((text.strip(), int(place)))
        elif mark in "~!":
            (talks[-1].unrelated if mark == "~" else talks[-1].near_misses).append(rest)
    return talks


def ask(talk: Talk, shown: dict[str, list[bool]], *, has_facts: bool, is_verbose: bool) -> None:
    """Store a talk, and note for each prompt whether its context holds the answer, or anything."""
    told, asking = Scope(user="ana", session="told"), Scope(user="ana", session="asking")
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        ids: list[str] = []
        for place, text in enumerate(talk.messages):
            draft = {"role": "assistant" if place % 2 else "user", "content": text}
            ids.extend(message.id for message in mnemic.capture(told, [draft]).messages)
        if has_facts:
            mnemic.work()
        facts = list(mnemic.list(asking, limit=100))
        for text, place in talk.answered:
            rows = [talk.messages[place]]
            rows += [fact.text for fact in facts if any(entry.source_id == ids[place] for entry in fact.provenance)]
            block = block_of(mnemic.context(asking, text, budget_tokens=BUDGET))
            shown["answered"].append(any(holds(block, row) for row in rows))
            if is_verbose and not shown["answered"][-1]:
                print(f"not shown: {text}\n    {' '.join(block.split())[:200]}")
        for kind, prompts in (("unrelated", talk.unrelated), ("near misses", talk.near_misses)):
            for text in prompts:
                block = block_of(mnemic.context(asking, text, budget_tokens=BUDGET))
                shown[kind].append(bool(block))
                if is_verbose and block:
                    print(f"shown: {text}\n    {' '.join(block.split())[:200]}")


def block_of(context: Context) -> str:
    """What memory adds to a prompt, without date and name."""
    return "\n".join(text for name, text in context.blocks.items() if name != "working")


def holds(block: str, row: str) -> bool:
    """True if at least half of a row's different words are in the block."""
    words = set(re.findall(r"\w+", row.lower()))
    return len(words & set(re.findall(r"\w+", block.lower()))) >= LEAST_SHARE * len(words)


if __name__ == "__main__":
    raise SystemExit(main())
