"""What the stores share of the graph: what a sheet must be, and rows as nouns."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.adapters.stores.rows import Row, loads, moment, partition_of
from mnemic.errors import InvalidInputError
from mnemic.model.graph import Entity, EntityType, Mention, Relation, Sheet, SourceKind, Support, Unread
from mnemic.model.item import Memory, State
from mnemic.model.values import from_microseconds


def is_readable(memory: Memory) -> bool:
    """True for a memory that the graph reads; keep the statements `unread` and `readable` equal to it.

    What expires leaves no lasting trace, and what waits for review says nothing yet. A superseded one says how it was
    until its end; without an end another memory says the same for it.
    """
    is_past = memory.state is State.SUPERSEDED and memory.valid_to is not None
    return (memory.state is State.ACTIVE or is_past) and memory.expires_at is None


def check_sheets(sheets: Sequence[Sheet]) -> None:
    """Raises `InvalidInputError` for sheets that say something twice, or name a relation's end that they lack."""
    if len({sheet.item_id for sheet in sheets}) < len(sheets):
        raise InvalidInputError("two sheets are about one item")
    for sheet in sheets:
        if len({(named.key, named.type) for named in sheet.names}) < len(sheet.names):
            raise InvalidInputError(f"the sheet of {sheet.item_id} names an entity twice")
        if len({(each.source, each.target, each.type) for each in sheet.relations}) < len(sheet.relations):
            raise InvalidInputError(f"the sheet of {sheet.item_id} says a relation twice")
        ends = {end for each in sheet.relations for end in (each.source, each.target)}
        if not ends <= set(range(len(sheet.names))):
            raise InvalidInputError(f"the sheet of {sheet.item_id} relates what it does not name")


def to_entity(row: Row) -> Entity:
    """The entity of a row selected by `graph.sql`."""
    org, level, owner, entity_id, name, key, type_, created_at, description, others, mentions, private_agent = row
    return Entity(
        id=entity_id,
        partition=partition_of(org, level, owner),
        name=name,
        key=key,
        type=EntityType(type_),
        created_at=from_microseconds(created_at),
        description=description,
        other_names=tuple(loads(others)),
        mentions=mentions,
        private_agent=private_agent or None,
    )


def to_relation(row: Row) -> Relation:
    """The relation of a row."""
    org, level, owner, relation_id, source, target, type_, created_at, weight, valid_from, valid_to, private_agent = row
    return Relation(
        id=relation_id,
        partition=partition_of(org, level, owner),
        source_id=source,
        target_id=target,
        type=type_,
        created_at=from_microseconds(created_at),
        weight=weight,
        valid_from=moment(valid_from),
        valid_to=moment(valid_to),
        private_agent=private_agent or None,
    )


def to_mention(row: Row) -> Mention:
    """The mention of a row."""
    org, level, owner, item_id, entity_id, name, start, end, extractor = row
    return Mention(partition_of(org, level, owner), item_id, entity_id, name, start, end, extractor)


def to_support(row: Row) -> Support:
    """The support of a row."""
    org, level, owner, item_id, relation_id, start, end, extractor, valid_from, valid_to, is_dated = row
    place = partition_of(org, level, owner)
    dates = (moment(valid_from), moment(valid_to))
    return Support(place, item_id, relation_id, start, end, extractor, *dates, is_dated=bool(is_dated))


def to_unread(row: Row) -> Unread:
    """The unread item of a row."""
    item_id, kind, text, private_agent, author, role, valid_from, valid_to = row
    return Unread(
        id=item_id,
        kind=SourceKind(kind),
        text=text,
        private_agent=private_agent or None,
        author=author or "",
        role=role,
        valid_from=moment(valid_from),
        valid_to=moment(valid_to),
    )
