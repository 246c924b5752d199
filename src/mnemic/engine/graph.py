"""Finds entities, neighbours and paths in the graph. Follows only the heaviest relations of crowded nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from mnemic.engine.engine import Engine
from mnemic.engine.graph_extract import Nodes
from mnemic.errors import NotFoundError
from mnemic.model import graph
from mnemic.model.scope import Scope, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text.graph.names import name_key

MOST_RELATIONS = 50  # relations followed per node and direction
MOST_NODES = 2000  # nodes visited from each side of a path
MOST_RANKED = 5000  # names compared by their relations: read in less than a second
CITATIONS = 3  # per relation: enough to believe it, and the answer stays short
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
    asked = graph.EntityQuery(part=name_key(query), types=types, after=after or "", limit=limit + 1)
    with engine.store.read() as work:
        rows = work.graph.entities(scope.visibility, asked)
        keys = [*dict.fromkeys(row.key for row in rows)]
        shown, found = keys[:limit], Nodes(work, scope.visibility, engine.clock.now())
        roots = found.of_ids([row.id for row in rows if row.key in shown])
        told = [(row, found.node(roots[row.id])) for row in rows if row.id in roots]
        told = [(row, node) for row, node in told if not types or node.type in types]
        kept = [node for row, node in told if query or name_key(node.name) == row.key]
    return graph.NodePage(tuple(dict.fromkeys(kept)), shown[-1] if len(keys) > limit else None)


def overview(engine: Engine, scope: Scope, walk: Walk, *, limit: int = 50) -> graph.GraphOverview:
    """The `limit` entities with most relations, and the relations between them."""
    with engine.store.read() as work:
        around = Walking(work, scope.visibility, walk)
        rows = work.graph.entities(scope.visibility, graph.EntityQuery(limit=MOST_RANKED))
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
            if each.source_id in places and each.target_id in places:
                edge = _edge(each, places)
                key = (edge.source_id, edge.target_id, edge.type)
                edges[key] = _join_edges(edges[key], edge) if key in edges else edge
                ids = self.relations.setdefault(key, [])
                ids += [each.id] if each.id not in ids else []
        kept = [edge for edge in edges.values() if edge.source_id != edge.target_id]
        return sorted(kept, key=lambda edge: (-edge.weight, edge.source_id, edge.target_id, edge.type))

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
