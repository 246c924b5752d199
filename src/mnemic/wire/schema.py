"""JSON schemas of what `to_wire` returns, for descriptions such as OpenAPI."""

import types
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, Literal, Union, cast, get_args, get_origin

from mnemic.model.item import Chunk, Message
from mnemic.model.recall import Recall
from mnemic.model.scope import Level, Partition
from mnemic.wire.reading import EVENT, NAMES, hints_of, wire_fields

Schema = dict[str, Any]
PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    type(None): {"type": "null"},
}


USER = "owner_user"
"""Present only for a user's session."""


class Schemas:
    """Schemas by noun. `of` returns one, and collects those it refers to, under `place`."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.named: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """JSON Schema for a Python type. Unknown types accept any value."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(each) for each in inner]}
        if origin is Literal:
            return {"enum": list(inner)}
        if origin is not None:
            return self._collection(origin, inner)
        if kind in PLAIN:
            return dict(PLAIN[kind])
        if isinstance(kind, type):
            return self._class(cast("type[Any]", kind))
        return {}

    def _collection(self, origin: Any, inner: tuple[Any, ...]) -> Schema:
        if issubclass(origin, Mapping):
            values = (*inner, int)[1] if inner else Any
            return {"type": "object", "additionalProperties": self.of(values)}
        if issubclass(origin, tuple) and inner[-1] is not Ellipsis:
            return {"type": "array", "prefixItems": [self.of(each) for each in inner]}
        return {"type": "array", "items": self.of(inner[0])} if issubclass(origin, Iterable) else {}

    def _class(self, kind: type[Any]) -> Schema:
        if not is_dataclass(kind) and not issubclass(kind, Enum):
            return {}
        if kind.__name__ not in self.named:
            self.named[kind.__name__] = {}  # nouns may contain each other
            is_enum = issubclass(kind, Enum)
            values = {"type": "string", "enum": [member.value for member in kind]} if is_enum else None
            self.named[kind.__name__] = values or self._noun(kind)
        return {"$ref": f"{self._place}{kind.__name__}"}

    def _noun(self, kind: type[Any]) -> Schema:
        properties: dict[str, Schema] = {EVENT: {"enum": [NAMES[kind]]}} if kind in NAMES else {}
        if Partition in hints_of(kind).values():
            properties |= {"org": self.of(str), "level": self.of(Level), "owner": self.of(str), USER: self.of(str)}
        properties |= {field.name: self.of(hints_of(kind)[field.name]) for field in wire_fields(kind)}
        if issubclass(kind, Message | Chunk):
            properties["kind"] = {"type": "string", "enum": ["message" if issubclass(kind, Message) else "document"]}
        if issubclass(kind, Recall):
            properties["is_fallback"] = {"type": "boolean"}
        told = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
        return {
            "type": "object",
            "description": told,
            "properties": properties,
            "required": [n for n in properties if n != USER],
        }
