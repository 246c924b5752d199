"""Fits the heads that decide what is worth keeping, and reports on them in results/keep.md, above its notes.

    MNEMIC_DATA=path/to/data python benchmarks/fit/keep.py [--keep]

Labels, beside this file: `keep_longmemeval.jsonl` has the facts that a reader would keep of messages of LongMemEval
(MIT), by the message's id (the second `readers` refused less than the first); `keep_talks_*.jsonl` are invented talks
with their facts; `keep_plain.txt` has plain sentences, worth keeping or not. A candidate of the rules is right when it
is like a fact of its message. `keep_verdicts.jsonl` has what readers said of candidates that they saw alone, by message
and span; in the talks, whose sentences lean on one another, that decides, and in LongMemEval it teaches as a second
reading. A head is the mean of two fits: to the labels of the first readers, and to all labels with what readers said of
candidates. `keep_months.jsonl` has such verdicts on the months of everyday talk in `needed.jsonl`, of which two writers
are left out of every fit. Every number is of messages that the fit did not see: of other sessions, or of other
sources. `--keep` writes `src/mnemic/text/facts/worth.json`; `--sample SEED` prints 20 facts of each kind of talk that
are kept in sessions which the fit did not see, for a reader to judge, and writes nothing.
Without MNEMIC_DATA nothing is done.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.machine import ROOT, keep, provenance, read_notes, table
from mnemic.adapters.embedders.minilm import DIMS
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.evaluation.dataset import read_json_lines
from mnemic.evaluation.extraction_words import Bag, bag, overlap
from mnemic.model.item import Fact
from mnemic.model.scope import as_utc
from mnemic.ports.models import Embedder, LayeredEmbedder
from mnemic.text.facts.find import MAX_FACTS, Reply, Said, find_candidates, is_long_enough, join_clauses, terms_of
from mnemic.text.facts.worth import hash_words, is_read, measure_cues

HERE = Path(__file__).resolve().parent
WEIGHTS = ROOT / "src" / "mnemic" / "text" / "facts" / "worth.json"
POOL, LICENCE = "longmemeval-pool", "MIT"
EMBEDDER = "minilm"

LIKE = 0.4
"""Token F1 from which two facts are alike; below it, a reader finds most pairs to say different things."""

RECALL = {"by_words": 0.875, "by_vector": 0.875, "by_layers": 0.86}
"""The thresholds keep so many of the messages that hold something, of LongMemEval in the folds that were left out. With
inner layers it is lower: the second readers found something in more messages than those of the set `keep`.
"""

FOLDS = 5
RIDGE = 1.0
"""Of 1, 2, 4 and 8 the one with the lowest log loss in the folds, for both heads."""

CUE_RIDGE = 0.3
"""Cues are few and far larger than the components of a vector, so they need less of a penalty."""

PLAIN = "plain"
WEIGHTS_OF = {PLAIN: 2.0, "months": 0.5}
"""What people say in five words is rare in the talks and common in use, so it counts twice. Everyday talk counts half:
with more, worthless messages of LongMemEval are kept.
"""

UNSEEN_TALKS = "talks_c"
UNSEEN = (UNSEEN_TALKS, "months_ab")
"""Talks that no fit sees, so that their rows stay comparable between heads."""

MONTHS = dict.fromkeys("ab", "months_ab") | dict.fromkeys("def", "months")
"""What the months of talk of each writer are for: to measure, or to fit."""

TALKS = ("talks_a", "talks_b")

CUE_SIZE = 0.999
"""A column that reaches this is a cue, or a word that is a text by itself; no component of a vector does."""

SAMPLE = 20
STEPS = 25
SMALLEST_STEP = 1e-6

Doubles = NDArray[np.float64]
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message of a user: where it comes from, what the rules find, the facts that a reader would keep, and whether
    the first readers labelled it.
    """

    source: str
    session: str
    text: str
    found: Sequence[Fact]
    gold: Sequence[Bag]
    is_first: bool = True


@dataclass(frozen=True, slots=True)
class Examples:
    """Candidates of all messages: features `(n, f)`, which are right, what one that saw them alone said of them (NaN:
    nothing, or nothing else counts), and each one's message `(n,)`. `scale`: the mean of the layers' features, and what
    they were divided by, `(2, f)`.
    """

    messages: Sequence[Labelled]
    by_layers: Doubles
    by_vector: Doubles
    by_words: Doubles
    scale: Doubles
    is_right: Doubles
    seen_alone: Doubles
    message: NDArray[np.int64]
    is_read: NDArray[np.bool_]

    @property
    def folds(self) -> NDArray[np.int64]:
        """The fold of each candidate's session."""
        return np.array([crc32(self.message_of(row).session.encode()) % FOLDS for row in range(len(self.message))])

    @property
    def sources(self) -> NDArray[np.int64]:
        """The number of each candidate's source."""
        names = [self.message_of(row).source for row in range(len(self.message))]
        return np.array([crc32(name.encode()) for name in names])

    @property
    def weights(self) -> Doubles:
        """How much each candidate counts."""
        return np.array([WEIGHTS_OF.get(self.message_of(row).source, 1.0) for row in range(len(self.message))])

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """Which candidates the first readers labelled."""
        return np.array([self.message_of(row).is_first for row in range(len(self.message))])

    @property
    def is_taught(self) -> NDArray[np.bool_]:
        """Which candidates are fitted to."""
        return np.array([self.message_of(row).source not in UNSEEN for row in range(len(self.message))])

    @property
    def taught(self) -> Doubles:
        """The label of each candidate, 0..1: the mean of its readings."""
        return np.where(np.isnan(self.seen_alone), self.is_right, (self.is_right + self.seen_alone) / 2)

    def message_of(self, row: int) -> Labelled:
        """The message of a candidate."""
        return self.messages[int(self.message[row])]


READINGS: Mapping[str, Callable[[Examples], Doubles]] = {
    "by_words": lambda data: data.by_words,
    "by_vector": lambda data: data.by_vector,
    "by_layers": lambda data: data.by_layers,
}
"""The features of each head."""


def main() -> int:
    """Fit, report, and write the weights where that is asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--keep", action="store_true")
    arguments.add_argument("--sample", type=int)
    chosen = arguments.parse_args()
    if not os.environ.get("MNEMIC_DATA"):
        print("no sets: set MNEMIC_DATA to their folder")
        return 0
    data = measure_examples(list(read_messages(Path(os.environ["MNEMIC_DATA"]) / POOL / "corpus.jsonl.gz")))
    if chosen.sample is not None:
        print(json.dumps(draw_sample(data, chosen.sample), ensure_ascii=False, indent=1))
        return 0
    by_words = {way: held_out(READINGS["by_words"], data, groups) for way, groups in ways(data)}
    thresholds: dict[str, float] = {}
    rows: list[list[str]] = []
    for name, read in READINGS.items():
        for way, groups in ways(data):
            likely = held_out(read, data, groups)
            thresholds.setdefault(name, find_threshold(data, likely, RECALL[name]))
            shifted = np.where(
                uses(name, data), likely - thresholds[name], by_words[way] - thresholds.get("by_words", 0.5)
            )
            rows += describe(f"{name}, other {way}", data, shifted, 0.0)
    keep("keep.md", report(data, rows, thresholds) + read_notes("keep.md"))
    if chosen.keep:
        heads = [ship(read, name, data, thresholds[name]) for name, read in READINGS.items()]
        WEIGHTS.write_text(json.dumps(heads, indent=1) + "\n", encoding="utf-8")
    return 0


def draw_sample(data: Examples, seed: int) -> list[Row]:
    """Facts drawn at random from those that are kept of sessions which the fit did not see, by the kind of talk."""
    likely = held_out(READINGS["by_layers"], data, data.folds)
    shifted = likely - find_threshold(data, likely, RECALL["by_layers"])
    chance = Random(seed)  # noqa: S311 - draws a sample
    sample: list[Row] = []
    for source in ("longmemeval", *TALKS):
        kept: list[str] = []
        for place in np.unique(data.message):
            message, rows = data.messages[int(place)], np.flatnonzero(data.message == place)
            if message.source == source:
                best = [row for row in rows[np.argsort(-shifted[rows])] if shifted[row] >= 0.0][:MAX_FACTS]
                facts = [message.found[int(row - rows[0])] for row in sorted(best)]
                kept += [fact.text for fact in join_clauses(message.text, facts)]
        sample += [{"source": source, "text": text} for text in chance.sample(kept, SAMPLE)]
    return sample


def ways(data: Examples) -> list[tuple[str, NDArray[np.int64]]]:
    """What is left out at a time: the groups of a cross validation by name."""
    return [("sessions", data.folds), ("sources", data.sources)]


def uses(name: str, data: Examples) -> NDArray[np.bool_]:
    """Which candidates a head is used for: vectors only tell of scripts that the embedder knows."""
    return np.ones_like(data.is_read) if name == "by_words" else data.is_read


def ship(read: Callable[[Examples], Doubles], name: str, data: Examples, threshold: float) -> Row:
    """A head as it is written, fitted to everything."""
    used, features = uses(name, data), read(data)
    weights = fit_readings(features, data, used)
    if name == "by_layers":
        weights = unscale(weights, data.scale)
    return {"weights": encode_weights(weights), "threshold": round(threshold, 3)}


def unscale(weights: Doubles, scale: Doubles) -> Doubles:
    """Weights for the features as the embedder gives them."""
    mean, size = scale
    weights = weights.copy()
    weights[: len(mean)] = (weights[: len(mean)] / size).astype("<f2")
    weights[-1] -= weights[: len(mean)] @ mean
    return weights


def encode_weights(weights: Doubles) -> str:
    """Weights as text: half precision, base64."""
    return base64.b64encode(weights.astype("<f2").tobytes()).decode()


def read_messages(pool: Path) -> Iterator[Labelled]:
    """Every labelled message with what the rules find in it."""
    labelled = [*reversed(read_labels("longmemeval"))]
    facts = {str(row["id"]): _gold(row) for row in labelled}
    first = {str(row["id"]) for row in labelled if "readers" not in row}
    sessions = [
        rows
        for rows in group_sessions([row for _, row in read_json_lines(pool)])
        if any(row["id"] in facts for row in rows)
    ]
    yield from _of_sessions("longmemeval", sessions, facts, first)
    for name in (*TALKS, UNSEEN_TALKS):
        rows = read_labels(name)
        labels = {str(row["id"]): _gold(row) for row in rows if row["role"] == "user"}
        yield from _of_sessions(name, group_sessions(rows), labels)
    yield from _of_months()
    for place, line in enumerate((HERE / "keep_plain.txt").read_text(encoding="utf-8").splitlines()):
        sign, _, text = line.partition(" ")
        if sign in ("+", "-"):
            found = find_candidates(Said(f"plain{place}", text, datetime(2025, 1, 1, tzinfo=UTC)))
            gold = [bag(each.text) for each in found] if sign == "+" else []
            yield Labelled(PLAIN, f"plain{place}", text, found, gold)


def _of_months() -> Iterator[Labelled]:
    """The messages of months of everyday talk, of which readers judged every candidate."""
    kept = {(row["id"], row["start"]) for row in read_labels("months") if row["verdict"] == "keep"}
    lines = [*read_json_lines(HERE.parent / "needed.jsonl"), *read_json_lines(HERE / "needed.jsonl")]
    people = cast("list[Mapping[str, Any]]", [row for _, row in lines])
    numbers: Counter[str] = Counter()
    for person in (person for person in people if person["writer"] in MONTHS):
        writer: str = person["writer"]
        for place, session in enumerate(person["sessions"]):
            name = f"{writer}{numbers[writer]}-{place}"
            rows: list[Row] = [
                {"id": f"{name}-{turn}", "session": name, "time": session["date"], "role": role, "text": text}
                for turn, (role, text) in enumerate(session["turns"])
            ]
            for message in _of_sessions(MONTHS[writer], [rows], {str(row["id"]): () for row in rows}):
                told = [(fact, fact.provenance[-1].source_id, fact.provenance[0].start) for fact in message.found]
                right = [bag(fact.text) for fact, id_, start in told if (id_, start) in kept]
                yield replace(message, gold=right)
        numbers[writer] += 1


def read_labels(name: str) -> list[Row]:
    """The rows of a file of labels."""
    lines = (HERE / f"keep_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def group_sessions(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each session, in order."""
    found: dict[object, list[Row]] = {}
    for row in rows:
        found.setdefault(row["session"], []).append(row)
    return list(found.values())


def _gold(row: Row) -> list[Bag]:
    facts = cast(Sequence[Mapping[str, object]], row["facts"])
    return [bag(str(each["text"])) for each in facts]


def _of_sessions(
    source: str,
    sessions: Sequence[Sequence[Row]],
    labels: Mapping[str, Sequence[Bag]],
    first: Collection[str] | None = None,
) -> Iterator[Labelled]:
    for rows in sessions:
        before: set[str] = set()
        names = {row.get("speaker") for row in rows if row["role"] == "user"}
        for previous, row in zip([None, *rows], rows, strict=False):
            text = str(row["text"])
            if row["role"] != "user" or not is_long_enough(text):
                continue
            is_reply = previous is not None and previous["role"] == "assistant" and len(names) == 1
            said = Said(
                str(row["id"]),
                text,
                as_utc(str(row["time"]), "time"),
                before=frozenset(before),
                reply=Reply("reply", str(previous["text"])) if previous is not None and is_reply else None,
            )
            if said.id in labels:
                is_first = first is None or said.id in first
                yield Labelled(source, str(row["session"]), text, find_candidates(said), labels[said.id], is_first)
            before.update(terms_of(text))


def measure_examples(messages: Sequence[Labelled]) -> Examples:
    """The features of every candidate."""
    found = [each for message in messages for each in message.found]
    place = np.array([place for place, message in enumerate(messages) for _ in message.found])
    texts = [each.text for each in found]
    verdicts: dict[tuple[object, ...], list[bool]] = {}
    for row in read_labels("verdicts"):
        verdicts.setdefault((row["id"], row["start"], row["end"]), []).append(bool(row["keep"]))
    right = [_read_labels(message, fact, verdicts) for message in messages for fact in message.found]
    cues, words = np.array([measure_cues(each.text, each.kind) for each in found]), hash_words(texts)
    vectors, layers = embed(texts)
    scale = measure_scale(layers)
    return Examples(
        messages,
        np.hstack([(layers - scale[0]) / scale[1], cues, words]),
        np.hstack([vectors, cues, words]),
        np.hstack([cues, words]),
        scale,
        np.array([each[0] for each in right], dtype=np.float64),
        np.array([each[1] for each in right], dtype=np.float64),
        place,
        np.array([is_read(text) for text in texts]),
    )


def _read_labels(
    message: Labelled, fact: Fact, verdicts: Mapping[tuple[object, ...], Sequence[bool]]
) -> tuple[float, float]:
    """Whether a candidate is right, and the second reading beside it."""
    is_like = max((overlap(bag(fact.text), gold) for gold in message.gold), default=0.0) >= LIKE
    told = fact.provenance[0]
    seen = verdicts.get((fact.provenance[-1].source_id, told.start, told.end))
    alone = np.mean(seen) if seen else np.nan
    if message.source != "longmemeval" and seen:
        return float(alone), np.nan
    return float(is_like), float(alone)


def embed(texts: Sequence[str]) -> tuple[Doubles, Doubles]:
    """The vectors of the embedder that is shipped, and what its inner layers hold."""
    embedder = shipped_embedder()
    if not isinstance(embedder, LayeredEmbedder):
        raise SystemExit(f"{EMBEDDER} shows no layers")
    vectors, layers = embedder.embed_layers(texts)
    return np.asarray(vectors, dtype=np.float64), np.asarray(layers, dtype=np.float64)


def measure_scale(layers: Doubles) -> Doubles:
    """The mean of each feature, and what makes a row's block of `DIMS` as long as a vector on average, `(2, f)`."""
    mean = layers.mean(axis=0)
    blocks = np.split(layers - mean, layers.shape[1] // DIMS, axis=1)
    return np.array([mean, np.repeat([np.sqrt(np.square(block).sum(axis=1).mean()) for block in blocks], DIMS)])


def shipped_embedder() -> Embedder:
    """The embedder whose vectors the first head reads."""
    embedder = build(Config(store=MEMORY_URL, embedder=EMBEDDER)).embedder
    if embedder is None:
        raise SystemExit(f"there is no embedder {EMBEDDER}")
    return embedder


def penalties(features: Doubles) -> Doubles:
    """The ridge of each weight: that of vectors and words, and a smaller one for cues, which are larger."""
    is_cue = np.abs(features).max(axis=0) >= CUE_SIZE
    return np.where(is_cue, CUE_RIDGE, RIDGE)


def fit_readings(features: Doubles, data: Examples, used: NDArray[np.bool_]) -> Doubles:
    """The mean of a fit to the labels of the first readers, and of one to all readings."""
    used = used & data.is_taught
    penalty, first = penalties(features), used & data.is_first
    strict = fit(features[first], data.is_right[first], penalty, data.weights[first])
    return (strict + fit(features[used], data.taught[used], penalty, data.weights[used])) / 2


def fit(features: Doubles, is_right: Doubles, penalty: Doubles, counts: Doubles) -> Doubles:
    """Ridge logistic regression by Newton's method, `counts`: the weight of each row. The bias comes last."""
    inputs = np.hstack([features, np.ones((len(features), 1))])
    penalty = np.append(penalty, 1e-6)
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        likely = 1.0 / (1.0 + np.exp(-inputs @ weights))
        slope = inputs.T @ (counts * (likely - is_right)) + penalty * weights
        curve = (inputs * (counts * likely * (1.0 - likely))[:, None]).T @ inputs + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < SMALLEST_STEP:
            break
    return weights


def held_out(read: Callable[[Examples], Doubles], data: Examples, groups: NDArray[np.int64]) -> Doubles:
    """The probability of each candidate by a fit to all groups but its own."""
    features = read(data)
    likely = np.zeros(len(features))
    for group in np.unique(groups):
        rest, own = groups != group, groups == group
        weights = fit_readings(features, data, rest)
        likely[own] = 1.0 / (1.0 + np.exp(-(features[own] @ weights[:-1] + weights[-1])))
    return likely


def log_loss(likely: Doubles, is_right: Doubles) -> float:
    """The mean surprise."""
    likely = np.clip(likely, 1e-6, 1 - 1e-6)
    return float(-np.mean(is_right * np.log(likely) + (1 - is_right) * np.log(1 - likely)))


def find_threshold(data: Examples, likely: Doubles, recall: float) -> float:
    """The highest threshold at which `recall` of LongMemEval's messages with facts give something."""
    best = {
        place: likely[data.message == place].max(initial=0.0)
        for place, message in enumerate(data.messages)
        if message.source == "longmemeval" and message.gold
    }
    return float(np.quantile(list(best.values()), 1.0 - recall))


def describe(name: str, data: Examples, likely: Doubles, threshold: float) -> list[list[str]]:
    """A row for each source: what is kept of its messages."""
    rows: list[list[str]] = []
    for source in dict.fromkeys(message.source for message in data.messages):
        worth = kept = right = facts = made = alike = count = 0
        for place, message in enumerate(data.messages):
            if message.source != source:
                continue
            mine = [
                (likely[row], row, fact)
                for row, fact in zip(np.flatnonzero(data.message == place), message.found, strict=True)
            ]
            best = sorted((each for each in mine if each[0] >= threshold), key=lambda each: -each[0])[:MAX_FACTS]
            chosen = join_clauses(message.text, [fact for _, _, fact in sorted(best, key=lambda each: each[1])])
            count += 1
            worth += bool(message.gold)
            kept += bool(chosen)
            right += bool(chosen and message.gold)
            facts, made = facts + len(message.gold), made + len(chosen)
            alike += count_pairs(message.gold, [bag(fact.text) for fact in chosen])
        shares = ((right, kept), (right, worth), (kept - right, count - worth), (alike, made), (alike, facts))
        rows.append([f"{name}: {source}", str(count), *(f"{part / max(whole, 1):.3f}" for part, whole in shares)])
    return rows


def count_pairs(gold: Sequence[Bag], made: Sequence[Bag]) -> int:
    """How many pairs of like facts there are, one to one, the most alike first."""
    table_ = sorted(((overlap(a, b), i, k) for i, a in enumerate(gold) for k, b in enumerate(made)), reverse=True)
    left, right = set[int](), set[int]()
    for value, i, k in table_:
        if value >= LIKE and i not in left and k not in right:
            left.add(i)
            right.add(k)
    return len(left)


def report(data: Examples, rows: list[list[str]], thresholds: Mapping[str, float]) -> str:
    """The text of the results."""
    head = [
        "fit to",
        "messages",
        "message precision",
        "message recall",
        "kept of nothing",
        "fact precision",
        "fact recall",
    ]
    lines = ", ".join(f"{value:.3f} (`{name}`)" for name, value in thresholds.items())
    shares = ", ".join(f"{RECALL[name]:g}" for name in thresholds)
    parts = [
        "# What is worth keeping",
        provenance("python benchmarks/fit/keep.py --keep"),
        (
            f"{len(data.is_right)} candidates of {len(data.messages)} messages of users; {int(data.is_right.sum())} of "
            f"them are like a fact that a reader would keep (token F1 of {LIKE}). `longmemeval` is {POOL} ({LICENCE}) "
            "without the sessions of the set `keep`; the others were written for this project. Each row is scored by "
            "fits that saw none of its sessions, or nothing of its source."
        ),
        table(head, rows),
        (
            "`by_layers` reads the mean and the spread of the word vectors in two inner layers of the embedder, plain "
            "cues and hashed words; `by_vector` the vector of the sentence instead; `by_words` cues and words alone "
            f"(ridge {RIDGE:g}). The thresholds, {lines}, keep {shares} of LongMemEval's messages that hold "
            "something. The line `other sources: longmemeval` shows a head that never saw long talks with an "
            "assistant, fitted to half of the candidates."
        ),
        describe_agreement(read_labels("longmemeval")),
    ]
    return "\n\n".join(parts) + "\n"


def describe_agreement(rows: Sequence[Row]) -> str:
    """How far two readers agree who labelled the same messages."""
    readings: dict[str, list[list[Bag]]] = {}
    for row in rows:
        readings.setdefault(str(row["id"]), []).append(_gold(row))
    pairs = [(each[0], each[1]) for each in readings.values() if len(each) > 1]
    same = sum(bool(one) == bool(other) for one, other in pairs) / len(pairs)
    first, second = (sum(bool(pair[side]) for pair in pairs) / len(pairs) for side in (0, 1))
    by_chance = first * second + (1 - first) * (1 - second)
    alike = sum(count_pairs(one, other) for one, other in pairs)
    counts = [sum(len(pair[side]) for pair in pairs) for side in (0, 1)]
    return (
        f"Two readers labelled {len(pairs)} messages of LongMemEval alone: they agree on {same:.3f} of them whether "
        f"anything is worth keeping (kappa {(same - by_chance) / (1 - by_chance):.2f}), and {alike} of {counts[0]} and "
        f"{counts[1]} facts are alike."
    )


if __name__ == "__main__":
    sys.exit(main())
