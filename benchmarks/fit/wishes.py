"""Fits what judges whether a sentence is a standing wish to the assistant, and reports in results/wishes.md.

    python benchmarks/fit/wishes.py [--keep]

`wishes.jsonl` has messages, invented for this project by writers who did not know the rules; half of them contain a
wish for all later replies of some kind ("when I ask for code, just the code"). The others only look so: orders for
one task, rules of the user's own life, other people's wishes. Further sentences without wishes are those of the
invented talks of `keep_talks_*.jsonl` ("talk"), although some of them are, of other benchmarks ("plain"), and of
LongMemEval (MIT, "longmemeval") outside the set `keep`; one in two is used. A gate reads the hashed words of a
sentence. What passes is judged by these and by what the embedder's inner layers hold of the sentence as it would be
stored. Every number is of writers and talks that the fit did not see. `--keep` writes
`src/mnemic/text/facts/wishes.json`. The environment variable MNEMIC_DATA names the folder of the sets.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.fit.endings import fit, fold, held_out
from benchmarks.fit.keep import HERE, POOL, embed, encode_weights, group_sessions, read_labels
from benchmarks.fit.talk_pairs import read_talk_sentences
from benchmarks.machine import ROOT, keep, provenance, table
from mnemic.evaluation.dataset import read_json_lines
from mnemic.text.facts.find import Said, find_candidates, quote_wish, wish_sentences
from mnemic.text.facts.worth import PHRASE_WEIGHT, hash_phrases
from mnemic.text.slots import ORDER

WEIGHTS = ROOT / "src" / "mnemic" / "text" / "facts" / "wishes.json"
RIDGE, GATE_RIDGE = 4.0, 0.2
PASSED = 0.9  # share of the wishes that the gate lets pass
RATE = 0.002  # of the talks' sentences that may be told to be wishes
EVERY = 2  # uses every second sentence without a wish, because the fit's memory grows with their square
PARTS = 5  # into which the sentences of other benchmarks are dealt
HALF = 0.5  # of a sentence or a wish, that the other covers


def main() -> int:
    """Fit, measure on writers left out, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write the weights")
    options = parser.parse_args()
    told = [*read_sentences()]
    said = [(text, f"talk {talk}", "talk") for text, talk in read_talk_sentences(has_questions=True)]
    said += [(text, f"talk {session}", "longmemeval") for text, session in read_pool()]
    said += [(text, f"talk plain{place % PARTS}", "plain") for place, text in enumerate(read_plain())]
    said = said[::EVERY]
    texts = [*(text for text, _, _ in told), *(text for text, *_ in said)]
    is_wish = np.array([*(wish for _, wish, _ in told), *(False for _ in said)])
    names = [*(writer for *_, writer in told), *(talk for _, talk, _ in said)]
    writers = np.array([*(writer for *_, writer in told), *(source for *_, source in said)])
    is_talk = np.isin(writers, ("talk", "plain", "longmemeval"))
    counts, folds = np.ones(len(texts)), fold(names)
    memories = [quote_wish(text) for text in texts]
    words, layers = hash_phrases(memories), embed(memories)[1]
    gate = held_out(words, is_wish, counts, GATE_RIDGE, folds)
    least = float(np.quantile(gate[is_wish], 1.0 - PASSED))
    is_passed = gate >= least
    is_judged = is_passed | ~is_talk
    features = np.hstack([layers, PHRASE_WEIGHT * words])[is_judged]
    likely = np.zeros(len(texts))
    likely[is_judged] = held_out(features, is_wish[is_judged], counts[is_judged], RIDGE, folds[is_judged])
    likely *= is_passed
    threshold = float(np.quantile(likely[is_talk], 1.0 - RATE))
    is_told = likely >= threshold
    rows: list[list[str]] = []
    for name in dict.fromkeys(writers):
        mine = writers == name
        numbers = [
            mine.sum(),
            (mine & is_wish).sum(),
            (mine & is_wish & is_told).sum(),
            (mine & ~is_wish & is_told).sum(),
        ]
        rows.append([name, *map(str, numbers), f"{is_passed[mine].mean():.3f}"])
    head = ["writer", "sentences", "wishes", "found", "others told to be wishes", "passed the gate"]
    about = str(__doc__).split("\n\n", 2)[2].strip()
    made, rules = provenance("python benchmarks/fit/wishes.py"), " ".join(map(count_by_rules, ("en", "de")))
    text = f"# Standing wishes\n\n{about}\n\n{made}\n\n{table(head, rows)}\n\n{rules}\n"
    keep("wishes.md", text)
    if options.keep:
        judge = fit(features, is_wish[is_judged], counts[is_judged], RIDGE)
        heads = [(fit(words, is_wish, counts, GATE_RIDGE), least), (judge, threshold)]
        data = [{"weights": encode_weights(weights), "threshold": round(each, 4)} for weights, each in heads]
        WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0


def read_messages(language: str) -> list[dict[str, Any]]:
    """The messages in a language."""
    rows = [json.loads(line) for line in (HERE / "wishes.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["language"] == language]


def count_by_rules(language: str) -> str:
    """How many wishes rules alone find, and in how many messages without a wish."""
    found = number = false = 0
    for row in read_messages(language):
        facts = find_candidates(Said("m", row["text"], datetime.now(UTC)))
        spans = [(each.start, each.end) for fact in facts if fact.slot.startswith(ORDER) for each in fact.provenance]
        for wish in row["wishes"]:
            start = row["text"].index(wish)
            number += 1
            found += any(left < start + len(wish) and start < right for left, right in spans)
        false += not row["wishes"] and bool(spans)
    return f"In `{language}`, rules alone find {found} of {number} wishes, and one in {false} messages without a wish."


def read_sentences() -> Iterator[tuple[str, bool, str]]:
    """Each sentence, whether it is a wish, and its writer."""
    for row in read_messages("en"):
        spans = [(start := row["text"].index(wish), start + len(wish)) for wish in row["wishes"]]
        for start, end in wish_sentences(row["text"]):
            least = HALF * (end - start)
            shared = [min(end, right) - max(start, left) for left, right in spans]
            is_wish = any(
                both >= min(least, HALF * (right - left)) for both, (left, right) in zip(shared, spans, strict=True)
            )
            yield row["text"][start:end], is_wish, row["writer"]


def read_plain() -> Iterator[str]:
    """Each sentence of single messages and stories of other benchmarks, in English."""
    for name in ("hurried", "everyday", "introductions", "changes", "own_words"):
        for line in (HERE.parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            texts = row.get("turns") or [row["text"]] if "said" not in row else [text for _, text in row["said"]]
            yield from (text[start:end] for text in texts for start, end in wish_sentences(text))


def read_pool() -> Iterator[tuple[str, str]]:
    """Each sentence of LongMemEval's users, and its session."""
    labelled = {row["id"] for row in read_labels("longmemeval")}
    rows = [row for _, row in read_json_lines(Path(os.environ["MNEMIC_DATA"]) / POOL / "corpus.jsonl.gz")]
    for session in group_sessions(rows):
        users = [str(row["text"]) for row in session if row["role"] == "user"]
        for text in users if any(row["id"] in labelled for row in session) else ():
            yield from ((text[start:end], str(session[0]["session"])) for start, end in wish_sentences(text))


if __name__ == "__main__":
    raise SystemExit(main())
