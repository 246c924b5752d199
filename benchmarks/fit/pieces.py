"""Fits the head that finds what a note would not hold in a fact, and reports in results/pieces.md, above its notes.

    MNEMIC_DATA=path/to/data python benchmarks/fit/pieces.py [--keep]

`keep_pieces.jsonl` has facts that the rules and the head for new facts keep of labelled talks (`keep.py`), and spans
that a careful editor would drop: openings, asides, comments, questions, and consequences of the moment. Facts of
LongMemEval (MIT) are named by their message and the checksum of their text, and read again from the set. The months of
two writers are in no fit. Every other number is of sessions or sources that the fit did not see. `--keep` writes
`src/mnemic/text/facts/pieces.json`. Without MNEMIC_DATA nothing is done.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.fit.keep import (
    FOLDS,
    POOL,
    Doubles,
    embed,
    encode_weights,
    fit,
    group_sessions,
    measure_scale,
    read_labels,
    shipped_embedder,
)
from benchmarks.machine import ROOT, keep, provenance, read_notes, table
from mnemic.evaluation.dataset import read_json_lines
from mnemic.model.scope import as_utc
from mnemic.text.facts.find import Reply, Said, choose_facts, find_candidates, is_long_enough, join_clauses, terms_of
from mnemic.text.facts.statements import Span, split_pieces
from mnemic.text.facts.worth import keep_probability, read_pieces

WEIGHTS = ROOT / "src" / "mnemic" / "text" / "facts" / "pieces.json"
UNSEEN = ("a", "b")
RIDGE, CUE_RIDGE = 2.0, 0.3
PRECISION = 0.65
"""Share of the pieces told to be dropped that the editor dropped. Of the others, most are comments in doubt."""

PLACES = 3  # each feature of the layers counts for all pieces, and once more for the first and for the last
DROPPED = 0.8  # of a piece's letters


@dataclass(frozen=True, slots=True)
class Edited:
    """A fact, what it comes of, its pieces, and whether the editor dropped each."""

    source: str
    session: str
    text: str
    spans: Sequence[Span]
    dropped: Sequence[bool]


def main() -> int:
    """Fit, report, and write the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    facts = [fact for fact in read_edited(Path(os.environ["MNEMIC_DATA"])) if len(fact.spans) > 1]
    pieces = [fact.text[start:end] for fact in facts for start, end in fact.spans]
    layers = embed(pieces)[1]
    size = np.tile(measure_scale(layers)[1], PLACES)
    read = read_pieces([fact.text for fact in facts], [fact.spans for fact in facts], layers)
    features = np.hstack([read[:, : len(size)] / size, read[:, len(size) :]])
    penalty = np.repeat([RIDGE, CUE_RIDGE], [len(size), read.shape[1] - len(size)])
    is_dropped = np.array([float(each) for fact in facts for each in fact.dropped])
    sources = np.array([fact.source for fact in facts for _ in fact.spans])
    folds = np.array([crc32(fact.session.encode()) % FOLDS for fact in facts for _ in fact.spans])
    is_unseen = np.isin(sources, [f"months {writer}" for writer in UNSEEN])
    rows: list[list[str]] = []
    threshold = 0.0
    for way, groups in (("sessions", folds), ("sources", sources)):
        odds = held_out(features, is_dropped, penalty, groups, is_unseen)
        threshold = threshold or find_threshold(odds[~is_unseen], is_dropped[~is_unseen])
        for name in ["all", *sorted(set(sources))] if way == "sessions" else ["all"]:
            mine = ~is_unseen if name == "all" else sources == name
            rows.append([f"{name}, other {way}", *describe(odds[mine] >= threshold, is_dropped[mine])])
    heads = ["facts of", "pieces", "dropped by the editor", "by the head", "by both", "precision", "recall"]
    about = str(__doc__).split("\n\n", 2)[2].strip()
    made = provenance("python benchmarks/fit/pieces.py")
    keep("pieces.md", f"# Pieces of facts\n\n{about}\n\n{made}\n\n{table(heads, rows)}\n{read_notes('pieces.md')}")
    if options.keep:
        weights = fit(
            features[~is_unseen], is_dropped[~is_unseen], penalty, np.ones(len(features) - int(is_unseen.sum()))
        )
        weights[: len(size)] /= size
        likely = round(float(1.0 / (1.0 + np.exp(-threshold))), 4)
        head = {"weights": encode_weights(weights), "threshold": likely}
        WEIGHTS.write_text(json.dumps([head], indent=1) + "\n", encoding="utf-8")
    return 0


def held_out(
    features: Doubles,
    is_dropped: Doubles,
    penalty: Doubles,
    groups: NDArray[np.int64] | NDArray[np.str_],
    is_unseen: NDArray[np.bool_],
) -> Doubles:
    """The log odds of each piece by a fit that saw nothing of its group, nor of the unseen writers."""
    odds = np.zeros(len(features))
    for group in np.unique(groups):
        rest = (groups != group) & ~is_unseen
        weights = fit(features[rest], is_dropped[rest], penalty, np.ones(int(rest.sum())))
        own = groups == group
        odds[own] = features[own] @ weights[:-1] + weights[-1]
    return odds


def find_threshold(odds: Doubles, is_dropped: Doubles) -> float:
    """The lowest log odds from which `PRECISION` of the pieces were dropped."""
    order = np.argsort(-odds)
    right = np.cumsum(is_dropped[order]) / np.arange(1, len(order) + 1)
    return float(odds[order][np.flatnonzero(right >= PRECISION).max()])


def describe(is_told: NDArray[np.bool_], is_dropped: Doubles) -> list[str]:
    """The counts and shares of a row."""
    both = int(is_dropped[is_told].sum())
    numbers = [len(is_told), int(is_dropped.sum()), int(is_told.sum()), both]
    shares = [both / max(1, numbers[2]), both / max(1, numbers[1])]
    return [*map(str, numbers), *(f"{share:.2f}" for share in shares)]


def read_edited(data: Path) -> Iterator[Edited]:
    """The facts that were edited, except those that the rules no longer find in LongMemEval."""
    rows = read_labels("pieces")
    found = dict(read_pool(data / POOL / "corpus.jsonl.gz", {str(row["id"]) for row in rows}))
    for row in rows:
        text = row.get("text") or found.get((row["id"], row.get("crc")))
        if not isinstance(text, str):
            continue
        name = str(row["id"])
        source = f"months {name[0]}" if row["source"] == "months" else str(row["source"])
        spans = split_pieces(text)
        is_cut = np.zeros(len(text), dtype=bool)
        for start, end in row["drop"]:  # type: ignore[attr-defined]
            is_cut[start:end] = True
        letters = [[place for place in range(*span) if text[place].isalnum()] for span in spans]
        dropped = [bool(each) and float(is_cut[each].mean()) >= DROPPED for each in letters]
        yield Edited(source, f"{source} {name.partition('#')[0].partition('-')[0]}", text, spans, dropped)


def read_pool(pool: Path, wanted: set[str]) -> Iterator[tuple[tuple[object, object], str]]:
    """Each fact that is kept of these messages of LongMemEval, by the message's id and the text's checksum."""
    sessions = group_sessions([row for _, row in read_json_lines(pool)])
    for rows in (each for each in sessions if any(row["id"] in wanted for row in each)):
        before: set[str] = set()
        previous: Mapping[str, object] | None = None
        for row in rows:
            text = str(row["text"])
            if row["role"] == "user" and is_long_enough(text):
                reply = Reply("reply", str(previous["text"])) if previous and previous["role"] == "assistant" else None
                said = Said(
                    str(row["id"]), text, as_utc(str(row["time"]), "time"), before=frozenset(before), reply=reply
                )
                for told in read_kept(said) if row["id"] in wanted else ():
                    yield (row["id"], crc32(told.encode())), told
                before.update(terms_of(text))
            previous = row


def read_kept(said: Said) -> list[str]:
    """The facts that are kept of a message, before their pieces are cut."""
    found = find_candidates(said)
    if not found:
        return []
    embedder = shipped_embedder()
    vectors, layers = embed([fact.text for fact in found])
    likely = keep_probability(
        [fact.text for fact in found],
        [fact.kind for fact in found],
        vectors.astype(np.float32),
        embedder.space,
        layers.astype(np.float32),
    )
    facts = [found[place] for place in choose_facts(found, likely.tolist())]
    return [fact.text for fact in join_clauses(said.text, facts)]


if __name__ == "__main__":
    raise SystemExit(main())
