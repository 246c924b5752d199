"""Nodes of the graph as a scope sees them: entities of several partitions that are one thing, with all its names.

Nothing is merged in the store. Entities are one node when they have the same key and type, when one of them is a mere
`thing` and no other type is told for the key, or when a relation says that one is another name of the other. So a
thing that a user's memory and an organisation's document name is one, and whoever may not see one of them sees the
other alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from mnemic.model.graph import (
    ALSO_KNOWN_AS,
    MAX_OTHER_NAMES,
    Entity,
    EntityQuery,
    EntityType,
    Node,
    Relation,
    RelationQuery,
)
from mnemic.model.scope import Visibility
from mnemic.ports.store import UnitOfWork

ALIAS_ROUNDS = 3
"""Names of names are followed so far."""

MOST_ALIASES = 20


class Nodes:
    """The nodes that were looked at in one unit of work; `as_of` is when other names must hold."""

    def __init__(self, work: UnitOfWork, visible: Visibility, as_of: datetime | None) -> None:
        self._work, self._visible, self._as_of = work, visible, as_of
        self._rows: dict[str, list[Entity]] = {}
        self._roots: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}
        self._by_key: dict[str, list[str]] = {}
        self._other_names: list[Relation] = []

    def of_keys(self, keys: Collection[str]) -> list[str]:
        """The nodes with these keys, each by its root, those with most mentions first."""
        self._load(keys)
        found = dict.fromkeys(self._roots[each] for key in sorted(keys) for each in self._by_key.get(key, ()))
        return sorted(found, key=lambda root: -self.node(root).mentions)

    def known(self, keys: Collection[str]) -> set[str]:
        """Those of these keys that anything is called by."""
        self._load(keys)
        return {key for key in keys if self._by_key.get(key)}

    def of_ids(self, ids: Collection[str]) -> dict[str, str]:
        """The root of the node of each of these entities; those that are not visible are left out."""
        missing = {*ids} - self._rows.keys()
        if missing:
            found = self._work.graph.entities(self._visible, EntityQuery(ids=missing))
            self._load({each.key for each in found})
        return {each: self._roots[each] for each in ids if each in self._roots}

    def members(self, root: str) -> Sequence[str]:
        """The ids of all entities of a node."""
        return self._members[self._roots[root]]

    def node(self, root: str) -> Node:
        """A node, from all its entities: named as most items name it."""
        rows = [row for each in self.members(root) for row in self._rows[each]]
        rows.sort(key=lambda row: (row.type is EntityType.THING, -row.mentions, row.key, row.id))
        names = [name for row in rows for name in (row.name, *row.other_names)]
        return Node(
            id=root,
            name=names[0],
            type=rows[0].type,
            other_names=tuple(dict.fromkeys(name for name in names if name != names[0]))[:MAX_OTHER_NAMES],
            description=next((row.description for row in rows if row.description), ""),
            mentions=sum(row.mentions for row in rows),
        )

    def _load(self, keys: Collection[str]) -> None:
        """Take in the entities with these keys, and what are other names of them."""
        for _ in range(ALIAS_ROUNDS):
            fresh = {*keys} - self._by_key.keys()
            if not fresh:
                break
            rows = self._work.graph.entities(self._visible, EntityQuery(keys=fresh))
            self._by_key |= {key: [] for key in fresh}
            for row in rows:
                self._add(row)
            for key in sorted(fresh):
                self._fold(key)
            keys = self._follow({row.id for row in rows})
        for each in self._other_names:
            if each.source_id in self._roots and each.target_id in self._roots:
                self._join(each.source_id, each.target_id)

    def _add(self, row: Entity) -> None:
        if row.id not in self._rows:
            self._roots[row.id], self._members[row.id] = row.id, [row.id]
            self._by_key[row.key].append(row.id)
        self._rows.setdefault(row.id, []).append(row)

    def _fold(self, key: str) -> None:
        """Join the entities of one key and type, and those that are mere things with the only type that is told."""
        ids = self._by_key[key]
        by_type: dict[EntityType, list[str]] = {}
        for each in ids:
            by_type.setdefault(self._rows[each][0].type, []).append(each)
        things = by_type.pop(EntityType.THING, [])
        groups = [*by_type.values()] or [[]]
        groups = [[*groups[0], *things]] if len(groups) == 1 else [*groups, things]
        for first, *others in filter(None, groups):
            for other in others:
                self._join(first, other)

    def _follow(self, ids: Collection[str]) -> set[str]:
        """Note the relations that tell other names of these; the keys of those that were not looked at."""
        if not ids:
            return set()
        query = RelationQuery(types=(ALSO_KNOWN_AS,), as_of=self._as_of, limit=MOST_ALIASES)
        found = self._work.graph.relations(self._visible, ids, query)
        self._other_names += found
        ends = {end for each in found for end in (each.source_id, each.target_id)} - self._rows.keys()
        return {row.key for row in self._work.graph.entities(self._visible, EntityQuery(ids=ends))} if ends else set()

    def _join(self, one: str, other: str) -> None:
        kept, gone = sorted((self._roots[one], self._roots[other]))
        if kept != gone:
            for each in self._members[gone]:
                self._roots[each] = kept
            self._members[kept] += self._members.pop(gone)
