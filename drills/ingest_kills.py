"""Ingests a folder of many files in processes that are killed with SIGKILL at random moments, until one finishes.

Each file contains words that no other file contains. After each kill, each document must exist once. A document that is
ready must have its text, passages that are parts of this text, and a vector for each passage (checked when it becomes
ready). All other documents must be empty. The store's file must be sound, and no process that reads files may remain.
At the end, each document must be ready, no passage may exist twice, and ingesting again must store nothing. The memory
of the last process is monitored while it works. Vectors are synthetic, so the drill tests the ingest and not a model.

    python drills/ingest_kills.py --files 10000 --kills 10
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome
from mnemic.api import Mnemic
from mnemic.model.document import MEBIBYTE, Document, DocumentStatus
from mnemic.model.scope import Scope
from mnemic.ports.store import MAIN_VIEW

SCOPE = Scope(user="anna")
PAGE = 1000
PHASES = 4
MOST_GROWTH = 1.5
"""Of the last phase to the second; the first holds what is loaded once."""


@dataclass(slots=True)
class Found:
    """What was seen over all rounds."""

    problems: list[str] = field(default_factory=list[str])
    known: set[str] = field(default_factory=set[str])
    ready: list[int] = field(default_factory=list[int])
    peaks: list[list[int]] = field(default_factory=list[list[int]])
    seconds: list[float] = field(default_factory=list[float])


def main() -> int:
    """Kill, look, go on; then let one end, and look at everything."""
    parser = argparse.ArgumentParser(description="Kill ingests and look what is left.")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", nargs=2, metavar=("STORE", "FOLDER"), help="ingest, a line for each file")
    options = parser.parse_args()
    if options.child:
        return _ingest(*options.child)
    chance, found = random.Random(options.seed), Found()  # noqa: S311 -- no secret hangs on it
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place) / "papers", Path(place) / "memory.db"
        _write(folder, options.files)
        for number in range(options.kills):
            killed = _run(store, folder, found, after=chance.randrange(options.files // (options.kills + 2)))
            found.problems += [f"round {number}: {problem}" for problem in _looked_at(store, found)]
            if not killed:
                found.problems.append(f"round {number}: it ended before it was killed")
        _run(store, folder, found, after=None)
        found.problems += _looked_at(store, found)
        found.problems += _completed(store, folder, options.files)
        size = store.stat().st_size / MEBIBYTE
    return _told(found, options, size)


def _write(folder: Path, files: int) -> None:
    """Files of one passage or a few, in folders of a hundred."""
    for number in range(files):
        path = folder / f"{number // 100:03}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"## Part {part}\n\n{' '.join(f'w{number}x{part}x{n}' for n in range(60))}." for part in range(1, 4)]
        count = 1 + number % 3
        path.write_text(f"# Paper {number}\n\n" + "\n\n".join(parts[:count]) + "\n", encoding="utf-8")


def _ingest(store: str, folder: str) -> int:
    def told(done: int, total: int, source: str) -> None:
        if source:  # without one, what is known is only compared
            print(done, total, flush=True)

    with opened(store) as mnemic:
        mnemic.ingest(SCOPE, folder, progress=told)
    return 0


def _run(store: Path, folder: Path, found: Found, *, after: int | None) -> bool:
    """One process; killed a moment after it has read so many files more, where that is said. True when it was."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", str(store), str(folder)], stdout=subprocess.PIPE, text=True
    )
    first, peaks, readers = -1, [0] * PHASES, set[int]()
    for done, total in _lines(process):
        first = done if first < 0 else first
        peaks[min(done * PHASES // max(total, 1), PHASES - 1)] = max(
            _resident(process.pid), peaks[min(done * PHASES // max(total, 1), PHASES - 1)]
        )
        readers.update(_children(process.pid))
        if after is not None and done - first >= after:
            time.sleep(random.random() * 0.05)  # noqa: S311 -- as above
            process.send_signal(signal.SIGKILL)
            break
    process.communicate()
    found.seconds.append(time.monotonic() - began)
    found.peaks.append(peaks)
    found.problems += [f"the process {pid} that read files is still there" for pid in readers if not _ends(pid)]
    return process.returncode == -signal.SIGKILL


def _lines(process: subprocess.Popen[str]) -> Iterator[tuple[int, int]]:
    if process.stdout is None:
        return
    for line in process.stdout:
        done, total = line.split()
        yield int(done), int(total)


def _looked_at(store: Path, found: Found) -> list[str]:
    """What is wrong after a round, one sentence each."""
    problems = file_problems(store)
    with opened(store) as mnemic:
        documents = list(_documents(mnemic))
        sources = {document.source for document in documents}
        if len(sources) < len(documents):
            problems.append(f"{len(documents) - len(sources)} documents are there twice")
        ready = {document.id: document for document in documents if document.status is DocumentStatus.READY}
        problems += [
            f"{each.source} is not ready and holds something"
            for each in documents
            if each.id not in ready and each.chunks
        ]
        fresh = [document for document in ready.values() if document.id not in found.known]
        found.known.update(ready)
        problems += [f"{document.source} failed: {document.reason}" for document in documents if document.reason]
        problems += [problem for document in fresh for problem in _against(mnemic, document)]
        found.ready.append(len(ready))
        with mnemic._engine.store.read() as work:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- a drill looks inside
            counts = work.partitions.count(SCOPE.visibility.partitions)
        wanted = sum(document.chunks for document in documents)
        if not counts["chunks"] == counts["vectors"] == wanted:
            problems.append(f"{wanted} passages are known, {counts} are stored")
    return problems


def _documents(mnemic: Mnemic) -> Iterator[Document]:
    after: str | None = None
    while True:
        page = mnemic.documents.list(SCOPE, limit=PAGE, after=after)
        yield from page.documents
        if (after := page.after) is None:
            return


def _against(mnemic: Mnemic, document: Document) -> Iterator[str]:
    text = mnemic.documents.text(SCOPE, document.id)
    passages = mnemic.documents.passages(SCOPE, document.id, count=PAGE)
    number = int(re.findall(r"(\d+)\.md$", document.source)[0])
    words = [f"w{number}x{part}x{n}" for part in range(1, 2 + number % 3) for n in range(60)]
    if re.findall(r"w\d+x\d+x\d+", text) != words:
        yield f"{document.source} has another text"
    if [text[chunk.start : chunk.end] for chunk in passages] != [chunk.text for chunk in passages]:
        yield f"{document.source} has a passage that is not in it"
    held = " ".join(chunk.text for chunk in passages)
    if sorted(re.findall(r"w\d+x\d+x\d+", held)) != sorted(words) or len(passages) != document.chunks:
        yield f"{document.source} has a passage twice, or lacks one"
    with mnemic._engine.store.read() as work:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- a drill looks inside
        space = mnemic._engine.embedders[0].space.id  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above
        vectors = work.vectors.get(document.partition, [chunk.id for chunk in passages], MAIN_VIEW, space)
    if len(vectors) != len(passages):
        yield f"{document.source} has {len(vectors)} vectors for {len(passages)} passages"


def _completed(store: Path, folder: Path, files: int) -> list[str]:
    """What is wrong when all should be there."""
    problems: list[str] = []
    with opened(store) as mnemic:
        again = mnemic.ingest(SCOPE, folder)
        if again.counts != {"unchanged": files}:
            problems.append(f"asked again, {again.counts}")
    return problems


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    with suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text(encoding="ascii"))
        return int(found[1]) * 1024 if found else 0
    return 0


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    return []


def _ends(pid: int) -> bool:
    """True when a process is gone within some seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if "State:\tZ" in Path(f"/proc/{pid}/status").read_text(encoding="ascii"):
            return True
        time.sleep(0.1)
    return False


def _told(found: Found, options: argparse.Namespace, size: float) -> int:
    last = found.peaks[-1]
    seen = [peak for peak in last if peak]
    if len(seen) > 1 and seen[-1] > seen[0] * MOST_GROWTH:
        found.problems.append("memory grew while files were read")
    facts = {
        "files": options.files,
        "kills": options.kills,
        "ready after each round": ", ".join(map(str, found.ready)),
        "seconds of all runs": f"{sum(found.seconds):.0f}",
        "resident MiB in the quarters of the last run": ", ".join(f"{peak / MEBIBYTE:.0f}" for peak in last),
        "resident MiB at most in any run": f"{max(max(peaks) for peaks in found.peaks) / MEBIBYTE:.0f}",
        "MiB of the store": f"{size:.0f}",
    }
    return Outcome(name="ingest_kills", about=__doc__ or "", facts=facts, problems=found.problems).told()


if __name__ == "__main__":
    sys.exit(main())
