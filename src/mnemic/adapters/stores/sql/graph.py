"""The graph over SQL. The ports of items use `GraphLinks` to keep it correct."""

from collections.abc import Collection, Mapping, Sequence

from mnemic.adapters.stores.checks import check_sheets, is_readable
from mnemic.adapters.stores.sql.dialect import ENTITY, MENTION, RELATION, SUPPORT, UNREAD
from mnemic.adapters.stores.sql.session import Rows, SqlPort, SqlSession
from mnemic.model import graph
from mnemic.model.columns import micros
from mnemic.model.item import Memory
from mnemic.model.scope import Partition, Visibility, to_microseconds

_BEHIND_ALL = "\U0010ffff"
_NO_LIMIT = 2**31 - 1  # SQL's LIMIT needs a number: the largest of 32 bits, which both databases accept


class GraphLinks(SqlPort, topic="graph"):
    """Links between items and the graph, in one transaction."""

    def cut(self, pid: int, ids: Sequence[str]) -> int:
        """Remove items' links and what then has no support. Returns how many of the items had been read."""
        key: Mapping[str, object] = {"pid": pid, "ids": self._session.list_values(ids)}
        read = [row[0] for row in self._session.write(self._sql["forget_read"], key)]
        if read:
            relations = {row[0] for row in self._session.write(self._sql["cut_supports"], key)}
            entities = {row[0] for row in self._session.write(self._sql["cut_mentions"], key)}
            self.refresh(pid, entities, relations)
        return len(read)

    def follow(self, pid: int, memory: Memory, *, is_same_text: bool) -> None:
        """After a memory was replaced: pass its dates on, or cut its links if its text changed."""
        key: Mapping[str, object] = {"pid": pid, "id": memory.id, "private_agent": memory.private_agent or ""}
        owners = [row[0] for row in self._session.run(self._sql["read_for"], key)]
        if not owners:
            return
        if not (is_same_text and is_readable(memory)) or any(
            owner not in ("-", key["private_agent"]) for owner in owners
        ):
            self.cut(pid, [memory.id])
            return
        dates = {**key, "valid_from": micros(memory.valid_from), "valid_to": micros(memory.valid_to)}
        self.refresh(pid, (), {row[0] for row in self._session.write(self._sql["redate"], dates)})

    def refresh(self, pid: int, entities: Collection[str], relations: Collection[str]) -> None:
        """Recompute these from their links. Those without links are removed."""
        if relations:
            key: Mapping[str, object] = {"pid": pid, "ids": self._session.list_values(sorted(relations))}
            for name in ("drop_relations", "weigh_relations"):
                self._session.write(self._sql[name], key)
        if entities:
            key = {"pid": pid, "ids": self._session.list_values(sorted(entities))}
            for name in ("drop_entities", "name_entities", "sum_entities", "drop_unsaid"):
                self._session.write(self._sql[name], key)


class SqlGraph:
    """The `Graph` port."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._sql = session.statements("graph")
        self._links = GraphLinks(session)

    def unread(
        self, partition: Partition, extractors: Mapping[graph.SourceKind, str], after: str, limit: int
    ) -> list[graph.Unread]:
        readers = {kind.value: extractors.get(kind) for kind in graph.SourceKind}
        key = {"pid": self._session.pid(partition), **readers, "after": after, "limit": max(limit, 0)}
        return [UNREAD.noun(row) for row in self._session.run(self._sql["unread"], key)]

    def put(self, partition: Partition, sheets: Sequence[graph.Sheet]) -> int:
        self._session.check_writing()
        check_sheets(sheets)
        pid = self._session.pid(partition)
        ids = [sheet.item_id for sheet in sheets]
        if pid is None or not ids:
            return 0
        key: Mapping[str, object] = {"pid": pid, "ids": self._session.list_values(ids)}
        readable = {row[0] for row in self._session.run(self._sql["readable"], key)}
        kept = [sheet for sheet in sheets if sheet.item_id in readable]
        place: Mapping[str, object] = {"pid": pid, "org": partition.org}
        columns = _Columns(place, kept)
        self._session.write_each(self._sql["put_entity"], columns.entities)
        self._session.write_each(self._sql["put_relation"], columns.relations)
        changed: tuple[set[str], set[str]] = (set(), set())
        kept_key: Mapping[str, object] = {"pid": pid, "ids": self._session.list_values(sorted(readable))}
        changed[0].update(row[0] for row in self._session.write(self._sql["cut_mentions"], kept_key))
        changed[1].update(row[0] for row in self._session.write(self._sql["cut_supports"], kept_key))
        self._session.write_each(self._sql["put_mention"], columns.mentions)
        self._session.write_each(self._sql["put_support"], columns.supports)
        self._session.write_each(self._sql["put_read"], columns.read)
        changed[0].update(str(row["entity_id"]) for row in columns.mentions)
        changed[1].update(str(row["relation_id"]) for row in columns.supports)
        self._links.refresh(pid, *changed)
        return len(kept)

    def forget(self, partition: Partition, ids: Sequence[str] | None) -> int:
        self._session.check_writing()
        pid = self._session.pid(partition)
        if pid is None:
            return 0
        if ids is not None:
            return self._links.cut(pid, ids)
        for name in ("wipe_supports", "wipe_relations", "wipe_mentions", "wipe_entities"):
            self._session.write(self._sql[name], {"pid": pid})
        return sum(1 for _ in self._session.write(self._sql["wipe_read"], {"pid": pid}))

    def entities(self, visible: Visibility, query: graph.EntityQuery) -> list[graph.Entity]:
        names = ["select_entities" if query.ids is None else "select_entities_by_id", "where_seen"]
        is_listing = (
            query.ids is None and query.keys is None
        )  # else these find the rows, and a range would mislead the planner
        names += ["and_key"] * (is_listing or bool(query.prefix or query.part or query.after))
        names += ["and_keys"] * (query.keys is not None)
        names += ["and_first"] * (query.limit is not None) + ["order_entities"]
        rows = self._run(
            names,
            visible,
            ids=self._session.list_values(sorted({*(query.ids or ())})),
            keys=self._session.list_values(sorted(query.keys or ())),
            prefix=query.prefix,
            prefix_end=query.prefix + _BEHIND_ALL,
            part=query.part,
            after=query.after,
            types=self._session.list_values([each.value for each in query.types]),
            has_types=int(bool(query.types)),
            limit=_NO_LIMIT if query.limit is None else max(query.limit, 0),
        )
        return [ENTITY.noun(row) for row in rows]

    def relations(self, visible: Visibility, ids: Collection[str], query: graph.RelationQuery) -> list[graph.Relation]:
        rows = self._run(
            ("relations",),
            visible,
            ids=self._session.list_values(sorted({*ids})),
            types=self._session.list_values(query.types),
            has_types=int(bool(query.types)),
            as_of=micros(query.as_of),
            limit=max(query.limit, 0),
        )
        return [RELATION.noun(row) for row in rows]

    def supports(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Support]:
        key = {"ids": self._session.list_values(sorted({*ids})), "limit": max(limit, 0)}
        return [SUPPORT.noun(row) for row in self._run(("supports",), visible, **key)]

    def mentions(self, visible: Visibility, ids: Collection[str], limit: int) -> list[graph.Mention]:
        key = {"ids": self._session.list_values(sorted({*ids})), "limit": max(limit, 0)}
        return [MENTION.noun(row) for row in self._run(("mentions",), visible, **key)]

    def named_in(self, visible: Visibility, item_ids: Collection[str]) -> list[graph.Mention]:
        key = {"ids": self._session.list_values(sorted({*item_ids}))}
        return [MENTION.noun(row) for row in self._run(("named_in",), visible, **key)]

    def _run(self, names: Sequence[str], visible: Visibility, **more: object) -> Rows:
        return self._session.run("\n".join(self._sql[name] for name in names), self._session.visible(visible, **more))


class _Columns:
    """The rows of some sheets, by table. Entities and relations are unique and ordered by id."""

    def __init__(self, place: Mapping[str, object], sheets: Sequence[graph.Sheet]) -> None:
        entities: dict[str, Mapping[str, object]] = {}
        relations: dict[str, Mapping[str, object]] = {}
        self.mentions: list[Mapping[str, object]] = []
        self.supports: list[Mapping[str, object]] = []
        self.read: list[Mapping[str, object]] = []
        for sheet in sheets:
            row = {**place, "private_agent": sheet.private_agent or "", "created_at": to_microseconds(sheet.at)}
            link = {**place, "item_id": sheet.item_id, "extractor": sheet.extractor}
            ids = [graph.entity_id(sheet.private_agent, named.key, named.type) for named in sheet.names]
            for own, named in zip(ids, sheet.names, strict=True):
                entity = {"id": own, "name": named.name, "name_key": named.key, "type": named.type.value}
                entities.setdefault(own, {**row, **entity})
                span = {"span_start": named.start, "span_end": named.end}
                said = {"entity_id": own, "name": named.name, "description": named.description}
                self.mentions.append({**link, **said, **span})
            dates = {"valid_from": micros(sheet.valid_from), "valid_to": micros(sheet.valid_to)}
            for each in sheet.relations:
                source, target = ids[each.source], ids[each.target]
                own = graph.relation_id(source, target, each.type)
                ends = {"id": own, "source_id": source, "target_id": target, "type": each.type}
                relations.setdefault(own, {**row, **ends})
                span = {"span_start": each.start, "span_end": each.end, "is_dated": int(sheet.is_dated)}
                self.supports.append({**link, "relation_id": own, **span, **dates})
            self.read.append(link)
        self.entities = [entities[own] for own in sorted(entities)]
        self.relations = [relations[own] for own in sorted(relations)]
