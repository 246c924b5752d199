"""Measures how much memory `mnemic serve` takes with one, two and four processes. Writes results/fleet-memory.md.

The store contains one user with 10,000 memories and 10,000 passages, and 19 with a few. After the start, each server
answers mixed requests: recalls, contexts and new memories (5 : 3 : 2). It runs no jobs, and maps the base files that an
earlier server has written. Memory is the sum over the supervisor and its processes, in which each shared page counts
once (`Pss` of Linux).

    python benchmarks/fleet_memory.py --rows 10000 --requests 400
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from drills.kit.crowd import Person, filled, requests
from drills.kit.open_loop import Client, in_turn
from drills.kit.serving import Served, serving

PROCESSES = (1, 2, 4)
CLIENTS = 8
"""Connections for each process, so that each gets some."""


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="memories and passages of the large user")
    parser.add_argument("--requests", type=int, default=400, help="requests for each process")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="mnemic-fleet-") as folder:
        store = Path(folder) / "memory.db"
        crowd, _ = filled(store, given.rows, given.rows, 20)
        _measure(store, crowd, 1, given.requests)  # writes the base files when it ends
        found = [_measure(store, crowd, number, given.requests) for number in PROCESSES]
    one = found[0][1]
    rows = [
        [str(number), f"{before:.0f}", f"{after:.0f}", f"{after / one:.2f}"]
        for number, (before, after) in zip(PROCESSES, found, strict=True)
    ]
    head = ["processes", "at the start, MiB", f"after {given.requests} requests each, MiB", "times one process"]
    made = provenance(f"python benchmarks/fleet_memory.py --rows {given.rows} --requests {given.requests}")
    about = (__doc__ or "").split("\n\n")[1]
    keep("fleet-memory.md", f"# Memory of several processes\n\n{about}\n\n{made}\n\n{table(head, rows)}\n")
    return 0


def _measure(store: Path, crowd: list[Person], processes: int, asked: int) -> tuple[float, float]:
    """The memory of a server at its start and after its requests, in MiB."""
    with serving(store, ["--processes", str(processes), "--rate", "0", "--no-worker"]) as served:
        before = served.resident_mib()
        asyncio.run(_ask(served, crowd, processes, asked))
        return before, served.resident_mib()


async def _ask(served: Served, crowd: list[Person], processes: int, asked: int) -> None:
    """Requests in turn on each connection, a few connections at once. Raises RuntimeError for a wrong answer."""
    clients = [Client(served.port) for _ in range(CLIENTS * processes)]
    lists = [islice(requests(crowd, seed), asked // CLIENTS) for seed in range(len(clients))]
    answers = await asyncio.gather(
        *(in_turn(client, each, asked // CLIENTS) for client, each in zip(clients, lists, strict=True))
    )
    for client in clients:
        await client.close()
    if wrong := [text for each in answers for text in each.wrong]:
        raise RuntimeError(wrong[0])


if __name__ == "__main__":
    sys.exit(main())
