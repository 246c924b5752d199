"""Measures `mnemic serve` under load from another process: response times, throughput, and behaviour under overload.

The store contains one user with 10,000 memories and 10,000 passages of documents, and 19 users with a few, in two orgs.
Every text contains the mark of its user. All questions are different and sent over loopback. First, contexts are
requested one after another. Then, for a minute, recalls, contexts and new memories (5 : 3 : 2, half of them for the
large user) are requested at a constant rate, whether or not earlier requests are answered. After that, the rate is
raised step by step, one key requests more than its share, and health and recall are requested during forty chats that
stay open through the proxy. Each response must contain the mark of the user who asked, and no other mark. Only the
statuses 200, 201 and, above the constant rate, 429 and 503 are allowed.

    python drills/http_load.py --seconds 60 --rate 80 --memories 10000 --chunks 10000 --processes 1
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.crowd import Person, filled, requests
from drills.kit.open_loop import GONE, Answers, Client, Request, at_rate, in_turn, posted
from drills.kit.outcome import Outcome, options
from drills.kit.serving import Served, serving
from drills.kit.streams import SlowModel, ended, opened
from mnemic.evaluation.dataset import percentile

PEOPLE, CONTEXTS, WARM_UP = 20, 300, 60
STEPS = (1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Rates after the minute, as multiples of its rate."""

REFUSED = (429, 503)
GOOD = (200, 201)
MOST_P50_MS, MOST_P95_MS = 15.0, 60.0
MOST_GROWTH_MIB = 60.0
"""What a minute may add to the memory of each process: caches fill, and what is kept is indexed."""

BURST, BURST_PER_S = 1500, 500.0
"""Requests of one key, more than the 200 at once and 100 a second that `mnemic serve` allows it."""

STREAMS, BESIDE, CALM_S = 40, 200, 3.0
SLOWED, SLOWED_MS = 1.5, 10.0
"""What open chats may make of the p95 of health and recall."""


@dataclass(slots=True)
class Told:
    """What the drill has found so far of a server of so many processes."""

    processes: int = 1
    facts: dict[str, object] = field(default_factory=dict[str, object])
    problems: list[str] = field(default_factory=list[str])
    rates: list[list[str]] = field(default_factory=list[list[str]])
    kinds: list[list[str]] = field(default_factory=list[list[str]])
    sources: list[list[str]] = field(default_factory=list[list[str]])
    streams: list[list[str]] = field(default_factory=list[list[str]])

    def check(self, name: str, answers: Answers, allowed: Sequence[int] = GOOD) -> None:
        """Note every answer that may not be."""
        self.problems += [f"{name}: {each}" for each in answers.wrong]
        for status, times in answers.statuses.items():
            if status not in allowed:
                self.problems.append(f"{name}: {times} times {'no answer' if status == GONE else status}")

    def limit(self, name: str, found: float, most: float) -> None:
        """Note a number, and a problem where it is above what is promised."""
        self.facts[name] = f"{found:.1f}"
        if found > most:
            self.problems.append(f"{name}: {found:.1f}, at most {most:g} is promised")


async def contexts(served: Served, person: Person, told: Told, number: int) -> None:
    """Full contexts of one user, one after the other, and how long each source took."""
    by_source = dict[str, list[float]]()

    def timed(request: Request) -> Request:
        def verify(body: bytes) -> str:
            for name, ms in json.loads(body)["timings_ms"].items():
                by_source.setdefault(name, []).append(ms)
            return request.verify(body)

        return Request(request.kind, request.data, verify)

    client, asked = Client(served.port), requests([person], 5, "context")
    await in_turn(client, asked, WARM_UP)
    answers = await in_turn(client, map(timed, asked), number)
    await client.close()
    told.check("contexts in turn", answers)
    told.facts["full contexts in turn"] = number
    told.limit("context in turn p50, ms", _ms(answers.all_ms, 50), MOST_P50_MS)
    told.facts["context in turn p95, ms"] = f"{_ms(answers.all_ms, 95):.1f}"
    told.sources += [[name, f"{_ms(ms, 50):.2f}", f"{_ms(ms, 95):.2f}"] for name, ms in by_source.items()]
    rest = _ms(answers.all_ms, 50) - sum(_ms(ms, 50) for ms in by_source.values())
    told.sources.append(["all else: embedding, safe texts, blocks, JSON, HTTP", f"{rest:.2f}", ""])


async def steady(served: Served, asked: Iterator[Request], told: Told, rate: int, seconds: int) -> None:
    """The load that must be borne: nothing refused, quick, and no memory that grows."""
    client = Client(served.port)
    told.check("warm up", await at_rate(client, asked, rate / 2, 2.0 * told.processes))
    before = served.resident_mib()
    answers = await measured(served, client, asked, told, rate, seconds)
    await client.close()
    told.check(f"{rate} requests/s", answers)
    told.limit(f"p95 at {rate} requests/s, ms", _ms(answers.all_ms, 95), MOST_P95_MS)
    told.facts["memory of the server before, MiB"] = f"{before:.0f}"
    told.limit("grown by, MiB", served.resident_mib() - before, MOST_GROWTH_MIB * told.processes)
    told.kinds += [
        [kind, str(len(ms)), *(f"{_ms(ms, q):.1f}" for q in (50, 95, 99))]
        for kind, ms in sorted(answers.times_ms.items())
    ]


async def climbing(served: Served, asked: Iterator[Request], told: Told, rate: int, seconds: int) -> None:
    """Higher rates, until the server refuses most of what is asked."""
    borne, most = float(rate), 0.0
    for factor in STEPS:
        client, name = Client(served.port), f"{rate * factor:g} requests/s"
        answers = await measured(served, client, asked, told, rate * factor, seconds)
        await client.close()
        told.check(name, answers, (*GOOD, *REFUSED))
        most = max(most, answers.good / answers.seconds)
        refused = sum(answers.statuses[status] for status in REFUSED)
        if not refused:
            borne = rate * factor
        if refused > answers.good:
            break
    told.facts["highest rate of which nothing was refused"] = f"{borne:g} requests/s"
    told.facts["most good answers a second (saturation)"] = f"{most:.0f}"


async def measured(
    served: Served, client: Client, asked: Iterator[Request], told: Told, rate: float, seconds: float
) -> Answers:
    """One rate, and its row in the table of rates."""
    cpu = served.cpu_s()
    answers = await at_rate(client, asked, rate, seconds)
    share = (served.cpu_s() - cpu) / answers.seconds
    told.rates.append(
        [
            f"{rate:g}",
            f"{answers.good / answers.seconds:.0f}",
            *(f"{_ms(answers.all_ms, q):.1f}" for q in (50, 95, 99)),
            *(str(answers.statuses[status]) for status in REFUSED),
            f"{share:.2f}",
        ]
    )
    return answers


async def greedy(served: Served, person: Person, told: Told) -> None:
    """One key asks for more than its share, and is refused; another user is answered all the same."""
    client = Client(served.port)
    answers = await at_rate(client, requests([person], 9, "recall"), BURST_PER_S, BURST / BURST_PER_S)
    told.check("one key", answers, (*GOOD, *REFUSED))
    told.facts["of one key at once"] = f"{BURST}: " + ", ".join(
        f"{times} times {status}" for status, times in sorted(answers.statuses.items())
    )
    if not answers.statuses[429]:
        told.problems.append("a key that asked for too much was never refused with 429")
    await client.close()


async def beside_streams(served: Served, crowd: list[Person], model: SlowModel, told: Told) -> None:
    """Health and recall in turn, without and with chats that stay open; every chat must come to its end whole."""
    before = await _beside(served, crowd, told, 0)
    streams = await opened(served.port, crowd[1:], STREAMS)
    if model.open != STREAMS:
        told.problems.append(f"{model.open} of {STREAMS} chats are open at the model")
    after = await _beside(served, crowd, told, STREAMS)
    model.finish()
    whole = await ended(streams)
    told.facts["chats through the proxy that came whole to their end"] = f"{whole} of {STREAMS}"
    if whole != STREAMS:
        told.problems.append(f"{STREAMS - whole} chats broke off")
    for name, ms in after.items():
        if ms > SLOWED * before[name] + SLOWED_MS:
            told.problems.append(f"{name} takes {ms:.1f} ms (p95) beside open chats, {before[name]:.1f} without")


async def _beside(served: Served, crowd: list[Person], told: Told, streams: int) -> dict[str, float]:
    client, p95 = Client(served.port), dict[str, float]()
    probe = Request("health", posted("/health/live", "", None), lambda body: "" if b"ok" in body else "it is not ok")
    ready = Request("ready", posted("/health/ready", "", None), lambda body: "" if b"findings" in body else "not ready")
    for name, asked in (("live", repeat(probe)), ("ready", repeat(ready)), ("recall", requests(crowd, 11, "recall"))):
        answers = await in_turn(client, asked, BESIDE)
        told.check(f"{name} beside {streams} chats", answers)
        p95[name] = _ms(answers.all_ms, 95)
        told.streams.append([name, str(streams), *(f"{_ms(answers.all_ms, q):.1f}" for q in (50, 95, 99))])
    await client.close()
    return p95


async def drill(store: Path, crowd: list[Person], told: Told, rate: int, seconds: int) -> None:
    """All of it, before one server that has a slow model behind its proxy."""
    model = SlowModel()
    async with model.serving():
        upstream = f'[proxy]\nupstream = "http://127.0.0.1:{model.port}/v1"\n'
        with serving(store, ["--processes", str(told.processes)], upstream) as served:
            await asked_of(served, crowd, model, told, (rate, seconds))


async def asked_of(served: Served, crowd: list[Person], model: SlowModel, told: Told, load: tuple[int, int]) -> None:
    """Everything that is asked of the server; `load`: requests a second, and seconds."""
    rate, seconds = load
    asked = requests(crowd, 3)
    await contexts(served, crowd[0], told, CONTEXTS)
    await steady(served, asked, told, rate, seconds)
    await climbing(served, asked, told, rate, max(seconds // 4, 2))
    await greedy(served, crowd[1], told)
    await asyncio.sleep(CALM_S)
    await beside_streams(served, crowd, model, told)
    client = Client(served.port)
    told.check("afterwards", await in_turn(client, asked, 20))
    await client.close()
    told.facts["memory of the server in the end, MiB"] = f"{served.resident_mib():.0f}"


def main() -> int:
    """The command."""
    asked = options(__doc__, seconds=60, rate=80, memories=10_000, chunks=10_000, processes=1)
    told = Told(asked.processes, {"processes": asked.processes})
    with TemporaryDirectory(prefix="mnemic-drill-") as folder:
        store = Path(folder) / "memory.db"
        crowd, chunks = filled(store, asked.memories, asked.chunks, PEOPLE)
        told.facts |= {"memories of the large user": asked.memories, "passages of the large user": chunks}
        asyncio.run(drill(store, crowd, told, asked.rate, asked.seconds))
    told.facts["load average at the end"] = f"{os.getloadavg()[0]:.1f}"
    quantiles = ["p50 ms", "p95 ms", "p99 ms"]
    tables = [
        (["source of a context in turn", "p50 ms", "p95 ms"], told.sources),
        (["at the steady rate", "answers", *quantiles], told.kinds),
        (["beside open chats, in turn", "chats", *quantiles], told.streams),
        (["requests/s", "good answers/s", *quantiles, "429", "503", "cores used by the server"], told.rates),
    ]
    name = "http_load" if told.processes == 1 else f"http_load_{told.processes}_processes"
    outcome = Outcome(name=name, about=__doc__ or "", facts=told.facts, problems=told.problems, tables=tables)
    return outcome.told()


def _ms(times: Sequence[float], percent: float) -> float:
    return percentile(times, percent) or 0.0


if __name__ == "__main__":
    sys.exit(main())
