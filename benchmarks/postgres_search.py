"""Compares search in PostgreSQL itself with the exact search in memory and with plain pgvector. Writes
results/postgres-search.md.

    python benchmarks/postgres_search.py [--rows 100000] [--users 1000] [--questions 100] [--url URL]

`--url`: an empty database of a role without BYPASSRLS, on this machine, or one that an earlier run has filled.
Otherwise the script starts a server. The texts and vectors are generated, which takes almost no time. So a recall takes
the time of everything but the embedding.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import psycopg
from psycopg import sql

from benchmarks.machine import keep, provenance, table
from drills.store_agreement import server
from mnemic import Mnemic, Scope
from mnemic.adapters.indexes.postgres_index import open_postgres_index
from mnemic.adapters.indexes.postgres_link import graph_name
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.indexing import owner_of
from mnemic.evaluation.embedders import SYNTHETIC_DIMS, SyntheticEmbedder
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.ports.models import Vectors

ANNA = "anna"
FIRST = 10
BATCH = 1_000
CLUSTERS = 2_000
SPACE = SyntheticEmbedder().space.id
TICKS = os.sysconf("SC_CLK_TCK")
ABOUT = """# Search in PostgreSQL

`one partition` has {rows:,} memories. `{users:,} users` have {each} memories each, and each question is about a
different user. `in PostgreSQL`: `memory.index.database-rows = 0`. `in memory`: the exact search of all rows.
`pgvector`: only the ten nearest ids, with HNSW on `halfvec` in the partition, and by comparison for users. Row
security is on. `filtered`: `importance > 0.1`, which all memories pass. Wall times depend on the machine's load.
`client` and `server` are average processor times per question, of the client and of the server process that answers
it. `memory` is the growth of the client's memory. `equal` is the share of questions whose first ten hits match the
exact search in order. `shared` is the share of matching hits.
"""
Answers = list[list[str]]


class ClusteredEmbedder(SyntheticEmbedder):
    """Vectors in 2,000 clusters, whose members have a cosine of about 0.6, like texts about one subject."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The centre of a cluster, moved at random, per text."""
        subjects = [f"subject {zlib.crc32(text.encode()) % CLUSTERS}" for text in texts]
        vectors = super().embed_documents(subjects) + np.float32(0.8) * super().embed_documents(texts)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Like `embed_documents`."""
        return self.embed_documents(texts)


class Timed:
    """Wall and processor times of questions, and the answers."""

    def __init__(self, url: str, ask: Callable[[int], list[str]], questions: int) -> None:
        for number in range(min(questions, 20)):
            ask(number)
        walls, self.answers = list[float](), Answers()
        with psycopg.connect(url, autocommit=True) as admin:
            before, client = _server_ticks(admin), time.process_time()
            for number in range(questions):
                start = time.perf_counter()
                self.answers.append(ask(number))
                walls.append((time.perf_counter() - start) * 1e3)
            self.client_ms = (time.process_time() - client) / questions * 1e3
            self.server_ms = (_server_ticks(admin) - before) / TICKS / questions * 1e3
        walls.sort()
        self.p50, self.p95 = walls[len(walls) // 2], walls[int(len(walls) * 0.95)]

    def row(self, case: str, how: str, grown: float | None, exact: Answers | None) -> list[str]:
        """A row of the table."""
        equal = shared = "–"
        if exact is not None:
            equal = f"{sum(one == other for one, other in zip(self.answers, exact, strict=True)) / len(exact):.3f}"
            both = sum(len({*one} & {*other}) for one, other in zip(self.answers, exact, strict=True))
            shared = f"{both / max(sum(map(len, exact)), 1):.4f}"
        times = [f"{value:.1f}" for value in (self.p50, self.p95, self.client_ms, self.server_ms)]
        return [case, how, *times, "–" if grown is None else f"{grown:.0f}", equal, shared]


def _server_ticks(admin: psycopg.Connection) -> int:
    """The processor time of the other connections of this database."""
    found = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    ticks = 0
    for (pid,) in admin.execute(found):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks


def _resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)


@contextmanager
def opened(url: str, *, in_database: bool) -> Generator[Mnemic]:
    """A memory over the database, with the index there or in memory."""
    parts = build(Config(store=url, embedder="none"))
    parts.index.close()
    index = open_postgres_index(url, [SPACE], 10.0, owner_of) if in_database else ScanIndex(budget_bytes=1 << 40)
    with Mnemic(replace(parts, index=index, embedder=ClusteredEmbedder()), has_worker=False) as mnemic:
        yield mnemic


def fill(url: str, rows: int, users: int, texts: GeneratedTexts) -> None:
    """Write the memories of both cases, unless they are there, and wait until PostgreSQL has indexed them."""
    written = list(texts.texts(rows))
    with opened(url, in_database=True) as mnemic, psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SET search_path = mnemic, public; SET mnemic.every_org = 'on'")
        if not mnemic.list(Scope(user=ANNA), limit=1).memories:
            for start in range(0, rows, BATCH):
                mnemic.remember_many(Scope(user=ANNA), written[start : start + BATCH])
        if not mnemic.list(Scope(user="user 0"), limit=1).memories:
            spread(admin, users)
            admin.execute("ANALYZE")
        mnemic.recall(Scope(user=ANNA), "warm up")
        for number in range(users):
            mnemic.recall(Scope(user=f"user {number}"), "warm up")
        while not _has_graph(admin):
            time.sleep(1)


def _has_graph(admin: psycopg.Connection) -> bool:
    name = graph_name(_pid(admin), SPACE)
    valid = "SELECT i.indisvalid FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid WHERE c.relname = %s"
    row = admin.execute(valid, [name]).fetchone()
    return row is not None and bool(row[0])


def _pid(admin: psycopg.Connection, owner: str = ANNA) -> int:
    row = admin.execute("SELECT pid FROM partitions WHERE level = 'user' AND owner = %s", [owner]).fetchone()
    if row is None:
        raise AssertionError("the partition was filled")
    return int(row[0])


def spread(admin: psycopg.Connection, users: int) -> None:
    """Give each of the users an equal share of Anna's memories."""
    made = "INSERT INTO partitions (org, level, owner, version) SELECT 'default', 'user', 'user ' || n, 1 "
    admin.execute(made + "FROM generate_series(0, %s) AS n", [users - 1])
    columns = (
        "SELECT attname FROM pg_attribute WHERE attrelid = 'memories'::regclass AND attnum > 0 AND NOT attisdropped "
        "AND attgenerated = '' AND attname NOT IN ('seq', 'pid', 'changed')"
    )
    names = [sql.Identifier(row[0]) for row in admin.execute(columns)]
    parts = {
        "names": sql.SQL(", ").join(names),
        "mine": sql.SQL(", ").join(sql.SQL("m.{}").format(name) for name in names),
        "users": sql.Literal(users),
        "pid": sql.Literal(_pid(admin)),
    }
    memories = (
        "INSERT INTO memories (pid, changed, {names}) SELECT p.pid, 1, {mine} FROM memories AS m "
        "JOIN partitions AS p ON p.level = 'user' AND p.owner = 'user ' || m.seq % {users} WHERE m.pid = {pid}"
    )
    vectors = (
        "INSERT INTO vectors SELECT n.pid, v.org, v.item_id, v.view, v.space, v.vector FROM vectors AS v "
        "JOIN memories AS n ON n.id = v.item_id AND n.pid != v.pid WHERE v.pid = {pid}"
    )
    for statement in (memories, vectors):
        admin.execute(sql.SQL(statement).format(**parts))


def asking(
    mnemic: Mnemic, scopes: Sequence[Scope], questions: Sequence[str], **options: object
) -> Callable[[int], list[str]]:
    """Asks each question to its scope."""

    def ask(number: int) -> list[str]:
        found = mnemic.recall(scopes[number % len(scopes)], questions[number], limit=FIRST, **options)  # pyright: ignore[reportArgumentType] -- options of recall
        return [hit.id for hit in found.hits]

    return ask


def plain(admin: psycopg.Connection, owners: Sequence[str], questions: Sequence[str]) -> Callable[[int], list[str]]:
    """Asks pgvector alone."""
    pids = {owner: _pid(admin, owner) for owner in owners}
    vectors = [str(vector.tolist()) for vector in ClusteredEmbedder().embed_queries(list(questions))]
    form = (
        "v.vector::halfvec({dims}) <#> %s::vector::halfvec({dims})" if len(owners) == 1 else "v.vector <#> %s::vector"
    )
    nearest = "SELECT item_id FROM vectors AS v WHERE pid = {pid} AND space = {space} AND view = 'item' ORDER BY "

    def ask(number: int) -> list[str]:
        pid = sql.Literal(pids[owners[number % len(owners)]])
        parts = {"pid": pid, "space": sql.Literal(SPACE), "dims": sql.Literal(SYNTHETIC_DIMS)}
        asked = sql.SQL(nearest + form + " LIMIT 10").format(**parts)
        return [row[0] for row in admin.execute(asked, [vectors[number]])]

    return ask


def measure(url: str, rows: int, users: int, questions: int) -> list[list[str]]:
    """The rows of the table."""
    texts = GeneratedTexts(3)
    fill(url, rows, users, texts)
    asked = texts.questions(questions)
    cases = {"one partition": [ANNA], f"{users:,} users": [f"user {number}" for number in range(users)]}
    filtered = {"filter": {"importance": {"gt": 0.1}}}
    found: list[list[str]] = []
    timed: dict[tuple[str, str], tuple[Timed, float]] = {}
    for how in ("in PostgreSQL", "in memory"):
        with opened(url, in_database=how == "in PostgreSQL") as mnemic:
            mnemic.recall(Scope(user="nobody"), "warm up")
            for case, owners in cases.items():
                scopes, before = [Scope(user=owner) for owner in owners], _resident_mb()
                timed[case, how] = Timed(url, asking(mnemic, scopes, asked), questions), _resident_mb() - before
            few = asking(mnemic, [Scope(user=ANNA)], asked, **filtered)
            timed["one partition, filtered", how] = Timed(url, few, min(questions, 20)), 0.0
    for (case, how), (one, grown) in timed.items():
        exact = timed[case, "in memory"][0].answers if how == "in PostgreSQL" else None
        found.append(one.row(case, how, grown if "filtered" not in case else None, exact))
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SET search_path = mnemic, public; SET mnemic.every_org = 'on'; SET jit = off")
        for case, owners in cases.items():
            found.append(Timed(url, plain(admin, owners, asked), questions).row(case, "pgvector", None, None))
    return sorted(found, key=lambda row: row[0])


def main() -> int:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--users", type=int, default=1_000)
    arguments.add_argument("--questions", type=int, default=100)
    arguments.add_argument("--url")
    chosen = arguments.parse_args()
    with TemporaryDirectory(prefix="mnemic-search-") as folder:
        if chosen.url:
            rows = measure(chosen.url, chosen.rows, chosen.users, chosen.questions)
        else:
            with server(Path(folder)) as url_of:
                rows = measure(ordinary(url_of("bench")), chosen.rows, chosen.users, chosen.questions)
    head = ["case", "search", "p50, ms", "p95, ms", "client, ms", "server, ms", "memory, MB", "equal", "shared"]
    about = ABOUT.format(rows=chosen.rows, users=chosen.users, each=chosen.rows // chosen.users)
    made = provenance(f"python benchmarks/postgres_search.py --questions {chosen.questions}")
    keep("postgres-search.md", f"{about}\n{made}\n\n{table(head, rows)}\n")
    return 0


def ordinary(url: str) -> str:
    """The same database for a role whom row security holds."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE EXTENSION vector")
        admin.execute("CREATE ROLE ordinary LOGIN; GRANT CREATE ON DATABASE bench TO ordinary")
    return url.replace("//postgres:@", "//ordinary@")


if __name__ == "__main__":
    sys.exit(main())
