"""A process that uses a SQLite store as it is told on standard input, and answers every line with one line.

open FILE WAIT_S      ok, or an error
add TEXT              True or False: whether it was inserted; or an error
move WAS TO           True or False: whether a cursor of Anna's session was moved; or an error
run WAS               True or False: whether a schedule that ran for minute WAS (0: never) was started for the next
texts                 the texts that Anna sees, as JSON
hold TEXT             adds in a unit of work that stays open; `release` commits it and answers ok
fill BYTES            adds until a file may not grow beyond that size: how many were added, and the error, as JSON
drop                  gives up the rights of the super-user, if it has them
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable

from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.errors import MnemicError
from mnemic.model.item import Kind, Memory
from mnemic.ports.store import UnitOfWork
from mnemic.testing.samples import ANNA, HERS, MINUTE, NOW, a_query, terms

NOBODY = 65534


class Child:
    """One store, and the commands on it."""

    store: SqliteStore

    def open(self, path: str, lock_wait_s: str) -> object:
        self.store = SqliteStore(path, lock_wait_s=float(lock_wait_s))
        return "ok"

    def add(self, *words: str) -> object:
        with self.store.write() as work:
            return add(work, " ".join(words))

    def move(self, was: str, to: str) -> object:
        with self.store.write() as work:
            return work.conversations.move(HERS, "s1", "summarised", int(was), int(to))

    def run(self, was: str) -> object:
        last = NOW + int(was) * MINUTE
        with self.store.write() as work:
            return work.upkeep.start_run("evict", last if int(was) else None, last + MINUTE)

    def texts(self) -> object:
        with self.store.read() as work:
            return json.dumps([memory.text for memory in work.memories.list(ANNA.visibility, a_query())])

    def hold(self, text: str) -> object:
        with self.store.write() as work:
            add(work, text)
            say("ok")
            sys.stdin.readline()
        return "ok"

    def fill(self, size: str) -> object:
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), limit[1]))
        count, error = 0, ""
        while not error:
            try:
                self.add(f"{count} " + "x" * 10_000)
                count += 1
            except MnemicError as failure:
                error = f"{type(failure).__name__}: {failure}"
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        return json.dumps([count, error])

    def drop(self) -> object:
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return "ok"


def add(work: UnitOfWork, text: str) -> bool:
    memory = Memory(
        id=f"{os.getpid()}-{text[:20]}",
        partition=HERS,
        text=text,
        kind=Kind.FACT,
        dedup_key=text,
        created_at=NOW,
        updated_at=NOW,
        observed_at=NOW,
    )
    return work.memories.add([(memory, terms(text))])[0]


def say(answer: object) -> None:
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()


def main() -> None:
    child = Child()
    say("ready")
    for line in sys.stdin:
        name, *words = line.split()
        command: Callable[..., object] = getattr(child, name)
        try:
            say(command(*words))
        except MnemicError as error:
            say(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
