"""The events of a chat as JSON objects: `event` names what happened, beside it stand the fields of the noun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mnemic.errors import BadReplyError
from mnemic.model.chat import Called, ChatEvent, Recalled, Replied, Said
from mnemic.wire import to_wire
from mnemic.wire.reading import from_wire

EVENT = "event"
KINDS: Mapping[str, type[ChatEvent]] = {"recalled": Recalled, "said": Said, "called": Called, "replied": Replied}
PROGRESS: Mapping[str, tuple[str, ...]] = {
    "import_": ("done", "total"),
    "health": ("done", "total"),
    "reembed": ("done", "total"),
    "ingest": ("done", "total", "source"),
    "research": ("done", "total", "what"),
}
"""Of verbs that tell how far they have come: what stands in such an event, in the order of the call of `progress`."""

_NAMES = {kind: name for name, kind in KINDS.items()}


def event_to_wire(event: ChatEvent) -> dict[str, Any]:
    """As `{"event": "said", "text": "…"}`."""
    return {EVENT: _NAMES[type(event)], **to_wire(event)}


def event_from_wire(told: Mapping[str, Any]) -> ChatEvent | None:
    """What `event_to_wire` was given; None for an event that this version does not know. Raises `BadReplyError`."""
    name = told.get(EVENT)
    if not isinstance(name, str):
        raise BadReplyError("an event without a name")
    return cast("ChatEvent", from_wire(KINDS[name], told)) if name in KINDS else None
