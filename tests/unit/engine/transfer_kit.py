"""A full store to move, and shorthands for moving it."""

from __future__ import annotations

from typing import Any

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.engine.import_files import ImportReport
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, Clock, WordEmbedder

DORA = Scope(org="acme", user="dora", agent="jarvis", session="s1")


def opened(store: Store | None = None, clock: Clock | None = None) -> Mnemic:
    return Mnemic(opened_parts(store, clock), actor="tester")


def opened_parts(store: Store | None = None, clock: Clock | None = None) -> Engine:
    return Engine(
        store=store or MemoryStore(),
        index=ScanIndex(),
        embedder=WordEmbedder(),
        clock=clock or Clock(),
        observer=CounterObserver(),
    )


def lines_of(mnemic: Mnemic, scope: Scope = ANNA) -> list[str]:
    """An export without its header, which holds the time."""
    return list(mnemic.export(scope))[1:]


def fill(mnemic: Mnemic, clock: Clock) -> None:
    """Every field, every state that can be reached, privacy, history and profile."""
    mnemic.profile.set(ANNA, {"city": "Lisbon", "tea": "smoked"})
    for number in range(3):
        mnemic.capture(ANNA, user=f"question {number}", assistant=f"answer {number}")
        clock.turn(minutes=1)
    mnemic.capture(
        ANNA, [{"role": "tool", "content": "out", "name": "ls", "external_id": "x1", "metadata": {"a": [1]}}]
    )
    full = {
        "text": "Anna signs the lease",
        "kind": "event",
        "importance": "high",
        "confidence": 0.25,
        "categories": ["home", "money"],
        "context": "she asked",
        "snippet": "we sign",
        "source": "letter",
        "valid_from": "2026-01-01",
        "valid_to": "2027-01-01",
        "expires_at": "2028-01-01",
        "is_pinned": True,
        "is_private": True,
        "metadata": {"rooms": 3, "é": None},
    }
    first, second, third, fourth = mnemic.remember_many(ANNA, [full, "tea", "green tea", {"text": "gone"}])
    clock.turn(minutes=1)
    mnemic.remember(ANNA, "for this session", level="session")
    mnemic.remember(ANNA, "Jarvis is polite", level="agent")
    mnemic.update(ANNA, first.id, text="Anna signed the lease", reason="done")
    mnemic.merge(ANNA, [second.id, third.id], reason="one thing")
    mnemic.remember(ANNA, "green tea")  # the same words as one that is superseded
    mnemic.feedback(ANNA, first.id, "relevant")
    mnemic.delete(ANNA, fourth.id)
    clock.turn(hours=2)


def restored(mnemic: Mnemic, lines: list[str], scope: Scope = ANNA, **fields: Any) -> ImportReport:
    return mnemic.import_(scope, "\n".join(lines), **fields)
