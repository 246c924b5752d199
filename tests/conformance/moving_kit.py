"""Two stores of any kind, moves between them, and their contents."""

from __future__ import annotations

from dataclasses import replace

from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.engine.move import MoveReport, describe_org, move_org
from mnemic.errors import InvalidInputError
from mnemic.model.item import Memory
from mnemic.model.records import PlacementState, Receipt
from mnemic.model.scope import Visibility
from mnemic.ports.moving import MovingStore
from mnemic.ports.store import Store
from mnemic.testing.samples import HERS, a_memory, a_query

ORG, OTHER = "acme", "globex"
Opened = SqliteStore | PostgresStore
Stores = tuple[Opened, Opened]


def quiet(_step: str, _done: int, _total: int) -> None:
    """Ignores progress."""


def engine_of(store: Store) -> Engine:
    return replace(build(Config(store="memory://", embedder="none")), store=store)


def move(source: Store, target: Store, org: str = ORG, **options: object) -> MoveReport:
    return move_org(engine_of(source), target, org, **{"told": quiet, **options})  # type: ignore[arg-type] -- names of options


content = describe_org


def state(store: MovingStore, org: str = ORG) -> PlacementState | None:
    return next((each.state for each in store.placements() if each.org == org), None)


def receipts_of(store: Store) -> list[Receipt]:
    with store.read() as work:
        return [*work.erasure.receipts(ORG)]


def memory(text: str) -> Memory:
    return a_memory(text, partition=HERS)


def texts_of(store: Store) -> list[str]:
    with store.read() as work:
        return sorted(each.text for each in work.memories.list(Visibility((HERS,), None), a_query(limit=1000)))


def refuse_copying(step: str, done: int, total: int) -> None:
    if step == "copying" and done == total:
        raise InvalidInputError("enough")
