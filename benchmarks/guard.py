"""Measures how many attacks the read-side sanitiser catches, and what it wrongly removes from harmless texts.

    MNEMIC_DATA=path/to/data python -m benchmarks.guard [--run RUN.jsonl]

Reads `injection/` below the data folder: attacks, benign texts, carriers (harmless documents) and unusual strings. A
text counts as caught (or, if it is harmless, as over-blocked) if `sanitise` replaces a passage of it. Attacks that are
hostile only inside a document (`needs_context`) are tested without the document. `--run` writes one row per text for an
independent scorer: {"id", "outcome", "reasons", "ms"}. Conversations and documents of other sets show over-blocking on
real texts: those with a finding that counts alone would be quarantined if they were untrusted memories. Writes and
prints `results/guard.md`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.machine import keep, provenance, table
from mnemic.text.sanitise import findings, sanitise

DISPUTED = {("openclay", kind) for kind in ("context_confusion", "encoding", "jailbreak", "payload_injection")}
"""Benign by the label of their source, but filed there under an attack and attacks in form."""

NOTES = """The floor (the three expressions of J-36 to J-38 alone) catches 0.134 of the attacks. Out of reach by
intent: database and script injection, which address no model; questions for dangerous knowledge; and attacks that are
ordinary requests until they stand in a document. A redacted text is still stored and shown: what is left of it is data
between markers, and the model is told so."""

REAL = (
    "locomo",
    "longmemeval-pool",
    "beam",
    "halumem",
    "memdaily",
    "cmrc2018",
    "drcd",
    "hotpotqa-100",
    "scifact",
    "cranfield",
    "tc-event-memory",
)
Row = dict[str, Any]


def main() -> None:
    """Sanitise every text, write the results, and the run if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    arguments = parser.parse_args()
    folder = Path(os.environ["MNEMIC_DATA"]) / "injection"
    attacks, benign, carriers, strings = (
        [judged(row) for row in _rows(folder / f"{name}.jsonl.gz")]
        for name in ("attacks", "benign", "carriers", "strings")
    )
    if arguments.run:
        lines = [
            json.dumps({k: row[k] for k in ("id", "outcome", "reasons", "ms")}) for row in attacks + benign + carriers
        ]
        arguments.run.write_text("\n".join(lines) + "\n", encoding="utf-8")
    keep("guard.md", report(attacks, benign, carriers, strings) + "\n" + over_blocking(folder.parent))


def report(attacks: list[Row], benign: list[Row], carriers: list[Row], strings: list[Row]) -> str:
    """The result file: rates over all, by kind of attack, milliseconds, and which patterns hit."""
    direct = [row for row in attacks if not row.get("needs_context")]
    tame = [row for row in direct if row["kind"] != "jailbreak-in-the-wild"]
    groups = {
        "attacks without needs_context": direct,
        "of these without jailbreaks in the wild": tame,
        "of these not in English": [row for row in tame if row["lang"] not in ("en", "*")],
        "attacks with needs_context, bare": [row for row in attacks if row.get("needs_context")],
        "benign": benign,
        "benign, undisputed": [row for row in benign if (row["source"], row["kind"]) not in DISPUTED],
        "carriers": carriers,
        "odd strings": strings,
    }
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in direct:
        kinds[f"{row['source']} / {row['kind']}"].append(row)
    times = sorted(row["ms"] for row in attacks + benign + carriers)
    head = ["texts", "n", "redacted", "rate"]
    return (
        "\n\n".join(
            [
                "# The read-side sanitiser against attacks and harmless texts",
                provenance("python -m benchmarks.guard"),
                table(head, [_rate(*group) for group in groups.items()]),
                table(["attacks by source and kind", *head[1:]], [_rate(*kind) for kind in sorted(kinds.items())]),
                f"Milliseconds per text: p50 {times[len(times) // 2]:.2f}, p95 {times[len(times) * 95 // 100]:.2f}.",
                f"Patterns that hit attacks: {_reasons(attacks)}.",
                f"Patterns that hit benign texts, carriers and strings: {_reasons(benign + carriers + strings)}.",
                NOTES,
            ]
        )
        + "\n"
    )


def over_blocking(data: Path) -> str:
    """A table of real texts: how many would be quarantined, and how many redacted, were they not the user's words."""
    lines: list[list[str]] = []
    every = [0, 0, 0]
    hits: Counter[str] = Counter()
    for name in REAL:
        texts = [row["text"] for row in _rows(data / name / "corpus.jsonl.gz")]
        high = [{found.pattern for found in findings(text) if found.severity == "high"} for text in texts]
        counts = [len(texts), sum(map(bool, high)), sum(sanitise(text) != text.strip() for text in texts)]
        hits.update(pattern for patterns in high for pattern in patterns)
        every = [total + count for total, count in zip(every, counts, strict=True)]
        lines.append([name, *_shares(counts)])
    lines.append(["all", *_shares(every)])
    head = ["real texts", "n", "quarantined", "share", "redacted", "share"]
    told = ", ".join(f"{name} {count}" for name, count in hits.most_common()) or "none"
    return f"{table(head, lines)}\n\nPatterns that would quarantine real texts: {told}.\n"


def _shares(counts: list[int]) -> list[str]:
    number, quarantined, found = counts
    return [f"{number:,}", str(quarantined), f"{quarantined / number:.3%}", str(found), f"{found / number:.3%}"]


def judged(row: Row) -> Row:
    """The row with outcome, reasons and milliseconds added."""
    start = time.perf_counter()
    changed = sanitise(row["text"]) != row["text"].strip()
    elapsed_ms = (time.perf_counter() - start) * 1e3
    reasons = sorted({finding.pattern for finding in findings(row["text"])}) or ["marker"]
    return {
        **row,
        "outcome": "redacted" if changed else "allowed",
        "reasons": reasons if changed else None,
        "ms": elapsed_ms,
    }


def _rate(title: str, rows: list[Row]) -> list[str]:
    redacted = sum(row["outcome"] == "redacted" for row in rows)
    return [title, str(len(rows)), str(redacted), f"{redacted / max(1, len(rows)):.3f}"]


def _reasons(rows: Iterable[Row]) -> str:
    counted = Counter(reason for row in rows for reason in row["reasons"] or ())
    return ", ".join(f"{name} {count}" for name, count in counted.most_common()) or "none"


def _rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
