"""The graph: entities that texts name, relations between them, and which item says so.

Everything is derived from items. An entity or a relation is there as long as an item supports it, and takes its names,
weight and dates from those items alone.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemic.model.scope import Partition

MAX_NAME_CHARS = 255  # longer is a sentence; the limit of ids too, so that any id may be a name
MAX_TYPE_CHARS = 50  # a type is one or two words, such as `works_at`
MAX_OTHER_NAMES = 8  # spellings of an entity: bounds an answer


class EntityType(StrEnum):
    """What sort of thing an entity is; `thing` where nobody said."""

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
"""The relation between two names of one thing: a walk takes both as one."""

RELATED_TO = "RELATED_TO"
"""The relation of a type that nobody knows."""


class SourceKind(StrEnum):
    """What sort of item a text is."""

    MEMORY = "memory"
    MESSAGE = "message"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A node. `key` is the name in the form in which names are compared; (partition, private agent, key, type) is
    unique, and `id` is made of the last three (`entity_id`): what is one thing has one id in every partition.
    `other_names`: further spellings, at most `MAX_OTHER_NAMES`. `mentions`: how many items name it. With
    `private_agent` only that agent sees it: it comes of what is private to that agent.
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
    """An edge from one entity to another of the same partition; (source, target, type) is unique.

    `type` is in capitals, such as DEPENDS_ON. `weight`: how many items say so. It held from `valid_from` until before
    `valid_to` (None: open), as the memories that say so do; where only messages and passages say so it is open.
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
    """That an item names an entity, as `name`: characters `start` to `end` (half-open) of the item's stored text.
    `extractor` read it.
    """

    partition: Partition
    item_id: str
    entity_id: str
    name: str
    start: int
    end: int
    extractor: str


@dataclass(frozen=True, slots=True)
class Support:
    """That an item says a relation, in characters `start` to `end` of its stored text, for a time. `is_dated`: it is a
    memory, whose end is known when it comes.
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
class Named:
    """An entity as one text names it."""

    name: str
    key: str
    type: EntityType
    start: int
    end: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A relation as one text says it: `source` and `target` are places in the names of its sheet."""

    source: int
    target: int
    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What one item says, as `extractor` read it; a sheet without names says that it was read.

    No two names of a sheet have the same key and type, and no two relations the same source, target and type.
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
    """An item that an extractor has not read: its text, whose it is, and how long it is true."""

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
    """Which entities: with one of these ids or keys (None: any), whose key begins with `prefix`, holds `part` and sorts
    behind `after`, of any of `types` (empty: all). All entities of the first `limit` keys (None: of all).
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
    """Which relations of some entities: of any of `types` (empty: all), that hold at `as_of` (None: whenever); of each
    entity, in each partition, at most `limit` in each direction, those of most weight first.
    """

    types: tuple[str, ...] = ()
    as_of: datetime | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One thing as a scope sees it: the entities of its partitions that have one name and type, and of other names of
    it. `id` names it in questions. `mentions`: how many items name it.
    """

    id: str
    name: str
    type: EntityType
    other_names: tuple[str, ...] = ()
    description: str = ""
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class Citation:
    """Words that say a relation or name a thing: characters `start` to `end` of the stored text of an item; "" when it
    is gone by now.
    """

    item_id: str
    start: int
    end: int
    text: str
    extractor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What is said of two nodes, by the ids of these, with the last citations; weight and dates as in `Relation`."""

    source_id: str
    target_id: str
    type: str
    weight: float
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes around one, nearest first, and the edges between them all. `named_in`: the last items that name it.
    `is_cut`: there is more than is shown.
    """

    start: Node
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    named_in: tuple[Citation, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A shortest way between two nodes, both included: each edge joins two nodes that follow each other, in either
    direction. Without nodes there is no way. `is_cut`: not everything was looked at, so that there may be a shorter
    one.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class NodePage:
    """Some nodes by name; `next` is what to continue after, None at the end."""

    nodes: tuple[Node, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """What one item says: names, and relations as (source, type, target). `fallback`: the failure of the model for
    which the rules read it.
    """

    item_id: str
    kind: SourceKind
    names: tuple[str, ...]
    relations: tuple[tuple[str, str, str], ...]
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What was, or would be, read: `items` were, naming entities `mentions` times and saying relations `relations`
    times. `entries`: the first of those that said something. `is_finished`: nothing is left to read.
    """

    items: int
    mentions: int
    relations: int
    entries: tuple[GraphEntry, ...]
    is_finished: bool
    is_dry_run: bool


def entity_id(private_agent: str | None, key: str, type_: EntityType) -> str:
    """The id of an entity: the same name of the same type has the same one, in every partition and every store."""
    return _named_id("entity", private_agent or "", key, type_.value)


def said_of(entity: Entity) -> str:
    """What stands for an entity where its meaning is compared: its name, and its description where it has one."""
    return f"{entity.name}: {entity.description}" if entity.description else entity.name


def relation_id(source_id: str, target_id: str, type_: str) -> str:
    """The id of a relation between two entities."""
    return _named_id("relation", source_id, target_id, type_)


def _named_id(*parts: str) -> str:
    """A UUID made of a digest (version 8, RFC 9562)."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()[:16]
    bits = int.from_bytes(digest, "big") & ~(0xF << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62
    return str(uuid.UUID(int=bits))
