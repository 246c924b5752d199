"""Simulates a fleet of cells: 10,000 orgs with a million users and a billion memories.

A cell is one PostgreSQL server and several Mnemic servers. A table shows which cell an org is in. The sizes of orgs and
of their users' memory, and the use of both, follow Zipf's law. All request costs were measured on one machine with two
cores. `COSTS` names the source of each. Prices and the use per day are assumptions. Random numbers have a fixed seed,
so every run gives the same results.

The simulation shows the number of machines, their memory, response times with and without sticky requests, the number
of moves in a year of growth, and the cost of a billion memories.

    python drills/fleet.py
"""

from __future__ import annotations

import heapq
import math
import sys
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import RESULTS, keep, table

ORGS, USERS, MEMORIES = 10_000, 1_000_000, 1_000_000_000
MOST_OF_ORG = 0.01  # of all users: a larger org gets cells of its own by contract, not by this table
ZIPF = 1.0
SEED = 20_261_124


@dataclass(frozen=True)
class Cost:
    """A number that was measured: its unit and its file under benchmarks/results."""

    value: float
    unit: str
    source: str


def measured_move(name: str) -> Cost:
    """A speed from the drill's table, so that a new run of it counts here."""
    file = "drill-move-kills.md"
    (line,) = [row for row in (RESULTS / file).read_text("utf-8").splitlines() if row.startswith(f"| {name} |")]
    return Cost(float(line.split("|")[2].replace(",", "")), "/s", file)


COSTS = {
    "processor per request, mixed load": Cost(0.82 / 80 * 1000, "ms", "drill-http-load.md, 80 requests/s"),
    "memory of a server process": Cost(392, "MiB", "drill-http-load.md, before the load"),
    "memory per row read from the store": Cost((4278 - 582) / 0.9, "bytes", "speed.md, 100,000 and 1,000,000 rows"),
    "memory per row of a mapped base file": Cost(1700, "bytes", "decision 0032, a million rows"),
    "disk per row": Cost(3634, "bytes", "speed.md, 1,000,000 rows"),
    "first recall of a user, per row from the store": Cost(41.45, "µs", "speed.md, 1,000 users of 1,000"),
    "first answer per row of a base file": Cost(0.82, "µs", "cold-start.md, 10,000 rows"),
    "memories copied by a move": measured_move("memories/s copied, before the write stop"),
    "memories compared during the write stop": measured_move("memories/s compared, during the write stop"),
}
DAILY_USERS, REQUESTS_PER_DAY, PEAK = 0.3, 40, 3.0
"""Assumed: users active on a day, requests of each (a chat of 20 turns), and the busiest hour against the mean."""

CORES, MEMORY_GIB = 8, 32  # of a server of Mnemic
CELL_ROWS = 100_000_000  # 363 GB in PostgreSQL: a restore of its backup takes hours, not days
MOST_MOVED = 100_000  # memories of an org that moves to make room: many short write stops instead of a long one
LOAD = 0.6  # of the cores in the busiest hour; the measured p99 doubles above it
PRICES = {"core": 20.0, "GiB of memory": 3.0, "GiB of disk": 0.10}
"""Assumed US dollars per month, about those of large clouds with a contract of a year."""

REQUESTS = 200_000  # simulated in the busiest hour of one cell
GROWTH_MONTHS = 12


def cost(name: str) -> float:
    """The value of a measured cost."""
    return COSTS[name].value


def zipf(count: int, total: float, most: float) -> NDArray[np.float64]:
    """Shares of `total` by rank, none above `most` of it."""
    shares = 1.0 / np.arange(1, count + 1) ** ZIPF
    shares /= shares.sum()
    for _ in range(8):  # what is above the bound goes to the others
        above = shares > most
        if not above.any():
            break
        rest = 1.0 - most * above.sum()
        shares = np.where(above, most, shares / shares[~above].sum() * rest)
    return shares * total


def fill_cells(sizes: Sequence[float], capacity: float) -> list[int]:
    """The cell of each org, the largest first, each into the emptiest cell."""
    cells = math.ceil(sum(sizes) / capacity)
    heap = [(0.0, cell) for cell in range(cells)]
    places = [0] * len(sizes)
    for org in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        held, cell = heapq.heappop(heap)
        places[org] = cell
        heapq.heappush(heap, (held + sizes[org], cell))
    return places


def hash_cells(sizes: Sequence[float], capacity: float, rng: np.random.Generator) -> list[int]:
    """The cell of each org by a hash, which nobody can change."""
    return rng.integers(0, math.ceil(sum(sizes) / capacity), len(sizes)).tolist()


def fullest(sizes: Sequence[float], places: Sequence[int]) -> float:
    """Rows of the fullest cell, against the mean."""
    held = np.bincount(places, weights=sizes)
    return float(held.max() / held.mean())


@dataclass
class Moves:
    """What a year of growth moved."""

    moves: int = 0
    rows: float = 0.0
    longest_stop_s: float = 0.0
    median_stop_s: float = 0.0
    cells: int = 0


def grow(sizes: NDArray[np.float64], places: list[int], rng: np.random.Generator) -> Moves:
    """A year in which orgs grow unequally. Each month, full cells give orgs to the emptiest, or to a new one."""
    moves, stops, sizes = Moves(), list[float](), sizes.copy()
    cells = max(places) + 1
    for _ in range(GROWTH_MONTHS):
        sizes *= np.exp(rng.normal(0.04, 0.12, len(sizes)))
        held = np.bincount(places, weights=sizes, minlength=cells).tolist()
        for cell in range(cells):
            orgs = sorted((org for org, place in enumerate(places) if place == cell), key=lambda each: sizes[each])
            while held[cell] > CELL_ROWS and orgs:
                excess = min(held[cell] - CELL_ROWS * 0.9, MOST_MOVED)
                org = orgs.pop(min(bisect_right([float(sizes[each]) for each in orgs], excess), len(orgs) - 1))
                target = min(range(len(held)), key=held.__getitem__)
                if held[target] + sizes[org] > CELL_ROWS * 0.95:
                    target = len(held)
                    held.append(0.0)
                held[cell] -= sizes[org]
                held[target] += sizes[org]
                places[org] = target
                moves.moves += 1
                moves.rows += sizes[org]
                stops.append(sizes[org] / cost("memories compared during the write stop"))
        cells = len(held)
    moves.cells = cells
    moves.longest_stop_s, moves.median_stop_s = max(stops, default=0.0), float(np.median(stops or [0.0]))
    return moves


@dataclass
class Hour:
    """The busiest hour of one cell."""

    p50: float
    p95: float
    p99: float
    cold: float
    memory_gib: float


def simulate(
    rows: NDArray[np.float64], rate: float, servers: int, route: Callable[[int, int], int], *, has_base_files: bool
) -> Hour:
    """Requests of users, each to a server with a bounded cache of partitions and a queue for its cores."""
    rng = np.random.default_rng(SEED)
    row_bytes, load_us = (
        cost("memory per row read from the store"),
        cost("first recall of a user, per row from the store"),
    )
    if has_base_files:
        row_bytes, load_us = cost("memory per row of a mapped base file"), cost("first answer per row of a base file")
    room = MEMORY_GIB * 0.7 * 2**30 - CORES * cost("memory of a server process") * 2**20
    popularity = 1.0 / np.arange(1, len(rows) + 1) ** 0.8
    users = rng.permutation(len(rows))[rng.choice(len(rows), REQUESTS, p=popularity / popularity.sum())].tolist()
    gaps = rng.exponential(1000.0 / rate, REQUESTS).cumsum().tolist()
    work = rng.gamma(4.0, cost("processor per request, mixed load") / 4.0, REQUESTS).tolist()
    held: list[OrderedDict[int, float]] = [OrderedDict() for _ in range(servers)]
    used, free = [0.0] * servers, [[0.0] * CORES for _ in range(servers)]
    times, cold = list[float](), 0
    for at, user, took in zip(gaps, users, work, strict=True):
        server, loading = route(user, len(times)), 0.0
        cache = held[server]
        if user in cache:
            cache.move_to_end(user)
        else:
            cold += 1
            size = float(rows[user])
            loading = size * load_us / 1000.0
            cache[user] = size * row_bytes
            used[server] += cache[user]
            while used[server] > room:
                used[server] -= cache.popitem(last=False)[1]
        begin = max(at, heapq.heappop(free[server]))
        heapq.heappush(free[server], begin + loading + took)
        times.append(begin + loading + took - at)
    late = times[REQUESTS // 2 :]  # the first half fills the caches
    p50, p95, p99 = (float(each) for each in np.percentile(late, [50, 95, 99]))
    return Hour(p50, p95, p99, cold / REQUESTS, sum(used) / 2**30)


def describe_hours(peak: float, cells: int) -> list[list[str]]:
    """The busiest hour of a cell: each way to choose a server, with and without base files."""
    rng = np.random.default_rng(SEED)
    rate = peak / cells
    users = rng.permutation(zipf(USERS // cells, MEMORIES / cells, 0.001))
    servers = max(2, math.ceil(rate * cost("processor per request, mixed load") / 1000 / (CORES * LOAD)))
    hash_of = rng.integers(0, servers, len(users)).tolist()

    def choose_any(_user: int, number: int) -> int:
        return number % servers

    def choose_owner(user: int, _number: int) -> int:
        return hash_of[user]

    ways = {"any server": choose_any, "sticky": choose_owner}
    rows = list[list[str]]()
    for has_base_files in (False, True):
        for name, route in ways.items():
            hour = simulate(users, rate, servers, route, has_base_files=has_base_files)
            kind = "base files" if has_base_files else "rows from the store"
            times = (f"{each:.0f}" for each in (hour.p50, hour.p95, hour.p99))
            rows.append([f"{name}, {kind}", str(servers), *times, f"{hour.cold:.1%}", f"{hour.memory_gib:.1f}"])
    return rows


def bill(cells: int, servers: int) -> list[list[str]]:
    """Dollars per month of a billion memories."""
    disk = MEMORIES * cost("disk per row") / 2**30
    lines = [
        ("Mnemic servers", cells * servers, CORES, MEMORY_GIB, 0.0),
        ("PostgreSQL servers", cells, 8, 64, disk / cells * 1.5),
        ("PostgreSQL replicas", cells, 8, 64, disk / cells * 1.5),
    ]
    rows, total = list[list[str]](), 0.0
    for name, count, cores, memory, gib in lines:
        price = count * (cores * PRICES["core"] + memory * PRICES["GiB of memory"] + gib * PRICES["GiB of disk"])
        rows.append([name, str(count), f"{cores} / {memory} GiB / {gib:,.0f} GiB", f"{price:,.0f}"])
        total += price
    backups = disk * 3 * PRICES["GiB of disk"] / 4
    about = "backups: three, in object storage at a quarter of the price"
    rows.append([about, "", f"{disk * 3:,.0f} GiB", f"{backups:,.0f}"])
    total += backups
    return [*rows, ["total", "", "", f"{total:,.0f}"], ["per user", "", "", f"{total / USERS:.4f}"]]


def main() -> int:
    """Writes benchmarks/results/fleet.md."""
    rng = np.random.default_rng(SEED)
    sizes = zipf(ORGS, MEMORIES, MOST_OF_ORG)
    places = fill_cells(sizes.tolist(), CELL_ROWS * 0.7)
    cells = max(places) + 1
    hashed = fullest(sizes.tolist(), hash_cells(sizes.tolist(), CELL_ROWS * 0.7, rng))
    peak = USERS * DAILY_USERS * REQUESTS_PER_DAY / 86_400 * PEAK
    hours = describe_hours(peak, cells)
    servers = int(hours[0][1])
    year = grow(sizes, list(places), rng)
    largest, median = float(sizes[0]), float(np.median(sizes))
    copy, compare = cost("memories copied by a move"), cost("memories compared during the write stop")
    facts = [
        ["orgs, users, memories", f"{ORGS:,}, {USERS:,}, {MEMORIES:,}"],
        ["memories of the largest and the median org", f"{largest:,.0f}, {median:,.0f}"],
        ["requests/s in the busiest hour", f"{peak:,.0f}"],
        ["cells, each at most 70 % full", str(cells)],
        ["Mnemic servers per cell, in total", f"{servers}, {servers * cells}"],
        ["rows of the fullest cell relative to the mean, with the table", f"{fullest(sizes.tolist(), places):.2f}"],
        ["the same, with a hash", f"{hashed:.2f}"],
        [f"moves in {GROWTH_MONTHS} months of growth", f"{year.moves:,}"],
        ["share of rows moved", f"{year.rows / MEMORIES:.1%}"],
        ["cells after the growth", str(year.cells)],
        ["write stop of these moves, median and longest, s", f"{year.median_stop_s:.1f}, {year.longest_stop_s:.0f}"],
        ["a move of the median org: copy, write stop, s", f"{median / copy:.0f}, {median / compare:.1f}"],
        ["a move of the largest org: copy, min; write stop, s", f"{largest / copy / 60:.0f}, {largest / compare:.0f}"],
    ]
    costs = [[name, f"{each.value:,.2f} {each.unit}", each.source] for name, each in COSTS.items()]
    parts = [
        "# Fleet",
        (__doc__ or "").strip().partition("\n\n    python")[0],
        "Made by `python drills/fleet.py`.",
        table(["cost", "value", "measured in"], costs),
        table(["what", "value"], facts),
        "One cell in the busiest hour, in milliseconds. `cold` is the share of requests that loaded a partition first.",
        table(["requests", "servers", "p50", "p95", "p99", "cold", "GiB"], hours),
        "Dollars per month, at the assumed prices: "
        + ", ".join(f"{price:g} per {what}" for what, price in PRICES.items())
        + ".",
        table(["a billion memories", "machines", "cores, memory, disk each", "dollars"], bill(cells, servers)),
    ]
    keep("fleet.md", "\n\n".join(parts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
