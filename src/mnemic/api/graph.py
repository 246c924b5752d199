"""The verbs of the graph: what is named, what stands around it, how two things are related, and reading it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mnemic.engine.engine import Parts
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.graph import Walk, neighbours, nodes, path
from mnemic.engine.graph_extract import extract_graph
from mnemic.engine.inputs import check_choice
from mnemic.errors import InvalidInputError
from mnemic.model.graph import (
    MAX_NAME_CHARS,
    MAX_TYPE_CHARS,
    EntityType,
    GraphPath,
    GraphReport,
    Neighbourhood,
    NodePage,
)
from mnemic.model.scope import Level, Scope
from mnemic.model.values import as_utc

LISTED = 50
MOST_LISTED = 1000
MOST_DEPTH = 4
MOST_HOPS = 8


class GraphVerbs:
    """Entities and relations that memories, messages and documents name; a thing is asked for by name or by the id of
    its node. What only others may see is not found.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def entities(
        self,
        scope: Scope,
        query: str = "",
        *,
        types: Iterable[EntityType | str] = (),
        limit: int = LISTED,
        after: str | None = None,
    ) -> NodePage:
        """What is named, by name: things whose name holds `query`, of any of `types`; `after` continues a page."""
        wanted = tuple(check_choice(EntityType, each, "types") for each in types)
        _check_number(limit, "limit", MOST_LISTED)
        told = "" if after is None else _text(after, "after")
        return nodes(self._parts, scope, query=_text(query, "query"), types=wanted, limit=limit, after=told or None)

    def neighbours(
        self,
        scope: Scope,
        name: str,
        *,
        depth: int = 1,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
        limit: int = LISTED,
    ) -> Neighbourhood:
        """What stands around a thing, up to `depth` (at most 4) relations of these types away, nearest first.

        Relations that hold at `as_of` (now unless told) are followed, whichever way they point. Raises NotFoundError
        when nothing in the scope names it.
        """
        _check_number(depth, "depth", MOST_DEPTH)
        _check_number(limit, "limit", MOST_LISTED)
        walk = self._walk(types, as_of)
        return neighbours(self._parts, scope, _named(name, "name"), walk, depth=depth, limit=limit)

    def path(
        self,
        scope: Scope,
        source: str,
        target: str,
        *,
        max_hops: int = 4,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
    ) -> GraphPath:
        """How two things are related: a shortest way over at most `max_hops` (at most 8) relations, each with the words
        that say so; no nodes where there is none. Raises NotFoundError when nothing in the scope names one of them.
        """
        _check_number(max_hops, "max_hops", MOST_HOPS)
        ends = (_named(source, "source"), _named(target, "target"))
        return path(self._parts, scope, *ends, self._walk(types, as_of), max_hops=max_hops)

    def extract(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = OWN_LEVELS,
        limit: int | None = None,
        is_dry_run: bool = False,
    ) -> GraphReport:
        """Read what memories, messages and documents name and relate, of the levels that the scope names; of what the
        whole org shares only when "org" is among `levels`. At most `limit` items; what was read is not read again.

        The worker does it by night where `memory.graph.enabled` is on. A dry run writes nothing, and asks the language
        model too. Raises BackendError when the model fails; what was read before stays.
        """
        if limit is not None:
            _check_number(limit, "limit", None)
        chosen = tuple(check_choice(Level, level, "levels") for level in levels)
        if not chosen:
            raise InvalidInputError("levels must name at least one level")
        return extract_graph(self._parts, scope, chosen, limit=limit, is_dry_run=is_dry_run)

    def _walk(self, types: Iterable[str], as_of: datetime | str | None) -> Walk:
        if isinstance(types, str):
            raise InvalidInputError("types must be a list of types, such as ['DEPENDS_ON']")
        at = self._parts.clock.now() if as_of is None else as_utc(as_of, "as_of")
        return Walk(as_of=at, types=tuple(_named(each, "types", MAX_TYPE_CHARS).upper() for each in types))


def _check_number(value: object, name: str, most: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        told = "from 1" if most is None else f"from 1 to {most}"
        raise InvalidInputError(f"{name} must be a whole number {told}, not {value!r}")


def _named(value: object, name: str, most: int = MAX_NAME_CHARS) -> str:
    text = _text(value, name, most).strip()
    if not text:
        raise InvalidInputError(f"{name} must not be empty")
    return text


def _text(value: object, name: str, most: int = MAX_NAME_CHARS) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise InvalidInputError(f"{name} must be a text of at most {most} characters")
    return value.encode(errors="replace").decode().replace("\x00", " ")


class GraphPart:
    """A part of `Mnemic`."""

    _parts: Parts

    @property
    def graph(self) -> GraphVerbs:
        """The verbs of the graph: entities, neighbours, path, extract."""
        return GraphVerbs(self._parts)
