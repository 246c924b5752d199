"""Runs two processes that share one file and one user at the same time.

1. Each process remembers the same number of texts, and the other process also remembers half of them. Each text must
   get one row, both processes must get the same id for it, and no error may occur.
2. When a write of one process is acknowledged, the next recall of the other must find it, by keyword and by vector.
3. Both repeatedly change one memory, based on what they last read. Each change must either be refused (ConflictError)
   or appear in the history. No change may be lost silently, and the final text must be that of the last change.

    python drills/two_writers.py --texts 2000 --turns 200 --changes 200
"""

from __future__ import annotations

import multiprocessing
import random
import sys
from collections.abc import Generator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, is_found_by_vector, is_found_by_word, opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.errors import ConflictError
from mnemic.model.records import Action
from mnemic.model.scope import Scope

SCOPE = Scope(user="anna")
NAMES = ("left", "right")
_T = TypeVar("_T")


def main() -> int:
    """Exit code 1 when a row is double or missing, a write is not seen, or a change is lost."""
    told = options(__doc__, texts=2_000, turns=200, changes=200)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with opened(path) as mnemic, both() as (left, right):
            facts, problems = drill(mnemic, path, (left, right), (told.texts, told.turns, told.changes))
        problems += file_problems(path)
    return Outcome(name="two_writers", about=__doc__ or "", facts=facts, problems=problems).told()


@contextmanager
def both() -> Generator[tuple[ProcessPoolExecutor, ProcessPoolExecutor]]:
    """Two processes of one worker each, started anew, which do what they are given one after the other."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as left, ProcessPoolExecutor(1, context) as right:
        yield left, right


def drill(
    mnemic: Mnemic, path: Path, workers: tuple[ProcessPoolExecutor, ProcessPoolExecutor], sizes: tuple[int, int, int]
) -> tuple[dict[str, object], list[str]]:
    """Counts and problems of the three parts; `sizes` are the texts, the turns and the changes of each process."""
    texts, turns, changes = sizes
    problems: list[str] = []
    kept = _results([w.submit(remember_all, path, name, texts) for w, name in zip(workers, NAMES, strict=True)])
    rows = _all_texts(mnemic)
    different = [text for text in kept[0].keys() & kept[1].keys() if kept[0][text] != kept[1][text]]
    if different:
        problems.append(f"{len(different)} texts have two ids, such as {different[0]}")
    if sorted(rows) != sorted(kept[0].keys() | kept[1].keys()):
        problems.append(f"{len(rows)} rows for {len(kept[0].keys() | kept[1].keys())} texts")
    unseen = 0
    for number in range(turns):
        writer, reader = workers if number % 2 else reversed(workers)
        text = f"seen at once u{number}"
        writer.submit(remember_one, path, text).result()
        unseen += not reader.submit(sees, path, text).result()
    if unseen:
        problems.append(f"{unseen} of {turns} writes were not seen by the next recall of the other process")
    memory = mnemic.remember(SCOPE, "begins")
    done = _results([w.submit(change, path, memory.id, name, changes) for w, name in zip(workers, NAMES, strict=True)])
    accepted = {text for texts_done, _ in done for text in texts_done}
    entries = [entry for entry in mnemic.history(SCOPE, memory.id) if entry.action is Action.UPDATED]
    recorded = [str(entry.after["text"]) for entry in entries]
    if sorted(recorded) != sorted(accepted):
        problems.append(f"{len(accepted)} changes were accepted and {len(recorded)} are in the history")
    if [e.before["text"] for e in entries] != ["begins", *recorded[:-1]]:
        problems.append("a change does not begin where the one before it ended: one was overwritten unseen")
    if mnemic.get(SCOPE, memory.id).text != recorded[-1]:
        problems.append("the text is not the one of the last change")
    facts: dict[str, object] = {
        "texts remembered by both together": len(kept[0]) + len(kept[1]),
        "rows": len(rows),
        "writes seen by the next recall of the other": turns - unseen,
        "changes accepted, each in the history": len(accepted),
        "changes refused with ConflictError": sum(refused for _, refused in done),
    }
    return facts, problems


def remember_all(path: Path, name: str, number: int) -> dict[str, str]:
    """Remembers the texts of one process, in an order of its own; returns the ids by text."""
    texts = [f"note shared s{i}" for i in range(number // 2)] + [
        f"note of {name} {name}{i}" for i in range(number // 2)
    ]
    random.Random(name).shuffle(texts)  # noqa: S311 -- no secret hangs on it
    with opened(path) as mnemic:
        return {text: mnemic.remember(SCOPE, text).id for text in texts}


_KEPT_OPEN: dict[Path, Mnemic] = {}


def remember_one(path: Path, text: str) -> None:
    """In a library that stays open, as a server's does."""
    _open(path).remember(SCOPE, text)


def sees(path: Path, text: str) -> bool:
    """True when both the last word and the vector of a text find it."""
    return is_found_by_word(_open(path), SCOPE, text) and is_found_by_vector(_open(path), SCOPE, text)


def change(path: Path, memory_id: str, name: str, number: int) -> tuple[list[str], int]:
    """Changes one memory; returns the texts that were accepted, and how many were refused."""
    accepted: list[str] = []
    refused = 0
    for i in range(number):
        text = f"says {name} {i}"
        try:
            _open(path).update(SCOPE, memory_id, text=text)
            accepted.append(text)
        except ConflictError:
            refused += 1
    return accepted, refused


def _open(path: Path) -> Mnemic:
    if path not in _KEPT_OPEN:
        _KEPT_OPEN[path] = opened(path)
    return _KEPT_OPEN[path]


def _all_texts(mnemic: Mnemic) -> list[str]:
    texts: list[str] = []
    after: str | None = None
    while True:
        page = mnemic.list(SCOPE, limit=1000, after=after)
        texts += [memory.text for memory in page.memories]
        after = page.next
        if after is None:
            return texts


def _results(futures: list[Future[_T]]) -> list[_T]:
    return [future.result() for future in futures]


if __name__ == "__main__":
    sys.exit(main())
