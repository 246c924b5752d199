"""The reference store's graph: it stores links and derives everything else when they change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.checks import check_sheets, is_readable
from mnemic.adapters.stores.memory.tables import Port
from mnemic.model import graph
from mnemic.model.item import Memory, Role, State
from mnemic.model.listing import group_pairs
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.tables import AT_ONCE, EntityVector

_LinkT = TypeVar("_LinkT", graph.Mention, graph.Support)


class MemoryGraph(Port):
    """The `Graph` port."""

    def unread(
        self, partition: Partition, extractors: Mapping[graph.SourceKind, str], after: str, limit: int
    ) -> list[graph.Unread]:
        read = self._transaction.tables.read_items
        found = [
            each
            for each in self._readable(partition)
            if each.id > after and each.kind in extractors and read.get((partition, each.id)) != extractors[each.kind]
        ]
        return sorted(found, key=lambda each: each.id)[: max(limit, 0)]

    def put(self, partition: Partition, sheets: Sequence[graph.Sheet]) -> int:
        tables = self._transaction.writable
        check_sheets(sheets)
        readable = {each.id for each in self._readable(partition)}
        kept = [sheet for sheet in sheets if sheet.item_id in readable]
        for sheet in kept:
            self._put_ends(partition, sheet)
        self._cut(partition, [sheet.item_id for sheet in kept])
        for sheet in kept:
            self._put_links(partition, sheet)
            tables.read_items[partition, sheet.item_id] = sheet.extractor
        self._refresh(partition)
        return len(kept)

    def forget(self, partition: Partition, ids: Sequence[str] | None) -> int:
        tables = self._transaction.writable
        read = {item_id for place, item_id in tables.read_items if place == partition}
        gone = read if ids is None else read.intersection(ids)
        for item_id in gone:
            del tables.read_items[partition, item_id]
        self._cut(partition, gone)
        self._refresh(partition)
        return len(gone)

    def follow(self, memory: Memory, *, is_same_text: bool) -> None:
        """After a memory was replaced: pass its dates on, or cut its links if its text changed."""
        tables, place = self._transaction.writable, memory.partition
        if (place, memory.id) not in tables.read_items:
            return
        named = [entity for _, entity in self._links(tables.mentions, place, [memory.id])]
        owners = {tables.entities[place, each].private_agent for each in named}
        if not (is_same_text and is_readable(memory)) or not owners <= {memory.private_agent}:
            self.forget(place, [memory.id])
            return
        for item, relation in self._links(tables.supports, place, [memory.id]):
            old = tables.supports[place, item, relation]
            tables.supports[place, item, relation] = replace(
                old, valid_from=memory.valid_from, valid_to=memory.valid_to
            )
        self._refresh(place)

    def entities(self, visible: Visibility, query: graph.EntityQuery) -> list[graph.Entity]:
        found = [
            each
            for each in self._seen(self._transaction.tables.entities.values(), visible)
            if (query.ids is None or each.id in query.ids)
            and (query.keys is None or each.key in query.keys)
            and (not query.types or each.type in query.types)
            and each.key.startswith(query.prefix)
            and query.part in each.key
            and each.key > query.after
        ]
        keys = sorted({each.key for each in found})[: None if query.limit is None else max(query.limit, 0)]
        found = [each for each in found if each.key in keys]
        return sorted(found, key=lambda each: (each.key, each.id, each.partition))

    def relations(self, visible: Visibility, ids: Collection[str], query: graph.RelationQuery) -> list[graph.Relation]:
        every = [
            each for each in self._seen(self._transaction.tables.relations.values(), visible) if _meets(each, query)
        ]
        every.sort(key=lambda each: (-each.weight, each.id, each.partition))
        found: dict[tuple[Partition, str], graph.Relation] = {}
        ends: tuple[Callable[[graph.Relation], str], ...] = (lambda each: each.source_id, lambda each: each.target_id)
        for asked in ids:
            for partition in visible.partitions:
                for end in ends:
                    mine = [each for each in every if each.partition == partition and end(each) == asked]
                    found |= {(partition, each.id): each for each in mine[: max(query.limit, 0)]}
        return [each for each in every if (each.partition, each.id) in found]

    def supports(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Support]:
        tables = self._transaction.tables
        shown = {(each.partition, each.id) for each in self._seen(tables.relations.values(), visible)}
        links = [each for each in tables.supports.values() if each.relation_id in ids]
        links = [each for each in links if (each.partition, each.relation_id) in shown]
        return _last(links, lambda each: each.relation_id, limit)

    def mentions(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Mention]:
        tables = self._transaction.tables
        shown = {(each.partition, each.id) for each in self._seen(tables.entities.values(), visible)}
        links = [each for each, _ in tables.mentions.values() if each.entity_id in ids]
        links = [each for each in links if (each.partition, each.entity_id) in shown]
        return _last(links, lambda each: each.entity_id, limit)

    def named_in(self, visible: Visibility, item_ids: Collection[str]) -> list[graph.Mention]:
        tables = self._transaction.tables
        shown = {(each.partition, each.id) for each in self._seen(tables.entities.values(), visible)}
        links = [each for each, _ in tables.mentions.values() if each.item_id in item_ids]
        links = [each for each in links if (each.partition, each.entity_id) in shown]
        return sorted(links, key=lambda each: (each.item_id, each.start, each.entity_id, each.partition))

    def _readable(self, partition: Partition) -> Iterable[graph.Unread]:
        tables = self._transaction.tables
        for place, row in tables.memories.items():
            memory = row.item
            if place[0] == partition and is_readable(memory):
                said = _unread(memory.id, graph.SourceKind.MEMORY, memory.text, memory.private_agent)
                yield replace(said, valid_from=memory.valid_from, valid_to=memory.valid_to)
        for place, row in tables.messages.items():
            message = row.item
            is_said = message.state is State.ACTIVE and message.role in (Role.USER, Role.ASSISTANT)
            if place[0] == partition and is_said:
                said = _unread(message.id, graph.SourceKind.MESSAGE, message.text, message.private_agent)
                yield replace(said, author=message.name or "", role=message.role.value)
        for place, row in tables.chunks.items():
            if place[0] == partition and row.item.state is State.ACTIVE:
                yield _unread(row.item.id, graph.SourceKind.DOCUMENT, row.item.text, row.item.private_agent)

    def _put_ends(self, partition: Partition, sheet: graph.Sheet) -> None:
        tables = self._transaction.writable
        for named in sheet.names:
            own = graph.entity_id(sheet.private_agent, named.key, named.type)
            entity = graph.Entity(
                id=own,
                partition=partition,
                name=named.name,
                key=named.key,
                type=named.type,
                created_at=sheet.at,
                private_agent=sheet.private_agent,
            )
            tables.entities.setdefault((partition, own), entity)
        for each, source, target in _ends(sheet):
            own = graph.relation_id(source, target, each)
            relation = graph.Relation(
                id=own,
                partition=partition,
                source_id=source,
                target_id=target,
                type=each,
                created_at=sheet.at,
                private_agent=sheet.private_agent,
            )
            tables.relations.setdefault((partition, own), relation)

    def _put_links(self, partition: Partition, sheet: graph.Sheet) -> None:
        tables, item = self._transaction.writable, sheet.item_id
        for named in sheet.names:
            own = graph.entity_id(sheet.private_agent, named.key, named.type)
            mention = graph.Mention(partition, item, own, named.name, named.start, named.end, sheet.extractor)
            tables.mentions[partition, item, own] = (mention, named.description)
        for said, (each, source, target) in zip(sheet.relations, _ends(sheet), strict=True):
            own = graph.relation_id(source, target, each)
            dates = (sheet.valid_from, sheet.valid_to)
            link = graph.Support(
                partition, item, own, said.start, said.end, sheet.extractor, *dates, is_dated=sheet.is_dated
            )
            tables.supports[partition, item, own] = link

    def _links(
        self, table: Mapping[tuple[Partition, str, str], object], partition: Partition, ids: Collection[str]
    ) -> list[tuple[str, str]]:
        return [(item, other) for place, item, other in table if place == partition and item in ids]

    def _cut(self, partition: Partition, ids: Collection[str]) -> None:
        tables = self._transaction.writable
        for link in self._links(tables.mentions, partition, ids):
            del tables.mentions[partition, *link]
        for link in self._links(tables.supports, partition, ids):
            del tables.supports[partition, *link]

    def _refresh(self, partition: Partition) -> None:
        """Recompute a partition's entities and relations from its links."""
        tables = self._transaction.writable
        named = group_pairs((own, link) for (place, _, own), link in tables.mentions.items() if place == partition)
        said = group_pairs((own, link) for (place, _, own), link in tables.supports.items() if place == partition)
        for key in [key for key in tables.relations if key[0] == partition]:
            links = said.get(key[1])
            if links:
                tables.relations[key] = _weigh_relation(tables.relations[key], links, {*map(self._quote, links)})
            else:
                del tables.relations[key]
        for key in [key for key in tables.entities if key[0] == partition]:
            mentions = named.get(key[1])
            if mentions:
                tables.entities[key] = _sum_entity(tables.entities[key], mentions)
            else:
                del tables.entities[key]
        self._drop_unsaid(partition)

    def _quote(self, link: graph.Support) -> str:
        """The words that support a relation, or the item's id if the item is gone."""
        tables, key = self._transaction.tables, (link.partition, link.item_id)
        row = tables.memories.get(key) or tables.messages.get(key) or tables.chunks.get(key)
        return link.item_id if row is None else row.item.text[link.start : link.end]

    def _drop_unsaid(self, partition: Partition) -> None:
        """Remove vectors of entities whose text changed."""
        tables = self._transaction.writable
        for place, own, space in [key for key in tables.entity_vectors if key[0] == partition]:
            entity = tables.entities.get((place, own))
            if entity is None or graph.said_of(entity) != tables.entity_vectors[place, own, space][0]:
                del tables.entity_vectors[place, own, space]

    def _seen(self, rows: Iterable[_RowT], visible: Visibility) -> list[_RowT]:
        return [each for each in rows if visible.admits(each.partition, each.private_agent)]


_RowT = TypeVar("_RowT", graph.Entity, graph.Relation)


def _unread(item_id: str, kind: graph.SourceKind, text: str, private_agent: str | None) -> graph.Unread:
    return graph.Unread(id=item_id, kind=kind, text=text, private_agent=private_agent)


def _ends(sheet: graph.Sheet) -> list[tuple[str, str, str]]:
    """(type, source id, target id) of each relation of a sheet."""
    ids = [graph.entity_id(sheet.private_agent, named.key, named.type) for named in sheet.names]
    return [(each.type, ids[each.source], ids[each.target]) for each in sheet.relations]


def _weigh_relation(
    relation: graph.Relation, links: Sequence[graph.Support], quotes: Collection[str]
) -> graph.Relation:
    dated = [link for link in links if link.is_dated] or links
    starts, ends = [link.valid_from for link in dated], [link.valid_to for link in dated]
    return replace(
        relation,
        weight=float(len(quotes)),
        valid_from=None if None in starts else min(start for start in starts if start is not None),
        valid_to=None if None in ends else max(end for end in ends if end is not None),
    )


def _sum_entity(entity: graph.Entity, links: Sequence[tuple[graph.Mention, str]]) -> graph.Entity:
    links = sorted(links, key=lambda link: link[0].item_id)
    name = links[0][0].name
    described = [description for _, description in links if description]
    others = sorted({mention.name for mention, _ in links} - {name})[: graph.MAX_OTHER_NAMES]
    return replace(
        entity,
        name=name,
        description=described[-1] if described else "",
        other_names=tuple(others),
        mentions=len(links),
    )


def _meets(relation: graph.Relation, query: graph.RelationQuery) -> bool:
    at = query.as_of
    return (not query.types or relation.type in query.types) and (
        at is None
        or (
            (relation.valid_from is None or relation.valid_from <= at)
            and (relation.valid_to is None or relation.valid_to > at)
        )
    )


def _last(links: Sequence[_LinkT], of: Callable[[_LinkT], str], limit: int) -> list[_LinkT]:
    """The last links by item of each node or edge, per partition."""
    links = sorted(links, key=lambda link: link.item_id, reverse=True)
    grouped = group_pairs(((link.partition, of(link)), link) for link in links)
    kept = [link for group in grouped.values() for link in group[: max(limit, 0)]]
    kept.sort(key=lambda link: link.partition)
    kept.sort(key=lambda link: link.item_id, reverse=True)
    return sorted(kept, key=of)


class MemoryEntityVectors(Port):
    """The `EntityVectors` port."""

    def put(self, partition: Partition, rows: Sequence[EntityVector]) -> int:
        tables, count = self._transaction.writable, 0
        for row in rows:
            self._transaction.check_dims(row.space, row.vector.shape[0])
        for row in rows:
            entity = tables.entities.get((partition, row.entity_id))
            if entity is not None and graph.said_of(entity) == row.said:
                vector = row.vector.astype(np.float32)
                vector.flags.writeable = False
                tables.entity_vectors[partition, row.entity_id, row.space] = (row.said, vector)
                count += 1
        return count

    def missing(self, partition: Partition, space: str, after: str, limit: int) -> list[tuple[str, str]]:
        tables = self._transaction.tables
        found = [
            (own, graph.said_of(entity))
            for (place, own), entity in tables.entities.items()
            if place == partition and own > after and (place, own, space) not in tables.entity_vectors
        ]
        return sorted(found)[: max(limit, 0)]

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        tables, best = self._transaction.tables, dict[str, float]()
        between()
        for number, ((place, own, in_space), (_, held)) in enumerate(tables.entity_vectors.items(), start=1):
            if number % AT_ONCE == 0:
                between()
            entity = tables.entities[place, own]
            if in_space == space and visible.admits(place, entity.private_agent):
                best[own] = max(best.get(own, -1.0), float(held @ vector))
        return sorted(best.items(), key=lambda found: (-found[1], found[0]))[: max(limit, 0)]

    def coverage(self, partition: Partition, space: str) -> tuple[int, int]:
        tables = self._transaction.tables
        ids = [own for place, own in tables.entities if place == partition]
        return len(ids), sum((partition, own, space) in tables.entity_vectors for own in ids)
