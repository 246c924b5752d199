"""How both SQL stores list messages by time: a statement for each partition, answered by an index, then one order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from mnemic.model.item import Message
from mnemic.model.recall import MessageQuery
from mnemic.model.scope import Partition
from mnemic.model.values import to_microseconds

Place = tuple[int, int, str]
"""When a message was said (microseconds), its position, and its id: the order of a listing."""

LATEST: Place = ((1 << 63) - 1, 0, "")
EARLIEST = -(1 << 63)


def place_of(message: Message) -> Place:
    """The place of a message in a listing."""
    return to_microseconds(message.observed_at), message.position, message.id


def newest(
    partitions: Sequence[Partition],
    query: MessageQuery,
    place: Callable[[Partition, str], Place | None],
    rows: Callable[[Partition, dict[str, object]], Sequence[Message]],
) -> list[Message]:
    """The messages of a query. `place` looks one up in a partition; `rows` runs the statement with its parameters."""
    behind: Place | None = LATEST
    if query.after is not None:
        behind = next((p for each in partitions if (p := place(each, query.after)) is not None), None)
    if behind is None:
        return []
    at, position, item_id = behind
    key: dict[str, object] = {
        "session": query.session,
        "since": _micros(query.since, EARLIEST),
        "until": _micros(query.until, LATEST[0]),
        "at": at,
        "position": position,
        "id": item_id,
        "limit": query.limit,
    }
    found = [message for partition in partitions for message in rows(partition, key)]
    return sorted(found, key=place_of, reverse=True)[: query.limit]


def _micros(value: datetime | None, otherwise: int) -> int:
    return otherwise if value is None else to_microseconds(value)
