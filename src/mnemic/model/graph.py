"""The graph: entities that texts mention, relations between them, and the items that support them. Everything is
derived from items. An entity or relation exists while an item supports it, and takes its names, weight and dates only
from those items.
"""

import hashlib
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemic.model.listing import Listing
from mnemic.model.scope import Partition

MAX_NAME_CHARS = 255  # longer is a sentence; the limit of ids too, so that any id may be a name
MAX_TYPE_CHARS = 50  # a type is one or two words, such as `works_at`
MAX_OTHER_NAMES = 8  # spellings of an entity: bounds an answer


class EntityType(StrEnum):
    """The type of an entity, or `thing` if unknown."""

    PERSON = "person"
    PROJECT = "project"
    TECHNOLOGY = "technology"
    PLACE = "place"
    ORGANISATION = "organisation"
    POLICY = "policy"
    PRODUCT = "product"
    EVENT = "event"
    THING = "thing"


ALSO_KNOWN_AS = "ALSO_KNOWN_AS"
"""The relation between two names of one entity. Searches treat them as one."""

RELATED_TO = "RELATED_TO"
"""The relation used if the type is unknown."""


GRAPH_ITEM = "graph"
"""Corrections are the history of this id, in the partition of the scope's default level."""


class SourceKind(StrEnum):
    """The kind of item a text comes from."""

    MEMORY = "memory"
    MESSAGE = "message"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A stored entity. `key` is its name in comparable form. (partition, private agent, key, type) is unique, and
    `id` is derived from the last three (`entity_id`), so one entity has one id in every partition. `other_names`:
    further spellings, at most `MAX_OTHER_NAMES`. `mentions`: number of items that mention it. With `private_agent`,
    only that agent sees it, because it comes from that agent's private items.
    """

    id: str
    partition: Partition
    name: str
    key: str
    type: EntityType
    created_at: datetime
    description: str = ""
    other_names: tuple[str, ...] = ()
    mentions: int = 1
    private_agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge between two entities of a partition. (source, target, type) is unique.

    `type` is in capitals, such as DEPENDS_ON. `weight`: number of different statements that support it. It is true
    from `valid_from` until before `valid_to` (None: open), like the memories that support it. If only messages and
    passages support it, it is open.
    """

    id: str
    partition: Partition
    source_id: str
    target_id: str
    type: str
    created_at: datetime
    weight: float = 1.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    private_agent: str | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an entity as `name`: characters `start` to `end` of the item's stored text, found by `extractor`."""

    partition: Partition
    item_id: str
    entity_id: str
    name: str
    start: int
    end: int
    extractor: str


@dataclass(frozen=True, slots=True)
class Support:
    """An item's support for a relation: characters `start` to `end` of its stored text, for a period. `is_dated`: the
    item is a memory, so its period may end later.
    """

    partition: Partition
    item_id: str
    relation_id: str
    start: int
    end: int
    extractor: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    is_dated: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a parsed sentence, at `start` to `end` of the text: its universal part of speech, its dependency
    (ClearNLP) on the word with index `head` in the sentence, and the label of the name that it is part of, if any.
    """

    text: str
    start: int
    end: int
    tag: str
    relation: str
    head: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """An entity as one text mentions it."""

    name: str
    key: str
    type: EntityType
    start: int
    end: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A relation as one text states it. `source` and `target` are indices into the names of its sheet."""

    source: int
    target: int
    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Names and relations that `extractor` found in one item. A sheet without names marks the item as processed.

    Within a sheet, (key, type) of names and (source, target, type) of relations are unique.
    """

    item_id: str
    extractor: str
    at: datetime
    names: tuple[Named, ...] = ()
    relations: tuple[Related, ...] = ()
    private_agent: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    is_dated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An item that an extractor has not processed: its text, owner and validity."""

    id: str
    kind: SourceKind
    text: str
    private_agent: str | None = None
    author: str = ""
    role: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityQuery:
    """Conditions on entities: one of these ids or keys (None: any) and `types` (empty: all), and a key that starts with
    `prefix`, contains `part` and sorts after `after`. Returns all entities of the first `limit` keys (None: all).
    """

    ids: Collection[str] | None = None
    keys: Collection[str] | None = None
    prefix: str = ""
    part: str = ""
    types: tuple[EntityType, ...] = ()
    after: str = ""
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationQuery:
    """Conditions on relations: one of `types` (empty: all), valid at `as_of` (None: any time). Returns at most
    `limit` per entity, partition and direction, highest weight first.
    """

    types: tuple[str, ...] = ()
    as_of: datetime | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A person's correction. Entities with these `keys` are one, with this `name` and `type` if set. `is_removed` hides
    them or, if `relation` is set, only their relations of this type to the entities with the keys `target`. `types`:
    the only types it applies to, if other entities have the same name.
    """

    id: str
    keys: frozenset[str]
    types: frozenset[EntityType] = frozenset()
    name: str = ""
    type: EntityType | None = None
    relation: str = ""
    target: frozenset[str] = frozenset()
    is_removed: bool = False

    def covers(self, entity: Entity) -> bool:
        """True if it corrects this stored entity."""
        return entity.key in self.keys and (not self.types or entity.type in self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity as seen by a scope: the entities of its partitions with the same name and type, or an alias. `id`
    identifies it in queries. `mentions`: number of items that mention it.
    """

    id: str
    name: str
    type: EntityType
    other_names: tuple[str, ...] = ()
    description: str = ""
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class Citation:
    """Text that supports a relation or mentions an entity: characters `start` to `end`, or "" if the item is gone."""

    item_id: str
    start: int
    end: int
    text: str
    extractor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation between two nodes, by their ids, with the latest citations. Weight and dates as in `Relation`."""

    source_id: str
    target_id: str
    type: str
    weight: float
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes around a start node, nearest first, and all edges between them. `named_in`: the latest items that
    mention the start node. `is_cut`: there are more nodes.
    """

    start: Node
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    named_in: tuple[Citation, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class GraphOverview:
    """The entities with the most relations, in that order, and the edges between them. `is_cut`: there are more."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A shortest path between two nodes, both included. Edges join consecutive nodes, in either direction. Without a
    path, there are no nodes. `is_cut`: the search was limited, so a shorter path may exist.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class NodePage(Listing[Node]):
    """One page of nodes, ordered by name. `next` is the value to continue after, or None at the end."""

    nodes: tuple[Node, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """The names and relations (source, type, target) in one item. `fallback`: the reason for using rules."""

    item_id: str
    kind: SourceKind
    names: tuple[str, ...]
    relations: tuple[tuple[str, str, str], ...]
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class GraphReport:
    """The result of an extraction, or its plan: number of `items`, `mentions` and `relations`. `entries`: the first
    items with names or relations. `is_finished`: no items are left.
    """

    items: int
    mentions: int
    relations: int
    entries: tuple[GraphEntry, ...]
    is_finished: bool
    is_dry_run: bool


def entity_id(private_agent: str | None, key: str, type_: EntityType) -> str:
    """The id of an entity. The same name and type have the same id in every partition and store."""
    return _named_id("entity", private_agent or "", key, type_.value)


def said_of(entity: Entity) -> str:
    """The text to embed for an entity: its name, and its description if it has one."""
    return f"{entity.name}: {entity.description}" if entity.description else entity.name


def relation_id(source_id: str, target_id: str, type_: str) -> str:
    """The id of a relation between two entities."""
    return _named_id("relation", source_id, target_id, type_)


def _named_id(*parts: str) -> str:
    """A UUID from a digest (version 8, RFC 9562)."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()[:16]
    bits = int.from_bytes(digest, "big") & ~(0xF << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62
    return str(uuid.UUID(int=bits))
