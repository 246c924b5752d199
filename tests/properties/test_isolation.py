"""No verb of a scope ever shows or touches what lies outside it, in any order of random use."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.errors import NotFoundError
from mnemic.model.item import Message
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings

OPERATIONS = 400
WORDS = ("tea", "milk", "river", "garden", "violin", "harbour")
PARTS = product(("acme", "other"), (None, "jarvis", "friday"), (None, "anna", "bert"), (None, "s1", "s2"))
SCOPES = [
    Scope(org=org, agent=agent, user=user, session=session)
    for org, agent, user, session in PARTS
    if agent or user or session
]


@dataclass(frozen=True)
class Row:
    """What was written, by whom, and where."""

    item_id: str
    by: Scope
    level: str
    is_private: bool
    is_message: bool


def may_see(scope: Scope, row: Row) -> bool:
    """The rules of visibility in plain words, written again and apart from the code that is tested."""
    if scope.org != row.by.org or (row.is_private and scope.agent != row.by.agent):
        return False
    if row.level == "org":
        return True
    if row.level == "agent":
        return scope.agent == row.by.agent
    if row.level == "user":
        return scope.user == row.by.user
    return scope.session == row.by.session and row.by.user in (None, scope.user)


def write(mnemic: Mnemic, scope: Scope, chance: random.Random) -> list[Row]:
    """Something new in some level that the scope names."""
    text = f"{chance.choice(WORDS)} {chance.choice(WORDS)} {chance.random()}"
    if chance.random() < 0.3 and (scope.user or scope.session):
        turn = mnemic.capture(scope, user=text, assistant=f"about {text}")
        by = replace(scope, session=turn.session)
        level = "user" if scope.user else "session"
        return [Row(message.id, by, level, is_private=False, is_message=True) for message in turn.messages]
    named = [("agent", scope.agent), ("user", scope.user), ("session", scope.session), ("org", scope.org)]
    level = chance.choice([level for level, part in named if part])
    is_private = scope.agent is not None and chance.random() < 0.2
    memory = mnemic.remember(scope, text, level=level, is_private=is_private)
    return [Row(memory.id, scope, level, is_private, is_message=False)]


def listed(mnemic: Mnemic, scope: Scope) -> set[str]:
    return {memory.id for memory in mnemic.list(scope, limit=1000).memories}


def recalled(mnemic: Mnemic, scope: Scope, query: str) -> set[str]:
    found = mnemic.recall(scope, query, limit=None)
    return set() if found.is_fallback else {hit.id for hit in found}


@pytest.mark.requirement("J-11", "N-05", "N-17", "R-15", "R-16", "R-17", "T-35")
@pytest.mark.parametrize("seed, large_partition_rows", [(1, 10**6), (2, 10**6), (3, 4)])
def test_random_use_shows_exactly_what_the_scope_may_see(tmp_path: Path, seed: int, large_partition_rows: int):
    chance, rows = random.Random(seed), dict[str, Row]()
    settings = Settings(large_partition_rows=large_partition_rows)
    config = Config(store=str(tmp_path / "memory.db"), embedder="none", settings=settings)
    with Mnemic(build(config)) as mnemic:
        for _ in range(OPERATIONS):
            scope = chance.choice(SCOPES)
            visible = {row.item_id for row in rows.values() if may_see(scope, row)}
            match chance.choice(("write", "write", "recall", "list", "get", "delete")):
                case "write":
                    rows |= {row.item_id: row for row in write(mnemic, scope, chance)}
                case "recall":
                    assert recalled(mnemic, scope, " ".join(WORDS)) == visible
                    background = {hit.id for hit in mnemic.recall(scope, "")}
                    assert background <= visible
                case "list":
                    assert listed(mnemic, scope) == {i for i in visible if not rows[i].is_message}
                case "get" if rows:
                    item_id = chance.choice(list(rows))
                    if item_id in visible:
                        assert isinstance(mnemic.get(scope, item_id), Message) == rows[item_id].is_message
                    else:
                        for verb in (mnemic.get, mnemic.history, mnemic.delete):
                            with pytest.raises(NotFoundError):
                                verb(scope, item_id)
                case "delete" if visible and chance.random() < 0.5:
                    item_id = chance.choice(sorted(visible))
                    mnemic.delete(scope, item_id)
                    del rows[item_id]
                case _:
                    pass
