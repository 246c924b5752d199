"""Reads each file of a folder of real documents. Each must be read, or fail with a reason and not stop the next.

The files are in MNEMIC_DATA/documents: PDF, office files and others, some of which are broken, scanned or encrypted on
purpose. Each is read in the sandbox process. There is one such process per type of file, and the system reports its
peak memory. The start of the process is not timed, but the import of the format's library is. If there is a text file
with the same name as a PDF, their words are compared (F1 of their counts). Any result except a document or an
`UnreadableError` is a violation, and so is a blank text. No text of the data is stored.

    MNEMIC_DATA=path/to/data python drills/read_documents.py
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic.adapters.readers.sandbox import SandboxReader
from mnemic.errors import MnemicError
from mnemic.model.document import MEBIBYTE, ReadDocument, ReadLimits
from mnemic.ports.files import UnreadableError

ENOUGH_OVERLAP = 0.9
"""Of the words of a PDF with those of the text beside it."""


@dataclass(slots=True)
class Tally:
    """What became of the files of one type."""

    files: int = 0
    read: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    characters: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0


def main() -> int:
    """Read them all, and tell."""
    options(__doc__)
    folder = Path(os.environ.get("MNEMIC_DATA", "../shared/data")) / "documents"
    by_type: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "META.json":
            by_type.setdefault(path.suffix.lower(), []).append(path)
    problems: list[str] = [] if by_type else [f"there is nothing in {folder.name}"]
    tallies: dict[str, Tally] = {}
    overlaps: list[float] = []
    for kind, paths in sorted(by_type.items()):
        reader = SandboxReader()
        reader.read(b"The process starts and imports its code.", "first.txt", ReadLimits())
        tallies[kind] = tally = Tally()
        for path in paths:
            document = _read(reader, path, tally, problems)
            expected = path.with_suffix(".md")
            if document is not None and kind == ".pdf" and expected.exists():
                overlaps.append(_overlap(document.text, expected.read_text(encoding="utf-8")))
        reader.close()
    problems += [f"a PDF shares {each:.3f} of its words with its text" for each in overlaps if each < ENOUGH_OVERLAP]
    facts = {
        "files": sum(each.files for each in tallies.values()),
        "read": sum(each.read for each in tallies.values()),
        "failed with a reason": sum(each.refused.total() for each in tallies.values()),
        "PDF with their text beside them": len(overlaps),
        "least overlap of words (F1)": f"{min(overlaps, default=0):.3f}",
    }
    head = ["type", "files", "read", "failed", "characters", "characters/s", "peak MiB"]
    rows = [_row(kind, tally) for kind, tally in tallies.items()]
    return Outcome(
        name="read_documents", about=__doc__ or "", facts=facts, problems=problems, tables=[(head, rows)]
    ).told()


def _read(reader: SandboxReader, path: Path, tally: Tally, problems: list[str]) -> ReadDocument | None:
    """The document, counted; a failure is counted by its reason."""
    tally.files += 1
    data = path.read_bytes()
    start = time.perf_counter()
    try:
        document = reader.read(data, path.name, ReadLimits())
    except UnreadableError as refusal:
        tally.refused[refusal.reason] += 1
        return None
    except MnemicError as error:
        problems.append(f"a {path.suffix} file ended with {type(error).__name__}")
        return None
    finally:
        tally.seconds += time.perf_counter() - start
        tally.peak_bytes = max(tally.peak_bytes, _peak_bytes(reader.process_id))
    tally.read += 1
    tally.characters += len(document.text)
    if not document.text.strip():
        problems.append(f"a {path.suffix} file was read as blank")
    return document


def _peak_bytes(process_id: int | None) -> int:
    """The most resident memory that a process had, where the system says so; else 0."""
    status = Path(f"/proc/{process_id}/status")
    if process_id is None or not status.exists():
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
    return int(found[1]) * 1024 if found else 0


def _overlap(text: str, expected: str) -> float:
    """F1 of the counts of words."""
    ours, theirs = (Counter(re.findall(r"\w+", each.lower())) for each in (text, expected))
    return 2 * (ours & theirs).total() / max(ours.total() + theirs.total(), 1)


def _row(kind: str, tally: Tally) -> list[str]:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(tally.refused.items())) or "0"
    pace = f"{tally.characters / tally.seconds:,.0f}" if tally.characters else "-"
    peak = f"{tally.peak_bytes / MEBIBYTE:.0f}"
    return [kind, str(tally.files), str(tally.read), reasons, f"{tally.characters:,}", pace, peak]


if __name__ == "__main__":
    sys.exit(main())
