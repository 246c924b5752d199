"""Exports memories and the graph in the MCP memory server's format, which many programs can read."""

import json
from collections.abc import Iterator

from mnemic.engine.engine import PAGE_ROWS, Engine
from mnemic.engine.export import EXPORT_FORMATS, FORMAT, export, read_pages
from mnemic.engine.graph import MOST_RANKED, Walk, overview
from mnemic.engine.graph_extract import SPEAKER
from mnemic.errors import InvalidInputError
from mnemic.model.item import Memory
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import UnitOfWork


def export_as(format: str, engine: Engine, scope: Scope, levels: tuple[Level, ...]) -> Iterator[str]:
    """Yield the lines of one of `EXPORT_FORMATS`. Raises `InvalidInputError` for another format."""
    if format not in EXPORT_FORMATS:
        raise InvalidInputError(f"unknown format {format!r}; use one of {', '.join(EXPORT_FORMATS)}")
    return (export if format == FORMAT else export_graph)(engine, scope, levels)


def export_graph(engine: Engine, scope: Scope, levels: tuple[Level, ...]) -> Iterator[str]:
    """Yields entities with observations as JSON lines, then the relations between them. The owners are entities whose
    observations are their active memories, each preceded by its context. The format cannot hold messages, history,
    dates and documents. From the graph, it contains the 5,000 entities with the most relations.
    """
    engine.store.check()
    visible, now = scope.visibility.at(*levels), engine.clock.now()
    names = {Level.USER: scope.user, Level.AGENT: scope.agent, Level.SESSION: scope.session, Level.ORG: scope.org}

    def read(work: UnitOfWork, last: Memory | None) -> list[Memory]:
        query = MemoryQuery(now=now, as_of=now, order=Order.OLDEST, limit=PAGE_ROWS, after=last and last.id)
        return [*work.memories.list(visible, query)]

    entities = dict[str, tuple[str, list[str]]]()
    for memory in read_pages(engine, read):
        level = memory.partition.level
        _, observations = entities.setdefault(str(names[level]), (level.value, []))
        is_told = memory.context in memory.text  # also for a memory without a context
        observations.append(memory.text if is_told else f"{memory.context}: {memory.text}")
    found = overview(engine, visible, Walk(as_of=now), limit=MOST_RANKED)
    shown = {node.id: scope.user if node.name == SPEAKER and scope.user else node.name for node in found.nodes}
    related = {end for edge in found.edges for end in (edge.source_id, edge.target_id)}
    for node in found.nodes:
        if node.id in related:
            entities.setdefault(shown[node.id], (node.type.value, []))
    for name, (type_, observations) in entities.items():
        yield _line({"type": "entity", "name": name, "entityType": type_, "observations": observations})
    relations = {(shown[edge.source_id], shown[edge.target_id], edge.type.lower()): None for edge in found.edges}
    for source, target, type_ in relations:
        yield _line({"type": "relation", "from": source, "to": target, "relationType": type_})


def _line(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
