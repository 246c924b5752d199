"""Takes changes of one partition into the file of the keyword index, and keeps its statistics."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence

from mnemic.adapters.indexes.fts5_file import SQL
from mnemic.model.change import Change

_PLAIN = re.compile(r"[a-z0-9]+")
Row = tuple[str, bool, str, float, int, int | None, bool, int, str]
"""Agent, is_active, kind, importance, observed_at, expires_at, is_flagged, length, terms."""


def token(term: str) -> str:
    """The one word, of a to z and digits only, by which FTS5 knows a term; different terms have different ones."""
    return f"w{term}" if _PLAIN.fullmatch(term) else f"x{term.encode('utf-8', 'surrogatepass').hex()}"


def partition_token(pid: int) -> str:
    """The word that every row of a partition has in its first column."""
    return f"p{pid}"


def packed(terms: Sequence[str]) -> str:
    """Terms between single blanks of their own, so that `occurrences` can count them without taking them apart."""
    return "".join(f" {term} " for term in terms)


def occurrences(packed_terms: str, term: str) -> int:
    """How often a term is among packed ones."""
    return packed_terms.count(f" {term} ")


class PartitionWriter:
    """Writes rows of one partition within one transaction; `finish` writes the statistics.

    Rows that expire are not in the statistics: a reader counts those that are left by itself, because the clock
    changes their number and no write does.
    """

    def __init__(self, connection: sqlite3.Connection, pid: int) -> None:
        self._connection = connection
        self._pid = pid
        self._items: Counter[tuple[str, bool]] = Counter()
        self._lengths: Counter[tuple[str, bool]] = Counter()
        self._terms: Counter[tuple[str, bool, str]] = Counter()

    def take(self, change: Change) -> None:
        """Put the item in the place of its older form; nothing is written when they are the same."""
        new = None if change.is_gone else _row(change)
        key = {"pid": self._pid, "item_id": change.item_id}
        found = self._connection.execute(SQL["item"], key).fetchone()
        old: Row | None = None
        if found is not None:
            seq, agent, is_active, *rest = found
            old = (agent, bool(is_active), *rest)
            if old != new:
                self._remove(seq, old)
        if new is not None and old != new:
            self._add(change.item_id, new)

    def forget(self, item_id: str) -> None:
        """Remove an item."""
        self.take(Change(item_id=item_id, is_gone=True))

    def finish(self) -> None:
        """Bring the statistics up to date with what was taken."""
        numbers: dict[tuple[str, bool], int] = {}
        for group in sorted(set(self._items) | set(self._lengths)):
            gid = numbers[group] = self._group(group)
            change = {"gid": gid, "items": self._items[group], "total_length": self._lengths[group]}
            self._connection.execute(SQL["count_group"], change)
        rows = [
            {"gid": numbers[agent, is_active], "term": term, "items": items}
            for (agent, is_active, term), items in sorted(self._terms.items())
            if items
        ]
        self._connection.executemany(SQL["count_term"], rows)
        if min(self._terms.values(), default=0) < 0:
            self._connection.execute(SQL["forget_unused_terms"], {"pid": self._pid})

    def _add(self, item_id: str, row: Row) -> None:
        agent, is_active, kind, importance, observed_at, expires_at, is_flagged, length, terms = row
        values = {
            "pid": self._pid,
            "item_id": item_id,
            "agent": agent,
            "is_active": is_active,
            "kind": kind,
            "importance": importance,
            "observed_at": observed_at,
            "expires_at": expires_at,
            "is_flagged": is_flagged,
            "length": length,
            "terms": terms,
        }
        seq = self._connection.execute(SQL["add_item"], values).fetchone()[0]
        self._connection.execute(SQL["add_words"], self._words(seq, terms))
        self._count(row, 1)

    def _remove(self, seq: int, row: Row) -> None:
        self._connection.execute(SQL["remove_words"], self._words(seq, row[-1]))
        self._connection.execute(SQL["remove_item"], {"seq": seq})
        self._count(row, -1)

    def _words(self, seq: int, terms: str) -> dict[str, object]:
        tokens = " ".join(token(term) for term in terms.split())
        return {"seq": seq, "partition": partition_token(self._pid), "tokens": tokens}

    def _count(self, row: Row, by: int) -> None:
        agent, is_active, _, _, _, expires_at, _, length, terms = row
        if expires_at is not None:
            return
        self._items[agent, is_active] += by
        self._lengths[agent, is_active] += by * length
        for term in set(terms.split()):
            self._terms[agent, is_active, term] += by

    def _group(self, group: tuple[str, bool]) -> int:
        key = {"pid": self._pid, "agent": group[0], "is_active": group[1]}
        found = self._connection.execute(SQL["group"], key).fetchone()
        return int((found or self._connection.execute(SQL["add_group"], key).fetchone())[0])


def _row(change: Change) -> Row:
    terms = change.terms.split()
    return (
        change.private_agent or "",
        change.is_active,
        change.kind,
        float(change.importance),
        change.observed_at,
        change.expires_at,
        change.is_flagged,
        len(terms),
        packed(terms),
    )
