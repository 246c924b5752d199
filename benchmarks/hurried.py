"""Measures what becomes of facts that users type in a hurry: results/hurried.md.

    python benchmarks/hurried.py [--verbose]

Each line of `hurried.jsonl` is a message without capitals and apostrophes, invented for this project by three writers
who had not seen the rules, with the attribute of the user that it tells and the value as a person would write it
("York", "NHS"), or "none" for one that only looks like it. Every message is captured for a user of its own. "Written
right": a memory or a line of the profile has the value as written, capitals included. "Filled": one of them fills the
attribute with that value, so that a later value replaces it; names of pets fill none. For "none": the messages that
fill any of these attributes, each of which is wrong. The rules were written with the messages of two writers in view.
Of those of the third, only the counts were seen, and the one that wrongly filled an attribute.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic import Mnemic, Scope
from mnemic.engine.fields import filled_of

MESSAGES = Path(__file__).with_name("hurried.jsonl")
HELD_OUT = "c"
NONE = "none"


def main() -> int:
    """Capture every message, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="print each message of a and b that went wrong")
    options = parser.parse_args()
    messages = [json.loads(line) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]
    slots = {message["slot"] for message in messages} - {NONE}
    written: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    filled: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    with Mnemic.open("memory://", has_worker=False) as memory:
        for message in messages:
            texts, found = replay(memory, message["id"], message["text"])
            key = message["slot"], message["id"].startswith(HELD_OUT)
            value = re.compile(rf"(?<!\w){re.escape(message['value'])}(?!\w)")
            written[key].append(any(value.search(text) for text in texts))
            if message["slot"] == NONE:
                filled[key].append(bool(slots & found.keys()))
            else:
                filled[key].append(is_same(found.get(message["slot"], ""), message["value"]))
            is_wrong = filled[key][-1] is (message["slot"] == NONE)
            if options.verbose and is_wrong and not key[1]:
                print(f"{message['id']} {message['slot']}: {message['text']}\n    {texts} {found}")
    head = ["attribute", "messages", "written right", "filled", "held out: messages", "written right", "filled"]
    names = sorted(slots, key=lambda slot: -len(written[slot, False]))
    rows = [[slot, *count(written, filled, [slot])] for slot in names]
    rows += [["all", *count(written, filled, names)], [NONE, *count(written, filled, [NONE])]]
    text = "# Facts typed in a hurry\n\n" + str(__doc__).split("\n\n", 2)[2].strip() + "\n\n"
    keep("hurried.md", text + provenance("python benchmarks/hurried.py") + "\n\n" + table(head, rows) + "\n")
    return 0


def replay(memory: Mnemic, user: str, text: str) -> tuple[list[str], dict[str, str]]:
    """Capture a message; the memories and lines of the profile, and the attributes that they fill."""
    scope = Scope(user=user, session="s")
    memory.capture(scope, user=text, assistant="OK.")
    memory.work()
    known, profile = memory.list(scope), memory.profile.get(scope)
    found = {each.slot: each.value for each in map(filled_of, known) if each is not None}
    return [*(each.text for each in known), *profile.values()], {**profile, **found}


def is_same(found: str, value: str) -> bool:
    """True for equal values in any case, or if one begins with the other: "Skoda" for "Skoda Octavia"."""
    one, other = found.casefold(), value.casefold()
    return bool(one) and (one.startswith(other) or other.startswith(one))


def count(
    written: dict[tuple[str, bool], list[bool]], filled: dict[tuple[str, bool], list[bool]], slots: list[str]
) -> list[str]:
    """Messages, those written right, and those that fill the attribute; then the same of the held-out ones."""
    cells: list[str] = []
    for is_held_out in (False, True):
        right = [each for slot in slots for each in written[slot, is_held_out]]
        fills = [each for slot in slots for each in filled[slot, is_held_out]]
        cells += [str(len(right)), str(sum(right)) if slots != [NONE] else "", str(sum(fills))]
    return cells


if __name__ == "__main__":
    raise SystemExit(main())
