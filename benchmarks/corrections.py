"""Measures what becomes of memories when a user corrects or takes back what they said: results/corrections.md.

    python benchmarks/corrections.py [--verbose]

Each line of `corrections.jsonl` is a short talk of its own, invented for this project by writers who had not seen the
rules: messages, a reply, and a message that corrects a value without naming the wrong one ("value") or with it
("named"), takes back a standing order ("order"), gives up a plan ("plan") or ends a tie ("relation"), or that only
looks like it ("nothing"). Counted are the talks of which the wrong words (for "nothing", the right ones) had been
stored. One is right if no memory and no line of the profile has the wrong words afterwards, and the right ones are
there. Of a plan, an order or a tie, only earlier memories count: "User is not moving to Bristol after all" may stay.
The rules were written with the talks a, b and c in view. Of the talks d, only the counts were seen.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic import Mnemic, Scope

TALKS = Path(__file__).with_name("corrections.jsonl")
HELD_OUT = "d"
ENDING = ("order", "plan", "relation")


def main() -> int:
    """Replay every talk, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="print each talk of a, b and c that went wrong")
    options = parser.parse_args()
    counts: dict[str, dict[bool, list[bool]]] = defaultdict(lambda: {True: [], False: []})
    with Mnemic.open("memory://", has_worker=False) as memory:
        for talk in map(json.loads, TALKS.read_text(encoding="utf-8").splitlines()):
            before, now, profile = replay(memory, talk)
            if not any(holds(text, word) for text in before for word in talk["wrong"] or talk["right"]):
                continue
            is_right = judge(talk, before, now, profile)
            counts[talk["kind"]][is_held_out(talk)].append(is_right)
            if options.verbose and not is_right and not is_held_out(talk):
                print(f"{talk['id']} {talk['kind']}: {talk['message']}\n    before: {before}\n    now: {now} {profile}")
    head = ["what", "talks", "right", "held out: talks", "right"]
    rows = [[kind, *count(found[False]), *count(found[True])] for kind, found in counts.items()]
    text = "# Corrections\n\n" + str(__doc__).split("\n\n", 2)[2].strip() + "\n\n"
    keep("corrections.md", text + provenance("python benchmarks/corrections.py") + "\n\n" + table(head, rows) + "\n")
    return 0


def replay(memory: Mnemic, talk: dict[str, Any]) -> tuple[list[str], list[str], dict[str, str]]:
    """Capture a talk of its own user; the memories before the last message and after it, and the profile."""
    scope, last = Scope(user=talk["id"], session="s"), len(talk["before"]) - 1
    for place, text in enumerate(talk["before"]):
        memory.capture(scope, user=text, assistant=talk["reply"] if place == last else "OK.")
    memory.work()
    before = [each.text for each in memory.list(scope)]
    memory.capture(scope, user=talk["message"], assistant="OK.")
    memory.work()
    return before, [each.text for each in memory.list(scope) if each.valid_to is None], memory.profile.get(scope)


def judge(talk: dict[str, Any], before: list[str], now: list[str], profile: dict[str, str]) -> bool:
    """True if nothing wrong is left, and what is right is there."""
    lines = [f"{key}: {value}" for key, value in profile.items()]
    told = [text for text in now if talk["kind"] not in ENDING or text in before] + lines
    if any(holds(text, word) for text in told for word in talk["wrong"]):
        return False
    if talk["kind"] == "nothing":
        kept = [word for word in talk["right"] if any(holds(text, word) for text in before)]
        return all(any(holds(text, word) for text in now) for word in kept)
    return talk["kind"] in ENDING or all(any(holds(text, word) for text in now + lines) for word in talk["right"])


def holds(text: str, words: str) -> bool:
    """True if a text has these words, in any case."""
    border = ("", "") if re.search("[\u4e00-\u9fff]", words) else (r"(?<!\w)", r"(?!\w)")
    return re.search(re.escape(words).join(border), text, re.IGNORECASE) is not None


def is_held_out(talk: dict[str, Any]) -> bool:
    """True for a talk of which only the count was seen."""
    return talk["id"].startswith(HELD_OUT)


def count(found: list[bool]) -> list[str]:
    """How many there are, and how many are right."""
    return [str(len(found)), str(sum(found))]


if __name__ == "__main__":
    raise SystemExit(main())
