"""A plugin for pytest that puts Mnemic's store in the place of LangGraph's own stores, for LangGraph's own tests.

`MNEMIC_TRIED` is the store: `memory://`, the address of a PostgreSQL, or `sqlite` for a new file each time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import langgraph.store.memory

from mnemic import Mnemic, Scope
from mnemic.config import Config
from mnemic.integrations.langgraph import MnemicStore

INTERNALS = ("NS_MATCH_FUNCTION", "BaseSqliteStore", "SqliteIndexConfig")
FUNCTIONS = ("_escape_glob_literal", "_namespace_match_pattern")


_users = count()  # a new user each time, as theirs are new stores


def open_memory() -> Mnemic:
    """A new memory, but one for all of a server, whose connections are few."""
    tried = os.environ["MNEMIC_TRIED"]
    if tried.startswith("postgresql://"):
        return _open_server(tried)
    store = tried if "://" in tried else str(Path(tempfile.mkdtemp()) / "memory.db")
    return Mnemic.open(Config(store=store), has_worker=False)


@cache
def _open_server(url: str) -> Mnemic:
    return Mnemic.open(Config(store=url), has_worker=False)


class Ours(MnemicStore):
    """Mnemic's store, made as LangGraph's tests make theirs."""

    __slots__ = ("index_config",)

    def __init__(self, *, index: Mapping[str, Any] | None = None, ttl: Any = None) -> None:
        named = [each for each in (index or {}).get("fields") or (index or {}).get("text_fields") or () if each != "$"]
        super().__init__(open_memory(), scope=Scope(user=f"user-{next(_users)}"), fields=named or None, ttl=ttl)
        self.index_config = index

    @classmethod
    @contextmanager
    def from_conn_string(cls, _url: str, **settings: Any) -> Generator[Ours]:
        """A new store, wherever theirs would be."""
        yield cls(**settings)

    def setup(self) -> None:
        """Nothing to do."""


langgraph.store.memory.InMemoryStore = Ours
sqlite, parts = ModuleType("langgraph.store.sqlite"), ModuleType("langgraph.store.sqlite.base")
vars(sqlite).update(SqliteStore=Ours, base=parts)
vars(parts).update(dict.fromkeys((*INTERNALS, *FUNCTIONS)))
sys.modules |= {"langgraph.store.sqlite": sqlite, "langgraph.store.sqlite.base": parts}
