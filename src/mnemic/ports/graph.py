"""The port of the graph, one of those that a unit of work exposes (see `ports.store`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from mnemic.model.graph import (
    Entity,
    EntityQuery,
    Mention,
    Relation,
    RelationQuery,
    Sheet,
    SourceKind,
    Support,
    Unread,
)
from mnemic.model.scope import Partition, Visibility


class Graph(Protocol):
    """Entities and relations, linked to the items that say so. Nothing in it moves a partition's version.

    The ports of memories, messages and documents keep it true by themselves, in the same unit of work: what is erased,
    or is no memory any more that `unread` would give, loses its links; a memory with new dates passes them on. What is
    then supported by nothing is removed with them.
    """

    def unread(
        self, partition: Partition, extractors: Mapping[SourceKind, str], after: str, limit: int
    ) -> Sequence[Unread]:
        """Items of these kinds, by id behind `after`, that the extractor of their kind has not read in their present
        form: active memories and superseded ones that ended, none that expires; active messages of users and
        assistants; active passages. Private ones of all agents too.
        """
        ...

    def put(self, partition: Partition, sheets: Sequence[Sheet]) -> int:
        """Take in what items say, in place of what was known of them; returns how many were taken in. A sheet of an
        item that `unread` would not give by now, because it is erased for instance, is left out.

        A name finds its entity by private agent, key and type, a relation by its ends and type; those that are missing
        are made. Raises `InvalidInputError` when a sheet says something twice, or names a relation's end that it lacks.
        """
        ...

    def forget(self, partition: Partition, ids: Sequence[str] | None) -> int:
        """Remove what these items (None: all of the partition) say, and that they were read; returns how many items had
        been read.
        """
        ...

    def entities(self, visible: Visibility, query: EntityQuery) -> list[Entity]:
        """The visible entities that meet the query, by key, then id, then partition (level, owner)."""
        ...

    def relations(self, visible: Visibility, ids: Collection[str], query: RelationQuery) -> list[Relation]:
        """The visible relations that begin or end at one of these entities and meet the query; each once, those of
        most weight first, then by id and partition.
        """
        ...

    def supports(self, visible: Visibility, ids: Collection[str], limit: int) -> list[Support]:
        """Of each of these relations, if visible, the last `limit` items by id that say so, in each partition; by
        relation, then item from the last.
        """
        ...

    def mentions(self, visible: Visibility, ids: Collection[str], limit: int) -> list[Mention]:
        """Of each of these entities, if visible, the last `limit` items by id that name it, as with `supports`."""
        ...

    def named_in(self, visible: Visibility, item_ids: Collection[str]) -> list[Mention]:
        """Which visible entities these items name, by item, then place in its text."""
        ...
