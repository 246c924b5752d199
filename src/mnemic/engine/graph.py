"""Finds entities, neighbours and paths in the graph, and corrects it. Follows a crowded node's heaviest relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from mnemic.engine.engine import Engine, new_entry
from mnemic.engine.graph_extract import Nodes, read_corrections
from mnemic.engine.secrets import clean_reason, redact
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model import graph
from mnemic.model.records import Action
from mnemic.model.scope import Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.graph.names import name_key, printable_name

MOST_RELATIONS = 50  # relations followed per node and direction
MOST_NODES = 2000  # nodes visited from each side of a path
MOST_RANKED = 5000  # names compared by their relations: read in less than a second
CITATIONS = 3  # per relation: enough to believe it, and the answer stays short
MOST_SIMILAR = 10_000  # relations of one type and entity, among which one to remove is looked for
MENTIONS = 10  # per entity: enough to show where it occurs
MOST_CITED_CHARACTERS = 300  # one or two sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Restricts a walk to relations of these types (empty: any) that hold at `as_of`."""

    as_of: datetime
    types: tuple[str, ...] = ()


def nodes(
    engine: Engine,
    scope: Scope,
    *,
    query: str = "",
    types: tuple[graph.EntityType, ...] = (),
    limit: int = 50,
    after: str | None = None,
) -> graph.NodePage:
    """Nodes whose name contains `query`, by name. Aliases are only listed with a query."""
    if query.strip() and not name_key(query):
        return graph.NodePage(())
    part = name_key(query)
    start, _, skipped = (after or "").partition("|")
    end = limit + (int(skipped) if skipped.isdecimal() else 0)
    with engine.store.read() as work:
        found = Nodes(work, scope.visibility, engine.clock.now())
        stored = () if found.has_types else types
        asked = graph.EntityQuery(part=part, types=stored, after=start, limit=end + 1)
        rows = work.graph.entities(scope.visibility, asked)
        keys = [*dict.fromkeys(row.key for row in rows)]
        shown = keys[:end]
        roots = found.of_ids([row.id for row in rows if row.key in shown])
        listed = [(row.key, roots[row.id]) for row in rows if row.id in roots]
        listed = [(key, root) for key, root in listed if query or found.first_key(root) == key]
        renamed = found.of_keys(found.corrected_keys(part)) if query and not start else []
        told: dict[graph.Node, str] = {}
        for key, root in (*((start, root) for root in renamed), *listed):
            told.setdefault(found.node(root), key)
    kept = {node: key for node, key in told.items() if not types or node.type in types}
    page = tuple(kept)[end - limit : end]
    if len(kept) > end:
        return graph.NodePage(page, _cursor([*kept.values()], end, start))
    return graph.NodePage(page, shown[-1] if len(keys) > end else None)


def _cursor(keys: Sequence[str], end: int, start: str) -> str:
    """Where the next page starts: after the last key whose nodes are all among the first `end`, and the number of nodes
    to skip after a "|".
    """
    last = next((key for key in reversed(keys[:end]) if key != keys[end]), start)
    count = end if last == start else keys[:end].count(keys[end])
    return f"{last}|{count}" if count else last


def overview(engine: Engine, visible: Visibility, walk: Walk, *, limit: int = 50) -> graph.GraphOverview:
    """The `limit` entities with most relations, and the relations between them."""
    with engine.store.read() as work:
        around = Walking(work, visible, walk)
        rows = work.graph.entities(visible, graph.EntityQuery(limit=MOST_RANKED))
        roots = around.nodes.of_keys({row.key for row in rows})
        edges = around.edges(roots)
        ties = Counter(end for edge in edges for end in (edge.source_id, edge.target_id))
        shown = dict.fromkeys(sorted(roots, key=lambda root: -ties[root])[:limit])
        kept = [edge for edge in edges if edge.source_id in shown and edge.target_id in shown]
        found = tuple(around.nodes.node(root) for root in shown)
        return graph.GraphOverview(found, tuple(around.cited(kept)), len(roots) > limit or len(rows) >= MOST_RANKED)


def neighbours(
    engine: Engine, scope: Scope, name: str, walk: Walk, *, depth: int = 1, limit: int = 50
) -> graph.Neighbourhood:
    """The surroundings of an entity, given by name or node id: at most `limit` nodes up to `depth` relations away,
    nearest first. Raises `NotFoundError` if no item names it.
    """
    with engine.store.read() as work:
        around = Walking(work, scope.visibility, walk)
        start = around.starts(name)[0]
        seen, frontier, edges = {start: None}, [start], dict[tuple[str, str, str], graph.Edge]()
        is_cut = False
        for _ in range(depth):
            reached: dict[str, None] = {}
            for edge in around.edges(frontier):
                for end in (edge.source_id, edge.target_id):
                    if end not in seen and len(seen) > limit:
                        is_cut = True
                    elif end not in seen:
                        seen[end] = reached[end] = None
                if edge.source_id in seen and edge.target_id in seen:
                    edges.setdefault((edge.source_id, edge.target_id, edge.type), edge)
            frontier = [*reached]
        found = [around.nodes.node(root) for root in seen]
        told = around.cited(edges.values())
        named_in = tuple(around.named_in(start))
        return graph.Neighbourhood(found[0], tuple(found[1:]), tuple(told), named_in, is_cut or around.is_cut)


def path(engine: Engine, scope: Scope, source: str, target: str, walk: Walk, *, max_hops: int = 4) -> graph.GraphPath:
    """A shortest path of at most `max_hops` relations in any direction, preferring heavier relations. Raises
    `NotFoundError` if no item names one of the two.
    """
    with engine.store.read() as work:
        around = Walking(work, scope.visibility, walk)
        way = shortest(around, around.starts(source), around.starts(target), max_hops)
        if way is None:
            return graph.GraphPath(is_cut=around.is_cut)
        found = around.way(*way)
        return replace(found, edges=tuple(around.cited(found.edges)))


def shortest(
    around: Walking, sources: Sequence[str], targets: Sequence[str], max_hops: int
) -> tuple[str, list[graph.Edge]] | None:
    """The start and the edges of a shortest path between two sets of nodes, or None."""
    sides = (Side.begun(sources), Side.begun(targets))
    met = next((root for root in sides[0].back if root in sides[1].back), None)
    hops = 0
    while met is None and hops < max_hops and all(side.frontier for side in sides):
        side, other = sorted(sides, key=lambda side: len(side.frontier))
        met = side.advance(around, other)
        hops += 1
    if met is None:
        return None
    return sides[0].origin(met), [*reversed(sides[0].steps(met)), *sides[1].steps(met)]


@dataclass(slots=True)
class Side:
    """One end of a bidirectional search: the edge to each reached node, and the newest nodes."""

    back: dict[str, tuple[str, graph.Edge] | None]
    frontier: Sequence[str] = field(default_factory=list[str])

    @classmethod
    def begun(cls, roots: Sequence[str]) -> Side:
        """A search that starts at these nodes."""
        return cls(dict.fromkeys(roots), roots)

    def advance(self, around: Walking, other: Side) -> str | None:
        """Advance by one relation. Returns a node that the other side has reached, or None."""
        reached: dict[str, None] = {}
        known, met = {*self.back}, None
        for edge in around.edges(self.frontier):
            for end, origin in ((edge.target_id, edge.source_id), (edge.source_id, edge.target_id)):
                if origin in known and end not in self.back and len(self.back) < MOST_NODES:
                    self.back[end], reached[end] = (origin, edge), None
                    met = end if met is None and end in other.back else met
        around.is_cut = around.is_cut or len(self.back) >= MOST_NODES
        self.frontier = [*reached]
        return met

    def steps(self, root: str) -> list[graph.Edge]:
        """The edges from a node back to the start of the search."""
        found: list[graph.Edge] = []
        while (step := self.back[root]) is not None:
            root, edge = step
            found.append(edge)
        return found

    def origin(self, root: str) -> str:
        """The start from which a node was reached."""
        while (step := self.back[root]) is not None:
            root = step[0]
        return root


class Walking:
    """Nodes and edges that one scope sees in a unit of work. `check` is called before edges are read, and may raise."""

    def __init__(
        self, work: UnitOfWork, visible: Visibility, walk: Walk, check: Callable[[], None] = lambda: None
    ) -> None:
        self._work, self._visible, self._walk = work, visible, walk
        self.check = check
        self.relations: dict[tuple[str, str, str], list[str]] = {}
        self.nodes = Nodes(work, visible, walk.as_of)
        self.is_cut = False

    def starts(self, name: str) -> list[str]:
        """The nodes of a name or id. Raises `NotFoundError`."""
        known = self.nodes.of_ids([name.strip()])
        roots = [*known.values()] or self.nodes.of_keys([name_key(name)] if name_key(name) else [])
        if not roots:
            raise NotFoundError(f"this scope has no entity {name_key(name)!r}; `graph extract` updates the graph")
        return roots

    def only(self, name: str) -> str:
        """The node of a name or id. Raises `NotFoundError`, or `ConflictError` if several have the name."""
        roots = self.starts(name)
        if len(roots) > 1:
            found = ", ".join(f"{self.nodes.node(root).type.value} (id {root})" for root in roots)
            raise ConflictError(f"several entities are called {name!r}: {found}; pass one of these ids")
        return roots[0]

    def states(self, source: str, target: str, type_: str) -> bool:
        """True if a visible relation of this type leads from one node to another, at any time."""
        query = graph.RelationQuery(types=(type_,), limit=MOST_SIMILAR)
        found = self._work.graph.relations(self._visible, self.nodes.members(source), query)
        places = self.nodes.of_ids([*{end: None for each in found for end in (each.source_id, each.target_id)}])
        ends = [(places.get(each.source_id), places.get(each.target_id)) for each in found]
        return (source, target) in ends and not self.nodes.is_cut(source, target, type_)

    def edges(self, roots: Sequence[str]) -> list[graph.Edge]:
        """The edges at these nodes, heaviest first, without self-loops."""
        self.check()
        ids = [each for root in roots for each in self.nodes.members(root)]
        query = graph.RelationQuery(types=self._walk.types, as_of=self._walk.as_of, limit=MOST_RELATIONS)
        found = [
            each for each in self._work.graph.relations(self._visible, ids, query) if each.type != graph.ALSO_KNOWN_AS
        ]
        self.is_cut = self.is_cut or _is_full(found, ids)
        places = self.nodes.of_ids([*{end: None for each in found for end in (each.source_id, each.target_id)}])
        edges: dict[tuple[str, str, str], graph.Edge] = {}
        for each in found:
            if each.source_id in places and each.target_id in places and not self._is_cut(each, places):
                edge = _edge(each, places)
                key = (edge.source_id, edge.target_id, edge.type)
                edges[key] = _join_edges(edges[key], edge) if key in edges else edge
                ids = self.relations.setdefault(key, [])
                ids += [each.id] if each.id not in ids else []
        kept = [edge for edge in edges.values() if edge.source_id != edge.target_id]
        return sorted(kept, key=lambda edge: (-edge.weight, edge.source_id, edge.target_id, edge.type))

    def _is_cut(self, relation: graph.Relation, places: Mapping[str, str]) -> bool:
        return self.nodes.is_cut(places[relation.source_id], places[relation.target_id], relation.type)

    def cited(self, edges: Iterable[graph.Edge]) -> list[graph.Edge]:
        """The edges with their evidence, newest first."""
        return cited(self._work, self._visible, [*edges], self.relations)

    def way(self, first: str, steps: Sequence[graph.Edge]) -> graph.GraphPath:
        """The path from the node `first`, without evidence."""
        roots = [first]
        for edge in steps:
            roots.append(edge.target_id if edge.source_id == roots[-1] else edge.source_id)
        found = [self.nodes.node(root) for root in roots]
        return graph.GraphPath(tuple(found), tuple(steps), self.is_cut)

    def said_by(self, edges: Iterable[graph.Edge], limit: int) -> dict[str, graph.Edge]:
        """The latest items that state these edges, `limit` per relation, each with the first edge that it states."""
        by_relation = {
            each: edge
            for edge in reversed([*edges])
            for each in self.relations[edge.source_id, edge.target_id, edge.type]
        }
        links = self._work.graph.supports(self._visible, by_relation, limit) if by_relation else []
        return {link.item_id: by_relation[link.relation_id] for link in links}

    def naming(self, roots: Sequence[str], limit: int) -> dict[str, list[str]]:
        """The latest items that name each of these nodes, at most `limit` per entity of a node."""
        places = {each: root for root in roots for each in self.nodes.members(root)}
        found: dict[str, list[str]] = {}
        for link in self._work.graph.mentions(self._visible, places, limit) if places else ():
            found.setdefault(places[link.entity_id], []).append(link.item_id)
        return found

    def named_in(self, root: str) -> list[graph.Citation]:
        """The latest items that name a node, each once."""
        links = self._work.graph.mentions(self._visible, self.nodes.members(root), MENTIONS)
        last = {link.item_id: link for link in sorted(links, key=lambda link: link.item_id, reverse=True)}
        cited = (
            graph.Citation(each.item_id, each.start, each.end, each.name, each.extractor) for each in last.values()
        )
        return [*islice(cited, MENTIONS)]


def cited(
    work: UnitOfWork,
    visible: Visibility,
    edges: Sequence[graph.Edge],
    relations: Mapping[tuple[str, str, str], Sequence[str]],
) -> list[graph.Edge]:
    """Edges with their evidence, newest first. `relations`: each edge's relations by its ends and type."""
    ids = {each for edge in edges for each in relations[edge.source_id, edge.target_id, edge.type]}
    links = work.graph.supports(visible, ids, CITATIONS) if ids else []
    texts = texts_of(work, visible, [*dict.fromkeys(link.item_id for link in links)])
    by_relation: dict[str, list[graph.Citation]] = {}
    for link in sorted(links, key=lambda link: link.item_id, reverse=True):
        said = texts.get(link.item_id, "")[link.start : link.end][:MOST_CITED_CHARACTERS]
        citation = graph.Citation(link.item_id, link.start, link.end, said, link.extractor)
        by_relation.setdefault(link.relation_id, []).append(citation)
    of = [relations[edge.source_id, edge.target_id, edge.type] for edge in edges]
    told = [tuple(c for each in own for c in by_relation.get(each, ()))[:CITATIONS] for own in of]
    return [replace(edge, citations=citations) for edge, citations in zip(edges, told, strict=True)]


def texts_of(work: UnitOfWork, visible: Visibility, ids: Sequence[str]) -> dict[str, str]:
    """The stored texts of visible items."""
    if not ids:
        return {}
    items = (*work.memories.get(visible, ids), *work.messages.get(visible, ids), *work.documents.chunks(visible, ids))
    return {item.id: item.text for item in items}


def _is_full(relations: Sequence[graph.Relation], ids: Sequence[str]) -> bool:
    """True if an entity may have more relations than these."""
    counts: dict[str, int] = {}
    for each in relations:
        for end in (each.source_id, each.target_id):
            counts[end] = counts.get(end, 0) + 1
    return any(counts.get(each, 0) >= MOST_RELATIONS for each in ids)


def _edge(relation: graph.Relation, places: Mapping[str, str]) -> graph.Edge:
    return graph.Edge(
        source_id=places[relation.source_id],
        target_id=places[relation.target_id],
        type=relation.type,
        weight=relation.weight,
        valid_from=relation.valid_from,
        valid_to=relation.valid_to,
    )


def _join_edges(one: graph.Edge, other: graph.Edge) -> graph.Edge:
    """One edge for what several partitions or names state about two nodes."""
    starts, ends = (one.valid_from, other.valid_from), (one.valid_to, other.valid_to)
    return replace(
        one,
        weight=one.weight + other.weight,
        valid_from=None if None in starts else min(start for start in starts if start is not None),
        valid_to=None if None in ends else max(end for end in ends if end is not None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A correction as asked for. With `relation` and `target`, it removes that relation."""

    rename: str = ""
    type: graph.EntityType | None = None
    merge_into: str = ""
    relation: str = ""
    target: str = ""
    is_removed: bool = False

    def check(self) -> None:
        """Raises `InvalidInputError` if the parts do not belong together."""
        changes = (self.rename, self.type, self.merge_into)
        if not self.is_removed and not any(changes):
            raise InvalidInputError("pass a new name, a type, an entity to merge into, or is_removed=True")
        if self.is_removed and any(changes):
            raise InvalidInputError("is_removed=True cannot be combined with a new name, a type or a merge")
        if bool(self.relation) != bool(self.target) or (self.target and not self.is_removed):
            raise InvalidInputError("to remove a relation, pass relation, target and is_removed=True")


def correct(engine: Engine, scope: Scope, name: str, change: Change, *, actor: str, reason: str = "") -> graph.Node:
    """Correct an entity, or remove one of its relations. Returns the entity as it is now, or as it was if removed. What
    only an agent's private items mention is not found, since the correction would show its name to others.
    """
    change.check()
    new_name = printable_name(redact(engine, change.rename).text)
    with engine.store.write() as work:
        around = Walking(work, _shared(scope), Walk(as_of=engine.clock.now()))
        known, root = around.nodes, around.only(name)
        old, action, after = known.node(root), Action.UPDATED, dict[str, object]()
        joined = [root]
        if change.merge_into:
            action, joined = Action.MERGED, [root, around.only(change.merge_into)]
            after["name"] = _check_mergeable(known, joined, change)
        if change.rename:
            _check_free(known, new_name, joined)
            after["name"] = new_name
        if change.type:
            after["type"] = change.type.value
        before = {"name": old.name, "type": old.type.value}
        if not change.merge_into and after.items() <= before.items() and not change.is_removed:
            return old
        before = {name: before[name] for name in after}
        if change.is_removed:
            action, before, after["is_removed"] = Action.DELETED, {"name": old.name}, True
        if change.target:
            before, removed = _find_relation(around, root, change)
            after |= removed
        keys = {key for each in joined for key in known.keys(each)} | {name_key(str(after.get("name", old.name)))}
        others = {*known.of_keys(keys)} - {*known.of_ids(joined).values()}
        if others and not change.target:  # they have the same name
            after["types"] = sorted({row.value for each in joined for row in known.types(each)})
        _note(engine, work, scope, (action, actor, reason), before, {"keys": sorted(keys), **after})
        known = Nodes(work, scope.visibility, engine.clock.now())
        return old if change.is_removed else known.node(known.of_ids([root])[root])


def undo_correction(engine: Engine, scope: Scope, name: str, *, actor: str) -> list[graph.Node]:
    """Undo the last correction of an entity, given by any name that the correction knows. Returns the entities that it
    concerned as they are now. Raises `ConflictError` if none is left.
    """
    with engine.store.write() as work:
        known = Nodes(work, _shared(scope), engine.clock.now())
        roots = known.of_ids([name.strip()]).values()
        keys = {name_key(name)}.union(*(known.keys(root) for root in roots))
        own = Visibility((scope.partition(scope.default_level),), None)
        found = [each for each in read_corrections(work, own) if not keys.isdisjoint(each.keys | each.target)]
        if not found:
            raise ConflictError(f"the entity {name!r} has no more corrections to undo")
        last = found[-1]
        _note(engine, work, scope, (Action.RESTORED, actor, "undo of a correction"), {}, {"undone": last.id})
        known = Nodes(work, scope.visibility, engine.clock.now())
        return [known.node(root) for root in known.of_keys(last.keys)]


def _shared(scope: Scope) -> Visibility:
    """What every agent sees."""
    return Visibility(scope.visibility.partitions, None)


def _check_mergeable(known: Nodes, joined: Sequence[str], change: Change) -> str:
    """The name of two nodes: the second's. Raises `ConflictError` if they are one, or of two types."""
    one, into = [known.node(root) for root in joined]
    if one == into:
        raise ConflictError(f"{change.merge_into!r} and {one.name!r} are already the same entity")
    types = {one.type, into.type} - {graph.EntityType.THING}
    if len(types) > 1 and not change.type:
        told = " and ".join(f"{each.name!r} ({each.type.value})" for each in (one, into))
        raise ConflictError(f"{told} have different types; pass the type of the merged entity")
    return into.name


def _check_free(known: Nodes, name: str, joined: Sequence[str]) -> None:
    """Raises `InvalidInputError` if a new name has no letters or digits, and `ConflictError` if it is in use."""
    key = name_key(name)
    if not key:
        raise InvalidInputError("a name must contain a letter or a digit")
    if {*known.of_keys([key])} - {*known.of_ids(joined).values()}:
        raise ConflictError(f"an entity {name!r} already exists; merge into it instead")
    if known.was_removed(key):
        raise ConflictError(f"the entity {name!r} was removed; undo the removal, or choose another name")


def _find_relation(around: Walking, root: str, change: Change) -> tuple[dict[str, str], dict[str, object]]:
    """The relation to remove, for people and as a correction. Raises `NotFoundError`."""
    other, type_ = around.only(change.target), change.relation.strip().upper()
    source, target = (around.nodes.node(each).name for each in (root, other))
    if not around.states(root, other, type_):
        raise NotFoundError(f"there is no relation {type_} from {source!r} to {target!r}")
    keys = sorted(around.nodes.keys(other))
    return {"name": f"{source} {type_} {target}"}, {"relation": type_, "target": keys}


def _note(
    engine: Engine,
    work: UnitOfWork,
    scope: Scope,
    what: tuple[Action, str, str],
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> None:
    """Add an entry to the graph's history."""
    action, actor, reason = what
    place = (scope.partition(scope.default_level), graph.GRAPH_ITEM)
    reason = clean_reason(engine, reason)
    work.history.add([new_entry(engine.clock.now(), place, action, actor, reason, (before, after))])
