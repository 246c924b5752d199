"""Nouns as JSON, in the one form that every door uses. Sending them is not part of this module. Results hold only
mappings with text keys, lists, texts, numbers, booleans and None, so `json.dumps` accepts them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from typing import Any, cast

from mnemic.model.item import Chunk, Message, kind_of
from mnemic.model.recall import Recall
from mnemic.model.scope import Level, Partition

_PLAIN = frozenset({str, int, float, bool, type(None)})
"""JSON's own types. Subclasses, such as enumeration members, are not included."""

SECRET = frozenset({"secret_hash"})
"""Fields that no door returns. The hash of a key would allow offline guessing of its secret."""

PROBLEM_PREFIX = "urn:mnemic:problem:"
"""The prefix of an error's kind in the `type` of a problem."""

_OWNER_SEPARATOR = "\x1f"  # precedes it: the user of a session (mnemic.model.scope)


def to_wire(noun: object) -> Any:
    """The JSON form of a noun, or of a list or mapping of nouns.

    Keys are the noun's fields, in order. Times are ISO 8601 in UTC with six decimals and a Z, enumerations their text.
    A partition becomes `org`, `level` and `owner` (the id of the session, user, agent or org), plus `owner_user` for a
    user's session. `kind` is "message" for messages and "document" for passages. A recall also has `is_fallback`.
    """
    kind = type(noun)
    if kind in _PLAIN:
        return noun
    if kind is datetime:
        return _time(cast("datetime", noun))
    if is_dataclass(noun) and not isinstance(noun, type):
        return _fields(noun)
    return _other(noun)


def _other(noun: object) -> Any:
    if isinstance(noun, datetime):
        return _time(noun)
    if isinstance(noun, date):
        return noun.isoformat()
    if isinstance(noun, Enum):
        return noun.value
    if isinstance(noun, Mapping):
        return {str(key): to_wire(value) for key, value in cast("Mapping[object, object]", noun).items()}
    if isinstance(noun, list | tuple | set | frozenset):
        values = [to_wire(value) for value in cast("Iterable[object]", noun)]
        return values if isinstance(noun, list | tuple) else sorted(values)
    return noun


def _time(moment: datetime) -> str:
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a noun that are sent."""
    return tuple(field.name for field in fields(kind) if field.name not in SECRET)


def _fields(noun: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _names(cast("type[Any]", type(noun))):
        value = getattr(noun, name)
        if type(value) in _PLAIN:
            found[name] = value
        elif type(value) is Partition:
            found |= _place(value)
        else:
            found[name] = to_wire(value)
        if name == "id" and isinstance(noun, Message | Chunk):
            found["kind"] = kind_of(noun)
    if isinstance(noun, Recall):
        found["is_fallback"] = noun.is_fallback
    return found


def _place(partition: Partition) -> dict[str, str]:
    user, separator, owner = partition.owner.rpartition(_OWNER_SEPARATOR)
    place = {"org": partition.org, "level": partition.level.value, "owner": owner}
    return place | {"owner_user": user} if separator else place


def place_from_wire(told: Mapping[str, Any]) -> Partition:
    """The partition in these keys."""
    user, owner = told.get("owner_user"), told["owner"]
    owner = owner if user is None else f"{user}{_OWNER_SEPARATOR}{owner}"
    return Partition(told["org"], Level(told["level"]), owner)
