"""Measures which secrets the detector finds, misses and wrongly reports, compared with other detectors.

    [MNEMIC_DATA=path/to/data] python -m benchmarks.secret_detection [--peer betterleaks] [--peer detect-secrets]

Invented secrets of many issuers and forms, and harmless texts that look similar, are generated (`secret_corpus.py`).
With the data folder, real conversations and documents show over-blocking; matches in them are counted, not printed.
Other detectors (`--peer`) must be installed; `kingfisher` is supported too. Writes and prints `results/secrets.md`,
without other detectors.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.machine import keep, provenance, table
from benchmarks.secret_corpus import Planted, lookalikes, secrets
from mnemic.adapters.detectors.rules import RuleDetector

SETS = (
    "locomo",
    "longmemeval-pool",
    "beam",
    "halumem",
    "memdaily",
    "cmrc2018",
    "drcd",
    "hotpotqa-100",
    "tc-event-memory",
)
COVERED = 0.95
SEED = 21
Find = Callable[[str], Iterable[tuple[int, int]]]


def main() -> None:
    """Measure the detector of Mnemic, and the peers that were named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", action="append", default=[], choices=sorted(PEERS))
    arguments = parser.parse_args()
    detector = RuleDetector()
    finders: dict[str, Find] = {"rules": lambda text: [(span.start, span.end) for span in detector.find(text)]}
    finders |= {name: PEERS[name]() for name in arguments.peer}
    data = os.environ.get("MNEMIC_DATA")
    real = dict(_real(Path(data))) if data else {}
    text = report(finders, list(secrets(SEED)), list(lookalikes(SEED)), real)
    if arguments.peer:
        print(text)
    else:
        keep("secrets.md", text)


def report(
    finders: dict[str, Find], planted: list[Planted], harmless: list[Planted], real: dict[str, list[str]]
) -> str:
    """The result file: secrets covered and noticed, look-alikes hit, real texts hit, and time."""
    rows: list[list[str]] = []
    missed: list[str] = []
    for name, find in finders.items():
        shares = [covered(find, one) for one in planted]
        whole = sum(share >= COVERED for share in shares)
        hit = [one.sort for one in harmless if any(find(one.text))]
        rows.append(
            [name, f"{whole} of {len(planted)}", str(sum(s > 0 for s in shares)), f"{len(hit)} of {len(harmless)}"]
        )
        lost = Counter(one.sort for one, share in zip(planted, shares, strict=True) if share < COVERED)
        told = ", ".join(f"{sort} {n}" for sort, n in lost.items())
        missed.append(
            f"Not covered by {name}: {told or 'none'}. Harmless ones hit: {', '.join(sorted(set(hit))) or 'none'}."
        )
    found = [
        [name, set_name, *_hits(find, texts)] for name, find in finders.items() for set_name, texts in real.items()
    ]
    note = (
        f"{len({one.sort for one in planted})} sorts of made-up secrets. Covered: at least {COVERED:.0%} of its "
        "characters lie in what would be redacted. Noticed: any of them."
    )
    parts = [
        "# Detection of secrets",
        provenance("python -m benchmarks.secret_detection"),
        note,
        table(["detector", "covered", "noticed", "look-alikes hit"], rows),
        "\n\n".join(missed),
    ]
    if found:
        head = ["detector", "real texts", "n", "characters", "texts hit", "µs per 1,000 characters"]
        parts += [
            table(head, found),
            "Texts hit on real sets were looked at by hand: decision 0017 says what they are.",
        ]
    return "\n\n".join(parts) + "\n"


def covered(find: Find, one: Planted) -> float:
    """Which share of the planted secret lies in the spans that were found."""
    start = one.text.index(one.secret)
    marks = bytearray(len(one.text))
    for low, high in find(one.text):
        marks[low:high] = b"\1" * (high - low)
    return sum(marks[start : start + len(one.secret)]) / len(one.secret)


def _hits(find: Find, texts: list[str]) -> list[str]:
    start = time.perf_counter()
    hit = sum(any(True for _ in find(text)) for text in texts)
    elapsed_us = (time.perf_counter() - start) * 1e6
    size = sum(map(len, texts))
    return [f"{len(texts):,}", f"{size:,}", str(hit), f"{elapsed_us / max(size, 1) * 1000:.0f}"]


def _real(data: Path) -> Iterator[tuple[str, list[str]]]:
    for name in SETS:
        path = data / name / "corpus.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield name, [json.loads(line)["text"] for line in lines]
    kinds = (".md", ".txt", ".html", ".csv", ".ipynb", ".eml", ".json", ".jsonl", ".py", ".js")
    for name in ("documents", "chat-exports"):
        files = sorted(path for path in (data / name).rglob("*") if path.suffix in kinds)
        yield name, [path.read_text(encoding="utf-8", errors="replace") for path in files]


def _positions(text: str, values: Iterable[str]) -> list[tuple[int, int]]:
    found = [(text.find(value), value) for value in values if value]
    return [(start, start + len(value)) for start, value in found if start >= 0]


def _betterleaks() -> Find:
    library: Any = importlib.import_module("betterleaks")

    def find(text: str) -> list[tuple[int, int]]:
        return _positions(
            text, [value for f in library.scan_string(text) for value in (f.match.value, *f.match.captures.values())]
        )

    return find


def _kingfisher() -> Find:
    library: Any = importlib.import_module("kingfisher_sdk")
    scanner: Any = library.Scanner(library.Rules(cache=False))

    def find(text: str) -> list[tuple[int, int]]:
        data = text.encode()
        places = [f.location for f in scanner.scan(data) if f.visible]
        ends = [(place["start_offset"], place["end_offset"]) for place in places]
        return [(len(data[:a].decode(errors="replace")), len(data[:b].decode(errors="replace"))) for a, b in ends]

    return find


def _detect_secrets() -> Find:
    """Every plug-in but those that go by entropy alone, and by addresses."""
    modules = (
        "artifactory",
        "aws",
        "azure_storage_key",
        "basic_auth",
        "discord",
        "github_token",
        "gitlab_token",
        "jwt",
        "keyword",
        "mailchimp",
        "npm",
        "openai",
        "private_key",
        "pypi_token",
        "sendgrid",
        "slack",
        "square_oauth",
        "stripe",
        "telegram_token",
        "twilio",
    )
    plugins: list[Any] = []
    for name in modules:
        module: Any = importlib.import_module(f"detect_secrets.plugins.{name}")
        plugins += [each() for each in _classes(module)]

    def find(text: str) -> list[tuple[int, int]]:
        lines = text.split("\n")
        values: list[Any] = [v for line in lines for plugin in plugins for v in plugin.analyze_string(line)]
        return _positions(text, [v if isinstance(v, str) else v[0] for v in values])

    return find


def _classes(module: Any) -> list[type[Any]]:
    members: list[Any] = [getattr(module, name) for name in dir(module)]
    return [each for each in members if isinstance(each, type) and each.__module__ == module.__name__]


PEERS: dict[str, Callable[[], Find]] = {
    "betterleaks": _betterleaks,
    "detect-secrets": _detect_secrets,
    "kingfisher": _kingfisher,
}

if __name__ == "__main__":
    main()
