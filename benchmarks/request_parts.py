"""Measures where the processor time of a recall, a context and a remember goes: by part, in one process, for one user
with 10,000 memories and 10,000 passages.

Times are of the calling thread, so other processes affect them only through the processor's caches and clock. Parts
overlap: a search is part of ranking. HTTP is not included; see `drills/http_load.py`.

    python benchmarks/request_parts.py --requests 300 --rows 10000 --store memory.db
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from drills.kit.crowd import ORGS, Person, filled, requests
from mnemic import Mnemic
from mnemic.model.scope import Scope

WARM_UP = 60
PARTS: Mapping[str, str] = {
    "embedding (the model)": "mnemic.adapters.embedders.minilm:MinilmEmbedder._run",
    "reading changes of the partitions": "mnemic.engine.indexing:catch_up",
    "search in the index": "mnemic.adapters.indexes.scan:Table.search",
    "… of which cosines": "mnemic.adapters.indexes.views:scanned",
    "… of which counting words": "mnemic.adapters.indexes.scan:Table.counted",
    "scores": "mnemic.engine.score:by_relevance",
    "merging the two searches": "mnemic.engine.score:side_by_side",
    "titles that passages name": "mnemic.engine.links:with_links",
    "choosing and reading hits": "mnemic.engine.recall:hits_of",
    "… of which reading rows": "mnemic.engine.recall:rows_of",
    "quotes": "mnemic.engine.passages:with_quotes",
    "judging whether memory is needed": "mnemic.engine.context:_drop_noise",
    "session history": "mnemic.engine.context:_history",
    "blocks of the prompt": "mnemic.engine.context:Assembly.build",
    "secrets and suspicious orders": "mnemic.engine.remember:without_secrets",
    "adding rows": "mnemic.engine.remember:_add",
    "commit, one flush": "mnemic.adapters.stores.sqlite.store:SqliteStore._commit",
    "counting accesses": "mnemic.engine.engine:AccessLog.drain",
    "SQL statements": "mnemic.adapters.stores.sqlite.session:Session.run",
}


class Clocks:
    """Processor time and calls of functions, by their part's name."""

    def __init__(self) -> None:
        self.seconds, self.calls = defaultdict[str, float](float), Counter[str]()

    def watch(self, part: str, place: str) -> None:
        """Measure a function everywhere in the package."""
        module, _, path = place.partition(":")
        holder: Any = importlib.import_module(module)
        *outer, name = path.split(".")
        for each in outer:
            holder = getattr(holder, each)
        call: Callable[..., Any] = getattr(holder, name)

        @functools.wraps(call)
        def timed(*given: Any, **named: Any) -> Any:
            begun = time.thread_time()
            try:
                return call(*given, **named)
            finally:
                self.seconds[part] += time.thread_time() - begun
                self.calls[part] += 1

        setattr(holder, name, timed)
        for found in [each for name, each in sys.modules.items() if name.startswith("mnemic.") and not outer]:
            for key in [key for key, value in vars(found).items() if value is call]:
                setattr(found, key, timed)


def measure(mnemic: Mnemic, person: Person, count: int, clocks: Clocks) -> list[list[str]]:
    """A row for each part, and one for the whole, with the milliseconds of each verb."""
    columns: list[dict[str, float]] = []
    statements: list[str] = []
    for seed, verb in enumerate(("recall", "context", "remember")):
        asked = requests([person], seed, verb)  # other questions, whose vectors are not kept
        bodies = [json.loads(next(asked).data.partition(b"\r\n\r\n")[2]) for _ in range(count + WARM_UP)]
        for body in bodies[:WARM_UP]:
            getattr(mnemic, verb)(person.scope, **body)
        clocks.seconds.clear()
        clocks.calls.clear()
        begun = time.thread_time()
        for body in bodies[WARM_UP:]:
            getattr(mnemic, verb)(person.scope, **body)
        spent = {"all": time.thread_time() - begun, **clocks.seconds}
        columns.append({name: seconds / count * 1e3 for name, seconds in spent.items()})
        statements.append(f"{clocks.calls['SQL statements'] / count:.1f}")
    times = [[part, *(f"{column.get(part, 0):.2f}" for column in columns)] for part in ("all", *PARTS)]
    return [*times, ["number of SQL statements", *statements]]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--store", type=Path, help="a file that an earlier run filled, or a new one to keep")
    given, clocks = parser.parse_args(), Clocks()
    with TemporaryDirectory(prefix="mnemic-parts-") as folder:
        path: Path = given.store or Path(folder) / "memory.db"
        if not path.exists():
            filled(path, given.rows, given.rows, 1)
        person = Person(Scope(org=ORGS[0], user="user00", session="session00"), "qz00xk", ("",))
        with Mnemic.open(str(path), has_worker=False) as mnemic:
            mnemic.work()
            for part, place in PARTS.items():
                clocks.watch(part, place)
            rows = measure(mnemic, person, given.requests, clocks)
    head = ["processor time, ms", "recall", "context", "remember"]
    about = (__doc__ or "").partition("\n\n    python")[0]
    made = provenance(f"python benchmarks/request_parts.py --requests {given.requests} --rows {given.rows}")
    keep("request-parts.md", "\n\n".join(["# Parts of a request", about, made, table(head, rows)]) + "\n")


if __name__ == "__main__":
    main()
