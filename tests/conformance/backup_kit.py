"""Something in a store, to be backed up."""

from __future__ import annotations

from pathlib import Path

from mnemic import Mnemic, Scope
from mnemic.config import Config

ANA, BORIS = Scope(user="ana", agent="quill", session="s1"), Scope(user="boris", agent="quill", session="s1")
CANARY = "greenfinch"


def opened(place: str | Path, **options: object) -> Mnemic:
    return Mnemic.open(Config(store=str(place), **{"embedder": "none", **options}))  # type: ignore[arg-type] -- names of options


def fill(memory: Mnemic, scope: Scope = ANA, word: str = CANARY) -> None:
    """Something in every kind of table, all of it with the word."""
    memory.capture(scope, user=f"I saw a {word} today", assistant=f"A {word} is green")
    memory.remember(scope, f"Likes the {word}")
    memory.profile.set(scope, {"bird": word})
    memory.ingest(scope, f"All about the {word}.".encode(), name=f"{word}.txt")


def texts(memory: Mnemic, scope: Scope = ANA) -> list[str]:
    return sorted(each.text for each in memory.list(scope, limit=200).memories)
