"""Measures what is learnt from questions and requests that mention the user's life in passing: results/everyday.md.

    python benchmarks/everyday.py [--verbose]

Each line of `everyday.jsonl` is a message with what a careful reader would note about the user, or nothing. Two
writers who had not seen the rules invented them for this project. Most facts are not told plainly: "as a paramedic,
when should I …?", "mine goes mad for it". Every message is captured for a user of its own, without a model. "Stored":
messages from which something is stored. "Facts found": facts of English messages that are like a stored one, as in
`fit/keep.py`. The rules were written with the messages of the first writer and half of the second writer's in view. Of
the other half, only the counts were seen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fit.keep import count_pairs
from benchmarks.machine import keep, provenance, table
from mnemic import Mnemic, Scope
from mnemic.evaluation.extraction_words import Bag, bag
from mnemic.text.languages import detect

MESSAGES = Path(__file__).with_name("everyday.jsonl")
GROUPS = {"in view": "abc", "held out": "d"}


def main() -> int:
    """Capture every message, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verbose", action="store_true", help="print each message in view and what is stored of it")
    options = parser.parse_args()
    messages = [json.loads(line) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]
    stored: dict[str, list[str]] = {}
    with Mnemic.open("memory://", has_worker=False) as memory:
        for message in messages:
            scope = Scope(user=message["id"], session="s")
            memory.capture(scope, user=message["text"], assistant="OK.")
            memory.work()
            stored[message["id"]] = [each.text for each in memory.list(scope)]
            if options.verbose and message["id"][0] in GROUPS["in view"]:
                print(f"{message['id']} {message['text']}\n    {message['facts']}\n    {stored[message['id']]}")
    rows: list[list[str]] = []
    for name, letters in GROUPS.items():
        chosen = [message for message in messages if message["id"][0] in letters]
        telling = [message for message in chosen if message["facts"]]
        silent = [message for message in chosen if not message["facts"]]
        english = [message for message in telling if detect(message["text"]).code == "en"]
        found = sum(count_pairs(*map(to_bags, (message["facts"], stored[message["id"]]))) for message in english)
        rows.append(
            [
                name,
                f"{sum(bool(stored[each['id']]) for each in telling)} of {len(telling)}",
                f"{found} of {sum(len(each['facts']) for each in english)}",
                f"{sum(bool(stored[each['id']]) for each in silent)} of {len(silent)}",
            ]
        )
    head = ["messages", "stored, of those with facts", "facts found", "stored, of those without"]
    text = "# What questions say in passing\n\n" + str(__doc__).split("\n\n", 2)[2].strip() + "\n\n"
    keep("everyday.md", text + provenance("python benchmarks/everyday.py") + "\n\n" + table(head, rows) + "\n")
    return 0


def to_bags(texts: Iterable[str]) -> list[Bag]:
    """The stems of each text."""
    return [bag(text) for text in texts]


if __name__ == "__main__":
    raise SystemExit(main())
