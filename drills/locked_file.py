"""Lets another process hold the file's write lock for longer than writers wait.

Every verb that writes must raise UnavailableError soon after the configured wait. Every verb that reads must work in
the meantime. If a write waits long enough, it must succeed when the lock is released. No write may be incomplete.

    python drills/locked_file.py --wait_ms 300
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems, opened
from drills.kit.outcome import Outcome, options
from mnemic.api import Mnemic
from mnemic.errors import MnemicError, UnavailableError
from mnemic.model.health import Condition
from mnemic.model.scope import Scope

SCOPE = Scope(user="anna", session="s1")
SPARE_S = 10.0
"""How much later than the wait an answer may come on a machine with other work."""


def main() -> int:
    """Exit code 1 when a verb waits for ever, fails in another way, or a reader has to wait."""
    told = options(__doc__, wait_ms=300)
    with TemporaryDirectory() as folder:
        facts, problems = drill(Path(folder) / "memory.db", told.wait_ms / 1000)
    return Outcome(name="locked_file", about=__doc__ or "", facts=facts, problems=problems).told()


NOTHING: list[object] = []
"""What `profile.set` answers, with a warning, if the store is away: a profile never fails a talk."""


def drill(path: Path, wait_s: float) -> tuple[dict[str, object], list[str]]:
    """Counts and problems of one locked file."""
    problems: list[str] = []
    messages: set[str] = set()
    longest = 0.0
    with opened(path, lock_wait_s=wait_s) as mnemic:
        writes, reads = verbs(mnemic)
        before = state_of(mnemic)
        with locked(path):
            for name, write in writes.items():
                began = time.monotonic()
                try:
                    if write() != NOTHING:
                        problems.append(f"{name} wrote in spite of the lock")
                except UnavailableError as error:
                    messages.add(str(error).replace(str(path), "…"))
                except MnemicError as error:
                    problems.append(f"{name} told it as {type(error).__name__}: {error}")
                took = time.monotonic() - began
                longest = max(longest, took)
                if not wait_s * 0.9 <= took <= wait_s + SPARE_S:
                    problems.append(f"{name} answered after {took:.2f} s instead of {wait_s} s")
            problems += _failing(reads)
            if state_of(mnemic) != before:
                problems.append("a refused verb left a trace")
            problems += [f"doctor: {f.message}" for f in mnemic.doctor().findings if f.condition is Condition.BROKEN]
        for name, write in writes.items():
            try:
                write()
            except MnemicError as error:
                problems.append(f"{name} fails after the lock was released: {error}")
    problems += _patient(path) + file_problems(path)
    facts: dict[str, object] = {
        "wait, ms": round(wait_s * 1000),
        "verbs that write, refused": len(writes),
        "verbs that read, answered": len(reads),
        "longest refusal, ms": round(longest * 1000),
        "messages": "; ".join(sorted(messages)),
    }
    return facts, problems


def verbs(mnemic: Mnemic) -> tuple[dict[str, Callable[[], object]], dict[str, Callable[[], object]]]:
    """The verbs that write and those that read, over some rows that are there for them."""
    first, second, third, changed, fourth = mnemic.remember_many(SCOPE, ["tea", "milk", "bread", "salt", "sugar"])
    mnemic.update(SCOPE, changed.id, text="pepper")
    turn = mnemic.capture(SCOPE, user="Shall we bake?")
    mnemic.profile.set(SCOPE, {"name": "Anna"})
    export = "\n".join(mnemic.export(SCOPE))
    writes: dict[str, Callable[[], object]] = {
        "capture": lambda: mnemic.capture(SCOPE, user="hello"),
        "complete": lambda: mnemic.complete(SCOPE, turn.id, assistant="Yes."),
        "remember": lambda: mnemic.remember(SCOPE, "honey"),
        "remember_many": lambda: mnemic.remember_many(SCOPE, ["rice", "beans"]),
        "update": lambda: mnemic.update(SCOPE, first.id, text="green tea"),
        "pin": lambda: mnemic.pin(SCOPE, first.id),
        "feedback": lambda: mnemic.feedback(SCOPE, first.id, "relevant"),
        "undo": lambda: mnemic.undo(SCOPE, changed.id),
        "merge": lambda: mnemic.merge(SCOPE, [second.id, third.id]),
        "delete": lambda: mnemic.delete(SCOPE, fourth.id),
        "profile.set": lambda: mnemic.profile.set(SCOPE, {"city": "Oslo"}),
        "import_": lambda: mnemic.import_(Scope(user="bert"), export),
        "clear": lambda: mnemic.clear(Scope(user="bert")),
    }
    reads: dict[str, Callable[[], object]] = {
        "get": lambda: mnemic.get(SCOPE, first.id),
        "list": lambda: mnemic.list(SCOPE),
        "recall": lambda: mnemic.recall(SCOPE, "tea"),
        "context": lambda: mnemic.context(SCOPE, "tea"),
        "why_not": lambda: mnemic.why_not(SCOPE, first.id, "tea"),
        "history": lambda: mnemic.history(SCOPE, first.id),
        "export": lambda: list(mnemic.export(SCOPE)),
        "profile.get": lambda: mnemic.profile.get(SCOPE),
        "profile.all": lambda: mnemic.profile.all(SCOPE),
        "jobs.list": lambda: mnemic.jobs.list(SCOPE),
        "health": lambda: mnemic.health(SCOPE, is_dry_run=True),
        "doctor": mnemic.doctor,
    }
    return writes, reads


def state_of(mnemic: Mnemic) -> list[str]:
    """All that the scope owns, but for the moment of asking."""
    return sorted(list(mnemic.export(SCOPE))[1:])


@contextmanager
def locked(path: Path) -> Generator[Callable[[], None]]:
    """Another process holds the write lock; what is given out releases it before the end."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=hold_lock, args=(path, there))
    process.start()
    here.recv()

    def release() -> None:
        here.send("release")
        process.join()

    try:
        yield release
    finally:
        if process.is_alive():
            release()


def hold_lock(path: Path, told: Connection) -> None:
    """Take the write lock of the file, say so, and keep it until told."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        told.send("locked")
        told.recv()
        connection.execute("ROLLBACK")


def _failing(reads: dict[str, Callable[[], object]]) -> list[str]:
    problems: list[str] = []
    for name, read in reads.items():
        try:
            read()
        except MnemicError as error:
            problems.append(f"{name} reads, and fails while the file is locked: {error}")
    return problems


def _patient(path: Path) -> list[str]:
    """A writer that may wait longer than the lock is held gets through."""
    with opened(path, lock_wait_s=60) as mnemic:
        with locked(path) as release:
            threading.Timer(0.2, release).start()
            kept = mnemic.remember(SCOPE, "patience")
        return [] if mnemic.get(SCOPE, kept.id).text == "patience" else ["a patient writer lost its memory"]


if __name__ == "__main__":
    sys.exit(main())
