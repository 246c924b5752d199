"""Writes `benchmarks/results/peers.md` from the raw numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import table
from benchmarks.peers.installing import OWN, requirements
from benchmarks.peers.measures import RARE_WORD

NAMES = {
    "mnemic": "Mnemic",
    "fts5": "plain SQLite FTS5",
    "chroma": "Chroma",
    "mem0": "mem0, Qdrant local",
    "langgraph_sqlite": "LangGraph SqliteStore",
    "langgraph_memory": "LangGraph InMemoryStore",
    "mcp_memory": "mcp-memory-service",
    "mempalace": "MemPalace",
}
ABOUT = """# Mnemic beside its peers

Each peer runs in a virtual environment and a process of its own, without a network, and all get the same texts and the
same embedder: Mnemic's int8 MiniLM, 384 dims. So what differs is the memory. Two users; the user asked about has as
many texts as the column says (generated, seeded, no two alike), the other a tenth of that, and no answer may hold a
text of the other.

The machine was shared with other work while this ran (the load is in the tables), so elapsed times are long and
uneven. `cpu` is the processor's time in the peer's process, in all its threads and without the embedder's: it depends
less on the load, and ratios are made of it. Waiting for the disk is not in it, which flatters who waits most."""
SETTINGS = """## How each was set, and why

Defaults, unless said otherwise; every answer has ten hits; nothing is inferred by a language model.

- **Mnemic**: `remember`, `remember_many`, `recall` with a user scope, embedded store.
- **Plain SQLite FTS5**: the floor. One table, any of the question's words, BM25, WAL with a flush per commit. It has
  no vectors, so embedding costs it nothing.
- **Chroma**: `PersistentClient`, one collection, cosine, vectors handed over, `where` filter on the user. A collection
  per user would search faster, but needs to be kept by the application.
- **mem0**: `add(infer=False)`, `search` with `user_id` and threshold 0. The clients for the language model are made
  with a made-up key and never called. Its keyword part needs `fastembed` and a model that is fetched at run time, its
  entities need `spacy` and another, so neither could run here.
- **LangGraph**: a namespace per user, `put`, `batch`, `search`; the SQLite store as `from_conn_string` and `setup` open
  it, and the store in memory, which keeps nothing by design.
- **mcp-memory-service**: a `store` partition per user, `retrieve_hybrid`. Its duplicate check by meaning is off, as it
  refuses texts that the others keep.
- **MemPalace**: a wing per user, `upsert` on the palace's collection as its miner does it, each text a source of its
  own, `search_memories` with its default candidates.

With embedding, the model runs; without, vectors come from a table made before and the model is not loaded, so that
neither its time nor its threads are counted as the memory's. `ratio` is the peer's number over Mnemic's. `RSS` is a new
process that opened the store and answered once, model included where there is one.
Kill: SIGKILL at a random moment of a single add, after 3 to 25 others, 20 times on one store; every acknowledged text
is then asked for by its own words. Two writers: two processes open one store and add 100 texts each at the same time; a
third process looks for what was acknowledged."""
REASON_CHARS = 140
Numbers = dict[str, Any]


def report(folder: Path, made: str) -> str:
    """All tables, of what is there; what could not run says why."""
    every = {name: _read(folder / name) for name in NAMES if (folder / name).exists()}
    sizes = sorted({int(what[6:]) for found in every.values() for what in found if what.startswith("speed-")})
    parts = [ABOUT, made, "## Installing and starting", _installing(every), *_speed(every, sizes)]
    parts += ["## Retrieval: LoCoMo, single turns, by each peer's own search", _retrieval(every)]
    parts += ["## What is kept and found", _features(every)]
    parts += ["## What survives", _survival(every), SETTINGS]
    return "\n\n".join(parts) + "\n"


def _read(folder: Path) -> dict[str, Numbers]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}


def _installing(every: dict[str, dict[str, Numbers]]) -> str:
    rows: list[list[str]] = []
    for name, numbers in every.items():
        install, start = numbers["install"], numbers.get("import")
        if "failed" in install:
            rows.append([NAMES[name], f"could not be installed: {_told(install['failed'])}", "", "", "", ""])
            continue
        asked = "this commit" if name == OWN else ", ".join(requirements()[name]) or "in Python"
        times = f"{start['ms']:,.0f} / {start['cpu_ms']:,.0f}" if start else "not measured"
        brought = len(install["versions"])
        rows.append(
            [NAMES[name], asked, install["release"], str(brought), f"{install['size_bytes'] / 1e6:,.0f}", times]
        )
    return table(["peer", "version", "Python", "packages", "MB", "import ms / cpu"], rows)


def _speed(every: dict[str, dict[str, Numbers]], sizes: list[int]) -> list[str]:
    parts: list[str] = []
    for size in sizes:
        found = {name: numbers[f"speed-{size}"] for name, numbers in every.items() if f"speed-{size}" in numbers}
        own = found.get(OWN)
        times = ["peer", "search ms p50 / p95", "without embedding", "cpu p50", "ratio"]
        times += ["add ms p50 / p95", "without embedding", "cpu p50", "ratio", "load"]
        costs = ["peer", "bulk rows/s", "per cpu second", "ratio", "open ms", "RSS MB", "disk MB"]
        costs += ["hits of ten, the two users", "foreign texts"]
        parts += [f"## {size:,} texts", table(times, [_times(NAMES[n], s, own) for n, s in found.items()])]
        parts.append(table(costs, [_costs(NAMES[n], s, own) for n, s in found.items()]))
    return parts


def _times(name: str, speed: Numbers, own: Numbers | None) -> list[str]:
    if "rows" not in speed:
        return [name, f"could not run: {_told(speed.get('failed', 'ingest was not done after 15 minutes'))}", *[""] * 8]
    cells = [name]
    for what in ("search", "add"):
        cells += [_pair(speed[what]["whole"]), _pair(speed[what]["ms"]), f"{speed[what]['own_cpu_ms'][0]:.2f}"]
        cells.append(_ratio(speed, own, lambda numbers, what=what: numbers[what]["own_cpu_ms"][0]))
    return [*cells, f"{speed['load']:.0f}"]


def _costs(name: str, speed: Numbers, own: Numbers | None) -> list[str]:
    if "rows" not in speed:
        return [name, "could not run", *[""] * 7]
    rows = speed["rows"]
    cells = [name, f"{rows / speed['ingest_s']:,.0f}", f"{_per_cpu_s(speed):,.0f}", _ratio(speed, own, _per_cpu_s)]
    cells += [f"{speed['open_ms']:,.0f}", f"{speed['rss'] / 1e6:,.0f}", f"{speed['disk'] / 1e6:,.1f}"]
    return [*cells, " + ".join(f"{hits:.1f}" for hits in speed["hits"]), str(speed["leaks"])]


def _per_cpu_s(speed: Numbers) -> float:
    """Rows kept in bulk per second of the processor."""
    return speed["rows"] / max(speed["ingest_cpu_s"], 1e-9)


def _ratio(speed: Numbers, own: Numbers | None, pick: Callable[[Numbers], float]) -> str:
    """How many times Mnemic's."""
    return f"{pick(speed) / pick(own):.2f}" if own and "rows" in own else "–"


def _pair(times: list[float]) -> str:
    return f"{times[0]:.2f} / {times[1]:.2f}"


def _retrieval(every: dict[str, dict[str, Numbers]]) -> str:
    rows: list[list[str]] = []
    for name, numbers in every.items():
        for what, label in (("retrieval", ""), ("retrieval-captured", ", as captured messages")):
            scores = numbers.get(what)
            if scores and "failed" in scores:
                rows.append([NAMES[name], f"could not run: {_told(scores['failed'])}", *[""] * 4])
            elif scores:
                cells = [f"{scores[metric]:.3f}" for metric in ("R@10", "any@10", "nDCG@10", "MRR@10")]
                rows.append([NAMES[name] + label, str(scores["n"]), *cells])
    about = (
        "Every row is one text, `speaker: text`, for all alike. The second row of Mnemic is its verb for conversations,"
        " which is told author, session and time, and searches with them."
    )
    return f"{about}\n\n{table(['peer', 'n', 'R@10', 'any@10', 'nDCG@10', 'MRR@10'], rows)}"


def _features(every: dict[str, dict[str, Numbers]]) -> str:
    rows: list[list[str]] = []
    for name, numbers in every.items():
        facts = numbers.get("features", {})
        if "failed" in facts:
            rows.append([NAMES[name], f"could not run: {_told(facts['failed'])}", ""])
        elif facts:
            rank = facts["rare_word_rank"]
            rows.append([NAMES[name], f"rank {rank}" if rank else "not in ten", _told(facts["same_text"])])
    asked = f"asked for `{RARE_WORD}` alone: the one text of 1,001 that has it"
    return table(["peer", asked, "the same text from a second user"], rows)


def _survival(every: dict[str, dict[str, Numbers]]) -> str:
    rows: list[list[str]] = []
    for name, numbers in every.items():
        killed, writers = numbers.get("killed"), numbers.get("writers")
        if killed or writers:
            rows.append([NAMES[name], _killed(killed), _writers(writers)])
    return table(["peer", "20 kills: acknowledged adds there afterwards", "two processes writing at once"], rows)


def _killed(killed: Numbers | None) -> str:
    if killed is None:
        return "not measured"
    if "failed" in killed:
        return f"could not run: {_told(killed['failed'])}"
    unopened = "; then it could not be opened" if killed["unopened"] else ""
    return f"{killed['acknowledged'] - killed['lost']:,} of {killed['acknowledged']:,}{unopened}"


def _writers(writers: Numbers | None) -> str:
    if writers is None:
        return "not measured"
    if "failed" in writers:
        return f"could not run: {_told(writers['failed'])}"
    kept = writers["acknowledged"] - writers["missing"]
    said = f"; refused: {_told(writers['refusals'][0])}" if writers["refusals"] else ""
    return f"{writers['acknowledged']} of {writers['wanted']} acknowledged, {kept} of these there{said}"


def _told(reason: str) -> str:
    """The beginning of a peer's error, without the paths of this machine."""
    return re.sub(r"(/[\w.-]+){2,}", "…", reason).replace("|", "/")[:REASON_CHARS]
